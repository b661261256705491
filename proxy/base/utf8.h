/* utf8.h - reading UTF-8 one character at a time. */
#ifndef HL_BASE_UTF8_H
#define HL_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hl_str;

/* The length in bytes of the character at `p` and its code point, or 0 if the first of the `n`
 * bytes begins no well-formed one (Unicode 15 table 3-7: no overlong forms, no surrogates, nothing
 * above U+10FFFF). */
size_t hl_utf8_decode(const char *p, size_t n, uint32_t *code);

/* What would end a line, drive a terminal or turn the reading direction: C0, DEL, C1, line and paragraph separator,
 * bidirectional overrides and isolates. */
static inline bool hl_utf8_is_unsafe(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code <= 0x9f) || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069);
}

/* How many characters `s` has, which is well-formed. */
size_t hl_utf8_count(struct hl_str s);

/* Well-formed from end to end. */
bool hl_utf8_is_valid(struct hl_str s);

/* ---- a stream of bytes, cut anywhere (Unicode 15 table 3-7) ---- */

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
