/* respond.c - app ─▶ caller and spool: reads the app's answer and passes it on as it comes.
 * Owns: the response half's state. Thread: the worker's.
 * Promise: bytes leave in the loop turn in which they came, chunk by chunk, never joined, never
 * delayed; the caller's side comes first, the spool gets a view after it and cannot fail it; a slow
 * sink pauses the app's connection.
 * Not here: sending the request (forward.c), which sinks lag (flow.c), what follows a 101 (tunnel.c), what becomes of
 * the run (ending.c). */
#include "run/respond.h"

#include "app/upstream.h"
#include "base/clock.h"
#include "base/crash_point.h"
#include "base/log.h"
#include "caller/access.h"
#include "caller/client.h"
#include "config/config.h"
#include "http/edit.h"
#include "http/field_value.h"
#include "run/ending.h"
#include "run/flow.h"
#include "run/page.h"
#include "run/passage.h"
#include "run/recent_run.h"
#include "run/retry.h"
#include "run/runs.h"
#include "run/stream.h"
#include "run/stream_choice.h"
#include "run/tee.h"
#include "run/tunnel.h"

#define LONG_RESPONSE  (256 * 1024)
#define RECORD_WAIT_MS 5000 /* how long a kept stream's head waits for the store */

static void fail_bad_response(struct hl_run *run, const struct hl_refusal *why)
{
    hl_ending_fail(run, HL_RUN_FAILURE, HL_REASON_BAD_RESPONSE, why);
}

/* ---- the head ---- */

/* Each 1xx goes to a caller of HTTP/1.1, asked for or not; HTTP/1.0 does not know them (RFC
 * 9110 15.2). */
static bool pass_interim(struct hl_run *run, const struct hl_head *head)
{
    struct hl_client *c = run->client;
    if (head->status == 103 && hl_run_stream_take_progress(run, head))
        return true;
    if (!c || run->caller.minor == 0)
        return true;
    if (head->status == 100)
        c->owes_continue = false;
    struct hl_response_edit edit = {.run_id = &run->id, .caller_minor = run->caller.minor};
    struct hl_runs *runs = run->runs;
    size_t n = hl_edit_response(runs->scratch, runs->scratch_cap, head, &edit);
    if (n > 0 &&
        hl_client_write2(c, (struct hl_str){runs->scratch, n}, (struct hl_str){0}) != HL_OK)
        return !hl_run_has_ended(run); /* a webhook's run goes on without its caller */
    if (head->status == 100)
        hl_client_resume(c); /* HOOKLINE_BODY_TIMEOUT begins */
    return !hl_run_has_ended(run);
}

/* A comment is put where there is a caller whose framing has room for it, and the bytes are no code. */
static enum hl_run_beats find_beats(const struct hl_run *run, const struct hl_head *head)
{
    enum hl_framing framing = run->response.framing;
    bool may = run->client && run->response.is_event_stream &&
               run->runs->config->sse_heartbeat_ms > 0 &&
               (framing == HL_FRAMING_CHUNKED || framing == HL_FRAMING_UNTIL_CLOSE) &&
               !hl_head_field(head, HL_FIELD_CONTENT_ENCODING);
    return may ? HL_BEATS_ALLOWED : HL_BEATS_NONE;
}

/* For a caller at a front, who makes his own of it: what is between that one and him is not said yet. */
static bool keep_head(struct hl_run *run, const struct hl_head *head)
{
    struct hl_runs *runs = run->runs;
    const struct hl_response_edit edit = {.run_id = &run->id,
        .date = hl_date_now(runs->date),
        .caller_minor = 1,
        .is_head_request = run->request.method == HL_METHOD_HEAD,
        .is_event_stream = run->response.is_event_stream};
    struct hl_buf *kept = &run->store.finish->answer_head;
    size_t n = hl_edit_response(runs->scratch, runs->scratch_cap, head, &edit);
    kept->n = 0;
    if (n > 0 && hl_buf_append(kept, runs->scratch, n) == HL_OK)
        return true;
    fail_bad_response(run, hl_refusal_make(HL_REFUSAL_APP_HEAD_NOT_PASSED));
    return false;
}

static struct hl_response_edit edit_of(
    const struct hl_run *run, const struct hl_head *head, bool is_kept)
{
    const struct hl_client *c = run->client;
    bool is_event_stream = run->response.is_event_stream;
    return (struct hl_response_edit){
        .run_id = &run->id,
        .date = hl_date_now(run->runs->date),
        .caller_minor = run->caller.minor,
        .closes = hl_client_closes_after(c) && !head->is_websocket_upgrade,
        .is_head_request = run->request.method == HL_METHOD_HEAD,
        .is_event_stream = is_event_stream,
        .preference_applied = run->caller.is_preference_applied,
        .is_unkept =
            !is_kept && (run->terms.asks_keep || (run->terms.keeps_stream && is_event_stream)),
        .selects_own = run->caller.offers_hookline,
        .cors = c->cors,
        .framing = run->response.framing,
        .content_length = head->content_length,
        .wants_trailers = run->response.framing == HL_FRAMING_CHUNKED,
    };
}

/* The head as the caller gets it is in `pass`. False: it cannot be passed on, and the run has failed. */
static bool edit_for_caller(
    struct hl_run *run, const struct hl_head *head, bool is_kept, struct hl_passage *pass)
{
    struct hl_runs *runs = run->runs;
    struct hl_client *c = run->client;
    c->status = head->status;
    if (run->response.is_event_stream)
        c->mode = HL_MODE_STREAM;
    if (run->response.framing == HL_FRAMING_UNTIL_CLOSE)
        c->must_close = true;
    struct hl_response_edit edit = edit_of(run, head, is_kept);
    c->must_close = c->must_close || edit.closes;
    pass->out_n = hl_edit_response(runs->scratch, runs->scratch_cap, head, &edit);
    if (pass->out_n == 0)
        fail_bad_response(run, hl_refusal_make(HL_REFUSAL_APP_HEAD_NOT_PASSED));
    return pass->out_n > 0;
}

static void note_head(struct hl_run *run, const struct hl_head *head)
{
    const struct hl_field *type = hl_head_field(head, HL_FIELD_CONTENT_TYPE);
    run->response.status = head->status;
    run->response.size = head->framing == HL_FRAMING_LENGTH || head->framing == HL_FRAMING_NONE
                             ? run->response.messages.left
                             : HL_RECENT_UNKNOWN;
    run->response.keeps_connection = head->is_persistent;
    hl_upstream_note_head(run->app.upstream, head);
    run->response.is_event_stream = type && hl_is_event_stream(type->value);
}

/* The final head: everything about the response is decided here. */
static bool take_final_head(struct hl_run *run, const struct hl_head *head, struct hl_passage *pass)
{
    HL_CRASH_POINT(CALL_ANSWERED);
    note_head(run, head);
    bool is_kept = (run->stream || run->terms.keeps_stream) && hl_stream_choice_make(run, head);
    run->response.framing = hl_passage_framing(run, head);
    if (run->store.record == HL_RECORD_OPEN) {
        if (run->terms.has_caller && !keep_head(run, head))
            return false;
        hl_tee_begin(run, head, &hl_flow_spool_events);
        hl_run_retry_note(run, head);
    }
    if (is_kept && run->terms.has_caller)
        hl_stream_share_head(&run->stream->share);
    if (run->terms.keeps_stream && hl_run_stream_is_for_nobody(run)) {
        hl_ending_conclude(run, HL_RUN_CANCELLED, HL_REASON_NONE, false);
        return false;
    }
    if (run->request.half != HL_REQUEST_HELD)
        hl_page_drop(&run->request.page, &run->runs->pages);
    run->response.beats = find_beats(run, head);
    hl_sse_init(&run->response.sse);
    if (run->client && !edit_for_caller(run, head, is_kept, pass))
        return false;
    if (run->response.is_event_stream)
        hl_run_count_long(run);
    hl_progress_response(run, HL_RESPONSE_BODY);
    return true;
}

/* The answer goes on after the loop turn of its head. */
static void note_first_byte(struct hl_run *run)
{
    if (run->times.first_us == 0)
        run->times.first_us = hl_clock_mono_us();
}

/* It is read again when the store has answered; the app waits. */
static void hold_head(struct hl_run *run)
{
    hl_message_next(&run->response.messages);
    hl_stream_pause(&run->app.upstream->stream);
    hl_timer_arm(run->runs->wheel, &run->timer, RECORD_WAIT_MS);
}

/* Reads heads off p[0..n) until the final one. Returns false when the run is gone or more is
 * needed; else *used bytes were heads. */
static bool take_heads(
    struct hl_run *run, const char *p, size_t n, size_t *used, struct hl_passage *pass)
{
    struct hl_runs *runs = run->runs;
    struct hl_head *head = &runs->head;
    *used = 0;
    while (run->response.half == HL_RESPONSE_HEAD) {
        size_t before = *used;
        struct hl_str bytes = {p + before, n - before};
        struct hl_refusal fault;
        enum hl_message_event event = hl_message_read_response(&run->response.messages, &bytes,
            run->request.method, run->caller.is_websocket, head, &fault);
        if (event == HL_MESSAGE_FAULT)
            fail_bad_response(run, &fault);
        if (event != HL_MESSAGE_HEAD)
            return false;
        *used = n - bytes.n;
        bool is_interim = head->status < 200 && head->status != 101;
        if (!is_interim && run->terms.keeps_stream && hl_stream_choice_waits(run, head)) {
            *used = before;
            hold_head(run);
            return false;
        }
        if (is_interim ? !pass_interim(run, head) : !take_final_head(run, head, pass))
            return false;
    }
    return true;
}

/* ---- the body ---- */

/* In an event stream: until the next comment, or the end of its patience. 0: nothing is waited for. */
static uint64_t stream_wait_ms(const struct hl_run *run)
{
    const struct hl_config *config = run->runs->config;
    uint64_t beat_ms = run->response.beats ? config->sse_heartbeat_ms : 0;
    uint64_t idle_ms = config->stream_idle_timeout_ms;
    if (idle_ms == 0)
        return beat_ms;
    uint64_t silent_ms = uv_now(run->runs->loop) - run->response.heard_ms;
    uint64_t left_ms = silent_ms < idle_ms ? idle_ms - silent_ms : 1;
    return beat_ms > 0 && beat_ms < left_ms ? beat_ms : left_ms;
}

static void arm_idle(struct hl_run *run)
{
    struct hl_runs *runs = run->runs;
    uint64_t ms =
        run->response.is_event_stream ? stream_wait_ms(run) : runs->config->app_idle_timeout_ms;
    if (ms > 0)
        hl_timer_arm(runs->wheel, &run->timer, ms);
    else
        hl_timer_disarm(&run->timer);
}

enum body_state { BODY_MORE, BODY_END, BODY_GONE };

/* Reads grow while much is still to come that goes to the caller alone. */
static bool pass_data(struct hl_run *run, struct hl_str data, struct hl_passage *pass)
{
    if (!hl_passage_add(run, pass, data))
        return false;
    if (run->response.messages.left > 0 && run->response.messages.left + data.n > LONG_RESPONSE &&
        !run->spool)
        run->app.upstream->stream.read_size = HL_READ_SIZE_LONG;
    return true;
}

/* A stream with ids is chunked although the app said how long its own would be. */
static enum body_state end_body(struct hl_run *run, struct hl_passage *pass)
{
    struct hl_str trailer = {NULL, 0};
    if (run->response.messages.framing == HL_FRAMING_CHUNKED)
        trailer = hl_message_trailer(&run->response.messages);
    else if (!hl_run_stream_adds_ids(run))
        return BODY_END;
    return hl_passage_add_end(run, pass, trailer) ? BODY_END : BODY_GONE;
}

static enum body_state take_body(struct hl_run *run, struct hl_str *bytes, struct hl_passage *pass)
{
    struct hl_str data;
    struct hl_refusal fault;
    for (;;) {
        switch (hl_message_read_body(&run->response.messages, bytes, &data, &fault)) {
        case HL_MESSAGE_DATA:
            if (!pass_data(run, data, pass))
                return BODY_GONE;
            break;
        case HL_MESSAGE_END:
            return end_body(run, pass);
        case HL_MESSAGE_FAULT:
            if (hl_passage_flush(run, pass))
                fail_bad_response(run, &fault);
            return BODY_GONE;
        default:
            return BODY_MORE;
        }
    }
}

/* The response is wholly there. `extra`: bytes came behind it, so the connection cannot be trusted.
 */
static void complete(struct hl_run *run, bool has_extra)
{
    struct hl_client *c = run->client;
    bool is_reusable =
        run->response.keeps_connection && run->request.half == HL_REQUEST_SENT && !has_extra;
    enum hl_run_state state = run->response.status < 400 ? HL_RUN_SUCCESS : HL_RUN_FAILURE;
    enum hl_run_reason reason = run->response.status < 400 ? HL_REASON_NONE : HL_REASON_APP_ERROR;
    run->client = NULL;
    hl_ending_conclude(run, state, reason, is_reusable);
    if (!c)
        return;
    c->ended_us = run->times.ended_us;
    hl_client_call_done(c, true);
}

static void pass_body(struct hl_run *run, const char *p, size_t n, struct hl_passage *pass)
{
    struct hl_str bytes = {p, n};
    enum body_state state = take_body(run, &bytes, pass);
    if (state == BODY_END)
        hl_allowance_leave(&run->allowance); /* before the caller can know, and call again */
    if (state == BODY_GONE || !hl_passage_flush(run, pass))
        return;
    if (run->stream)
        hl_run_stream_note(run);
    if (state != BODY_END && run->terms.keeps_stream && hl_run_stream_is_for_nobody(run)) {
        hl_ending_conclude(run, HL_RUN_CANCELLED, HL_REASON_NONE, false);
        return;
    }
    if (state == BODY_END) {
        complete(run, bytes.n > 0);
        return;
    }
    note_first_byte(run);
    run->response.heard_ms = uv_now(run->runs->loop);
    arm_idle(run);
    hl_flow_pause(run);
}

/* p[0..n) begins where the response stands. Returns how many bytes at its end are an incomplete
 * head. */
static size_t respond(struct hl_run *run, const char *p, size_t n)
{
    struct hl_passage pass;
    hl_passage_init(&pass);
    size_t used = 0;
    if (run->response.half == HL_RESPONSE_HEAD && !take_heads(run, p, n, &used, &pass)) {
        if (run->response.half != HL_RESPONSE_HEAD)
            return 0;
        hl_flow_pause(run); /* 1xx without end to a caller that reads none */
        return n - used;
    }
    if (run->response.status != 101) {
        pass_body(run, p + used, n - used, &pass);
        return 0;
    }
    if (!hl_run_is_tunnel(run)) {
        note_first_byte(run);
        if (!hl_tunnel_begin(run, &pass))
            return 0;
    }
    hl_tunnel_pass(run, p + used, n - used);
    return 0;
}

/* Those that the run holds, and what came behind them. */
static void respond_held(struct hl_run *run, struct hl_buf *held)
{
    size_t rest = respond(run, held->p, held->n);
    hl_buf_drop(held, held->n - rest);
    if (rest > 0)
        run->response.held = *held;
    else
        hl_buf_fini(held);
}

void hl_respond_take_held(struct hl_run *run)
{
    struct hl_buf held = run->response.held;
    hl_buf_init(&run->response.held, 0);
    respond_held(run, &held);
    hl_flow_resume(run);
}

void hl_respond_stop_holding(struct hl_run *run)
{
    HL_LOG(WARN, "an event stream is not kept: the store does not answer",
        HL_LOG_ID("run_id", &run->id));
    if (hl_run_stream_settle(run, HL_STREAM_REFUSED))
        hl_respond_take_held(run);
}

void hl_respond_bytes(struct hl_run *run, const char *p, size_t n)
{
    run->response.has_begun = true;
    struct hl_buf held = run->response.held;
    hl_buf_init(&run->response.held, 0);
    enum hl_err err = HL_OK;
    if (held.n > 0) {
        err = hl_buf_append(&held, p, n);
        if (err == HL_OK)
            respond_held(run, &held);
        else
            hl_buf_fini(&held);
    } else {
        size_t rest = respond(run, p, n);
        if (rest > 0)
            err = hl_buf_append(&run->response.held, p + n - rest, rest);
    }
    if (err != HL_OK)
        fail_bad_response(run, hl_refusal_make(HL_REFUSAL_NO_MEMORY));
}

/* ---- the end of the app's side ---- */

void hl_respond_end(struct hl_run *run, bool is_clean)
{
    if (hl_run_is_tunnel(run)) {
        hl_tunnel_end(run, is_clean);
        return;
    }
    bool is_end = is_clean && run->response.half == HL_RESPONSE_BODY &&
                  run->response.messages.framing == HL_FRAMING_UNTIL_CLOSE;
    if (is_end) {
        struct hl_passage pass;
        hl_passage_init(&pass);
        if (hl_passage_add_end(run, &pass, (struct hl_str){NULL, 0}) &&
            hl_passage_flush(run, &pass))
            complete(run, false);
        return;
    }
    hl_ending_fail(run, HL_RUN_FAILURE, HL_REASON_UPSTREAM_RESET,
        hl_refusal_make(run->response.half == HL_RESPONSE_HEAD ? HL_REFUSAL_APP_CLOSED
                                                               : HL_REFUSAL_APP_CLOSED_INSIDE));
}

/* ---- heartbeat ---- */

/* While it is we who pause, nobody knows. */
static bool is_stream_silent(struct hl_run *run)
{
    uint64_t idle_ms = run->runs->config->stream_idle_timeout_ms, now = uv_now(run->runs->loop);
    if (!run->app.upstream->stream.is_reading)
        run->response.heard_ms = now;
    return idle_ms > 0 && now - run->response.heard_ms >= idle_ms;
}

void hl_respond_beat(struct hl_run *run)
{
    struct hl_client *c = run->client;
    static const struct hl_str chunk = {"e\r\n: keep-alive\n\n\r\n", 19};
    static const struct hl_str plain = {": keep-alive\n\n", 14};
    if (is_stream_silent(run)) {
        hl_ending_fail(
            run, HL_RUN_FAILURE, HL_REASON_TIMEOUT, hl_refusal_make(HL_REFUSAL_APP_STREAM_SILENT));
        return;
    }
    arm_idle(run);
    if (!c || !run->response.beats || hl_stream_is_blocked(&c->stream) ||
        !hl_sse_is_between_events(&run->response.sse))
        return;
    hl_access_add(c, plain.n);
    if (hl_sse_is_before_first_byte(&run->response.sse))
        run->response.beats = HL_BEATS_FIRST;
    struct hl_str beat = run->response.framing == HL_FRAMING_CHUNKED ? chunk : plain;
    if (hl_client_write2(c, beat, (struct hl_str){NULL, 0}) == HL_OK)
        hl_flow_pause(run);
}
