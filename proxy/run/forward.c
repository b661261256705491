/* forward.c - source ─▶ app: a connection, the head, the body; and what the app's connection says.
 * Owns: the request half's state. Thread: the worker's.
 * Promise: nothing of the body is read from its source faster than the app takes it; a request is
 * sent a second time only when the first connection died before a byte of the answer and the
 * request allows it (contract 10).
 * Not here: the slot (admission.c), the app's answer (respond.c), how a run ends (ending.c). */
#include "run/forward.h"

#include <string.h>

#include "app/pool.h"
#include "app/readiness.h"
#include "app/upstream.h"
#include "app/visits.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/crash_point.h"
#include "base/log.h"
#include "caller/client.h"
#include "config/config.h"
#include "http/chunked.h"
#include "run/admission.h"
#include "run/call_span.h"
#include "run/ending.h"
#include "run/flow.h"
#include "run/page.h"
#include "run/report.h"
#include "run/respond.h"
#include "run/runs.h"
#include "run/service.h"
#include "run/stream.h"
#include "run/time_limit.h"
#include "store/claim.h"

static void on_timer(struct hl_timer *timer);
static bool is_blocked(const struct hl_run *run);

/* ---- a connection ---- */

/* Decided once, before the request goes out. A proxy must not repeat another method than an idempotent
 * one, whether there is a body or not (RFC 9110 9.2.2): a POST without one runs the app's function as
 * well. */
static enum hl_run_repeat find_repeat(const struct hl_run *run)
{
    bool stays_in_page = run->request.is_whole && !run->request.page.is_grown;
    return stays_in_page && hl_method_is_idempotent(run->request.method) ? HL_REPEAT_SAFE
                                                                         : HL_REPEAT_UNSENT;
}

static void on_upstream_event(void *owner, const struct hl_stream_event *event);
static bool send_again(struct hl_run *run, bool is_unsent);
static void stop_sending(struct hl_run *run);

static void resume_source(struct hl_run *run)
{
    if (run->client)
        hl_client_resume(run->client);
    else if (run->source)
        hl_source_go_on(run->source);
}

/* It could not be written; a long one over TLS perhaps in part. What the app said before it closed is an answer all
 * the same. */
static void lose_request(struct hl_run *run, bool is_unsent)
{
    if (send_again(run, is_unsent))
        return;
    if (!hl_stream_has_unread(&run->app.upstream->stream)) {
        hl_respond_end(run, false);
        return;
    }
    hl_progress_request(run, HL_REQUEST_SENDING);
    stop_sending(run);
    resume_source(run);
}

/* By GATHERING: it is too large to be kept until the answer. */
static void drop_grown_page(struct hl_run *run)
{
    if (run->request.page.is_grown)
        hl_page_drop(&run->request.page, &run->runs->pages);
}

/* The first write: the head, with the body bytes that were there. */
static void send_page(struct hl_run *run)
{
    struct hl_runs *runs = run->runs;
    bool is_whole = run->request.is_whole;
    hl_progress_stage(run, HL_STAGE_CALLING);
    hl_upstream_own(run->app.upstream, run, on_upstream_event);
    hl_timer_arm(runs->wheel, &run->timer, runs->config->app_head_timeout_ms);
    if (hl_run_is_async(run)) /* the wait for an app that starts has a bound of its own */
        hl_time_limit_begin(run);
    hl_time_limit_tell(run);
    hl_call_span_begin(run);
    HL_CRASH_POINT(CALL_READY);
    uint64_t before = run->app.upstream->stream.written;
    if (hl_stream_write(&run->app.upstream->stream, run->request.page.p, run->request.page.n) !=
        HL_OK) {
        lose_request(run, run->app.upstream->stream.written == before);
        return;
    }
    run->request.is_unsent = hl_stream_unsent(&run->app.upstream->stream) == run->request.page.n;
    HL_CRASH_POINT(CALL_WRITTEN);
    if (!run->request.is_unsent)
        drop_grown_page(run);
    hl_progress_request(run, is_whole ? HL_REQUEST_SENT : HL_REQUEST_SENDING);
    if (run->store.claimed)
        hl_body_fini(&run->store.claimed->body); /* it will not be given back any more */
    if (!is_whole || run->source)
        resume_source(run);
}

/* Why there is no connection: what happened to the process that we started explains more than what
 * happened to the connect. */
static const char *why_unreached(const struct hl_run *run)
{
    const struct hl_service *service = run->runs->service;
    if (service->config->app_command.n > 0 && !hl_readiness_is_ready(service->readiness))
        return hl_readiness_why(service->readiness);
    return hl_cause_text(run->app.wait.cause);
}

static void on_connection(struct hl_upstream_wait *wait, struct hl_upstream *upstream)
{
    struct hl_run *run = HL_CONTAINER_OF(wait, struct hl_run, app.wait);
    run->app.upstream = upstream;
    run->times.connect_us += hl_clock_mono_us() - run->times.connecting_from_us;
    run->times.connecting_from_us = 0;
    if (upstream) {
        hl_counter_add(&run->runs->metrics->upstream_connects, upstream->calls == 0);
        if (!hl_admission_ends_without_caller(run))
            send_page(run);
        return;
    }
    if (hl_gate_is_shut(run->runs->gate.gate)) {
        hl_admission_refuse_at_gate(run);
        return;
    }
    char detail[256];
    struct hl_refusal why =
        hl_refusal_say(detail, sizeof(detail), HL_REFUSAL_APP_UNREACHED, why_unreached(run), NULL);
    hl_ending_fail(run, HL_RUN_FAILURE, HL_REASON_UPSTREAM_UNREACHABLE, &why);
}

/* It is about to be. */
static void note_inside(struct hl_run *run)
{
    if (run->app.visit == 0)
        run->app.visit = hl_visits_enter(run->runs->visits, &run->id,
            run->times.started_us + (hl_run_is_async(run) ? 0 : run->times.queued_us));
}

static void connect_run(struct hl_run *run)
{
    struct hl_runs *runs = run->runs;
    if (runs->visits)
        note_inside(run);
    run->timer.on_fire = on_timer;
    if (!hl_run_is_async(run))
        hl_time_limit_begin(run);
    hl_progress_stage(run, HL_STAGE_CONNECTING);
    if (run->store.record == HL_RECORD_DUE && run->store.has_webhook)
        hl_report_begin(run); /* a webhook waits for it: now it begins */
    if (run->request.repeat != HL_REPEAT_SPENT) {
        run->request.repeat = find_repeat(run);
        run->app.upstream = hl_pool_take(&runs->pool, run->request.repeat == HL_REPEAT_SAFE);
    }
    if (run->app.upstream) {
        send_page(run);
        return;
    }
    run->times.connecting_from_us = hl_clock_mono_us();
    hl_upstream_wait_init(&run->app.wait, on_connection);
    hl_upstream_wait_begin(&run->app.wait, &runs->pool,
        hl_run_is_async(run) ? runs->config->app_start_timeout_ms
                             : runs->config->connect_timeout_ms);
}

void hl_forward_begin(struct hl_run *run)
{
    run->app.on_admitted = connect_run;
    hl_time_limit_wait(run);
    hl_admission_begin(run);
}

/* The connection was a kept one and died without a byte of an answer: once more on a new one, if
 * that is safe. `is_unsent`: the app got not a byte of the request, so it is. */
static bool send_again(struct hl_run *run, bool is_unsent)
{
    bool was_kept = run->request.page.p && run->app.upstream && run->app.upstream->calls > 0;
    bool is_safe = is_unsent || (run->request.repeat == HL_REPEAT_SAFE && !run->response.has_begun);
    if (!was_kept || run->request.repeat == HL_REPEAT_SPENT || !is_safe)
        return false;
    hl_upstream_close(run->app.upstream);
    run->app.upstream = NULL;
    hl_progress_request(run, HL_REQUEST_HELD);
    run->request.repeat = HL_REPEAT_SPENT;
    hl_counter_add(&run->runs->metrics->upstream_resent, 1);
    connect_run(run);
    return true;
}

/* ---- the app's events ---- */

/* The app has not got a byte of the request. While the page waits for the socket, nothing is written
 * behind it. */
static bool is_still_unsent(const struct hl_run *run)
{
    return run->request.is_unsent &&
           hl_stream_unsent(&run->app.upstream->stream) == run->request.page.n;
}

/* Bytes that came before the request left answer something else, an earlier call's above all. */
static void on_data(struct hl_run *run, struct hl_str bytes)
{
    if (!is_still_unsent(run))
        hl_respond_bytes(run, bytes.p, bytes.n);
    else if (!send_again(run, true))
        hl_ending_fail(
            run, HL_RUN_FAILURE, HL_REASON_BAD_RESPONSE, hl_refusal_make(HL_REFUSAL_APP_EARLY));
}

/* The app closed nothing: its machine does not answer. */
static bool is_vanished(const struct hl_run *run, const struct hl_stream_event *event)
{
    return !hl_run_is_tunnel(run) &&
           (event->error == UV_ETIMEDOUT || event->error == UV_EHOSTUNREACH);
}

static void lose_machine(struct hl_run *run)
{
    hl_ending_fail(
        run, HL_RUN_FAILURE, HL_REASON_UPSTREAM_RESET, hl_refusal_make(HL_REFUSAL_APP_VANISHED));
}

/* What the kernel has received of the answer is passed on first, however slowly the caller takes it. */
static void on_write_failed(struct hl_run *run)
{
    if (run->response.half == HL_RESPONSE_TUNNEL_HALF) {
        hl_respond_end(run, false);
        return;
    }
    if (run->request.half == HL_REQUEST_SENDING)
        stop_sending(run);
    resume_source(run);
}

static void on_upstream_event(void *owner, const struct hl_stream_event *event)
{
    struct hl_run *run = owner;
    switch (event->kind) {
    case HL_STREAM_DATA:
        hl_counter_add(&run->runs->pool.member.heard, 1);
        on_data(run, (struct hl_str){event->p, event->n});
        break;
    case HL_STREAM_DRAINED:
        run->request.is_unsent = false;
        drop_grown_page(run);
        resume_source(run);
        break;
    case HL_STREAM_WRITE_FAILED:
        on_write_failed(run);
        break;
    case HL_STREAM_EOF:
    case HL_STREAM_FAILED:
        if (run->app.upstream->calls > 0 && !run->response.has_begun)
            hl_upstream_distrust(run->app.upstream);
        if (send_again(run, is_still_unsent(run)))
            break;
        if (is_vanished(run, event))
            lose_machine(run);
        else
            hl_respond_end(run, event->kind == HL_STREAM_EOF);
        break;
    default:
        break;
    }
}

/* The app waits for the request's rest, not the caller for the app: that has a deadline of its own
 * (HOOKLINE_BODY_TIMEOUT, or the run's when the body comes from the disk). */
static bool is_app_waiting(const struct hl_run *run)
{
    return run->request.half == HL_REQUEST_SENDING && !is_blocked(run) &&
           !(run->client && run->client->owes_continue);
}

/* The one deadline of the present phase has passed. */
static void on_timer(struct hl_timer *timer)
{
    struct hl_run *run = HL_CONTAINER_OF(timer, struct hl_run, timer);
    if (hl_run_is_tunnel(run)) {
        hl_respond_end(run, true); /* the app has ended its side, the caller says nothing */
    } else if (hl_run_stream_holds_head(run)) {
        hl_respond_stop_holding(run);
    } else if (run->response.half == HL_RESPONSE_HEAD && is_app_waiting(run)) {
        hl_timer_arm(run->runs->wheel, &run->timer, run->runs->config->app_head_timeout_ms);
    } else if (run->response.half == HL_RESPONSE_HEAD) {
        hl_ending_fail(
            run, HL_RUN_FAILURE, HL_REASON_TIMEOUT, hl_refusal_make(HL_REFUSAL_APP_SILENT));
    } else if (run->response.half == HL_RESPONSE_BODY && run->response.is_event_stream) {
        hl_respond_beat(run);
    } else if (run->response.half == HL_RESPONSE_BODY && !run->app.upstream->stream.is_reading) {
        hl_timer_arm(/* it is we who pause */
            run->runs->wheel, &run->timer, run->runs->config->app_idle_timeout_ms);
    } else if (run->response.half == HL_RESPONSE_BODY) {
        hl_ending_fail(
            run, HL_RUN_FAILURE, HL_REASON_TIMEOUT, hl_refusal_make(HL_REFUSAL_APP_PAUSED));
    }
}

/* ---- the body ---- */

static bool is_blocked(const struct hl_run *run)
{
    if (run->request.half == HL_REQUEST_HELD)
        return run->stage != HL_STAGE_GATHERING;
    return run->request.half == HL_REQUEST_SENDING &&
           hl_stream_is_blocked(&run->app.upstream->stream);
}

/* The app stopped reading; its answer may be on the way (RFC 9112 9.5 and 9.6). */
static void stop_sending(struct hl_run *run)
{
    hl_progress_request(run, HL_REQUEST_BROKEN);
}

/* One chunk of ours: size line, data, CRLF. */
static enum hl_err write_chunk(struct hl_run *run, struct hl_str data)
{
    struct hl_runs *runs = run->runs;
    struct hl_stream *to = &run->app.upstream->stream;
    HL_ASSERT(data.n + HL_CHUNK_HEAD_MAX + 2 <= runs->scratch_cap);
    size_t n = hl_chunk_head_write(runs->scratch, data.n);
    memcpy(runs->scratch + n, data.p, data.n);
    n += data.n;
    memcpy(runs->scratch + n, "\r\n", 2);
    return hl_stream_write(to, runs->scratch, n + 2);
}

/* From the latest part of the request on; one that has come and is held has a bound of its own. */
static void await_head(struct hl_run *run)
{
    if (!hl_run_stream_holds_head(run))
        hl_timer_arm(run->runs->wheel, &run->timer, run->runs->config->app_head_timeout_ms);
}

static void on_body(void *owner, struct hl_str data)
{
    struct hl_run *run = owner;
    if (run->request.half == HL_REQUEST_BROKEN || data.n == 0)
        return;
    if (run->stage == HL_STAGE_GATHERING) {
        hl_admission_add(run, data);
        return;
    }
    struct hl_stream *to = &run->app.upstream->stream;
    enum hl_err err = !hl_run_is_tunnel(run) && run->request.framing == HL_FRAMING_CHUNKED
                          ? write_chunk(run, data)
                          : hl_stream_write(to, data.p, data.n);
    if (err != HL_OK && run->response.half == HL_RESPONSE_TUNNEL_HALF)
        hl_respond_end(run, false);
    else if (err != HL_OK)
        stop_sending(run);
    else if (run->response.half == HL_RESPONSE_HEAD)
        await_head(run);
    else if (run->response.half == HL_RESPONSE_TUNNEL_HALF)
        hl_timer_arm(run->runs->wheel, &run->timer, run->runs->config->body_timeout_ms);
}

static void on_body_end(void *owner, struct hl_str trailer)
{
    struct hl_run *run = owner;
    if (hl_run_is_tunnel(run)) {
        if (run->request.half != HL_REQUEST_BROKEN)
            hl_progress_request(run, HL_REQUEST_SENT);
        hl_stream_shutdown(&run->app.upstream->stream);
        if (run->response.half == HL_RESPONSE_TUNNEL_HALF)
            hl_respond_end(run, true);
        return;
    }
    run->request.is_whole = true;
    if (run->stage == HL_STAGE_GATHERING) {
        hl_admission_add_end(run, trailer);
        return;
    }
    if (run->request.half != HL_REQUEST_SENDING)
        return;
    struct hl_stream *to = &run->app.upstream->stream;
    enum hl_err err = HL_OK;
    if (run->request.framing == HL_FRAMING_CHUNKED)
        err = hl_stream_write2(to, HL_STR("0\r\n"), trailer);
    if (err == HL_OK && run->request.framing == HL_FRAMING_CHUNKED)
        err = hl_stream_write(to, "\r\n", 2);
    if (err == HL_OK)
        hl_progress_request(run, HL_REQUEST_SENT);
    else
        stop_sending(run);
    if (run->response.half == HL_RESPONSE_HEAD)
        await_head(run);
}

static bool is_source_blocked(void *owner)
{
    return is_blocked(owner);
}

/* ---- a caller ---- */

static void on_body_failed(void *owner, const struct hl_refusal *why)
{
    hl_ending_fail(owner, HL_RUN_CANCELLED, HL_REASON_NONE, why);
}

/* HOOKLINE_ON_CALLER_GONE=finish: it keeps its slot until the app has ended it. */
static bool ends_by_itself(const struct hl_run *run)
{
    bool is_inside = run->stage == HL_STAGE_CONNECTING || run->stage == HL_STAGE_CALLING;
    return run->runs->config->on_caller_gone == HL_CALLER_GONE_FINISH && is_inside;
}

/* The call ends, unless someone else waits for its response, or it is to end by itself. */
static void on_caller_gone(void *owner)
{
    struct hl_run *run = owner;
    hl_counter_add(&run->runs->metrics->callers_gone, 1);
    run->client = NULL;
    if (hl_run_has_ended(run))
        return;
    bool is_kept = run->terms.keeps_stream && hl_run_stream_goes_on(run);
    bool is_alone = !run->store.has_webhook && !is_kept;
    bool someone_waits =
        (!is_alone || ends_by_itself(run)) && run->request.is_whole && !hl_run_is_tunnel(run);
    if (someone_waits && !run->store.has_webhook)
        hl_time_limit_leave(run, run->runs->config->response_grace_period_ms);
    if (someone_waits)
        hl_flow_resume(run);
    else
        hl_ending_conclude(run, HL_RUN_CANCELLED, HL_REASON_NONE, false);
}

static void on_caller_drained(void *owner)
{
    hl_flow_resume(owner);
}

static bool needs_caller(void *owner)
{
    const struct hl_run *run = owner;
    bool is_kept = run->terms.keeps_stream && hl_run_stream_goes_on(run);
    return !run->store.has_webhook && !is_kept && !ends_by_itself(run);
}

const struct hl_taker hl_forward_taker = {.is_blocked = is_source_blocked,
    .body = on_body,
    .body_end = on_body_end,
    .failed = on_body_failed,
    .caller_gone = on_caller_gone,
    .drained = on_caller_drained,
    .needs_caller = needs_caller,
    .reads_long = true,
    .tells_failures = true};

/* ---- a stored body ---- */

static void on_unreadable(void *owner, enum hl_err err)
{
    struct hl_run *run = owner;
    HL_LOG(ERROR, "a stored request body cannot be read", HL_LOG_ID("run_id", &run->id),
        HL_LOG_TEXT("error", hl_err_text(err)));
    hl_ending_fail(run, HL_RUN_FAILURE, HL_REASON_INTERRUPTED,
        hl_refusal_make(HL_REFUSAL_STORED_BODY_UNREADABLE));
}

const struct hl_source_events hl_forward_source_events = {.is_blocked = is_source_blocked,
    .body = on_body,
    .body_end = on_body_end,
    .unreadable = on_unreadable};
