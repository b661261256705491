/* json_text.h - JSON texts in what their readers can take: what a string stands for, and numbers and texts
 * that a reader of 64-bit numbers and of texts without NUL has not. */
#ifndef HL_HTTP_JSON_TEXT_H
#define HL_HTTP_JSON_TEXT_H

#include <stdbool.h>

#include "base/buf.h"

/* ---- strings ---- */

/* Reads from `p`, behind the first quote of a string in a text that hl_json_check has taken, up to its
 * last quote or `end`, whichever is first; returns what follows that. Moves `*to` along; never more is
 * written than was read. U+FFFD stands for half of a surrogate pair. `*is_odd` becomes true when there
 * is such a half, or a NUL: what not every text can hold. */
const char *hl_json_string_read(const char *p, const char *end, char **to, bool *is_odd);

/* ---- numbers and strings narrowed ---- */

/* Appends `text` to `out`, with other tokens in the place of those that JSON has and such a reader has
 * not (RFC 8259 6, 8.2), so that one of them does not void all that stands beside it:
 * - an integer beyond int64_t: the nearest double; a number beyond all doubles: 1e308 with its sign;
 * - half of a surrogate pair: NUL, and both U+FFFD in a member's name. So no text of the outcome is
 *   equal to one that it did not stand for, but for names that hold U+FFFD.
 * What is no JSON stays as it is, or as wrong. HL_ERR_NOMEM, HL_ERR_TOO_LARGE. */
HL_MUST_CHECK enum hl_err hl_json_narrow(struct hl_str text, struct hl_buf *out);

#endif
