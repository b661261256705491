/* emit.c - a call's values one by one: events as they come, or one array of all.
 * Thread: the one that has taken the call.
 * Promise: an event leaves at once, and while more than a window of bytes waits for the caller the
 * thread waits too; the array has the bound of a request's body.
 * Not here: whole answers (answer.c). */
#include <stdlib.h>

#include "base/utf8.h"
#include "core/answer.h"
#include "core/call.h"
#include "http/body_check.h"
#include "http/problem.h"

#define ESCAPED_AT_ONCE 4096 /* bytes of a text */

/* ---- events ---- */

static enum hl_err begin_events(struct hl_call *call)
{
    struct hl_answer answer = {.status = 200,
        .content_type = HL_STR("text/event-stream; charset=utf-8"),
        .cache_control = "no-cache",
        .closes = call->minor == 0,
        .is_stream = true};
    struct hl_piece *piece = hl_call_write_answer(call, &answer);
    if (!piece)
        return HL_ERR_NOMEM;
    call->stage = HL_CALL_EVENTS;
    call->status = 200;
    return hl_call_send(call, piece);
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
    struct hl_piece *piece = err ? NULL : hl_call_write_chunk(call, hl_buf_str(&event));
    hl_buf_fini(&event);
    return piece ? hl_call_send(call, piece) : HL_ERR_NOMEM;
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
    return hl_call_finish(call, piece, HL_PIECE_LAST, HL_CALL_DONE);
}

/* Nobody gets values with a gap in them. */
static enum hl_err refuse_gap(struct hl_call *call)
{
    hl_call_refuse(
        call, hl_refusal(call->gap == HL_ERR_TOO_LARGE ? HL_REFUSAL_FUNCTION_VALUES_LONG
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
