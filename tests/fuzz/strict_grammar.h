/* strict_grammar.h - a part of the independent reader: which bytes may stand where (RFC 9110 5.6, RFC
 * 9112 3.2, RFC 3986 3.2). */
#ifndef HL_FUZZ_STRICT_GRAMMAR_H
#define HL_FUZZ_STRICT_GRAMMAR_H

#include "base/str.h"

bool strict_same(struct hl_str a, struct hl_str b);        /* byte for byte */
bool strict_same_nocase(struct hl_str a, struct hl_str b); /* ASCII letters folded */
char strict_folded(char c);
struct hl_str strict_trimmed(struct hl_str s); /* without SP and HTAB around it */

bool strict_is_digit(char c);
bool strict_is_hex(char c);
bool strict_is_token(char c);       /* RFC 9110 5.6.2 */
bool strict_is_value(char c);       /* RFC 9110 5.5: field-vchar, SP, HTAB */
bool strict_is_target_byte(char c); /* no control, no SP, no '#', ASCII */
bool strict_all(struct hl_str s, bool (*is)(char c));

/* RFC 9110 7.2 with RFC 3986 3.2.2: host [":" port], and nothing that one reader would decode and
 * another would not. */
bool strict_is_authority(struct hl_str text);
/* RFC 9112 3.2: the form that the method asks for; not empty. */
bool strict_is_target_of(struct hl_str target, struct hl_str method);

#endif
