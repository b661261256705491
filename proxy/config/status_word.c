/* status_word.c - see status_word.h. */
#include "config/status_word.h"

#include <string.h>

#include "base/str.h"
#include "http/byte.h"

bool hl_status_word_parse(struct hl_str word, unsigned *first, unsigned *n)
{
    if (word.n != 3 || word.p[0] < '1' || word.p[0] > '5')
        return false;
    *first = (unsigned)(word.p[0] - '0') * 100;
    *n = 100;
    if (memcmp(word.p + 1, "xx", 2) == 0)
        return true;
    if (!hl_byte_is(word.p[1], HL_BYTE_DIGIT) || !hl_byte_is(word.p[2], HL_BYTE_DIGIT))
        return false;
    *first += (unsigned)(word.p[1] - '0') * 10 + (unsigned)(word.p[2] - '0');
    *n = 1;
    return true;
}
