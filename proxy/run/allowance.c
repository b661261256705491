/* allowance.c - see allowance.h.
 * Promise: what is taken is given back once; a caller whose account has no limits never comes here.
 * Not here: max_queued, which the store counts (store/backlog.c). */
#include "run/allowance.h"

#include <stdio.h>

#include "base/clock.h"
#include "route/plan.h"

static bool take_place(struct hl_allowance *a)
{
    a->has_place = hl_quota_enter(a->quota);
    return a->has_place;
}

enum hl_allowance_verdict hl_allowance_take(
    struct hl_allowance *a, struct hl_quota *quota, const struct hl_plan *plan, enum hl_limit *hit)
{
    *a = (struct hl_allowance){.quota = quota};
    uint64_t now_ms = hl_clock_mono_ms();
    if (!plan->is_async && !take_place(a)) {
        *hit = HL_LIMIT_MAX_RUNNING;
        return hl_quota_may_have_more(quota, now_ms) ? HL_ALLOWANCE_LATER : HL_ALLOWANCE_REFUSED;
    }
    enum hl_quota_count count = hl_quota_count(quota, now_ms);
    a->is_counted = count == HL_QUOTA_COUNTED;
    a->is_over = count == HL_QUOTA_OVER;
    if (a->is_counted || (a->is_over && plan->idempotency_key.n > 0))
        return HL_ALLOWANCE_TAKEN;
    *hit = HL_LIMIT_RATE;
    hl_allowance_leave(a);
    return a->is_over ? HL_ALLOWANCE_REFUSED : HL_ALLOWANCE_LATER;
}

void hl_allowance_undo(struct hl_allowance *a)
{
    hl_allowance_leave(a);
    if (a->is_counted)
        hl_quota_uncount(a->quota, hl_clock_mono_ms());
    a->is_counted = false;
}

/* ---- refusing ---- */

static const struct {
    enum hl_refusal_cause cause;
    const char *policy;
} rows[] = {
    [HL_LIMIT_MAX_RUNNING] = {HL_REFUSAL_ACCOUNT_RUNNING, "max_running"},
    [HL_LIMIT_MAX_QUEUED] = {HL_REFUSAL_ACCOUNT_QUEUED, "max_queued"},
    [HL_LIMIT_RATE] = {HL_REFUSAL_ACCOUNT_CALLS, "default"},
};

struct hl_refusal hl_allowance_refusal(
    const struct hl_quota *quota, enum hl_limit limit, struct hl_allowance_room *room)
{
    struct hl_quota_hit hit = hl_quota_look(quota, limit, hl_clock_mono_ms());
    struct hl_rate_limit fields = {.policy = rows[limit].policy,
        .quota = hit.max,
        .window_s = hit.window_s,
        .wait_s = hit.wait_s};
    char max[HL_RATE_TEXT];
    if (limit == HL_LIMIT_RATE)
        hl_rate_format((struct hl_rate){.count = hit.max, .window_s = hit.window_s}, max);
    else
        snprintf(max, sizeof(max), "%u", (unsigned)hit.max);
    struct hl_refusal why =
        hl_refusal_say(room->detail, sizeof(room->detail), rows[limit].cause, max, NULL);
    hl_rate_limit_write(room->fields, &fields);
    why.fields = room->fields;
    if (hit.wait_s > 0)
        why.retry_s = hit.wait_s;
    return why;
}
