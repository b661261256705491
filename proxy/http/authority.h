/* authority.h - the host and port of a Host field, of a target, of a URL (RFC 3986 3.2, without
 * userinfo), read strictly. */
#ifndef HL_HTTP_AUTHORITY_H
#define HL_HTTP_AUTHORITY_H

#include "base/compiler.h"
#include "base/str.h"

struct hl_authority {
    struct hl_str host; /* without brackets, as written */
    bool is_bracketed;  /* an IPv6 address: [..] */
    bool has_port;      /* a number was there; "host:" has none (RFC 3986 3.2.3) */
    uint16_t port;
};

/* False: userinfo, an empty host, a byte that is in no host name, a bracketed text that is no IPv6
 * address, a port above 65535. Percent escapes are refused: no host name needs them, and peers
 * disagree on whether to decode them. */
HL_MUST_CHECK bool hl_authority_parse(struct hl_str text, struct hl_authority *out);

#endif
