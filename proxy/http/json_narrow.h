/* json_narrow.h - a JSON text in what a reader of 64-bit numbers and of texts without NUL can take. */
#ifndef HL_HTTP_JSON_NARROW_H
#define HL_HTTP_JSON_NARROW_H

#include "base/buf.h"

/* Appends `text` to `out`, with other tokens in the place of those that JSON has and such a reader has
 * not (RFC 8259 6, 8.2), so that one of them does not void all that stands beside it:
 * - an integer beyond int64_t: the nearest double; a number beyond all doubles: 1e308 with its sign;
 * - half of a surrogate pair: NUL, and both U+FFFD in a member's name. So no text of the outcome is
 *   equal to one that it did not stand for, but for names that hold U+FFFD.
 * What is no JSON stays as it is, or as wrong. HL_ERR_NOMEM, HL_ERR_TOO_LARGE. */
HL_MUST_CHECK enum hl_err hl_json_narrow(struct hl_str text, struct hl_buf *out);

#endif
