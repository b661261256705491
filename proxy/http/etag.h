/* etag.h - whether whoever asks has the present version already (RFC 9110 13.1.2). */
#ifndef HL_HTTP_ETAG_H
#define HL_HTTP_ETAG_H

#include <stdbool.h>

struct hl_str;

/* `if_none_match`: the field's value, a list of tags, of which a cache may have weakened some, or "*";
 * empty: it was not there. `etag`: with its quotes. */
bool hl_etag_is_known(struct hl_str if_none_match, struct hl_str etag);

#endif
