/* hex.c - bytes as lower-case hex digits, a byte at a time from a table of pairs: ids are written
 * several times in each call. */
#include "base/hex.h"

#include <string.h>

#define ROW(d)                                                                                     \
    d "0" d "1" d "2" d "3" d "4" d "5" d "6" d "7" d "8" d "9" d "a" d "b" d "c" d "d" d "e" d "f"

static const char pairs[] = ROW("0") ROW("1") ROW("2") ROW("3") ROW("4") ROW("5") ROW("6") ROW("7")
    ROW("8") ROW("9") ROW("a") ROW("b") ROW("c") ROW("d") ROW("e") ROW("f");

void hl_hex_write(char *out, const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        memcpy(out + 2 * i, pairs + 2 * (size_t)bytes[i], 2);
}
