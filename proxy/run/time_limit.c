/* time_limit.c - see time_limit.h.
 * Owns: the run's `deadline`.
 * Promise: a limit is never reached early; the app is told the same end that is held to.
 * Not here: what the store does with runs that waited too long, silence (respond.c). */
#include "run/time_limit.h"

#include "base/clock.h"
#include "http/edit.h"
#include "run/ending.h"
#include "run/runs.h"

static void on_expired(struct hl_timer *timer)
{
    struct hl_run *run = HL_CONTAINER_OF(timer, struct hl_run, deadline);
    hl_ending_fail(
        run, HL_RUN_FAILURE, HL_REASON_EXPIRED, hl_refusal_make(HL_REFUSAL_CALL_EXPIRED));
}

static void on_late(struct hl_timer *timer)
{
    struct hl_run *run = HL_CONTAINER_OF(timer, struct hl_run, deadline);
    hl_ending_fail(run, HL_RUN_FAILURE, HL_REASON_TIMEOUT,
        hl_refusal_make(hl_run_is_async(run) ? HL_REFUSAL_RUN_TOO_LONG : HL_REFUSAL_CALL_TOO_LONG));
}

void hl_time_limit_arm_wait(struct hl_run *run)
{
    run->deadline.on_fire = on_expired;
    hl_timer_arm(run->runs->wheel, &run->deadline, run->terms.start_timeout_ms);
}

void hl_time_limit_arm(struct hl_run *run)
{
    bool goes_on = run->deadline.on_fire == on_late;
    if (goes_on)
        return;
    hl_timer_disarm(&run->deadline);
    if (run->terms.timeout_ms == 0)
        return;
    run->deadline.on_fire = on_late;
    hl_timer_arm(run->runs->wheel, &run->deadline, run->terms.timeout_ms);
}

void hl_time_limit_leave(struct hl_run *run, uint64_t ms)
{
    struct hl_runs *runs = run->runs;
    uint64_t spent_ms = (hl_clock_mono_us() - run->times.started_us) / 1000;
    uint64_t left_ms = spent_ms < ms ? ms - spent_ms : 1;
    bool is_sooner = run->deadline.on_fire == on_late && hl_timer_is_armed(&run->deadline) &&
                     run->deadline.deadline <= uv_now(runs->loop) + left_ms;
    if (run->terms.timeout_ms == 0 || run->terms.timeout_ms > left_ms)
        run->terms.timeout_ms = left_ms;
    if (run->stage < HL_STAGE_CONNECTING || is_sooner)
        return;
    run->deadline.on_fire = on_late;
    hl_timer_arm(runs->wheel, &run->deadline, left_ms);
}

void hl_time_limit_write(struct hl_run *run)
{
    if (!hl_timer_is_armed(&run->deadline))
        return;
    int64_t left_ms = (int64_t)(run->deadline.deadline - uv_now(run->runs->loop));
    hl_edit_set_deadline(
        run->request.page.p + run->request.page.deadline_at, hl_clock_wall_ms() + left_ms);
}
