/* connection.c - one caller's connection: its life, and what it waits for.
 * Owns: the socket, the one deadline that counts. Thread: the loop's.
 * Promise: requests are answered in order, and of the next one nothing is looked at before; every
 * wait but those for the function and the disk has a deadline; a caller's FIN counts as gone, as in
 * the proxy.
 * Not here: reading a request (intake.c), writing an answer (output.c) and what comes before it
 * (progress.c), its end (close.c). */
#include "core/connection.h"

#include <stdlib.h>

#include "core/call_inside.h"
#include "core/fork.h"
#include "core/intake.h"
#include "core/output.h"
#include "core/progress.h"
#include "core/upload.h"
#include "net/listener.h"

#define MAX_AHEAD        (64 * 1024) /* bytes read while a call is answered */
#define HEAD_TIMEOUT_MS  10000
#define BODY_TIMEOUT_MS  60000  /* of silence */
#define WRITE_TIMEOUT_MS 300000 /* a proxy before us has a closer look at slow callers */

static void go_on(struct hl_connection *c);
static void on_timer(struct hl_timer *timer);
static void on_pace(struct hl_timer *timer);
static void on_event(struct hl_stream *stream, const struct hl_stream_event *event);
static void on_stored(struct hl_upload *upload);

static int init_stream(struct hl_connection *c)
{
    struct hl_home *home = c->home;
    return home->is_unix ? hl_stream_init_unix(&c->stream, home->loop, home->reader, on_event)
                         : hl_stream_init_tcp(&c->stream, home->loop, home->reader, on_event);
}

void hl_connection_accept(struct hl_home *home, struct hl_listener *listener)
{
    struct hl_connection *c = calloc(1, sizeof(*c));
    if (!c)
        return;
    c->home = home;
    c->name = hl_slot_add(&home->names, c);
    if (c->name.generation == 0 || init_stream(c) != 0) {
        hl_slot_remove(&home->names, c->name);
        free(c);
        return;
    }
    hl_timer_init(&c->timer, on_timer);
    hl_timer_init(&c->pace, on_pace);
    hl_message_reader_init(&c->messages, &hl_intake_rules);
    c->on_stored = on_stored;
    hl_list_init(&c->out);
    hl_fork_hold();
    hl_list_push_back(&home->connections, &c->node);
    int rc = hl_listener_accept(listener, &c->stream);
    hl_fork_release();
    home->count++;
    if (rc != 0)
        hl_connection_close(c, false);
    else
        go_on(c);
}

static void free_connection(struct hl_connection *c)
{
    struct hl_home *home = c->home;
    hl_timer_fini(home->wheel, &c->timer);
    hl_timer_fini(home->wheel, &c->pace);
    hl_message_reader_fini(&c->messages);
    hl_buf_fini(&c->in);
    hl_fork_hold();
    hl_list_remove(&c->node);
    hl_fork_release();
    free(c);
    home->count--;
    home->on_gone(home);
}

/* ---- events ---- */

/* New bytes are used where they lie; what cannot be used yet is kept. */
static void take_bytes(struct hl_connection *c, const char *p, size_t n)
{
    if (c->state == HL_CONNECTION_LINGER)
        return;
    if (c->in.n == 0) {
        size_t used = hl_intake_feed(c, p, n);
        p += used;
        n -= used;
    }
    if (c->state != HL_CONNECTION_CLOSING && hl_buf_append(&c->in, p, n) != HL_OK)
        hl_connection_close(c, false);
}

static void on_event(struct hl_stream *stream, const struct hl_stream_event *event)
{
    struct hl_connection *c = HL_CONTAINER_OF(stream, struct hl_connection, stream);
    switch (event->kind) {
    case HL_STREAM_DATA:
        take_bytes(c, event->p, event->n);
        break;
    case HL_STREAM_EOF:
        c->has_ended = true;
        break;
    case HL_STREAM_DRAINED:
        hl_output_pump(c);
        break;
    case HL_STREAM_CONNECTED:
    case HL_STREAM_FAILED:
    case HL_STREAM_WRITE_FAILED:
        hl_connection_close(c, false);
        break;
    case HL_STREAM_CLOSED:
        free_connection(c);
        return;
    }
    go_on(c);
}

static void on_timer(struct hl_timer *timer)
{
    struct hl_connection *c = HL_CONTAINER_OF(timer, struct hl_connection, timer);
    if (hl_stream_is_blocked(&c->stream)) {
        if (hl_stall_is_over(&c->stall, &c->stream, c->home->wheel, &c->timer, WRITE_TIMEOUT_MS))
            hl_connection_close(c, true);
    } else if (c->state == HL_CONNECTION_HEAD && c->has_begun)
        hl_intake_refuse(c, HL_REFUSAL_FUNCTION_HEAD_SLOW);
    else if (c->state == HL_CONNECTION_BODY)
        hl_intake_refuse(c, HL_REFUSAL_FUNCTION_BODY_SLOW);
    else
        hl_connection_close(c, false);
    go_on(c);
}

static void on_pace(struct hl_timer *timer)
{
    struct hl_connection *c = HL_CONTAINER_OF(timer, struct hl_connection, pace);
    if (!hl_progress_pump(c))
        hl_connection_close(c, false);
    go_on(c);
}

static void on_stored(struct hl_upload *upload)
{
    struct hl_connection *c = upload->owner;
    hl_intake_go_on(c);
    go_on(c);
}

/* ---- waiting ---- */

/* The socket is not blocked: the deadline of the state, and whether to read. */
static void wait_on(struct hl_connection *c)
{
    struct hl_wheel *wheel = c->home->wheel;
    switch (c->state) {
    case HL_CONNECTION_HEAD:
        if (c->in.n == 0)
            hl_timer_arm(wheel, &c->timer, HL_KEEPALIVE_TIMEOUT_MS);
        else if (!c->has_begun)
            hl_timer_arm(wheel, &c->timer, HEAD_TIMEOUT_MS);
        c->has_begun = c->in.n > 0;
        break;
    case HL_CONNECTION_BODY:
        hl_timer_arm(wheel, &c->timer, BODY_TIMEOUT_MS);
        break;
    case HL_CONNECTION_CALL:
        hl_timer_disarm(&c->timer);
        if (c->in.n > MAX_AHEAD) {
            hl_stream_pause(&c->stream);
            return;
        }
        break;
    case HL_CONNECTION_LINGER:
        hl_linger_arm(&c->linger, wheel, &c->timer);
        break;
    case HL_CONNECTION_CLOSING:
        return;
    }
    hl_stream_resume(&c->stream);
}

/* Nothing more will come of it. */
static bool is_over(const struct hl_connection *c)
{
    return c->has_ended || (c->must_close && c->state == HL_CONNECTION_HEAD && c->in.n == 0);
}

static void go_on(struct hl_connection *c)
{
    if (c->in.n > 0 && c->state != HL_CONNECTION_CLOSING)
        hl_buf_drop(&c->in, hl_intake_feed(c, c->in.p, c->in.n));
    if (c->in.n == 0 || c->state == HL_CONNECTION_LINGER)
        hl_buf_fini(&c->in);
    if (c->state == HL_CONNECTION_CLOSING)
        return;
    if (hl_stream_is_blocked(&c->stream)) {
        hl_stream_pause(&c->stream);
        hl_stall_watch(&c->stall, &c->stream, c->home->wheel, &c->timer, WRITE_TIMEOUT_MS);
        return;
    }
    hl_stall_end(&c->stall);
    if (hl_intake_is_storing(c)) {
        hl_stream_pause(&c->stream);
        hl_timer_disarm(&c->timer);
        return;
    }
    if (is_over(c))
        hl_connection_close(c, false);
    else
        wait_on(c);
}

/* ---- the mailbox ---- */

void hl_connection_take_piece(struct hl_home *home, struct hl_piece *piece)
{
    struct hl_connection *c = hl_slot_find(&home->names, piece->connection);
    if (!c) {
        free(piece);
        return;
    }
    hl_progress_flush(c);
    hl_output_add(c, piece);
    go_on(c);
}

void hl_connection_take_progress(struct hl_home *home, struct hl_progress *progress)
{
    struct hl_connection *c = hl_slot_find(&home->names, progress->connection);
    if (!c)
        return; /* `is_told` stays: there is nobody to tell anything */
    if (!hl_progress_hear(c, progress))
        hl_connection_close(c, false);
    go_on(c);
}

void hl_connection_take_call(struct hl_home *home, struct hl_call *call)
{
    struct hl_connection *c = hl_slot_find(&home->names, call->connection);
    struct hl_piece *last = call->last;
    if (c)
        hl_progress_flush(c);
    call->last = NULL;
    hl_connection_drop_call(home, call);
    if (!c) {
        free(last);
        return;
    }
    c->call = NULL;
    if (last)
        hl_output_add(c, last);
    else
        hl_connection_close(c, true);
    go_on(c);
}

/* ---- stopping ---- */

void hl_connection_stop_all(struct hl_home *home)
{
    HL_LIST_EACH (node, &home->connections) {
        struct hl_connection *c = HL_CONTAINER_OF(node, struct hl_connection, node);
        c->must_close = true;
        go_on(c);
    }
}
