/* client.c - a caller's connection.
 * Owns: the socket, bytes read and not yet used, the one deadline that counts. Thread: the
 * worker's. Promise: requests are answered in order; a body is read no faster than it is taken;
 * every wait has a deadline. Not here: what a request asks for (call.c), what the app answers
 * (respond.c). */
#include "run/client.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"

#define LINGER_MS     2000
#define FIRST_HEAD_MS 1000 /* a new connection may still send its request while we end */
#define ANSWER_MAX    2048

static void on_timer(struct hl_timer *timer);
static void on_stream_event(struct hl_stream *stream, const struct hl_stream_event *event);
static void consume_held(struct hl_client *c);
static void linger(struct hl_client *c);

/* ---- accepting ---- */

static void note_peer(struct hl_client *c)
{
    struct sockaddr_storage ss;
    int len = sizeof(ss);
    struct hl_ip ip;
    c->peer[0] = '\0';
    c->is_peer_trusted = false;
    if (uv_tcp_getpeername(&c->stream.tcp, (struct sockaddr *)&ss, &len) != 0 ||
        !hl_ip_from_sockaddr((struct sockaddr *)&ss, &ip))
        return;
    hl_ip_format(&ip, c->peer);
    c->is_peer_trusted = hl_cidr_list_has(&c->worker->config->trusted_proxies, &ip);
}

/* A connection's memory; NULL: out of memory. */
static struct hl_client *client_new(struct hl_worker *w)
{
    struct hl_client *c = hl_slab_get(&w->clients);
    if (!c)
        return NULL;
    memset(c, 0, sizeof(*c));
    c->worker = w;
    hl_list_init(&c->node);
    hl_timer_init(&c->timer, on_timer);
    if (hl_stream_init_tcp(&c->stream, &w->loop, &w->reader, on_stream_event) != 0) {
        hl_slab_put(&w->clients, c);
        return NULL;
    }
    hl_list_push_back(&w->client_list, &c->node);
    w->client_count++;
    hl_counter_add(&w->metrics.connections_accepted, 1);
    hl_counter_add(&w->metrics.connections_open, 1);
    return c;
}

static void client_start(struct hl_client *c, int error)
{
    if (error) {
        hl_client_close(c);
        return;
    }
    note_peer(c);
    hl_timer_arm(&c->worker->wheel, &c->timer, c->worker->config->keepalive_timeout_ms);
    hl_stream_resume(&c->stream);
}

void hl_client_accept(struct hl_worker *w, struct hl_listener *listener)
{
    struct hl_client *c = client_new(w);
    if (c) /* else the connection waits until memory is free */
        client_start(c, hl_listener_accept(listener, &c->stream));
}

void hl_client_adopt(struct hl_worker *w, int fd)
{
    struct hl_client *c = client_new(w);
    int error = c ? uv_tcp_open(&c->stream.tcp, fd) : UV_ENOMEM;
    if (error)
        close(fd);
    if (c)
        client_start(c, error);
}

static void client_free(struct hl_client *c)
{
    struct hl_worker *w = c->worker;
    hl_timer_fini(&w->wheel, &c->timer);
    hl_chunk_reader_fini(&c->chunks);
    free(c->held);
    hl_list_remove(&c->node);
    hl_slab_put(&w->clients, c);
    w->client_count--;
    hl_counter_sub(&w->metrics.connections_open, 1);
    for (size_t i = 0; i < w->listener_count; i++)
        hl_listener_poke(&w->listeners[i]);
    hl_worker_check_end(w);
}

void hl_client_close(struct hl_client *c)
{
    if (c->state == HL_CLIENT_CLOSING)
        return;
    HL_ASSERT(!c->run);
    c->state = HL_CLIENT_CLOSING;
    hl_timer_disarm(&c->timer);
    hl_stream_close(&c->stream);
}

/* Whether bytes wait in the kernel. */
static bool has_unread(struct hl_client *c)
{
    uv_os_fd_t fd;
    char byte;
    return uv_fileno(&c->stream.handle, &fd) == 0 &&
           recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

void hl_client_close_idle(struct hl_client *c)
{
    if (c->state != HL_CLIENT_HEAD || c->held_n > 0 || has_unread(c))
        return;
    if (hl_stream_is_blocked(&c->stream))
        linger(c);
    else if (c->has_had_call)
        hl_client_close(c);
    else
        hl_timer_arm(&c->worker->wheel, &c->timer, FIRST_HEAD_MS);
}

/* ---- deadlines ---- */

/* Sets the one deadline that counts in the present state (spec 7). */
static void rearm(struct hl_client *c)
{
    struct hl_worker *w = c->worker;
    const struct hl_config *config = w->config;
    if (hl_stream_is_blocked(&c->stream)) {
        c->unsent_at_arm = hl_stream_unsent(&c->stream);
        hl_timer_arm(&w->wheel, &c->timer, config->write_timeout_ms);
    } else if (c->state == HL_CLIENT_CALL && !c->body_done && c->stream.is_reading &&
               !c->owes_continue) {
        hl_timer_arm(&w->wheel, &c->timer, config->body_timeout_ms);
    } else if (c->state == HL_CLIENT_LINGER) {
        hl_timer_arm(&w->wheel, &c->timer, LINGER_MS);
    } else if (c->state != HL_CLIENT_HEAD) {
        hl_timer_disarm(&c->timer);
    } else if (!c->has_head_begun) {
        hl_timer_arm(&w->wheel, &c->timer, config->keepalive_timeout_ms);
    }
}

/* The run is told that nobody waits any more. */
static void leave_run(struct hl_client *c)
{
    struct hl_run *run = c->run;
    c->run = NULL;
    if (!run)
        return;
    hl_counter_add(&c->worker->metrics.callers_gone, 1);
    if (c->taker == HL_TAKER_ACCEPT)
        hl_accept_caller_gone(run);
    else
        hl_forward_caller_gone(run);
}

static void client_lost(struct hl_client *c)
{
    leave_run(c);
    hl_client_close(c);
}

void hl_client_refuse(struct hl_client *c, uint16_t status, const char *detail)
{
    struct hl_id id = hl_id_next(&c->worker->ids, hl_clock_wall_ms());
    struct hl_answer answer = {.status = status, .detail = detail, .run_id = &id};
    c->must_close = true;
    hl_client_answer(c, &answer, HL_MODE_OTHER);
}

static void on_timer(struct hl_timer *timer)
{
    struct hl_client *c = HL_CONTAINER_OF(timer, struct hl_client, timer);
    if (hl_stream_is_blocked(&c->stream)) {
        if (hl_stream_unsent(&c->stream) < c->unsent_at_arm) {
            rearm(c);
            return;
        }
        leave_run(c);
        c->state = HL_CLIENT_CLOSING;
        hl_stream_close_reset(&c->stream);
    } else if (c->state == HL_CLIENT_CALL && c->body_done) {
        rearm(c);
    } else if (c->state == HL_CLIENT_CALL) {
        hl_client_fail_body(c, 408,
            "No byte of the request's body came for HOOKLINE_BODY_TIMEOUT; send the body without "
            "pauses, or raise it.");
    } else if (c->state == HL_CLIENT_HEAD && c->held_n > 0) {
        c->minor = 1;
        c->method = HL_METHOD_OTHER;
        hl_client_refuse(
            c, 408, "The request's head was not complete within HOOKLINE_HEAD_TIMEOUT.");
    } else {
        client_lost(c);
    }
}

/* ---- reading ---- */

/* Takes a complete head off p[0..n) and begins its call. Returns the bytes used; 0: the head is not
 * complete. */
static size_t take_head(struct hl_client *c, const char *p, size_t n)
{
    struct hl_worker *w = c->worker;
    size_t head_len = 0;
    enum hl_head_end end = hl_head_find_end(p, n, &c->held_scanned, &head_len);
    size_t seen = end == HL_HEAD_END_FOUND ? head_len : n;
    c->minor = 1;
    c->method = HL_METHOD_OTHER;
    c->body_done = true;
    if (end == HL_HEAD_END_BAD) {
        hl_client_refuse(
            c, 400, "This is no HTTP/1.1 request: a head has lines that end with CRLF.");
        return n;
    }
    if (seen > w->config->max_head) {
        hl_client_refuse(c, 431, "The request's head is larger than HOOKLINE_MAX_HEAD.");
        return n;
    }
    if (end == HL_HEAD_END_MISSING) {
        if (!c->has_head_begun)
            hl_timer_arm(&w->wheel, &c->timer, w->config->head_timeout_ms);
        c->has_head_begun = true;
        return 0;
    }
    c->held_scanned = 0;
    c->has_head_begun = false;
    struct hl_head_fault fault;
    if (!hl_head_parse_request(&w->request_head, p, head_len, &fault)) {
        hl_client_refuse(c, fault.status, fault.detail);
        return n;
    }
    c->state = HL_CLIENT_CALL;
    hl_timer_disarm(&c->timer);
    return head_len + hl_call_begin(c, (struct hl_str){p + head_len, n - head_len});
}

/* Uses bytes as long as something moves. Returns how many were used. */
static size_t consume(struct hl_client *c, const char *p, size_t n)
{
    size_t used = 0;
    while (used < n) {
        size_t m = 0;
        switch (c->state) {
        case HL_CLIENT_HEAD:
            if (!hl_stream_is_blocked(&c->stream)) /* who does not read gets no next answer */
                m = take_head(c, p + used, n - used);
            break;
        case HL_CLIENT_CALL:
            if (!c->body_done)
                m = hl_client_take_body(c, p + used, n - used);
            break;
        case HL_CLIENT_TUNNEL:
            if (!hl_forward_is_blocked(c->run)) {
                m = n - used;
                hl_forward_body(c->run, (struct hl_str){p + used, m});
            }
            break;
        case HL_CLIENT_LINGER:
        case HL_CLIENT_CLOSING:
            return n;
        }
        if (m == 0)
            break;
        used += m;
    }
    return used;
}

/* Keeps what was not used. False: out of memory. */
static bool hold(struct hl_client *c, const char *p, size_t n)
{
    if (c->held_n + n > c->held_cap) {
        size_t cap = c->held_n + n < 1024 ? 1024 : c->held_n + n;
        char *held = realloc(c->held, cap);
        if (!held)
            return false;
        c->held = held;
        c->held_cap = cap;
    }
    memcpy(c->held + c->held_n, p, n);
    c->held_n += n;
    return true;
}

static void release_held(struct hl_client *c)
{
    free(c->held);
    c->held = NULL;
    c->held_n = c->held_cap = 0;
}

/* Reading goes on unless bytes wait that cannot be used now. */
static void set_reading(struct hl_client *c)
{
    bool waits_for_more =
        c->held_n == 0 || (c->state == HL_CLIENT_HEAD && !hl_stream_is_blocked(&c->stream));
    bool must_pause =
        !waits_for_more ||
        (c->state == HL_CLIENT_CALL && !c->body_done && hl_client_body_is_blocked(c)) ||
        (c->state == HL_CLIENT_TUNNEL && hl_forward_is_blocked(c->run));
    if (must_pause || c->has_ended)
        hl_stream_pause(&c->stream);
    else
        hl_stream_resume(&c->stream);
    if (c->state != HL_CLIENT_HEAD)
        rearm(c);
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
        size_t used = c->held_n ? consume(c, c->held, c->held_n) : 0;
        if (used >= c->held_n) {
            release_held(c);
        } else if (used > 0) {
            memmove(c->held, c->held + used, c->held_n - used);
            c->held_n -= used;
        }
    } while (c->wants_resume && c->held_n > 0);
    c->is_consuming = false;
    if (c->state != HL_CLIENT_CLOSING)
        set_reading(c);
}

static void on_bytes(struct hl_client *c, const char *p, size_t n)
{
    size_t used = 0;
    if (c->held_n == 0) {
        c->is_consuming = true;
        used = consume(c, p, n);
        c->is_consuming = false;
        if (used == n && c->state != HL_CLIENT_CLOSING) {
            if (c->state == HL_CLIENT_TUNNEL || (c->state == HL_CLIENT_CALL && !c->body_done))
                set_reading(c);
            else if (c->state == HL_CLIENT_CALL && hl_timer_is_armed(&c->timer))
                rearm(c); /* the body's deadline is over */
            return;
        }
    }
    if (c->state == HL_CLIENT_CLOSING)
        return;
    if (!hold(c, p + used, n - used)) {
        client_lost(c);
        return;
    }
    if (used == 0 && c->held_n > n)
        consume_held(c);
    else
        set_reading(c);
}

void hl_client_resume(struct hl_client *c)
{
    if (c->state == HL_CLIENT_CLOSING)
        return;
    if (c->held_n > 0)
        consume_held(c);
    else if (!c->is_consuming)
        set_reading(c);
}

static void on_eof(struct hl_client *c)
{
    c->has_ended = true;
    if (c->state == HL_CLIENT_TUNNEL) {
        hl_forward_body_end(c->run, (struct hl_str){NULL, 0});
        return;
    }
    if (c->state == HL_CLIENT_LINGER && hl_stream_is_blocked(&c->stream))
        return;     /* the last answer still goes out */
    client_lost(c); /* FIN and a gone caller look the same; the app's work is not for nobody */
}

static void on_stream_event(struct hl_stream *stream, const struct hl_stream_event *event)
{
    struct hl_client *c = HL_CONTAINER_OF(stream, struct hl_client, stream);
    switch (event->kind) {
    case HL_STREAM_DATA:
        on_bytes(c, event->p, event->n);
        break;
    case HL_STREAM_EOF:
        on_eof(c);
        break;
    case HL_STREAM_FAILED:
        client_lost(c);
        break;
    case HL_STREAM_DRAINED:
        if (c->state == HL_CLIENT_LINGER && c->has_ended) {
            hl_client_close(c);
            break;
        }
        rearm(c);
        if (c->run && c->taker == HL_TAKER_FORWARD)
            hl_forward_caller_drained(c->run);
        else if (c->state == HL_CLIENT_HEAD && c->held_n > 0)
            hl_client_resume(c);
        break;
    case HL_STREAM_CLOSED:
        client_free(c);
        break;
    case HL_STREAM_CONNECTED:
        break;
    }
}

/* ---- writing ---- */

enum hl_err hl_client_write2(struct hl_client *c, struct hl_str first, struct hl_str second)
{
    enum hl_err err = hl_stream_write2(&c->stream, first, second);
    if (err != HL_OK) {
        client_lost(c);
        return HL_ERR_IO;
    }
    if (hl_stream_is_blocked(&c->stream))
        rearm(c);
    return HL_OK;
}

bool hl_client_closes_after(const struct hl_client *c)
{
    return c->must_close || !c->body_done || c->worker->is_draining;
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
    c->held_scanned = 0;
    c->taker = HL_TAKER_NOBODY;
    c->stream.read_size = HL_READ_SIZE;
    rearm(c);
    if (c->held_n > 0)
        consume_held(c);
    else if (!c->stream.is_reading && !c->is_consuming)
        hl_stream_resume(&c->stream);
}

/* FIN goes out behind what is unsent; what still comes is dropped. */
static void linger(struct hl_client *c)
{
    c->state = HL_CLIENT_LINGER;
    release_held(c);
    hl_stream_shutdown(&c->stream);
    hl_stream_resume(&c->stream);
    rearm(c);
}

void hl_client_call_done(struct hl_client *c, bool is_whole)
{
    c->run = NULL;
    hl_chunk_reader_fini(&c->chunks);
    if (c->state == HL_CLIENT_CLOSING)
        return;
    if (!is_whole || c->has_ended) {
        hl_client_close(c);
    } else if (hl_client_closes_after(c)) {
        linger(c);
    } else {
        await_next(c);
    }
}

void hl_client_answer(struct hl_client *c, struct hl_answer *answer, enum hl_mode mode)
{
    struct hl_worker *w = c->worker;
    char text[ANSWER_MAX];
    c->state = HL_CLIENT_CALL;
    answer->closes = answer->closes || hl_client_closes_after(c);
    c->must_close = answer->closes;
    answer->caller_minor = c->minor;
    answer->is_head_request = c->method == HL_METHOD_HEAD;
    size_t n = hl_answer_write(text, sizeof(text), answer);
    HL_ASSERT(n > 0);
    unsigned class = answer->status / 100 < HL_CODE_CLASS_COUNT ? answer->status / 100 : 0;
    hl_counter_add(&w->metrics.requests[c->method][mode][class], 1);
    c->run = NULL;
    if (hl_client_write2(c, (struct hl_str){text, n}, (struct hl_str){NULL, 0}) == HL_OK)
        hl_client_call_done(c, true);
}
