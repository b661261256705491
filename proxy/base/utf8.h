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

/* How many characters `s` has, which is well-formed. */
size_t hl_utf8_count(struct hl_str s);

/* Well-formed from end to end. */
bool hl_utf8_is_valid(struct hl_str s);

#endif
