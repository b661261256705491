/* hex.c - bytes as lower-case hex digits. Ids are written several times in each call: the loop has
 * no branch and no table, so that the compiler does sixteen bytes of it at once. */
#include "base/hex.h"

static inline char digit(unsigned value)
{
    return (char)(value + '0' + (value > 9) * ('a' - '0' - 10));
}

void hl_hex_write(char *restrict out, const uint8_t *restrict bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        out[2 * i] = digit(bytes[i] >> 4);
        out[2 * i + 1] = digit(bytes[i] & 15);
    }
}
