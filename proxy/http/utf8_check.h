/* utf8_check.h - whether a stream of bytes, cut anywhere, is UTF-8 (Unicode 15 table 3-7). */
#ifndef HL_HTTP_UTF8_CHECK_H
#define HL_HTTP_UTF8_CHECK_H

#include <stdint.h>

/* What must come next. */
enum hl_utf8_state {
    HL_UTF8_START, /* a character; the text may end here */
    HL_UTF8_LAST,  /* the last byte of a character */
    HL_UTF8_TWO,   /* the last two */
    HL_UTF8_THREE,
    HL_UTF8_AFTER_E0, /* two, the first from a0: no overlong form */
    HL_UTF8_AFTER_ED, /* two, the first up to 9f: no surrogate */
    HL_UTF8_AFTER_F0, /* three, the first from 90: no overlong form */
    HL_UTF8_AFTER_F4, /* three, the first up to 8f: nothing above U+10FFFF */
    HL_UTF8_BAD,
};

/* The state after `byte`. BAD stays BAD. */
uint8_t hl_utf8_next(uint8_t state, uint8_t byte);

#endif
