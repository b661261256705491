/* guard.c - which addresses no webhook may reach.
 * Thread: any; pure. The lists follow the IANA special-purpose registries (RFC 6890) and what
 * contract 5 adds.
 * Not here: name resolution, and the check of the socket's address at connect time
 * (webhook/sender.c). */
#include "net/guard.h"

#include "base/compiler.h"
#include "base/str.h"
#include "net/address.h"

struct range {
    uint8_t base[16];
    uint8_t bits;
};

#define V4(a, b, c, d, n)                                                                          \
    {                                                                                              \
        {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d}, 96 + (n)                           \
    }

static const struct range blocked_v4[] = {
    V4(0, 0, 0, 0, 8),        /* "this network", unspecified */
    V4(10, 0, 0, 0, 8),       /* private */
    V4(100, 64, 0, 0, 10),    /* shared: carrier-grade NAT */
    V4(127, 0, 0, 0, 8),      /* loopback */
    V4(168, 63, 129, 16, 32), /* a cloud's platform services: not special by any registry */
    V4(169, 254, 0, 0, 16),   /* link-local: cloud metadata */
    V4(172, 16, 0, 0, 12),    /* private */
    V4(192, 0, 0, 0, 24),     /* protocol assignments */
    V4(192, 0, 2, 0, 24),     /* documentation */
    V4(192, 88, 99, 0, 24),   /* 6to4 relays, withdrawn */
    V4(192, 168, 0, 0, 16),   /* private */
    V4(198, 18, 0, 0, 15),    /* benchmarking */
    V4(198, 51, 100, 0, 24),  /* documentation */
    V4(203, 0, 113, 0, 24),   /* documentation */
    V4(224, 0, 0, 0, 4),      /* multicast */
    V4(240, 0, 0, 0, 4),      /* reserved, broadcast */
};

/* Inside 2000::/3, which is all that is global unicast; outside of it only NAT64 is looked at. */
static const struct range blocked_v6[] = {
    {{0x20, 0x01}, 23},             /* protocol assignments: Teredo, benchmarking, ORCHID */
    {{0x20, 0x01, 0x0d, 0xb8}, 32}, /* documentation */
    {{0x3f, 0xff}, 20},             /* documentation */
};

static const struct range nat64 = {{0, 0x64, 0xff, 0x9b}, 96};
static const struct range six_to_four = {{0x20, 0x02}, 16};

static bool range_has(const struct range *range, const struct hl_ip *ip)
{
    struct hl_cidr cidr = {.bits = range->bits};
    memcpy(cidr.base.b, range->base, sizeof cidr.base.b);
    return hl_cidr_has(&cidr, ip);
}

static bool any_has(const struct range *ranges, size_t n, const struct hl_ip *ip)
{
    for (size_t i = 0; i < n; i++)
        if (range_has(&ranges[i], ip))
            return true;
    return false;
}

/* The IPv4 address that a packet to `ip` ends at, when a translator or tunnel on the way takes it
 * out. */
static bool embedded_v4(const struct hl_ip *ip, struct hl_ip *out)
{
    const uint8_t *four;
    if (range_has(&nat64, ip))
        four = ip->b + 12;
    else if (range_has(&six_to_four, ip))
        four = ip->b + 2;
    else
        return false;
    *out = (struct hl_ip){{[10] = 0xff, [11] = 0xff}};
    memcpy(out->b + 12, four, 4);
    return true;
}

bool hl_guard_is_blocked(const struct hl_ip *ip, const struct hl_cidr_list *allow)
{
    if (hl_cidr_list_has(allow, ip))
        return false;
    if (hl_ip_is_v4(ip))
        return any_has(blocked_v4, HL_ARRAY_LEN(blocked_v4), ip);
    struct hl_ip inner;
    if (embedded_v4(ip, &inner))
        return hl_guard_is_blocked(&inner, allow);
    bool is_global = (ip->b[0] & 0xe0) == 0x20;
    return !is_global || any_has(blocked_v6, HL_ARRAY_LEN(blocked_v6), ip);
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

/* Decimal, octal with a leading 0, hex with a leading 0x; "0x" alone is 0, as browsers have it. */
static bool read_part(struct hl_str s, uint64_t *out)
{
    unsigned base = 10;
    uint64_t v = 0;
    if (s.n == 0)
        return false;
    if (s.n >= 2 && s.p[0] == '0') {
        bool is_hex = (s.p[1] | 0x20) == 'x';
        base = is_hex ? 16 : 8;
        s.p += is_hex ? 2 : 1;
        s.n -= is_hex ? 2 : 1;
    }
    for (size_t i = 0; i < s.n; i++) {
        unsigned digit = (unsigned)digit_of(s.p[i]);
        v = v * base + digit;
        if (digit >= base || v > UINT32_MAX)
            return false;
    }
    *out = v;
    return true;
}

/* All parts but the last are one byte each; the last fills what is left. */
static bool parse_loose_v4(struct hl_str host, struct hl_ip *out)
{
    uint64_t part, address = 0;
    for (unsigned i = 0; i < 4; i++) {
        const char *dot = host.n ? memchr(host.p, '.', host.n) : NULL;
        struct hl_str text = {host.p, dot ? (size_t)(dot - host.p) : host.n};
        if (!read_part(text, &part))
            return false;
        if (!dot) {
            unsigned left = 32 - 8 * i;
            if (part >> left)
                return false;
            address = address << left | part;
            *out = (struct hl_ip){{[10] = 0xff,
                [11] = 0xff,
                [12] = (uint8_t)(address >> 24),
                [13] = (uint8_t)(address >> 16),
                [14] = (uint8_t)(address >> 8),
                [15] = (uint8_t)address}};
            return true;
        }
        if (part > 255)
            return false;
        address = address << 8 | part;
        host = (struct hl_str){dot + 1, host.n - text.n - 1};
    }
    return false;
}

bool hl_guard_parse_host(struct hl_str host, bool is_bracketed, struct hl_ip *out)
{
    if (is_bracketed) {
        const char *zone = host.n ? memchr(host.p, '%', host.n) : NULL;
        if (zone)
            host.n = (size_t)(zone - host.p);
        return hl_ip_parse(host, out);
    }
    if (host.n > 0 && host.p[host.n - 1] == '.')
        host.n--;
    return parse_loose_v4(host, out);
}
