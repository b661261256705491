/* admission.c - the gate of the app, and a slot of it, for a call (contract 7 and 10).
 * Owns: the waits for them. Thread: the worker's.
 * Promise: nobody waits longer than HOOKLINE_CONNECT_TIMEOUT for the gate (HOOKLINE_APP_WAKE_TIMEOUT where the app
 * slept) and HOOKLINE_APP_QUEUE_TIMEOUT for a slot, and no more than HOOKLINE_APP_QUEUE do; who sends slowly, or waits
 * for the gate, has no slot.
 * Not here: when the gate is open (app/gate.c), how slots are counted (app/limiter.c), the body's page
 * (page.c), the caller's silence (client.c: HOOKLINE_BODY_TIMEOUT). */
#include "run/admission.h"

#include "app/readiness.h"
#include "base/clock.h"
#include "caller/client.h"
#include "caller/departure.h"
#include "config/config.h"
#include "run/ending.h"
#include "run/run.h"
#include "run/runs.h"
#include "run/service.h"

#define GATHER_MAX (256 * 1024)

bool hl_admission_ends_without_caller(struct hl_run *run)
{
    if (!run->client || !hl_client_has_left(run->client))
        return false;
    hl_client_lose(run->client);
    return true;
}

static void admit(struct hl_run *run)
{
    run->app.has_slot = true;
    run->app.on_admitted(run);
}

static void refuse(struct hl_run *run, enum hl_refusal_cause cause)
{
    hl_ending_fail(run, HL_RUN_FAILURE, HL_REASON_UPSTREAM_UNREACHABLE, hl_refusal_make(cause));
}

static void begin_wait(struct hl_run *run)
{
    run->times.waits_us = hl_clock_mono_us();
}

/* How long it was. */
static uint64_t end_wait(struct hl_run *run)
{
    uint64_t us = hl_clock_mono_us() - run->times.waits_us;
    run->times.queued_us += us;
    run->times.waits_us = 0;
    return us;
}

/* ---- the gate ---- */

static void ask(struct hl_run *run);

static void on_open(struct hl_gate_wait *wait)
{
    struct hl_run *run = HL_CONTAINER_OF(wait, struct hl_run, app.gate_wait);
    hl_counter_sub(&run->runs->metrics->waiting_at_gate, 1);
    run->times.gate_us += end_wait(run);
    hl_timer_disarm(&run->timer);
    if (!hl_admission_ends_without_caller(run))
        ask(run);
}

static void on_gate_timeout(struct hl_timer *timer)
{
    hl_admission_refuse_at_gate(HL_CONTAINER_OF(timer, struct hl_run, timer));
}

static void wait_at_gate(struct hl_run *run)
{
    struct hl_runs *runs = run->runs;
    struct hl_gate *gate = runs->gate.gate;
    hl_progress_stage(run, HL_STAGE_AT_GATE);
    begin_wait(run);
    run->timer.on_fire = on_gate_timeout;
    hl_timer_arm(runs->wheel, &run->timer,
        hl_gate_has_slept(gate) ? runs->config->app_wake_timeout_ms
                                : runs->config->connect_timeout_ms);
    hl_counter_add(&runs->metrics->waiting_at_gate, 1);
    hl_gate_wait_begin(&run->app.gate_wait, &runs->gate, on_open);
    if (hl_gate_is_asleep(gate))
        hl_gate_knock(gate);
}

void hl_admission_refuse_at_gate(struct hl_run *run)
{
    const struct hl_readiness *readiness = run->runs->service->readiness;
    bool has_slept = hl_gate_has_slept(run->runs->gate.gate);
    char detail[384];
    struct hl_refusal why = hl_refusal_say(detail, sizeof(detail),
        has_slept ? HL_REFUSAL_APP_WAKING : HL_REFUSAL_APP_GATE, hl_readiness_why(readiness), NULL);
    hl_ending_fail(run, HL_RUN_FAILURE, HL_REASON_UPSTREAM_UNREACHABLE, &why);
}

/* ---- the queue ---- */

static bool on_slot(struct hl_limiter_wait *wait)
{
    struct hl_run *run = HL_CONTAINER_OF(wait, struct hl_run, app.slot_wait);
    hl_counter_sub(&run->runs->metrics->waiting_for_slot, 1);
    (void)end_wait(run);
    if (hl_admission_ends_without_caller(run))
        return false;
    hl_timer_disarm(&run->timer);
    if (hl_gate_is_shut(run->runs->gate.gate)) {
        wait_at_gate(run);
        return false;
    }
    hl_recent_admit(run, (int64_t)(hl_clock_mono_us() - run->times.started_us) / 1000);
    admit(run);
    return true;
}

static void on_timeout(struct hl_timer *timer)
{
    refuse(HL_CONTAINER_OF(timer, struct hl_run, timer), HL_REFUSAL_APP_BUSY);
}

static void queue_up(struct hl_run *run)
{
    struct hl_runs *runs = run->runs;
    hl_progress_stage(run, HL_STAGE_QUEUED);
    begin_wait(run);
    hl_recent_wait(run);
    run->app.slot_wait.on_slot = on_slot;
    run->timer.on_fire = on_timeout;
    hl_timer_arm(runs->wheel, &run->timer, runs->config->app_queue_timeout_ms);
    hl_counter_add(&runs->metrics->waiting_for_slot, 1);
    if (hl_limiter_queue(&runs->seat, &run->app.slot_wait, HL_LIMITER_CALLER))
        return;
    hl_counter_sub(&runs->metrics->waiting_for_slot, 1);
    refuse(run, HL_REFUSAL_APP_QUEUE_FULL);
}

static void ask(struct hl_run *run)
{
    if (hl_gate_is_shut(run->runs->gate.gate))
        wait_at_gate(run);
    else if (hl_limiter_try(&run->runs->seat, HL_LIMITER_CALLER))
        admit(run);
    else
        queue_up(run);
}

/* ---- the body first ---- */

/* The caller who waits for a word is told to send it. */
static void begin_gathering(struct hl_run *run)
{
    if (hl_limiter_is_full(&run->runs->seat)) {
        refuse(run, HL_REFUSAL_APP_QUEUE_FULL);
        return;
    }
    hl_progress_stage(run, HL_STAGE_GATHERING);
    enum hl_err err = hl_client_say_continue(run->client);
    (void)err; /* a caller that has gone has ended the run */
}

static void end_for_memory(struct hl_run *run)
{
    hl_ending_fail(run, HL_RUN_CANCELLED, HL_REASON_NONE, hl_refusal_make(HL_REFUSAL_NO_MEMORY));
}

bool hl_admission_has_enough(const struct hl_run *run)
{
    return run->client->body_seen >= GATHER_MAX;
}

void hl_admission_add(struct hl_run *run, struct hl_str data)
{
    struct hl_run_request *r = &run->request;
    if (!hl_page_add_body(&r->page, &run->runs->pages, r->framing, data))
        end_for_memory(run);
    else if (hl_admission_has_enough(run))
        ask(run);
}

void hl_admission_add_end(struct hl_run *run, struct hl_str trailer)
{
    struct hl_run_request *r = &run->request;
    if (hl_page_add_end(&r->page, &run->runs->pages, r->framing, trailer))
        ask(run);
    else
        end_for_memory(run);
}

bool hl_admission_needs_body(const struct hl_run *run)
{
    return run->runs->config->app_concurrency > 0 && run->client && !run->request.is_whole;
}

void hl_admission_begin(struct hl_run *run)
{
    if (run->app.has_slot)
        admit(run);
    else if (hl_admission_needs_body(run))
        begin_gathering(run);
    else
        ask(run);
}
