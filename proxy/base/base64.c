/* base64.c - RFC 4648 sections 4 and 5. Not constant time over its input on encoding (a response is
 * not a key); decoding a key compares, it does not look up. */
#include "base/base64.h"

#include "base/str.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

size_t hl_base64_encode(char *out, const void *p, size_t n)
{
    const uint8_t *in = p;
    char *o = out;
    for (; n >= 3; n -= 3, in += 3) {
        uint32_t group = (uint32_t)in[0] << 16 | (uint32_t)in[1] << 8 | in[2];
        *o++ = alphabet[group >> 18];
        *o++ = alphabet[group >> 12 & 63];
        *o++ = alphabet[group >> 6 & 63];
        *o++ = alphabet[group & 63];
    }
    if (n > 0) {
        uint32_t group = (uint32_t)in[0] << 16 | (n == 2 ? (uint32_t)in[1] << 8 : 0);
        *o++ = alphabet[group >> 18];
        *o++ = alphabet[group >> 12 & 63];
        *o++ = n == 2 ? alphabet[group >> 6 & 63] : '=';
        *o++ = '=';
    }
    return (size_t)(o - out);
}

static int value_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

ptrdiff_t hl_base64_decode(struct hl_str text, uint8_t *out)
{
    size_t padding = 0;
    while (padding < 2 && text.n > padding && text.p[text.n - 1 - padding] == '=')
        padding++;
    size_t n = text.n - padding;
    if (text.n % 4 != 0 || n % 4 == 1)
        return -1;
    uint8_t *o = out;
    uint32_t bits = 0;
    for (size_t i = 0; i < n; i++) {
        int value = value_of(text.p[i]);
        if (value < 0)
            return -1;
        bits = bits << 6 | (uint32_t)value;
        if (i % 4 != 0)
            *o++ = (uint8_t)(bits >> (6 - i % 4 * 2));
    }
    return o - out;
}

size_t hl_base64url_encode(char *out, const void *p, size_t n)
{
    char padded[4];
    size_t whole = n / 3 * 3;
    size_t used = hl_base64_encode(out, p, whole);
    if (n > whole) {
        hl_base64_encode(padded, (const uint8_t *)p + whole, n - whole);
        memcpy(out + used, padded, n - whole + 1);
        used += n - whole + 1;
    }
    for (size_t i = 0; i < used; i++)
        out[i] = out[i] == '+' ? '-' : out[i] == '/' ? '_' : out[i];
    return used;
}

static int url_value_of(char c)
{
    if (c == '+' || c == '/')
        return -1;
    return value_of(c == '-' ? '+' : c == '_' ? '/' : c);
}

ptrdiff_t hl_base64url_decode(struct hl_str text, uint8_t *out)
{
    uint8_t *o = out;
    uint32_t bits = 0;
    if (text.n % 4 == 1)
        return -1;
    for (size_t i = 0; i < text.n; i++) {
        int value = url_value_of(text.p[i]);
        if (value < 0)
            return -1;
        bits = bits << 6 | (uint32_t)value;
        if (i % 4 != 0)
            *o++ = (uint8_t)(bits >> (6 - i % 4 * 2));
    }
    uint32_t left_over = text.n % 4 == 2 ? bits & 15 : text.n % 4 == 3 ? bits & 3 : 0;
    return left_over ? -1 : o - out;
}
