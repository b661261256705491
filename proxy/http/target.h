/* target.h - request targets and queries: percent-decoding, finding and cutting parameters without
 * touching another byte. */
#ifndef HL_HTTP_TARGET_H
#define HL_HTTP_TARGET_H

#include "base/compiler.h"
#include "base/str.h"

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
