/* utf8.c - reading UTF-8 one character at a time, or a byte at a time as it passes. Pure. */
#include "base/utf8.h"

#include "base/str.h"

size_t hl_utf8_decode(const char *p, size_t n, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *u = (const unsigned char *)p;
    size_t length;
    uint32_t c;

    if (n == 0)
        return 0;
    if (u[0] < 0x80) {
        *code = u[0];
        return 1;
    }
    if (u[0] >= 0xc2 && u[0] <= 0xdf) {
        length = 2;
        c = u[0] & 0x1f;
    } else if ((u[0] & 0xf0) == 0xe0) {
        length = 3;
        c = u[0] & 0x0f;
    } else if (u[0] >= 0xf0 && u[0] <= 0xf4) {
        length = 4;
        c = u[0] & 0x07;
    } else {
        return 0;
    }
    if (n < length)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((u[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (u[i] & 0x3f);
    }
    if (c < least[length] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return 0;
    *code = c;
    return length;
}

size_t hl_utf8_count(struct hl_str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
    return n;
}

bool hl_utf8_is_valid(struct hl_str s)
{
    uint32_t code;
    while (s.n > 0) {
        size_t n = hl_utf8_decode(s.p, s.n, &code);
        if (n == 0)
            return false;
        s.p += n;
        s.n -= n;
    }
    return true;
}

/* ---- a stream of bytes ---- */

static uint8_t after_lead(uint8_t byte)
{
    if (byte < 0x80)
        return HL_UTF8_START;
    if (byte < 0xc2)
        return HL_UTF8_BAD;
    if (byte < 0xe0)
        return HL_UTF8_LAST;
    switch (byte) {
    case 0xe0:
        return HL_UTF8_AFTER_E0;
    case 0xed:
        return HL_UTF8_AFTER_ED;
    case 0xf0:
        return HL_UTF8_AFTER_F0;
    case 0xf4:
        return HL_UTF8_AFTER_F4;
    default:
        return byte < 0xf0 ? HL_UTF8_TWO : byte < 0xf4 ? HL_UTF8_THREE : HL_UTF8_BAD;
    }
}

uint8_t hl_utf8_next(uint8_t state, uint8_t byte)
{
    static const struct {
        uint8_t low, high, next;
    } steps[] = {
        [HL_UTF8_LAST] = {0x80, 0xbf, HL_UTF8_START},
        [HL_UTF8_TWO] = {0x80, 0xbf, HL_UTF8_LAST},
        [HL_UTF8_THREE] = {0x80, 0xbf, HL_UTF8_TWO},
        [HL_UTF8_AFTER_E0] = {0xa0, 0xbf, HL_UTF8_LAST},
        [HL_UTF8_AFTER_ED] = {0x80, 0x9f, HL_UTF8_LAST},
        [HL_UTF8_AFTER_F0] = {0x90, 0xbf, HL_UTF8_TWO},
        [HL_UTF8_AFTER_F4] = {0x80, 0x8f, HL_UTF8_TWO},
        [HL_UTF8_BAD] = {1, 0, HL_UTF8_BAD},
    };
    if (state == HL_UTF8_START)
        return after_lead(byte);
    if (byte < steps[state].low || byte > steps[state].high)
        return HL_UTF8_BAD;
    return steps[state].next;
}
