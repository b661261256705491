/* json_string.h - what a JSON string stands for. */
#ifndef HL_HTTP_JSON_STRING_H
#define HL_HTTP_JSON_STRING_H

#include <stdbool.h>

/* Reads from `p`, behind the first quote of a string in a text that hl_json_check has taken, up to its
 * last quote or `end`, whichever is first; returns what follows that. Moves `*to` along; never more is
 * written than was read. U+FFFD stands for half of a surrogate pair. `*is_odd` becomes true when there
 * is such a half, or a NUL: what not every text can hold. */
const char *hl_json_string_read(const char *p, const char *end, char **to, bool *is_odd);

#endif
