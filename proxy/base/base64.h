/* base64.h - RFC 4648 section 4: responses inside an envelope, Standard Webhooks keys and
 * signatures. */
#ifndef HL_BASE_BASE64_H
#define HL_BASE_BASE64_H

#include "base/str.h"

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

#endif
