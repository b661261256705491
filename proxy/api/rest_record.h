/* rest_record.h - runs as JSON. New references; NULL: out of memory. */
#ifndef HL_API_REST_RECORD_H
#define HL_API_REST_RECORD_H

#include <jansson.h>
#include <stdbool.h>

struct hl_get_run;
struct hl_recent_run;
struct hl_run_row;
struct hl_str;

/* `deliveries` is taken, as the run's member: an array, or NULL: counts of them. */
/* `is_shared`: whether replicas share the store: then the run says whose it is. */
json_t *hl_rest_run_json(const struct hl_run_row *run, bool is_shared, json_t *deliveries);
/* `replica`: this one's name; empty: it is alone. */
json_t *hl_rest_recent_json(
    const struct hl_recent_run *run, struct hl_str replica, json_t *deliveries);
/* Adds who made it; takes `run`, which may be NULL. */
json_t *hl_rest_record_add_subject(json_t *run, struct hl_str subject);
/* Adds those that repeat it, which lists do without; NULL: the store does not know the run, so none does. Likewise. */
json_t *hl_rest_record_add_reruns(json_t *run, const struct hl_get_run *g);

#endif
