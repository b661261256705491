/* json_load.h - JSON that came from outside, as a tree. */
#ifndef HL_AUTH_JSON_LOAD_H
#define HL_AUTH_JSON_LOAD_H

#include <jansson.h>
#include <stdbool.h>

#include "base/str.h"

/* What json_loadb gives, but that a number or an escape which jansson has no value for does not void the
 * text (http/json_text.h): whoever reads a string minds its length, for it may hold a NUL. `flags`:
 * jansson's; JSON_ALLOW_NUL is among them in any case. `error` may be NULL. The caller owns it. */
json_t *hl_json_load(struct hl_str text, size_t flags, json_error_t *error);
/* Whether the last one on this thread is NULL for want of memory. */
bool hl_json_lacked_memory(void);

#endif
