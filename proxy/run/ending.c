/* ending.c - all the ways in which a run ends: its response was whole, it failed, it was cancelled, the
 * worker is cut.
 * Owns: what a run is counted as. Thread: the worker's.
 * Promise: a run ends once; its caller is told what can still be told; slot and connection are given
 * back first; its memory stays until the end of the loop turn.
 * Not here: what the store is told (report.c). */
#include "run/ending.h"

#include "app/pool.h"
#include "app/upstream.h"
#include "app/visits.h"
#include "base/clock.h"
#include "base/log.h"
#include "body/source.h"
#include "body/spool.h"
#include "caller/client.h"
#include "caller/trouble.h"
#include "http/problem.h"
#include "run/retry.h"
#include "run/call_span.h"
#include "run/call_tally.h"
#include "run/demand.h"
#include "run/recent_run.h"
#include "run/report.h"
#include "run/runs.h"
#include "run/stream.h"
#include "store/claim.h"

/* Most wait for nothing, and have their answer wholly there with its head. */
static void count_waits(struct hl_run *run, enum hl_mode mode, uint64_t us)
{
    struct hl_worker_metrics *metrics = run->runs->metrics;
    if (run->times.waits_us > 0) {
        uint64_t waited_us = run->times.ended_us - run->times.waits_us;
        run->times.queued_us += waited_us;
        run->times.gate_us += hl_list_is_linked(&run->app.gate_wait.node) ? waited_us : 0;
    }
    if (run->times.queued_us > 0)
        hl_histogram_add(&metrics->queue_wait[mode], run->times.queued_us);
    else
        hl_histogram_add_zero(&metrics->queue_wait[mode]);
    if (run->response.status > 0)
        hl_histogram_add(&metrics->first_byte[mode],
            run->times.first_us > 0 ? run->times.first_us - run->times.started_us : us);
}

/* Inside the app, and before that; -1: it never came in. */
static int64_t run_us(const struct hl_run *run, enum hl_run_reason reason)
{
    if (run->times.waits_us > 0 || reason == HL_REASON_UPSTREAM_UNREACHABLE)
        return -1;
    uint64_t us = run->times.ended_us - run->times.started_us;
    return (int64_t)(hl_run_is_async(run) ? us : us - run->times.queued_us);
}

static int64_t queued_us(const struct hl_run *run)
{
    return run->times.waits_us > 0 ? -1 : (int64_t)run->times.queued_us;
}

/* How the time was spent, as far as it came. */
static struct hl_call_parts parts_of(const struct hl_run *run)
{
    const struct hl_run_times *t = &run->times;
    uint64_t connect_us = t->connect_us;
    if (t->connecting_from_us > 0)
        connect_us += t->ended_us - t->connecting_from_us;
    uint64_t sent_us = t->started_us + (hl_run_is_async(run) ? 0 : t->queued_us) + connect_us;
    uint64_t first_us = t->first_us > 0 ? t->first_us : t->ended_us;
    bool was_called = run->request.half != HL_REQUEST_HELD || connect_us > 0;
    return (struct hl_call_parts){.gate_us = (int64_t)t->gate_us,
        .connect_us = connect_us > 0 ? (int64_t)connect_us : was_called,
        .first_byte_us = run->response.status == 0 ? 0
                         : first_us > sent_us      ? (int64_t)(first_us - sent_us)
                                                   : 1};
}

/* What the store has no record of is told to it in numbers. A tunnel's time says nothing of the app. */
static void tally_end(
    struct hl_run *run, enum hl_run_state state, enum hl_run_reason reason, int64_t ms)
{
    const struct hl_recent_run *recent = hl_recent_of(run);
    if (!recent)
        return;
    struct hl_ended_call ended = {.project = hl_recent_project(recent),
        .app = hl_recent_app(recent),
        .state = state,
        .reason = reason,
        .finished_ms = recent->created_ms + ms,
        .run_us = run->response.status == 101 ? -1 : run_us(run, reason),
        .queued_us = queued_us(run)};
    hl_call_tally_add(&run->runs->tally, &ended);
}

static void count_end(
    struct hl_run *run, enum hl_run_state state, enum hl_run_reason reason, bool is_retried)
{
    struct hl_worker_metrics *metrics = run->runs->metrics;
    enum hl_mode mode = run->is_pass ? HL_MODE_OTHER : hl_run_mode(run);
    run->times.ended_us = hl_clock_mono_us();
    uint64_t us = run->times.ended_us - run->times.started_us;
    if (!is_retried)
        hl_counter_add(&metrics->runs_finished[mode][state], 1);
    count_waits(run, mode, us);
    tally_end(run, state, reason, (int64_t)(us / 1000));
    run->parts = parts_of(run);
    hl_recent_end(run, state, reason, (int64_t)(us / 1000));
    hl_call_span_end(run, state, reason);
    if (hl_run_is_async(run)) {
        hl_histogram_add(&metrics->run_duration, us);
        hl_counter_sub(&metrics->runs_in_flight, 1);
        return;
    }
    hl_counter_sub(&metrics->calls_in_flight, 1);
    if (run->response.is_counted_long)
        hl_run_uncount_long(run);
}

void hl_ending_leave_slot(struct hl_run *run)
{
    if (run->app.has_slot && !run->runs->is_cut) /* a cut worker starts nobody */
        hl_limiter_release(&run->runs->seat);
    run->app.has_slot = false;
}

static void note_outside(struct hl_run *run)
{
    hl_visits_leave(run->runs->visits, run->app.visit,
        run->times.ended_us > 0 ? run->times.ended_us : hl_clock_mono_us());
    run->app.visit = 0;
}

/* Gives back what the app's side used. */
static void leave_app(struct hl_run *run, bool is_reusable)
{
    struct hl_runs *runs = run->runs;
    hl_upstream_wait_cancel(&run->app.wait);
    if (hl_list_is_linked(&run->app.gate_wait.node)) {
        hl_gate_wait_cancel(&run->app.gate_wait);
        hl_counter_sub(&runs->metrics->waiting_at_gate, 1);
    }
    if (hl_list_is_linked(&run->app.slot_wait.node)) {
        hl_limiter_cancel(&runs->seat, &run->app.slot_wait);
        hl_counter_sub(&runs->metrics->waiting_for_slot, 1);
    }
    if (run->app.upstream && is_reusable)
        hl_pool_put(run->app.upstream);
    else if (run->app.upstream)
        hl_upstream_close(run->app.upstream);
    run->app.upstream = NULL;
    if (run->app.visit > 0)
        note_outside(run);
    hl_allowance_leave(&run->allowance);
    if (run->store.record == HL_RECORD_OPEN && hl_run_is_async(run))
        hl_demand_note_end(runs);
    hl_ending_leave_slot(run);
    hl_source_free(run->source);
    run->source = NULL;
    hl_timer_disarm(&run->timer);
    hl_timer_disarm(&run->deadline);
    hl_timer_disarm(&run->tee.look);
}

void hl_ending_abandon(struct hl_run *run)
{
    leave_app(run, false);
    hl_run_free(run);
}

/* How long it took. */
static int64_t duration_ms(const struct hl_run *run)
{
    return (int64_t)(run->times.ended_us - run->times.started_us) / 1000;
}

static void log_end(const struct hl_run *run)
{
    const struct hl_outcome *o = &run->store.finish->outcome;
    int64_t ms = duration_ms(run);
    struct hl_str tags = hl_run_tags(run);
    struct hl_log_field last = {.name = NULL};
    if (tags.n > 0)
        last = HL_LOG_STR("tags", tags);
    if (o->reason == HL_REASON_NONE)
        HL_LOG(INFO, "run finished", HL_LOG_ID("run_id", &run->id),
            HL_LOG_HEX("trace_id", hl_run_trace_id(run)),
            HL_LOG_TEXT("state", hl_run_state_text(o->state)), HL_LOG_INT("status", o->http_status),
            HL_LOG_INT("ms", ms), last);
    else
        HL_LOG(INFO, "run finished", HL_LOG_ID("run_id", &run->id),
            HL_LOG_HEX("trace_id", hl_run_trace_id(run)),
            HL_LOG_TEXT("state", hl_run_state_text(o->state)),
            HL_LOG_TEXT("reason", hl_run_reason_text(o->reason)),
            HL_LOG_INT("status", o->http_status), HL_LOG_INT("ms", ms), last);
}

void hl_ending_conclude(
    struct hl_run *run, enum hl_run_state state, enum hl_run_reason reason, bool is_reusable)
{
    if (hl_run_has_ended(run))
        return;
    uint64_t delay_ms;
    bool is_retried = hl_run_is_async(run) && hl_run_retry_is_due(run, state, reason, &delay_ms);
    hl_progress_stage(run, HL_STAGE_ENDED);
    hl_progress_response(run, HL_RESPONSE_DONE);
    count_end(run, state, reason, is_retried);
    leave_app(run, is_reusable);
    if (run->store.record != HL_RECORD_OPEN) {
        hl_run_free(run);
        return;
    }
    if (is_retried) {
        hl_run_stream_end(run, state, reason, true);
        hl_run_retry_put_off(run, reason, delay_ms);
        return;
    }
    struct hl_outcome *o = &run->store.finish->outcome;
    o->state = state;
    o->reason = reason;
    o->http_status = run->response.status;
    o->finished_ms = run->times.started_ms + duration_ms(run);
    o->parts = run->parts;
    run->store.finish->run_us = run_us(run, reason);
    run->store.finish->queued_us = queued_us(run);
    log_end(run);
    if (!run->spool) {
        hl_run_stream_end(run, state, reason, false);
        hl_report_end(run);
        return;
    }
    hl_progress_record(run, HL_RECORD_KEEPING);
    hl_spool_end(run->spool);
}

/* ---- before its response is whole ---- */

static void answer_caller(struct hl_run *run, const struct hl_refusal *why)
{
    struct hl_client *c = run->client;
    if (!c)
        return;
    run->client = NULL;
    /* The caller has seen a head: only the connection's end can tell it. */
    if (run->response.half != HL_RESPONSE_HEAD) {
        hl_client_call_done(c, false);
        return;
    }
    struct hl_answer answer = {.refusal = why,
        .run_id = &run->id,
        .extra_fields = run->terms.asks_keep ? "X-Run-Kept: false\r\n" : NULL};
    hl_client_answer(c, &answer, HL_MODE_SYNC);
}

static void note_trouble(
    struct hl_run *run, enum hl_run_reason reason, const struct hl_refusal *why)
{
    bool has_begun = run->response.half != HL_RESPONSE_HEAD;
    struct hl_trouble_case failed = {.what = has_begun ? "a response was cut" : "a call failed",
        .run_id = &run->id,
        .trace_id = hl_run_trace_id(run),
        .why = why,
        .reason = why->status == 429 ? NULL : hl_run_reason_text(reason)};
    if ((why->status == 502 || why->status == 504) && reason <= HL_REASON_BAD_RESPONSE)
        hl_counter_add(&run->runs->metrics->upstream_errors[reason], 1);
    hl_trouble_note(run->runs->trouble, &failed);
}

void hl_ending_fail(struct hl_run *run, enum hl_run_state state, enum hl_run_reason reason,
    const struct hl_refusal *why)
{
    if (hl_run_has_ended(run))
        return;
    HL_LOG(DEBUG, "call failed", HL_LOG_ID("run_id", &run->id),
        HL_LOG_HEX("trace_id", hl_run_trace_id(run)), HL_LOG_TEXT("detail", why->detail),
        HL_LOG_INT("status", why->status));
    if (state == HL_RUN_FAILURE)
        note_trouble(run, reason, why);
    hl_allowance_leave(&run->allowance); /* as in respond.c */
    answer_caller(run, why);
    hl_ending_conclude(run, state, reason, false);
}

void hl_ending_cancel(struct hl_run *run)
{
    hl_ending_fail(
        run, HL_RUN_CANCELLED, HL_REASON_NONE, hl_refusal_make(HL_REFUSAL_RUN_CANCELLED));
}
