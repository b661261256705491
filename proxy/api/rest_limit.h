/* rest_limit.h - an account's limits as JSON. Thread: control. */
#ifndef HL_API_REST_LIMIT_H
#define HL_API_REST_LIMIT_H

#include <jansson.h>

#include "http/refusal.h"

struct hl_limits;
struct hl_limits_change;

/* The account's object gets their members; takes the reference. NULL: out of memory. */
json_t *hl_rest_show_limits(json_t *account, const struct hl_limits *limits);

/* Reads those of the body's members that are limits; `*count`: how many. NONE, or what is wrong with the
 * member `*name`. */
enum hl_refusal_cause hl_rest_read_limits(
    const json_t *body, struct hl_limits_change *change, size_t *count, const char **name);
/* The first member that is no limit; NULL: there is none. */
const char *hl_rest_other_than_limit(const json_t *body);

#endif
