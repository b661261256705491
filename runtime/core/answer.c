/* answer.c - a call's answer: a value, bytes, a problem, or values one by one; and the end of a call.
 * Thread: the one that has taken the call.
 * Promise: an answer leaves with the call's release, in one message; nothing here waits but
 * call_send.
 * Not here: the bytes' way to the socket (connection.c). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/utf8.h"
#include "core/call.h"
#include "core/call_inside.h"
#include "core/connection.h"
#include "core/desk.h"
#include "core/fork.h"
#include "core/output.h"
#include "core/server.h"
#include "http/body_check.h"
#include "http/byte.h"
#include "http/chunked.h"
#include "http/problem.h"

#define HEAD_MAX     1024 /* an answer's head without its Content-Type */
#define TYPE_MAX     256
#define DETAIL_MAX   1500 /* as the inside of a JSON string: a problem has room for 2,048 in all */
#define ENVELOPE_MAX 128

/* ---- pieces ---- */

/* Sends it, after waiting until less than a window is unsent. Takes the piece. */
static enum hl_err call_send(struct hl_call *call, struct hl_piece *piece)
{
    if (hl_fork_is_child()) { /* the caller is the parent's, and so is the loop */
        free(piece);
        return HL_ERR_CANCELLED;
    }
    pthread_mutex_lock(&call->lock);
    while (call->unsent > HL_CALL_WINDOW && !hl_call_is_gone(call))
        pthread_cond_wait(&call->changed, &call->lock);
    bool is_gone = hl_call_is_gone(call);
    if (!is_gone) {
        call->unsent += piece->n;
        call->has_begun = true;
    }
    pthread_mutex_unlock(&call->lock);
    if (is_gone) {
        free(piece);
        return HL_ERR_CANCELLED;
    }
    piece->connection = call->connection;
    hl_mailbox_post(&call->desk->mail.box, &piece->msg);
    return HL_OK;
}

/* Puts it on the call as its last. Takes the piece; NULL is HL_ERR_NOMEM. */
static enum hl_err call_finish(
    struct hl_call *call, struct hl_piece *piece, enum hl_piece_end end, enum hl_call_stage stage)
{
    free(call->last);
    call->last = piece;
    call->stage = stage;
    if (!piece)
        return HL_ERR_NOMEM;
    piece->end = end;
    return hl_call_is_gone(call) ? HL_ERR_CANCELLED : HL_OK;
}

/* The head and the body of an answer as one piece, NULL when out of memory. Fills in what all of the
 * call's answers have in common. */
static struct hl_piece *call_write_answer(const struct hl_call *call, struct hl_answer *answer)
{
    size_t cap = HEAD_MAX + answer->content_type.n + (answer->refusal ? 2048 : answer->body.n);
    struct hl_piece *piece = hl_piece_new(cap);
    if (!piece)
        return NULL;
    answer->run_id = &call->run_id;
    answer->closes |=
        call->must_close || atomic_load_explicit(&call->desk->is_stopping, memory_order_relaxed);
    answer->is_head_request = call->is_head_request;
    answer->caller_minor = call->minor;
    answer->extra_fields =
        answer->is_stream ? "X-Accel-Buffering: no\r\n" HL_KEEP_ALIVE_FIELD : HL_KEEP_ALIVE_FIELD;
    piece->n = hl_answer_write(piece->bytes, cap, answer);
    if (piece->n > 0)
        return piece;
    free(piece);
    return NULL;
}

/* ---- answers ---- */

/* Final, and with a body; a 204 is one without. */
static bool is_status(uint16_t status)
{
    return status >= 200 && status <= 599 && status != 205 && status != 304;
}

static enum hl_err finish_with(
    struct hl_call *call, uint16_t status, struct hl_str type, struct hl_str body)
{
    call->status = status;
    struct hl_answer answer = {
        .status = status, .content_type = type, .body = status == 204 ? HL_STR("") : body};
    return call_finish(call, call_write_answer(call, &answer), HL_PIECE_LAST, HL_CALL_ANSWERED);
}

static enum hl_err finish_enveloped(struct hl_call *call, uint16_t status, struct hl_str json)
{
    char id[HL_ID_TEXT], head[ENVELOPE_MAX];
    hl_id_format(&call->run_id, id);
    int head_n = snprintf(head, sizeof(head),
        "{\"run_id\":\"%.*s\",\"run_time_ms\":%" PRIu64 ",\"result\":", HL_ID_TEXT, id,
        (hl_clock_mono_us() - call->taken_us) / 1000);
    struct hl_buf body;
    hl_buf_init(&body, 0);
    enum hl_err err = hl_buf_reserve(&body, (size_t)head_n + json.n + 1);
    if (err)
        return err;
    memcpy(body.p, head, (size_t)head_n);
    memcpy(body.p + head_n, json.p, json.n);
    body.n = (size_t)head_n + json.n;
    body.p[body.n++] = '}';
    err = finish_with(call, status, HL_STR("application/json"), hl_buf_str(&body));
    hl_buf_fini(&body);
    return err;
}

enum hl_err hl_call_answer_json(struct hl_call *call, uint16_t status, struct hl_str json)
{
    if (call->stage != HL_CALL_SILENT || !is_status(status))
        return HL_ERR_INVALID;
    if (call->desk->settings.has_envelope && status < 400)
        return finish_enveloped(call, status, json);
    return finish_with(call, status, HL_STR("application/json"), json);
}

/* What can stand as a field's value. */
static bool is_type(struct hl_str type)
{
    for (size_t i = 0; i < type.n; i++)
        if (!hl_byte_is(type.p[i], HL_BYTE_FIELD))
            return false;
    return type.n <= TYPE_MAX;
}

enum hl_err hl_call_answer_bytes(
    struct hl_call *call, uint16_t status, struct hl_str type, struct hl_str body)
{
    if (call->stage != HL_CALL_SILENT || !is_status(status) || !is_type(type))
        return HL_ERR_INVALID;
    return finish_with(call, status, type.n ? type : HL_STR("application/octet-stream"), body);
}

/* ---- problems ---- */

/* A text for a problem's detail: UTF-8, no NUL, and not too long once it is escaped. */
static void clean(char out[DETAIL_MAX + 1], struct hl_str text)
{
    size_t n = 0, cost = 0;
    while (text.n > 0) {
        uint32_t code;
        char escaped[6 * 4];
        size_t len = hl_utf8_decode(text.p, text.n, &code);
        struct hl_str shown = len && code ? (struct hl_str){text.p, len} : HL_STR("?");
        cost += hl_json_escape(escaped, shown.p, shown.n);
        if (cost > DETAIL_MAX)
            break;
        memcpy(out + n, shown.p, shown.n);
        n += shown.n;
        len = len ? len : 1;
        text.p += len;
        text.n -= len;
    }
    out[n] = '\0';
}

/* A part of a stream's body as one piece, in a chunk where the caller knows chunks; NULL when out of
 * memory. */
static struct hl_piece *call_write_chunk(const struct hl_call *call, struct hl_str bytes)
{
    struct hl_piece *piece = hl_piece_new(HL_CHUNK_HEAD_MAX + bytes.n + 2);
    if (!piece)
        return NULL;
    if (call->minor > 0)
        piece->n = hl_chunk_head_write(piece->bytes, bytes.n);
    memcpy(piece->bytes + piece->n, bytes.p, bytes.n);
    piece->n += bytes.n;
    if (call->minor > 0) {
        memcpy(piece->bytes + piece->n, "\r\n", 2);
        piece->n += 2;
    }
    return piece;
}

/* In a stream: an event of type "error" with the problem, then the cut. */
static struct hl_piece *write_error_event(const struct hl_call *call, const struct hl_refusal *why)
{
    char problem[2048], event[2048 + 32];
    size_t n = hl_problem_write(problem, sizeof(problem), why, &call->run_id);
    n = (size_t)snprintf(event, sizeof(event), "event: error\ndata: %.*s\n\n", (int)n, problem);
    return call_write_chunk(call, (struct hl_str){event, n});
}

static enum hl_err fail(struct hl_call *call, const struct hl_refusal *why)
{
    struct hl_answer answer = {.refusal = why};
    call->status = why->status;
    hl_buf_fini(&call->values);
    if (call->stage == HL_CALL_EVENTS)
        return call_finish(call, write_error_event(call, why), HL_PIECE_CUT, HL_CALL_DONE);
    return call_finish(call, call_write_answer(call, &answer), HL_PIECE_LAST, HL_CALL_ANSWERED);
}

enum hl_err hl_call_refuse(struct hl_call *call, const struct hl_refusal *why)
{
    char text[DETAIL_MAX + 1];
    struct hl_refusal clear = *why;
    if (call->stage == HL_CALL_DONE)
        return HL_ERR_INVALID;
    clean(text, hl_str_from(why->detail));
    clear.detail = text;
    return fail(call, &clear);
}

enum hl_err hl_call_fail(struct hl_call *call, uint16_t status, struct hl_str detail)
{
    char text[DETAIL_MAX + 1];
    struct hl_refusal why = {.status = status, .detail = text};
    if (call->stage == HL_CALL_DONE || status < 400 || status > 599)
        return HL_ERR_INVALID;
    clean(text, detail);
    return fail(call, &why);
}

/* ---- the end ---- */

void hl_call_release(struct hl_call *call)
{
    if (hl_fork_is_child())
        return; /* the parent releases it */
    if (call->stage < HL_CALL_ANSWERED)
        hl_call_refuse(call, hl_refusal_make(HL_REFUSAL_FUNCTION_NO_RESULT));
    struct hl_desk *desk = call->desk;
    HL_LOG(DEBUG, "call finished", HL_LOG_ID("run_id", &call->run_id),
        HL_LOG_TEXT("function", desk->directory.callees[call->callee].name),
        HL_LOG_INT("status", call->status),
        HL_LOG_INT("duration_ms", (hl_clock_mono_us() - call->taken_us) / 1000));
    hl_queue_leave(&desk->queue);
    hl_mailbox_post(&desk->mail.box, &call->released);
}

/* ---- a call's values one by one: events as they come, or one array of all. An event leaves at once, and while more
 * than a window of bytes waits for the caller the thread waits too; the array has the bound of a request's body ---- */

#define ESCAPED_AT_ONCE 4096 /* bytes of a text */

/* ---- events ---- */

static enum hl_err begin_events(struct hl_call *call)
{
    struct hl_answer answer = {.status = 200,
        .content_type = HL_STR("text/event-stream; charset=utf-8"),
        .cache_control = "no-cache",
        .closes = call->minor == 0,
        .is_stream = true};
    struct hl_piece *piece = call_write_answer(call, &answer);
    if (!piece)
        return HL_ERR_NOMEM;
    call->stage = HL_CALL_EVENTS;
    call->status = 200;
    return call_send(call, piece);
}

/* The next line of *rest, without its end: CRLF, LF or CR (WHATWG HTML 9.2.5). False at the end; a
 * text that ends with a line's end has an empty line after it. */
static bool next_line(struct hl_str *rest, struct hl_str *line)
{
    if (!rest->p)
        return false;
    size_t n = 0;
    while (n < rest->n && rest->p[n] != '\n' && rest->p[n] != '\r')
        n++;
    *line = (struct hl_str){rest->p, n};
    if (n == rest->n) {
        *rest = (struct hl_str){NULL, 0};
        return true;
    }
    n += rest->p[n] == '\r' && n + 1 < rest->n && rest->p[n + 1] == '\n' ? 2 : 1;
    rest->p += n;
    rest->n -= n;
    return true;
}

/* Each line as "data: line", then an empty one. */
static enum hl_err write_event(struct hl_buf *out, struct hl_str text)
{
    struct hl_str line;
    enum hl_err err = hl_buf_reserve(out, text.n + 16);
    while (!err && next_line(&text, &line)) {
        err = hl_buf_append_str(out, HL_STR("data: "));
        if (!err)
            err = hl_buf_append_str(out, line);
        if (!err)
            err = hl_buf_append(out, "\n", 1);
    }
    return err ? err : hl_buf_append(out, "\n", 1);
}

static enum hl_err send_event(struct hl_call *call, struct hl_str text)
{
    struct hl_buf event;
    hl_buf_init(&event, 0);
    enum hl_err err = write_event(&event, text.p ? text : HL_STR(""));
    struct hl_piece *piece = err ? NULL : call_write_chunk(call, hl_buf_str(&event));
    hl_buf_fini(&event);
    return piece ? call_send(call, piece) : HL_ERR_NOMEM;
}

/* ---- the array ---- */

static enum hl_err begin_value(struct hl_call *call)
{
    call->stage = HL_CALL_VALUES;
    return hl_buf_append(&call->values, call->values.n ? "," : "[", 1);
}

static enum hl_err add_json(struct hl_call *call, struct hl_str json)
{
    enum hl_err err = begin_value(call);
    return err ? err : hl_buf_append_str(&call->values, json);
}

static enum hl_err add_text(struct hl_call *call, struct hl_str text)
{
    char escaped[6 * ESCAPED_AT_ONCE];
    enum hl_err err = begin_value(call);
    if (!err)
        err = hl_buf_append(&call->values, "\"", 1);
    while (!err && text.n > 0) {
        size_t n = text.n < ESCAPED_AT_ONCE ? text.n : ESCAPED_AT_ONCE;
        err = hl_buf_append(&call->values, escaped, hl_json_escape(escaped, text.p, n));
        text.p += n;
        text.n -= n;
    }
    return err ? err : hl_buf_append(&call->values, "\"", 1);
}

/* ---- what the host calls ---- */

enum hl_err hl_call_begin(struct hl_call *call)
{
    if (call->stage >= HL_CALL_ANSWERED)
        return HL_ERR_INVALID;
    if (hl_call_is_gone(call))
        return HL_ERR_CANCELLED;
    if (!call->wants_events || call->stage == HL_CALL_EVENTS)
        return HL_OK;
    return begin_events(call);
}

/* A value that could not be kept or sent leaves a gap: what follows must not look whole. */
static enum hl_err emit(struct hl_call *call, struct hl_str value,
    enum hl_err (*add)(struct hl_call *call, struct hl_str value))
{
    enum hl_err err = call->gap ? call->gap : hl_call_begin(call);
    if (err)
        return err;
    err = call->wants_events ? send_event(call, value) : add(call, value);
    if (err && err != HL_ERR_CANCELLED)
        call->gap = err;
    return err;
}

enum hl_err hl_call_emit_json(struct hl_call *call, struct hl_str json)
{
    return emit(call, json, add_json);
}

enum hl_err hl_call_emit_text(struct hl_call *call, struct hl_str text)
{
    return hl_utf8_is_valid(text) ? emit(call, text, add_text) : HL_ERR_INVALID;
}

static enum hl_err end_events(struct hl_call *call)
{
    struct hl_piece *piece = hl_piece_new(5);
    if (piece && call->minor > 0) {
        memcpy(piece->bytes, "0\r\n\r\n", 5);
        piece->n = 5;
    }
    return call_finish(call, piece, HL_PIECE_LAST, HL_CALL_DONE);
}

/* Nobody gets values with a gap in them. */
static enum hl_err refuse_gap(struct hl_call *call)
{
    hl_call_refuse(
        call, hl_refusal_make(call->gap == HL_ERR_TOO_LARGE ? HL_REFUSAL_FUNCTION_VALUES_LONG
                                                            : HL_REFUSAL_FUNCTION_VALUES_MEMORY));
    return call->gap;
}

enum hl_err hl_call_end(struct hl_call *call)
{
    enum hl_err err = hl_call_begin(call);
    if (err)
        return err;
    if (call->gap)
        return refuse_gap(call);
    if (call->wants_events)
        return end_events(call);
    err = hl_buf_append_str(&call->values, call->values.n ? HL_STR("]") : HL_STR("[]"));
    if (err) {
        call->gap = err;
        return refuse_gap(call);
    }
    call->stage = HL_CALL_SILENT;
    struct hl_buf values = call->values;
    hl_buf_init(&call->values, 0);
    err = hl_call_answer_json(call, 200, hl_buf_str(&values));
    hl_buf_fini(&values);
    return err;
}
