/* intake.c - a request from its first byte to the queue.
 * Thread: the loop's.
 * Promise: heads pass the proxy's own strict reader; a body is kept only for a call, within the
 * bounds of one and of all, and of a form as much as one read holds, until the disk has taken it; a
 * refused body is read to its end if it is short, so that the connection can be used again.
 * Not here: what is decided about a request (triage.c), deadlines (connection.c). */
#include "core/intake.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/id.h"
#include "core/call_inside.h"
#include "core/connection.h"
#include "core/desk.h"
#include "core/output.h"
#include "core/upload.h"
#include "http/problem.h"

#define MAX_HEAD    (128 * 1024) /* twice the proxy's: what it adds must fit */
#define MAX_DROPPED (64 * 1024)  /* of a refused body; a longer one closes the connection */
#define ANSWER_MAX  4096

const struct hl_message_rules hl_intake_rules = {
    .max_head = MAX_HEAD,
    .max_trailer = HL_READ_SIZE,
    .no_head = &hl_refusals[HL_REFUSAL_NO_HEAD],
    .head_too_large = &hl_refusals[HL_REFUSAL_FUNCTION_HEAD_TOO_LARGE],
};

/* ---- answers of the server's own ---- */

static void answer(struct hl_connection *c, const struct hl_triage *own)
{
    struct hl_answer fields = {.refusal = own->refusal.status ? &own->refusal : NULL,
        .status = own->status,
        .content_type = own->type,
        .body = own->body,
        .run_id = c->has_id ? &c->run_id : NULL,
        .closes = c->must_close,
        .is_head_request = c->is_head_request,
        .caller_minor = c->minor};
    size_t cap = ANSWER_MAX + own->body.n; /* the list of functions can be long */
    struct hl_piece *piece = hl_piece_new(cap);
    size_t n = piece ? hl_answer_write(piece->bytes, cap, &fields) : 0;
    if (n == 0) {
        free(piece);
        hl_connection_close(c, false);
        return;
    }
    piece->n = n;
    piece->end = HL_PIECE_LAST;
    hl_output_add(c, piece);
}

static void refuse(struct hl_connection *c, const struct hl_refusal *why)
{
    if (c->call) {
        struct hl_call *call = c->call;
        c->call = NULL;
        hl_connection_drop_call(c->home, call);
    }
    c->must_close = true;
    answer(c, &(struct hl_triage){.refusal = *why});
}

void hl_intake_refuse(struct hl_connection *c, enum hl_refusal_cause cause)
{
    if (c->state == HL_CONNECTION_HEAD) {
        c->minor = 1;
        c->has_id = c->is_head_request = false;
    }
    refuse(c, hl_refusal_make(cause));
}

/* What can be read of its method counts: the answer to a HEAD has no content (RFC 9110 9.3.2). */
static void refuse_head(struct hl_connection *c, struct hl_str head, const struct hl_refusal *why)
{
    c->minor = 1;
    c->has_id = false;
    c->is_head_request = hl_head_peek_method(head) == HL_METHOD_HEAD;
    refuse(c, why);
}

/* ---- heads ---- */

/* The caller's, if it is one of ours in form; else a new one. */
static void read_id(struct hl_connection *c, const struct hl_head *head)
{
    const struct hl_field *field = hl_head_field(head, HL_FIELD_X_REQUEST_ID);
    if (!field || !hl_id_parse(field->value, &c->run_id))
        c->run_id = hl_id_next(&c->home->ids, hl_clock_wall_ms());
    c->has_id = true;
}

/* A call that can never fit is refused before its body comes. */
static void judge_size(struct hl_connection *c, struct hl_triage *own)
{
    const struct hl_home *home = c->home;
    const struct hl_settings *settings = &home->desk->settings;
    if (!hl_triage_is_call(own))
        return;
    if (c->messages.left > (own->is_form ? settings->max_upload : settings->max_body))
        hl_refuse(&own->refusal, HL_REFUSAL_FUNCTION_BODY_TOO_LARGE);
    else if (!own->is_form && home->held + c->messages.left > home->max_held)
        hl_refuse(&own->refusal, HL_REFUSAL_FUNCTION_QUEUE_FULL);
}

/* For the body that comes. */
static bool make_room(struct hl_connection *c, struct hl_call *call)
{
    struct hl_home *home = c->home;
    uint64_t most = home->desk->settings.max_upload;
    if (!c->own.is_form)
        return c->messages.left > HL_READ_SIZE || !hl_buf_reserve(&call->body, c->messages.left);
    call->upload = hl_upload_new(home->loop, &home->uploads, most, c->on_stored, c);
    return call->upload != NULL;
}

static void begin_call(struct hl_connection *c, const struct hl_head *head, struct hl_str bytes)
{
    struct hl_home *home = c->home;
    struct hl_call *call =
        hl_call_new(home->desk, c->own.callee, head, &c->own.target, bytes.p, bytes.n);
    if (!call || !make_room(c, call)) {
        hl_call_free(call);
        refuse(c, hl_refusal_make(HL_REFUSAL_FUNCTION_MEMORY));
        return;
    }
    call->run_id = c->run_id;
    call->connection = c->name;
    c->must_close |= call->must_close;
    c->call = call;
    home->calls++;
    c->state = HL_CONNECTION_BODY;
    if (head->expects_continue &&
        hl_stream_write(&c->stream, "HTTP/1.1 100 Continue\r\n\r\n", 25) != HL_OK)
        hl_connection_close(c, false);
}

/* A short body is dropped before the answer, so that the connection lives on. */
static void begin_own(struct hl_connection *c, const struct hl_head *head)
{
    bool is_short = c->messages.framing != HL_FRAMING_CHUNKED && c->messages.left <= MAX_DROPPED &&
                    (c->messages.left == 0 || !head->expects_continue);
    if (is_short) {
        c->state = HL_CONNECTION_BODY;
        return;
    }
    c->must_close = true;
    answer(c, &c->own);
}

static void begin_request(struct hl_connection *c, const struct hl_head *head, struct hl_str bytes)
{
    const struct hl_desk *desk = c->home->desk;
    c->minor = head->minor;
    c->must_close |= !head->is_persistent;
    c->is_head_request = head->method_id == HL_METHOD_HEAD;
    read_id(c, head);
    c->own = hl_triage_request(desk, head);
    judge_size(c, &c->own);
    if (hl_triage_is_call(&c->own))
        begin_call(c, head, bytes);
    else
        begin_own(c, head);
}

/* The bytes used; 0: the head is not whole. */
static size_t take_head(struct hl_connection *c, const char *p, size_t n)
{
    struct hl_head *head = &c->home->head;
    struct hl_refusal fault;
    struct hl_str bytes = {p, n};
    enum hl_message_event event = hl_message_read_request(&c->messages, &bytes, head, &fault);
    if (event == HL_MESSAGE_MORE)
        return 0;
    struct hl_str whole = {p, c->messages.head_n};
    if (event == HL_MESSAGE_HEAD)
        begin_request(c, head, whole);
    else
        refuse_head(c, whole, &fault);
    return whole.n;
}

/* ---- bodies ---- */

/* False: it was refused. */
static bool keep_form(struct hl_connection *c, struct hl_str bytes)
{
    enum hl_err err = hl_upload_append(c->call->upload, bytes);
    if (err)
        refuse(c, hl_refusal_make(err == HL_ERR_TOO_LARGE ? HL_REFUSAL_FUNCTION_BODY_TOO_LARGE
                                                          : HL_REFUSAL_FUNCTION_MEMORY));
    return !err;
}

static bool keep(struct hl_connection *c, struct hl_str bytes)
{
    struct hl_home *home = c->home;
    if (!c->call)
        return true;
    if (c->own.is_form)
        return keep_form(c, bytes);
    if (home->held + bytes.n > home->max_held) {
        refuse(c, hl_refusal_make(HL_REFUSAL_FUNCTION_QUEUE_FULL));
        return false;
    }
    enum hl_err err = hl_buf_append_str(&c->call->body, bytes);
    if (err == HL_ERR_TOO_LARGE)
        refuse(c, hl_refusal_make(HL_REFUSAL_FUNCTION_BODY_TOO_LARGE));
    else if (err)
        refuse(c, hl_refusal_make(HL_REFUSAL_FUNCTION_MEMORY));
    else
        home->held += bytes.n;
    return !err;
}

/* The request is whole. */
static void finish(struct hl_connection *c)
{
    struct hl_call *call = c->call;
    hl_message_next(&c->messages);
    if (!call) {
        answer(c, &c->own);
        return;
    }
    if (call->body.p)
        call->body.p[call->body.n] = '\0'; /* a buffer has room for it */
    c->state = HL_CONNECTION_CALL;
    if (!call->upload || !hl_upload_write(call->upload))
        hl_queue_add(&c->home->desk->queue, &call->entry);
}

static size_t take_body(struct hl_connection *c, const char *p, size_t n)
{
    struct hl_str bytes = {p, n}, data;
    struct hl_refusal fault;
    switch (hl_message_read_body(&c->messages, &bytes, &data, &fault)) {
    case HL_MESSAGE_DATA:
        if (keep(c, data) && c->messages.framing == HL_FRAMING_LENGTH && c->messages.left == 0)
            finish(c);
        break;
    case HL_MESSAGE_END:
        finish(c);
        break;
    case HL_MESSAGE_FAULT:
        refuse(c, &fault);
        break;
    default:
        break;
    }
    return n - bytes.n;
}

/* ---- forms ---- */

/* Whose body is not whole. */
static struct hl_upload *upload_of(const struct hl_connection *c)
{
    return c->state == HL_CONNECTION_BODY && c->call ? c->call->upload : NULL;
}

bool hl_intake_is_storing(const struct hl_connection *c)
{
    const struct hl_upload *upload = upload_of(c);
    return upload && upload->is_writing;
}

void hl_intake_go_on(struct hl_connection *c)
{
    if (c->call->upload->err)
        refuse(c, hl_refusal_make(HL_REFUSAL_FUNCTION_UPLOAD));
    else if (c->state == HL_CONNECTION_CALL)
        hl_queue_add(&c->home->desk->queue, &c->call->entry);
}

/* ---- both ---- */

static size_t feed(struct hl_connection *c, const char *p, size_t n)
{
    size_t used = 0;
    for (;;) {
        enum hl_connection_state before = c->state;
        size_t step = 0;
        if (hl_stream_is_blocked(&c->stream) || hl_intake_is_storing(c))
            return used;
        if (before == HL_CONNECTION_HEAD)
            step = take_head(c, p + used, n - used);
        else if (before == HL_CONNECTION_BODY)
            step = take_body(c, p + used, n - used);
        used += step;
        if (c->state == before && (step == 0 || used == n))
            return used;
    }
}

size_t hl_intake_feed(struct hl_connection *c, const char *p, size_t n)
{
    size_t used = feed(c, p, n);
    struct hl_upload *upload = upload_of(c);
    if (upload && !upload->is_writing)
        hl_upload_write(upload);
    return used;
}
