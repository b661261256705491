/* origin.h - lists of web origins (RFC 6454): texts as settings have them. Pure. */
#ifndef HL_CONFIG_ORIGIN_H
#define HL_CONFIG_ORIGIN_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"

struct hl_origin_list;

/* Comma-separated "scheme://host" or "scheme://host:port", in lower case as browsers send them; the
 * scheme's own port is taken off. "*" stands for all. "null" is not an origin: every sandboxed page
 * has it. Empty text is the empty list. HL_ERR_INVALID, HL_ERR_NOMEM: `out` is empty. */
HL_MUST_CHECK enum hl_err hl_origin_list_parse(struct hl_str text, struct hl_origin_list *out);
void hl_origin_list_fini(struct hl_origin_list *list);

/* The element that stands for `origin`, or an empty one. */
struct hl_str hl_origin_list_find(const struct hl_origin_list *list, struct hl_str origin);

#endif
