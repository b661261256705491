/* rest_span.h - which span of time is counted, and in which pieces. The control thread. */
#ifndef HL_API_REST_SPAN_H
#define HL_API_REST_SPAN_H

#include <stdbool.h>
#include <stdint.h>

#define HL_REST_POINTS 120 /* of a series, at most */

struct hl_rest_call;

/* What the query names by since, until and period, or the last `default_ms`. What is past the retention is not there,
 * and nothing has happened in the future: false, there is nothing in it. */
bool hl_rest_read_span(
    const struct hl_rest_call *call, int64_t default_ms, int64_t *since_ms, int64_t *until_ms);
/* The same of the last hour, if nothing is named. False: refused, for there is nothing in it. */
bool hl_rest_demand_span(struct hl_rest_call *call, int64_t *since_ms, int64_t *until_ms);
/* The least length of pieces, from `least_ms` on, that makes no more than HL_REST_POINTS of the span. */
int64_t hl_rest_step_for(int64_t span_ms, int64_t least_ms);

#endif
