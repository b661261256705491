/* base64.h - bytes as text: base64 (RFC 4648), and hex digits. */
#ifndef HL_BASE_BASE64_H
#define HL_BASE_BASE64_H

#include <stddef.h>
#include <stdint.h>

struct hl_str;

/* ---- RFC 4648 section 4: responses inside an envelope, keys and signatures of Standard Webhooks; section 5,
 * without padding: tokens ---- */

/* The length of `n` encoded bytes, padding included. */
static inline uint64_t hl_base64_size(uint64_t n)
{
    return (n + 2) / 3 * 4;
}

/* Writes hl_base64_size(n) characters, no NUL; returns their number. */
size_t hl_base64_encode(char *out, const void *p, size_t n);

/* The standard alphabet, padded, as receivers' libraries read it; no white space, no line ends.
 * Returns the number of bytes, or -1 when the text is something else. `out` has room for text.n / 4
 * * 3 bytes. */
ptrdiff_t hl_base64_decode(struct hl_str text, uint8_t *out);

/* The length of `n` bytes encoded for URLs. */
static inline size_t hl_base64url_size(size_t n)
{
    return n / 3 * 4 + (n % 3 ? n % 3 + 1 : 0);
}

/* Writes hl_base64url_size(n) characters, no NUL, no padding; returns their number. */
size_t hl_base64url_encode(char *out, const void *p, size_t n);

/* The one text that encoding gives for its bytes, and no other: no padding, no white space, no bits
 * left over (RFC 7515 2). Returns the number of bytes, or -1. `out` has room for text.n * 3 / 4
 * bytes. */
ptrdiff_t hl_base64url_decode(struct hl_str text, uint8_t *out);

/* ---- lower-case hex digits ---- */

/* Writes 2 * n characters, no NUL; `out` is not where `bytes` are. Ids are written several times in each
 * call: the loop has no branch and no table and is inline, so that the compiler, which knows how many there are,
 * does sixteen bytes of it at once. */
static inline void hl_hex_write(char *restrict out, const uint8_t *restrict bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned high = bytes[i] >> 4, low = bytes[i] & 15;
        out[2 * i] = (char)(high + '0' + (high > 9) * ('a' - '0' - 10));
        out[2 * i + 1] = (char)(low + '0' + (low > 9) * ('a' - '0' - 10));
    }
}

#endif
