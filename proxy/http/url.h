/* url.h - absolute http(s) URLs, read strictly (RFC 3986 4.3): for webhook endpoints. */
#ifndef HL_HTTP_URL_H
#define HL_HTTP_URL_H

#include "base/compiler.h"
#include "base/str.h"

struct hl_url {
    bool is_https;
    bool has_userinfo;
    struct hl_str host;           /* without brackets; as written */
    bool is_bracketed;            /* an IP literal: [..] */
    uint16_t port;                /* the scheme's default when not given */
    struct hl_str path_and_query; /* may be empty */
};

/* False: not an absolute http(s) URL. Control bytes, spaces, backslashes, bytes above 0x7e, an
 * empty host, a bad port, a bad percent escape are refused. A fragment is allowed and not part of
 * path_and_query. */
HL_MUST_CHECK bool hl_url_parse(struct hl_str text, struct hl_url *out);

#endif
