/* url.h - where a request goes, read strictly: authorities, absolute http(s) URLs, request targets and
 * their queries (RFC 3986). Nothing is normalized: what is not ours goes on as it came. */
#ifndef HL_HTTP_URL_H
#define HL_HTTP_URL_H

#include "base/compiler.h"
#include "base/str.h"

/* ---- the host and port of a Host field, of a target, of a URL (RFC 3986 3.2, without userinfo) ---- */

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

/* ---- absolute http(s) URLs (RFC 3986 4.3): for webhook endpoints ---- */

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

/* ---- request targets and queries: percent-decoding, finding and cutting parameters without touching
 * another byte ---- */

struct hl_target {
    struct hl_str path;  /* begins with '/', or "*" */
    struct hl_str query; /* without '?' */
    bool has_query;
    bool is_pathless; /* an absolute form without a path: `path` is a "/" that is not in it */
};

/* Splits an origin-form or absolute-form target (the authority was taken by head parsing). An
 * absolute form without a path has path "/". A fragment ('#'), control bytes or bytes above 0x7e
 * make it invalid. */
HL_MUST_CHECK bool hl_target_split(struct hl_str target, struct hl_target *out);

/* Takes the next segment, without its '/', off `*path`, which begins with one. */
struct hl_str hl_path_take_segment(struct hl_str *path);

#define HL_NAME_MAX 128
/* A project's or an app's, as in the path of a run (contract 2): 1 to HL_NAME_MAX of A-Z a-z 0-9 . _ -, but not "." or
 * "..". */
bool hl_path_is_name(struct hl_str s);

struct hl_param {
    struct hl_str raw;         /* name=value as it stands */
    struct hl_str name, value; /* raw, still encoded */
    bool has_value;
};

/* Takes the next '&'-separated parameter off `*query`. False at the end. Empty parameters are
 * returned too (raw.n == 0). */
bool hl_query_next(struct hl_str *query, struct hl_param *param);

/* Whether the percent-decoded name equals `name` (so that %61sync is async too). */
bool hl_param_is(const struct hl_param *param, struct hl_str name);

/* application/x-www-form-urlencoded decoding of a value ('+' is a space). Returns the length, or
 * -1: bad escape, NUL, or over cap. */
ptrdiff_t hl_query_decode(struct hl_str value, char *out, size_t cap);

#endif
