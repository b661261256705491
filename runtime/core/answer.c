/* answer.c - a call's answer as a whole: a value, bytes, a problem; and the end of a call.
 * Thread: the one that has taken the call.
 * Promise: an answer leaves with the call's release, in one message; nothing here waits but
 * hl_call_send.
 * Not here: values one by one (emit.c), the bytes' way to the socket (connection.c). */
#include "core/answer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/utf8.h"
#include "core/call.h"
#include "core/connection.h"
#include "core/desk.h"
#include "core/fork.h"
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

enum hl_err hl_call_send(struct hl_call *call, struct hl_piece *piece)
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

enum hl_err hl_call_finish(
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

struct hl_piece *hl_call_write_answer(const struct hl_call *call, struct hl_answer *answer)
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
    return hl_call_finish(
        call, hl_call_write_answer(call, &answer), HL_PIECE_LAST, HL_CALL_ANSWERED);
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

struct hl_piece *hl_call_write_chunk(const struct hl_call *call, struct hl_str bytes)
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
    return hl_call_write_chunk(call, (struct hl_str){event, n});
}

static enum hl_err fail(struct hl_call *call, const struct hl_refusal *why)
{
    struct hl_answer answer = {.refusal = why};
    call->status = why->status;
    hl_buf_fini(&call->values);
    if (call->stage == HL_CALL_EVENTS)
        return hl_call_finish(call, write_error_event(call, why), HL_PIECE_CUT, HL_CALL_DONE);
    return hl_call_finish(
        call, hl_call_write_answer(call, &answer), HL_PIECE_LAST, HL_CALL_ANSWERED);
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
        hl_call_refuse(call, hl_refusal(HL_REFUSAL_FUNCTION_NO_RESULT));
    struct hl_desk *desk = call->desk;
    HL_LOG(DEBUG, "call finished", HL_LOG_ID("run_id", &call->run_id),
        HL_LOG_TEXT("function", desk->directory.callees[call->callee].name),
        HL_LOG_INT("status", call->status),
        HL_LOG_INT("duration_ms", (hl_clock_mono_us() - call->taken_us) / 1000));
    hl_queue_leave(&desk->queue);
    hl_mailbox_post(&desk->mail.box, &call->released);
}
