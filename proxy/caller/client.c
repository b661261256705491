/* client.c - a caller's connection.
 * Owns: the socket, bytes read and not yet used.
 * Thread: the worker's.
 * Promise: requests are answered in order; a body is read no faster than it is taken; every wait
 * has a deadline.
 * Not here: what a request asks for (call.c), what the app answers (respond.c). */
#include "caller/client.h"

#include "base/assert.h"
#include "base/clock.h"
#include "caller/access.h"
#include "caller/client_body.h"
#include "caller/deadline.h"
#include "caller/departure.h"
#include "caller/taker.h"
#include "caller/trouble.h"
#include "config/config.h"
#include "http/problem.h"

#define FIRST_HEAD_MS   1000 /* a new connection may still send its request while we end */
#define ANSWER_MAX      4096
#define BODY_JOINED_MAX 2048 /* of an answer of our own */

/* ---- nobody takes the request ---- */

/* Its connection is its owner: there is nobody else to tell the caller. */
static void refuse_rest(void *owner, const struct hl_refusal *why)
{
    hl_client_refuse(owner, why);
}

static bool has_no_other(void *owner)
{
    (void)owner;
    return true;
}

static const struct hl_taker nobody = {.is_blocked = hl_taker_never_blocks,
    .body = hl_taker_drops,
    .body_end = hl_taker_drops,
    .failed = refuse_rest,
    .caller_gone = hl_taker_ignores,
    .drained = hl_taker_ignores,
    .needs_caller = has_no_other};

void hl_client_detach(struct hl_client *c)
{
    hl_client_give_to(c, &nobody, c);
}

/* ---- its end ---- */

/* Its place is free from here on. */
static void begin_closing(struct hl_client *c)
{
    struct hl_callers *callers = c->callers;
    HL_ASSERT(c->taker == &nobody);
    c->state = HL_CLIENT_CLOSING;
    hl_timer_disarm(&c->timer);
    hl_auth_cancel(&c->wait);
    hl_list_remove(&c->idle);
    if (c->is_spare)
        callers->spares_taken--;
    else
        callers->places_taken--;
}

void hl_client_close(struct hl_client *c)
{
    if (c->state == HL_CLIENT_CLOSING)
        return;
    begin_closing(c);
    hl_stream_close(&c->stream);
}

/* Whether a FIN would hide that something is missing: unsent bytes, which a close drops; a body that
 * nothing but the connection's end ends (RFC 9112 8); what a tunnel carries. */
static bool is_cut_by_close(const struct hl_client *c)
{
    return hl_stream_is_blocked(&c->stream) || c->state == HL_CLIENT_TUNNEL ||
           (c->state == HL_CLIENT_CALL && c->minor == 0);
}

void hl_client_abort(struct hl_client *c)
{
    if (c->state == HL_CLIENT_CLOSING || !is_cut_by_close(c)) {
        hl_client_close(c);
        return;
    }
    begin_closing(c);
    hl_stream_close_reset(&c->stream);
}

/* Its taker hears that nobody waits any more. */
static void break_off(struct hl_client *c, enum hl_access_end how)
{
    const struct hl_taker *taker = c->taker;
    void *owner = c->owner;
    hl_access_end(c, how);
    hl_client_detach(c);
    taker->caller_gone(owner);
    hl_client_abort(c);
}

void hl_client_lose(struct hl_client *c)
{
    break_off(c, HL_ACCESS_LEFT);
}

void hl_client_cut(struct hl_client *c)
{
    break_off(c, HL_ACCESS_CUT);
}

/* ---- refusals, deadlines ---- */

void hl_client_refuse(struct hl_client *c, const struct hl_refusal *why)
{
    struct hl_id id = hl_id_next(c->callers->ids, hl_clock_wall_ms());
    struct hl_answer answer = {.refusal = why, .run_id = &id};
    c->must_close = true;
    if (c->state == HL_CLIENT_HEAD)
        c->cors = (struct hl_cors){0}; /* it was the request's before */
    hl_client_answer(c, &answer, c->mode);
}

/* A request whose head is refused; this much of it has come. What can be read of its method
 * counts: the answer to a HEAD has no content (RFC 9110 9.3.2). */
static void refuse_head(struct hl_client *c, struct hl_str head, const struct hl_refusal *why)
{
    enum hl_refusal_cause stranger = hl_stranger_find(head);
    if (stranger != HL_REFUSAL_NONE) {
        hl_strangers_note(&c->callers->strangers, c->peer, stranger);
        why = hl_refusal_make(stranger);
    }
    hl_access_begin_unread(c, head);
    c->minor = 1;
    c->method = hl_head_peek_method(head);
    c->body_done = true;
    hl_client_refuse(c, why);
}

/* The present request's body cannot be read on. */
static void fail_body(struct hl_client *c, const struct hl_refusal *why)
{
    c->must_close = true;
    c->taker->failed(c->owner, why);
}

void hl_client_on_timer(struct hl_timer *timer)
{
    struct hl_client *c = HL_CONTAINER_OF(timer, struct hl_client, timer);
    struct hl_callers *callers = c->callers;
    if (c->is_spare) {
        hl_client_lose(c);
    } else if (hl_stream_is_blocked(&c->stream)) {
        if (hl_stall_is_over(&c->stall, &c->stream, callers->wheel, &c->timer,
                callers->config->write_timeout_ms))
            hl_client_lose(c);
    } else if (c->state == HL_CLIENT_CALL && c->body_done) {
        hl_deadline_arm(c);
    } else if (c->state == HL_CLIENT_CALL) {
        fail_body(c, hl_refusal_make(HL_REFUSAL_BODY_SLOW));
    } else if (c->state == HL_CLIENT_HEAD && c->held.n > 0) {
        refuse_head(c, hl_buf_str(&c->held), hl_refusal_make(HL_REFUSAL_HEAD_SLOW));
    } else {
        hl_client_lose(c);
    }
}

/* ---- reading ---- */

/* Takes a complete head off p[0..n) and begins its call. Returns the bytes used; 0: the head is not
 * complete. */
static size_t take_head(struct hl_client *c, const char *p, size_t n)
{
    struct hl_callers *callers = c->callers;
    struct hl_str bytes = {p, n};
    struct hl_refusal fault;
    enum hl_message_event event =
        hl_message_read_request(&c->messages, &bytes, &callers->head, &fault);
    if (event == HL_MESSAGE_FAULT) {
        refuse_head(c, bytes, &fault);
        return n;
    }
    if (event == HL_MESSAGE_MORE) {
        if (!c->has_head_begun && !c->is_spare)
            hl_timer_arm(callers->wheel, &c->timer, callers->config->head_timeout_ms);
        c->has_head_begun = true;
        return 0;
    }
    c->has_head_begun = false;
    c->state = HL_CLIENT_CALL;
    hl_timer_disarm(&c->timer);
    hl_access_begin(c, &callers->head);
    size_t used = callers->on_head(c, bytes);
    if (used != HL_CALL_LATER)
        return n - bytes.n + used;
    c->state = HL_CLIENT_AUTH;
    return 0;
}

void hl_client_on_checked(struct hl_auth_wait *wait)
{
    struct hl_client *c = HL_CONTAINER_OF(wait, struct hl_client, wait);
    if (c->state != HL_CLIENT_AUTH)
        return; /* it is being closed */
    c->state = HL_CLIENT_HEAD;
    c->has_waited = true;
    hl_client_resume(c);
}

static size_t take_body(struct hl_client *c, const char *p, size_t n)
{
    struct hl_refusal fault = {.status = 0};
    size_t used = hl_client_body_take(c, p, n, &fault);
    if (fault.status != 0)
        fail_body(c, &fault);
    return used;
}

/* Uses bytes as long as something moves. Returns how many were used. */
static size_t consume(struct hl_client *c, const char *p, size_t n)
{
    size_t used = 0;
    while (used < n) {
        size_t m = 0;
        switch (c->state) {
        case HL_CLIENT_HEAD:
            /* a caller that does not read gets no further answer */
            if (!hl_stream_is_blocked(&c->stream))
                m = take_head(c, p + used, n - used);
            break;
        case HL_CLIENT_AUTH:
            break;
        case HL_CLIENT_CALL:
            if (!c->body_done)
                m = take_body(c, p + used, n - used);
            break;
        case HL_CLIENT_TUNNEL:
            if (!c->taker->is_blocked(c->owner)) {
                m = n - used;
                c->taker->body(c->owner, (struct hl_str){p + used, m});
            }
            break;
        case HL_CLIENT_LINGER:
            hl_deadline_arm(c);
            return n;
        case HL_CLIENT_CLOSING:
            return n;
        }
        if (m == 0)
            break;
        used += m;
    }
    return used;
}

/* Reading goes on unless bytes wait that cannot be used now. */
static void set_reading(struct hl_client *c)
{
    bool waits_for_more =
        c->held.n == 0 || (c->state == HL_CLIENT_HEAD && !hl_stream_is_blocked(&c->stream));
    bool must_pause =
        !waits_for_more ||
        ((c->state == HL_CLIENT_TUNNEL || (c->state == HL_CLIENT_CALL && !c->body_done)) &&
            c->taker->is_blocked(c->owner));
    if (must_pause || c->has_ended)
        hl_stream_pause(&c->stream);
    else
        hl_stream_resume(&c->stream);
    if (must_pause && c->state == HL_CLIENT_CALL)
        hl_departures_watch(&c->callers->departures, c);
    if (c->state != HL_CLIENT_HEAD)
        hl_deadline_arm(c);
}

static void consume_held(struct hl_client *c)
{
    if (c->is_consuming) {
        c->wants_resume = true;
        return;
    }
    c->is_consuming = true;
    do {
        c->wants_resume = false;
        size_t used = c->held.n > 0 ? consume(c, c->held.p, c->held.n) : 0;
        if (used >= c->held.n)
            hl_buf_fini(&c->held);
        else if (used > 0)
            hl_buf_drop(&c->held, used);
    } while (c->wants_resume && c->held.n > 0);
    c->is_consuming = false;
    if (c->state != HL_CLIENT_CLOSING)
        set_reading(c);
}

static void on_bytes(struct hl_client *c, const char *p, size_t n)
{
    size_t used = 0;
    if (c->held.n == 0) {
        c->is_consuming = true;
        used = consume(c, p, n);
        c->is_consuming = false;
        if (used == n && c->state != HL_CLIENT_CLOSING) {
            if (c->state == HL_CLIENT_TUNNEL || (c->state == HL_CLIENT_CALL && !c->body_done))
                set_reading(c);
            else if (c->state == HL_CLIENT_CALL && hl_timer_is_armed(&c->timer))
                hl_deadline_arm(c); /* the body's deadline is over */
            return;
        }
    }
    if (c->state == HL_CLIENT_CLOSING)
        return;
    if (hl_buf_append(&c->held, p + used, n - used) != HL_OK) {
        hl_client_lose(c);
        return;
    }
    if (used == 0 && c->held.n > n)
        consume_held(c);
    else
        set_reading(c);
}

void hl_client_begin(struct hl_client *c)
{
    hl_deadline_arm(c);
    hl_stream_resume(&c->stream);
}

void hl_client_resume(struct hl_client *c)
{
    if (c->state == HL_CLIENT_CLOSING)
        return;
    if (c->held.n > 0)
        consume_held(c);
    else if (!c->is_consuming)
        set_reading(c);
}

static void on_eof(struct hl_client *c)
{
    c->has_ended = true;
    if (c->state == HL_CLIENT_TUNNEL) {
        c->taker->body_end(c->owner, (struct hl_str){NULL, 0});
        return;
    }
    if (c->state == HL_CLIENT_HEAD && hl_stream_is_blocked(&c->stream))
        hl_client_linger(c);
    if (c->state == HL_CLIENT_LINGER && hl_stream_is_blocked(&c->stream))
        return;        /* the last answer still goes out */
    hl_client_lose(c); /* FIN and a gone caller look the same; the app's work is not for nobody */
}

void hl_client_on_event(struct hl_client *c, const struct hl_stream_event *event)
{
    switch (event->kind) {
    case HL_STREAM_DATA:
        on_bytes(c, event->p, event->n);
        break;
    case HL_STREAM_EOF:
        on_eof(c);
        break;
    case HL_STREAM_FAILED:
    case HL_STREAM_WRITE_FAILED:
        hl_client_lose(c);
        break;
    case HL_STREAM_DRAINED:
        if (c->state == HL_CLIENT_LINGER && c->has_ended) {
            hl_client_close(c);
            break;
        }
        hl_deadline_arm(c);
        if (c->state == HL_CLIENT_HEAD && c->held.n > 0)
            hl_client_resume(c);
        else
            c->taker->drained(c->owner);
        break;
    case HL_STREAM_CLOSED:
    case HL_STREAM_CONNECTED:
        break;
    }
}

/* ---- writing ---- */

enum hl_err hl_client_write2(struct hl_client *c, struct hl_str first, struct hl_str second)
{
    enum hl_err err = hl_stream_write2(&c->stream, first, second);
    if (err != HL_OK) {
        hl_client_lose(c);
        return HL_ERR_IO;
    }
    if (hl_stream_is_blocked(&c->stream))
        hl_deadline_arm(c);
    return HL_OK;
}

enum hl_err hl_client_say_continue(struct hl_client *c)
{
    if (!c->owes_continue)
        return HL_OK;
    c->owes_continue = false;
    return hl_client_write2(c, HL_STR("HTTP/1.1 100 Continue\r\n\r\n"), (struct hl_str){NULL, 0});
}

bool hl_client_closes_after(const struct hl_client *c)
{
    return c->must_close || !c->body_done || c->callers->is_draining;
}

void hl_client_become_tunnel(struct hl_client *c)
{
    c->state = HL_CLIENT_TUNNEL;
    c->body_done = true;
    hl_client_resume(c);
}

/* The connection waits for the next request. */
static void await_next(struct hl_client *c)
{
    c->state = HL_CLIENT_HEAD;
    c->has_had_call = true;
    c->has_waited = c->held.n > 0;
    c->stream.read_size = HL_READ_SIZE;
    hl_deadline_arm(c);
    if (c->held.n > 0)
        consume_held(c);
    else if (!c->stream.is_reading && !c->is_consuming)
        hl_stream_resume(&c->stream);
}

void hl_client_linger(struct hl_client *c)
{
    c->state = HL_CLIENT_LINGER;
    hl_buf_fini(&c->held);
    hl_stream_shutdown(&c->stream);
    if (!c->has_ended)
        hl_stream_resume(&c->stream);
    hl_deadline_arm(c);
}

void hl_client_close_idle(struct hl_client *c)
{
    if (!hl_client_is_idle(c)) {
        /* with TLS what has come may be no request */
        if (c->callers->tls && c->state == HL_CLIENT_HEAD && c->held.n == 0)
            hl_timer_arm(c->callers->wheel, &c->timer, FIRST_HEAD_MS);
        return;
    }
    if (hl_stream_is_blocked(&c->stream))
        hl_client_linger(c);
    else if (c->has_had_call)
        hl_client_close(c);
    else
        hl_timer_arm(c->callers->wheel, &c->timer, FIRST_HEAD_MS);
}

void hl_client_call_done(struct hl_client *c, bool is_whole)
{
    hl_access_end(c, is_whole ? HL_ACCESS_WHOLE : HL_ACCESS_CUT);
    hl_client_detach(c);
    hl_message_next(&c->messages);
    if (c->state == HL_CLIENT_CLOSING)
        return;
    if (!is_whole) {
        hl_client_abort(c);
    } else if (c->has_ended && !hl_stream_is_blocked(&c->stream)) {
        hl_client_close(c);
    } else if (c->must_close || !c->body_done) {
        hl_client_linger(c);
    } else {
        await_next(c);
        if (c->callers->is_closed)
            hl_client_close_idle(c);
    }
}

void hl_client_answer(struct hl_client *c, struct hl_answer *answer, enum hl_mode mode)
{
    char text[ANSWER_MAX];
    c->state = HL_CLIENT_CALL;
    if (!c->taker->tells_failures)
        hl_trouble_note_answer(c->callers->trouble, answer);
    answer->closes = answer->closes || hl_client_closes_after(c);
    c->must_close = answer->closes;
    answer->caller_minor = c->minor;
    answer->cors = c->cors;
    answer->is_head_request = c->method == HL_METHOD_HEAD;
    struct hl_str apart = {NULL, 0}; /* a long body is written from where it lies */
    if (answer->body.n > BODY_JOINED_MAX) {
        apart = answer->is_head_request ? apart : answer->body;
        answer->is_head_request = true;
    }
    size_t n = hl_answer_write(text, sizeof(text), answer);
    HL_ASSERT(n > 0);
    c->mode = (uint8_t)mode;
    c->status = hl_answer_status(answer);
    if (answer->run_id)
        hl_access_set_run(c, answer->run_id);
    if (answer->refusal)
        hl_access_set_cause(c, answer->refusal->cause);
    hl_access_add_answer(c, (struct hl_str){text, n});
    hl_access_add(c, apart.n);
    hl_access_end(c, HL_ACCESS_WHOLE);
    hl_client_detach(c);
    if (hl_client_write2(c, (struct hl_str){text, n}, apart) == HL_OK)
        hl_client_call_done(c, true);
}
