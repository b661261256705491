/* rest_span.c - see rest_span.h. */
#include "api/rest_span.h"

#include "api/rest_call.h"
#include "api/rest_param.h"
#include "base/clock.h"
#include "config/config.h"

#define SECOND_MS INT64_C(1000)
#define HOUR_MS   INT64_C(3600000)

bool hl_rest_read_span(
    const struct hl_rest_call *call, int64_t default_ms, int64_t *since_ms, int64_t *until_ms)
{
    const struct hl_rest_params *p = &call->params;
    int64_t now_ms = hl_clock_wall_ms();
    int64_t oldest_ms = now_ms - (int64_t)hl_rest_get_parts(call)->config->retention_ms;
    int64_t asked_ms =
        p->since_ms > 0 ? p->since_ms : now_ms - (p->period_ms > 0 ? p->period_ms : default_ms);
    *until_ms = p->until_ms > 0 && p->until_ms <= now_ms ? p->until_ms : now_ms + 1;
    *since_ms = asked_ms > oldest_ms ? asked_ms : oldest_ms;
    return *since_ms < *until_ms;
}

bool hl_rest_demand_span(struct hl_rest_call *call, int64_t *since_ms, int64_t *until_ms)
{
    bool is_until = call->params.until_ms > 0;
    if (hl_rest_read_span(call, HOUR_MS, since_ms, until_ms))
        return true;
    hl_rest_refuse_saying(call, HL_REFUSAL_QUERY_VALUE, is_until ? "until" : "since",
        is_until ? "after since, within the retention" : "a time in the past", NULL);
    return false;
}

/* Beyond the last whole weeks. */
int64_t hl_rest_step_for(int64_t span_ms, int64_t least_ms)
{
    static const int64_t seconds[] = {1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200,
        10800, 21600, 43200, 86400, 604800};
    int64_t most = HL_REST_POINTS - 1; /* the first may begin before the span */
    for (size_t i = 0; i < HL_ARRAY_LEN(seconds); i++)
        if (seconds[i] * SECOND_MS >= least_ms && span_ms <= seconds[i] * SECOND_MS * most)
            return seconds[i] * SECOND_MS;
    int64_t week_ms = seconds[HL_ARRAY_LEN(seconds) - 1] * SECOND_MS;
    return (span_ms / (week_ms * most) + 1) * week_ms;
}
