/* admin_connection.c - one connection to the admin listener or the control socket.
 * Owns: the socket, bytes that are not a whole request yet, the one deadline that counts.
 * Thread: control.
 * Promise: a request is answered when all of it is there, in order; nothing more is read while an
 * answer waits for the socket; every wait has a deadline.
 * Not here: the answers (admin_answer.c). */
#include "api/admin_connection.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv/unix.h>

#include "config/config.h"
#include "http/field_value.h"
#include "net/listener.h"
#include "tls/tls.h"

#define READ_SIZE (16 * 1024)

static const struct hl_message_rules rules = {
    .max_head = HL_ADMIN_MAX_HEAD,
    .max_trailer = HL_ADMIN_MAX_HEAD,
    .no_head = &hl_refusals[HL_REFUSAL_NO_HEAD],
    .head_too_large = &hl_refusals[HL_REFUSAL_ADMIN_HEAD_TOO_LARGE],
};

static void on_timer(struct hl_timer *timer);
static void on_event(struct hl_stream *stream, const struct hl_stream_event *event);

static int init_stream(struct hl_admin_home *home, struct hl_stream *stream, bool is_local)
{
    return is_local ? hl_stream_init_unix(stream, home->loop, home->reader, on_event)
                    : hl_stream_init_tcp(stream, home->loop, home->reader, on_event);
}

/* Only who could read the data directory anyway may use the control socket (contract 2). */
static bool is_peer_allowed(const struct hl_stream *stream, uint32_t *uid)
{
    uv_os_fd_t fd;
    struct ucred peer;
    socklen_t len = sizeof(peer);
    if (uv_fileno(&stream->handle, &fd) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0)
        return false;
    *uid = peer.uid;
    return peer.uid == geteuid() || peer.uid == 0;
}

/* False: out of memory. */
static bool begin_tls(struct hl_admin_connection *c)
{
    struct hl_tls_seat *seat = c->is_local ? NULL : c->home->view.tls;
    return !seat || hl_tls_accept(seat, HL_TLS_ADMINS, &c->stream) == HL_OK;
}

void hl_admin_connection_accept(
    struct hl_admin_home *home, struct hl_listener *listener, bool is_local, bool is_open)
{
    struct hl_admin_connection *c = calloc(1, sizeof(*c));
    if (!c || init_stream(home, &c->stream, is_local) != 0) {
        free(c);
        return;
    }
    c->home = home;
    c->is_local = is_local;
    c->is_open = is_open;
    c->stream.read_size = READ_SIZE;
    hl_timer_init(&c->timer, on_timer);
    home->responder->begin(c);
    hl_message_reader_init(&c->messages, &rules);
    hl_list_push_back(&home->connections, &c->node);
    home->count++;
    home->local_count += is_local;
    c->is_reserved = listener->is_from_reserve;
    home->reserved_count += c->is_reserved;
    if (hl_listener_accept(listener, &c->stream) != 0 ||
        (is_local && !is_peer_allowed(&c->stream, &c->uid)) || !begin_tls(c)) {
        c->state = HL_ADMIN_CLOSING;
        hl_stream_close(&c->stream);
        return;
    }
    hl_timer_arm(home->wheel, &c->timer, home->view.config->keepalive_timeout_ms);
    hl_stream_resume(&c->stream);
}

void hl_admin_connection_close(struct hl_admin_connection *c)
{
    c->home->responder->abandon(c);
    c->state = HL_ADMIN_CLOSING;
    hl_timer_disarm(&c->timer);
    hl_stream_close(&c->stream);
}

void hl_admin_connection_close_all(struct hl_admin_home *home)
{
    HL_LIST_EACH (node, &home->connections)
        hl_admin_connection_close(HL_CONTAINER_OF(node, struct hl_admin_connection, node));
}

static bool is_between_requests(const struct hl_admin_connection *c);

/* Nothing has come that this turn of the loop has not read yet. */
static bool has_nothing_to_read(const struct hl_admin_connection *c)
{
    uv_os_fd_t fd;
    char byte;
    return uv_fileno(&c->stream.handle, &fd) == 0 &&
           recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;
}

bool hl_admin_connection_make_room(struct hl_admin_home *home)
{
    struct hl_admin_connection *idlest = NULL;
    HL_LIST_EACH (node, &home->connections) {
        struct hl_admin_connection *c = HL_CONTAINER_OF(node, struct hl_admin_connection, node);
        if (c->is_local)
            continue;
        if (c->state == HL_ADMIN_CLOSING)
            return false;
        if (!idlest && is_between_requests(c) && has_nothing_to_read(c))
            idlest = c;
    }
    if (idlest)
        hl_admin_connection_close(idlest);
    return idlest != NULL;
}

static void free_connection(struct hl_admin_connection *c)
{
    struct hl_admin_home *home = c->home;
    hl_timer_fini(home->wheel, &c->timer);
    hl_message_reader_fini(&c->messages);
    hl_buf_fini(&c->in);
    hl_buf_fini(&c->target);
    hl_buf_fini(&c->body);
    hl_list_remove(&c->node);
    home->local_count -= c->is_local;
    home->reserved_count -= c->is_reserved;
    home->count--;
    free(c);
    home->on_gone(home);
}

static void read_on(struct hl_admin_connection *c);
static void wait_on(struct hl_admin_connection *c);

static void on_event(struct hl_stream *stream, const struct hl_stream_event *event)
{
    struct hl_admin_connection *c = HL_CONTAINER_OF(stream, struct hl_admin_connection, stream);
    switch (event->kind) {
    case HL_STREAM_DATA:
        if (c->state == HL_ADMIN_LINGER)
            wait_on(c);
        else if (hl_buf_append(&c->in, event->p, event->n) == HL_OK)
            read_on(c);
        else
            hl_admin_connection_close(c);
        break;
    case HL_STREAM_EOF:
        c->has_ended = true;
        read_on(c);
        break;
    case HL_STREAM_DRAINED:
        if (c->state == HL_ADMIN_ANSWER)
            c->home->responder->drained(c);
        else
            read_on(c);
        break;
    case HL_STREAM_CONNECTED:
    case HL_STREAM_FAILED:
    case HL_STREAM_WRITE_FAILED:
        hl_admin_connection_close(c);
        break;
    case HL_STREAM_CLOSED:
        free_connection(c);
        break;
    }
}

/* ---- reading ---- */

static bool take_head(struct hl_admin_connection *c);
static bool take_body(struct hl_admin_connection *c);

/* Takes what can be taken of the present request. False: nothing more can be done now. */
static bool take(struct hl_admin_connection *c)
{
    if (hl_stream_is_blocked(&c->stream))
        return false;
    if (c->state == HL_ADMIN_HEAD)
        return take_head(c);
    return c->state == HL_ADMIN_BODY && take_body(c);
}

static bool is_between_requests(const struct hl_admin_connection *c)
{
    return c->state == HL_ADMIN_HEAD && c->in.n == 0 && !hl_stream_is_blocked(&c->stream);
}

/* Says what is waited for: reading on or off, and the deadline. */
static void wait_on(struct hl_admin_connection *c)
{
    const struct hl_config *config = c->home->view.config;
    struct hl_wheel *wheel = c->home->wheel;
    if (hl_stream_is_blocked(&c->stream)) {
        hl_stream_pause(&c->stream);
        hl_stall_watch(&c->stall, &c->stream, wheel, &c->timer, config->write_timeout_ms);
        return;
    }
    hl_stall_end(&c->stall);
    bool is_following = c->state == HL_ADMIN_ANSWER && (c->answer.follower || c->answer.pass.other);
    if (c->state == HL_ADMIN_ANSWER && !(is_following && c->has_ended)) {
        if (is_following && c->in.n < READ_SIZE)
            hl_stream_resume(&c->stream); /* only reading tells that the peer has gone */
        else
            hl_stream_pause(&c->stream);
        hl_timer_disarm(&c->timer);
        return;
    }
    if (c->has_ended) {
        hl_admin_connection_close(c);
        return;
    }
    hl_stream_resume(&c->stream);
    if (c->state == HL_ADMIN_LINGER) {
        hl_linger_arm(&c->linger, wheel, &c->timer);
    } else if (is_between_requests(c)) {
        hl_list_remove(&c->node);
        hl_list_push_back(&c->home->connections, &c->node);
        hl_timer_arm(wheel, &c->timer, config->keepalive_timeout_ms);
    } else if (!c->has_begun) {
        c->has_begun = true;
        hl_timer_arm(wheel, &c->timer, config->head_timeout_ms);
    }
}

static void read_on(struct hl_admin_connection *c)
{
    while (take(c))
        continue;
    if (c->state == HL_ADMIN_CLOSING)
        return;
    if (c->in.n == 0 || c->state == HL_ADMIN_LINGER)
        hl_buf_fini(&c->in);
    wait_on(c);
}

void hl_admin_connection_go_on(struct hl_admin_connection *c)
{
    if (c->state != HL_ADMIN_CLOSING)
        read_on(c);
}

static void on_timer(struct hl_timer *timer)
{
    struct hl_admin_connection *c = HL_CONTAINER_OF(timer, struct hl_admin_connection, timer);
    struct hl_admin_home *home = c->home;
    if (hl_stream_is_blocked(&c->stream)) {
        if (!hl_stall_is_over(
                &c->stall, &c->stream, home->wheel, &c->timer, home->view.config->write_timeout_ms))
            return;
        c->home->responder->abandon(c);
        c->state = HL_ADMIN_CLOSING;
        hl_stream_close_reset(&c->stream);
    } else if (c->state == HL_ADMIN_ANSWER) {
        wait_on(c); /* it was blocked when that was set */
    } else if (c->has_begun) {
        home->responder->refuse(c, hl_refusal_make(HL_REFUSAL_ADMIN_SLOW));
        read_on(c);
    } else {
        hl_admin_connection_close(c);
    }
}

static void keep_tags(struct hl_admin_connection *c, const struct hl_head *head)
{
    c->tags[0] = '\0';
    for (size_t i = 0; i < head->field_count; i++) {
        const struct hl_field *field = &head->fields[i];
        if (hl_str_eq_nocase(field->name, HL_STR("If-None-Match")) &&
            field->value.n < sizeof(c->tags))
            *(char *)mempcpy(c->tags, field->value.p, field->value.n) = '\0';
    }
}

/* Keeps of a head what is needed when the body has come. */
static bool begin_request(struct hl_admin_connection *c, const struct hl_head *head)
{
    c->method = head->method_id;
    c->minor = head->minor;
    c->must_close = !head->is_persistent || c->is_reserved;
    c->target.n = c->body.n = 0;
    c->max_body = HL_ADMIN_MAX_BODY;
    c->too_large = HL_REFUSAL_REST_BODY_TOO_LARGE;
    keep_tags(c, head);
    const struct hl_field *codings = hl_head_field(head, HL_FIELD_ACCEPT_ENCODING);
    c->accepts_gzip = codings && hl_coding_is_preferred(codings->value, HL_STR("gzip"));
    c->refuses_text = codings && hl_identity_is_refused(codings->value);
    if (hl_tls_is_plain(&c->stream)) {
        c->home->responder->refuse(c, hl_refusal_make(HL_REFUSAL_PLAIN_TEXT));
        return false;
    }
    c->home->responder->take_head(c, head);
    if (hl_buf_append_str(&c->target, head->target) != HL_OK) {
        hl_admin_connection_close(c);
        return false;
    }
    if (c->messages.left > c->max_body) {
        c->home->responder->refuse(c, hl_refusal_make(c->too_large));
        return false;
    }
    c->state = HL_ADMIN_BODY;
    if (head->expects_continue &&
        hl_stream_write(&c->stream, "HTTP/1.1 100 Continue\r\n\r\n", 25) != HL_OK) {
        hl_admin_connection_close(c);
        return false;
    }
    return true;
}

static bool take_head(struct hl_admin_connection *c)
{
    struct hl_head *head = &c->home->head;
    struct hl_refusal fault;
    struct hl_str bytes = hl_buf_str(&c->in);
    enum hl_message_event event = hl_message_read_request(&c->messages, &bytes, head, &fault);
    if (event == HL_MESSAGE_FAULT)
        c->home->responder->refuse(c, &fault);
    else if (event == HL_MESSAGE_HEAD && begin_request(c, head))
        hl_buf_drop(&c->in, c->in.n - bytes.n);
    return c->state == HL_ADMIN_BODY;
}

static bool keep_body(struct hl_admin_connection *c, struct hl_str data)
{
    if (hl_buf_append_str(&c->body, data) == HL_OK)
        return true;
    hl_admin_connection_close(c);
    return false;
}

static void end_body(struct hl_admin_connection *c)
{
    hl_message_next(&c->messages);
    c->has_begun = false;
    c->home->responder->answer(c);
}

static bool take_body(struct hl_admin_connection *c)
{
    struct hl_str bytes = hl_buf_str(&c->in), data;
    struct hl_refusal fault;
    enum hl_message_event event = hl_message_read_body(&c->messages, &bytes, &data, &fault);
    if (event == HL_MESSAGE_DATA && c->body.n + data.n > c->max_body)
        c->home->responder->refuse(c, hl_refusal_make(c->too_large));
    else if (event == HL_MESSAGE_FAULT)
        c->home->responder->refuse(c, &fault);
    else if (event == HL_MESSAGE_DATA && !keep_body(c, data))
        return false;
    hl_buf_drop(&c->in, c->in.n - bytes.n);
    if (event == HL_MESSAGE_END)
        end_body(c);
    return event == HL_MESSAGE_DATA || event == HL_MESSAGE_END;
}
