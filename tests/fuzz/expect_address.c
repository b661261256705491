/* expect_address.c - addresses, naively. */
#include "expect_address.h"

#include <string.h>

#include "base/str.h"

static void set_v4(uint8_t out[16], uint32_t v4)
{
    memset(out, 0, 10);
    out[10] = out[11] = 0xff;
    for (int i = 0; i < 4; i++)
        out[12 + i] = (uint8_t)(v4 >> (24 - 8 * i));
}

/* Up to `separator` or the end; `*rest` is what follows it, `*has_more` whether there was one. */
static struct hl_str cut(struct hl_str *rest, char separator, bool *has_more)
{
    size_t n = 0;
    while (n < rest->n && rest->p[n] != separator)
        n++;
    struct hl_str part = {rest->p, n};
    *has_more = n < rest->n;
    *rest = (struct hl_str){rest->p + n + *has_more, rest->n - n - *has_more};
    return part;
}

/* All of `s` as a number in `base`; false: another byte, or too large. Empty is 0. */
static bool read_number(struct hl_str s, unsigned base, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < s.n; i++) {
        const char *digits = "0123456789abcdef";
        char c = s.p[i] >= 'A' && s.p[i] <= 'F' ? (char)(s.p[i] + 32) : s.p[i];
        const char *found = c ? strchr(digits, c) : NULL;
        if (!found || (unsigned)(found - digits) >= base)
            return false;
        *out = *out * base + (unsigned)(found - digits);
        if (*out > UINT32_MAX)
            return false;
    }
    return true;
}

bool expect_v4(struct hl_str text, uint8_t out[16])
{
    uint32_t v4 = 0;
    bool has_more = true;
    for (int i = 0; i < 4; i++) {
        uint64_t v;
        struct hl_str part = cut(&text, '.', &has_more);
        bool has_zero_first = part.n > 1 && part.p[0] == '0';
        if (part.n == 0 || part.n > 3 || has_zero_first || !read_number(part, 10, &v) || v > 255 ||
            has_more != (i < 3))
            return false;
        v4 = v4 << 8 | (uint32_t)v;
    }
    set_v4(out, v4);
    return true;
}

/* Groups without "::" in between, into out[0..16). Returns the bytes written, or -1. */
static int read_groups(struct hl_str text, bool may_end_in_v4, uint8_t *out)
{
    int n = 0;
    bool has_more = text.n > 0;
    while (has_more) {
        uint64_t v;
        uint8_t v4[16];
        struct hl_str part = cut(&text, ':', &has_more);
        if (!has_more && may_end_in_v4 && n <= 12 && expect_v4(part, v4)) {
            memcpy(out + n, v4 + 12, 4);
            return n + 4;
        }
        if (n == 16 || part.n == 0 || part.n > 4 || !read_number(part, 16, &v))
            return -1;
        out[n++] = (uint8_t)(v >> 8);
        out[n++] = (uint8_t)v;
    }
    return n;
}

bool expect_v6(struct hl_str text, uint8_t out[16])
{
    uint8_t before[16], after[16];
    const char *gap = text.n ? memmem(text.p, text.n, "::", 2) : NULL;
    if (!gap)
        return read_groups(text, true, out) == 16;
    struct hl_str left = {text.p, (size_t)(gap - text.p)};
    struct hl_str right = {gap + 2, text.n - left.n - 2};
    int n = read_groups(left, false, before), m = read_groups(right, true, after);
    if (n < 0 || m < 0 || n + m > 14)
        return false;
    memset(out, 0, 16);
    memcpy(out, before, (size_t)n);
    memcpy(out + 16 - m, after, (size_t)m);
    return true;
}

bool expect_loose_v4(struct hl_str text, uint8_t out[16])
{
    uint64_t parts[4];
    size_t n = 0;
    bool has_more = true;
    if (text.n > 0 && text.p[text.n - 1] == '.')
        text.n--;
    while (has_more) {
        struct hl_str part = cut(&text, '.', &has_more);
        unsigned base = 10;
        if (part.n == 0 || n == 4)
            return false;
        if (part.n > 1 && part.p[0] == '0') {
            base = part.p[1] == 'x' || part.p[1] == 'X' ? 16 : 8;
            size_t prefix = base == 16 ? 2 : 1;
            part = (struct hl_str){part.p + prefix, part.n - prefix};
        }
        if (!read_number(part, base, &parts[n++]))
            return false;
    }
    uint64_t v4 = parts[n - 1];
    if (v4 >= UINT64_C(1) << (8 * (5 - n)))
        return false;
    for (size_t i = 0; i + 1 < n; i++) {
        if (parts[i] > 255)
            return false;
        v4 += parts[i] << (24 - 8 * i);
    }
    set_v4(out, (uint32_t)v4);
    return true;
}

static bool is_blocked_v4(const uint8_t b[4])
{
    uint32_t v4 = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
    switch (b[0]) {
    case 0:
    case 10:
    case 127:
        return true;
    case 100:
        return b[1] >= 64 && b[1] <= 127;
    case 168:
        return v4 == 0xa83f8110;
    case 169:
        return b[1] == 254;
    case 172:
        return b[1] >= 16 && b[1] <= 31;
    case 192:
        return b[1] == 168 || (b[1] == 0 && (b[2] == 0 || b[2] == 2)) || (b[1] == 88 && b[2] == 99);
    case 198:
        return b[1] == 18 || b[1] == 19 || (b[1] == 51 && b[2] == 100);
    case 203:
        return b[1] == 0 && b[2] == 113;
    default:
        return b[0] >= 224;
    }
}

bool expect_is_blocked(const uint8_t ip[16])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    static const uint8_t nat64[12] = {0, 0x64, 0xff, 0x9b};
    if (memcmp(ip, mapped, 12) == 0 || memcmp(ip, nat64, 12) == 0)
        return is_blocked_v4(ip + 12);
    if (ip[0] == 0x20 && ip[1] == 0x02) /* 6to4 */
        return is_blocked_v4(ip + 2);
    if (ip[0] < 0x20 || ip[0] > 0x3f) /* not global unicast; IPv4-compatible, too */
        return true;
    bool is_protocol = ip[0] == 0x20 && ip[1] == 0x01 && ip[2] <= 1;
    bool is_documentation = (ip[0] == 0x20 && ip[1] == 0x01 && ip[2] == 0x0d && ip[3] == 0xb8) ||
                            (ip[0] == 0x3f && ip[1] == 0xff && ip[2] <= 0x0f);
    return is_protocol || is_documentation;
}
