/* hex.h - bytes as lower-case hex digits. Ids are written several times in each call: the loop has
 * no branch and no table and is inline, so that the compiler, which knows how many there are, does
 * sixteen bytes of it at once. */
#ifndef HL_BASE_HEX_H
#define HL_BASE_HEX_H

#include <stddef.h>
#include <stdint.h>

/* Writes 2 * n characters, no NUL; `out` is not where `bytes` are. */
static inline void hl_hex_write(char *restrict out, const uint8_t *restrict bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned high = bytes[i] >> 4, low = bytes[i] & 15;
        out[2 * i] = (char)(high + '0' + (high > 9) * ('a' - '0' - 10));
        out[2 * i + 1] = (char)(low + '0' + (low > 9) * ('a' - '0' - 10));
    }
}

#endif
