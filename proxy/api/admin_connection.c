/* admin_connection.c - one connection to the admin listener.
 * Owns: the socket, bytes that are not a whole request yet, the one deadline that counts.
 * Thread: control.
 * Promise: a request is answered when all of it is there, in order; nothing more is read while an
 * answer waits for the socket; every wait has a deadline.
 * Not here: what a request asks for (endpoint.c). */
#include "api/admin_connection.h"

#include <stdlib.h>

#include "config/config.h"
#include "http/chunked.h"
#include "http/problem.h"
#include "http/target.h"

#define LINGER_MS  2000
#define READ_SIZE  (16 * 1024)
#define ANSWER_MAX 4096 /* an answer without its body, or a problem */

enum state {
    STATE_HEAD,    /* between requests, or part of a head is in `in` */
    STATE_BODY,    /* the head was taken off `in`; the body is read, and the answer is due */
    STATE_LINGER,  /* the last answer is written; reads and drops until the peer closes, so that no
                      RST destroys it (RFC 9112 9.6) */
    STATE_CLOSING, /* ends in the close callback */
};

struct connection {
    struct hl_stream stream;
    struct hl_admin_home *home;
    struct hl_list node;
    enum state state;
    struct hl_timer timer;
    struct hl_buf in; /* read and not yet used */
    size_t scanned;   /* of `in`, for the end of the head */
    bool has_ended;   /* the peer sent FIN */
    bool has_begun; /* a request's first byte has come: HOOKLINE_HEAD_TIMEOUT runs for all of it */

    /* the present request */
    struct hl_buf target;
    enum hl_method method;
    uint8_t minor;
    bool must_close;              /* after its answer */
    char tags[HL_ADMIN_MAX_TAGS]; /* of If-None-Match */
    enum hl_framing framing;
    uint64_t body_left;  /* with HL_FRAMING_LENGTH */
    uint64_t body_taken; /* with HL_FRAMING_CHUNKED */
    struct hl_chunk_reader chunks;
};

static void on_timer(struct hl_timer *timer);
static void on_event(struct hl_stream *stream, const struct hl_stream_event *event);

bool hl_admin_connection_accept(struct hl_admin_home *home, struct hl_listener *listener)
{
    struct connection *c = calloc(1, sizeof(*c));
    if (!c || hl_stream_init_tcp(&c->stream, home->loop, home->reader, on_event) != 0) {
        free(c);
        return false;
    }
    c->home = home;
    c->stream.read_size = READ_SIZE;
    hl_timer_init(&c->timer, on_timer);
    hl_chunk_reader_init(&c->chunks, HL_ADMIN_MAX_HEAD);
    hl_list_push_back(&home->connections, &c->node);
    home->count++;
    if (hl_listener_accept(listener, &c->stream) != 0) {
        c->state = STATE_CLOSING;
        hl_stream_close(&c->stream);
        return true;
    }
    hl_timer_arm(home->wheel, &c->timer, home->view.config->keepalive_timeout_ms);
    hl_stream_resume(&c->stream);
    return true;
}

static void close_connection(struct connection *c)
{
    c->state = STATE_CLOSING;
    hl_timer_disarm(&c->timer);
    hl_stream_close(&c->stream);
}

void hl_admin_connection_close_all(struct hl_admin_home *home)
{
    HL_LIST_EACH (node, &home->connections)
        close_connection(HL_CONTAINER_OF(node, struct connection, node));
}

static void free_connection(struct connection *c)
{
    struct hl_admin_home *home = c->home;
    hl_timer_fini(home->wheel, &c->timer);
    hl_chunk_reader_fini(&c->chunks);
    hl_buf_fini(&c->in);
    hl_buf_fini(&c->target);
    hl_list_remove(&c->node);
    free(c);
    home->count--;
    home->on_gone(home);
}

static void read_on(struct connection *c);

static void on_event(struct hl_stream *stream, const struct hl_stream_event *event)
{
    struct connection *c = HL_CONTAINER_OF(stream, struct connection, stream);
    switch (event->kind) {
    case HL_STREAM_DATA:
        if (c->state == STATE_LINGER)
            return;
        if (hl_buf_append(&c->in, event->p, event->n) == HL_OK)
            read_on(c);
        else
            close_connection(c);
        break;
    case HL_STREAM_EOF:
        c->has_ended = true;
        read_on(c);
        break;
    case HL_STREAM_DRAINED:
        read_on(c);
        break;
    case HL_STREAM_CONNECTED:
    case HL_STREAM_FAILED:
        close_connection(c);
        break;
    case HL_STREAM_CLOSED:
        free_connection(c);
        break;
    }
}

/* ---- reading ---- */

static bool take_head(struct connection *c);
static bool take_body(struct connection *c);

/* Takes what can be taken of the present request. False: nothing more can be done now. */
static bool take(struct connection *c)
{
    if (hl_stream_is_blocked(&c->stream))
        return false;
    if (c->state == STATE_HEAD)
        return take_head(c);
    return c->state == STATE_BODY && take_body(c);
}

/* Says what is waited for: reading on or off, and the deadline. */
static void wait_on(struct connection *c)
{
    const struct hl_config *config = c->home->view.config;
    struct hl_wheel *wheel = c->home->wheel;
    if (hl_stream_is_blocked(&c->stream)) {
        hl_stream_pause(&c->stream);
        hl_timer_arm(wheel, &c->timer, config->write_timeout_ms);
        return;
    }
    if (c->has_ended) {
        close_connection(c);
        return;
    }
    hl_stream_resume(&c->stream);
    if (c->state == STATE_LINGER) {
        hl_timer_arm(wheel, &c->timer, LINGER_MS);
    } else if (c->state == STATE_HEAD && c->in.n == 0) {
        hl_timer_arm(wheel, &c->timer, config->keepalive_timeout_ms);
    } else if (!c->has_begun) {
        c->has_begun = true;
        hl_timer_arm(wheel, &c->timer, config->head_timeout_ms);
    }
}

static void read_on(struct connection *c)
{
    while (take(c))
        continue;
    if (c->state == STATE_CLOSING)
        return;
    if (c->in.n == 0 || c->state == STATE_LINGER)
        hl_buf_fini(&c->in);
    wait_on(c);
}

static void refuse(struct connection *c, uint16_t status, const char *detail);

static void on_timer(struct hl_timer *timer)
{
    struct connection *c = HL_CONTAINER_OF(timer, struct connection, timer);
    if (hl_stream_is_blocked(&c->stream)) {
        c->state = STATE_CLOSING;
        hl_stream_close_reset(&c->stream);
    } else if (c->has_begun) {
        refuse(c, 408, "The request was not complete within HOOKLINE_HEAD_TIMEOUT.");
        read_on(c);
    } else {
        close_connection(c);
    }
}

static void keep_tags(struct connection *c, const struct hl_head *head)
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
static bool begin_request(struct connection *c, const struct hl_head *head)
{
    c->method = head->method_id;
    c->minor = head->minor;
    c->must_close = !head->is_persistent;
    c->framing = head->framing;
    c->body_left = head->framing == HL_FRAMING_LENGTH ? head->content_length : 0;
    c->body_taken = 0;
    c->target.n = 0;
    keep_tags(c, head);
    if (hl_buf_append_str(&c->target, head->target) != HL_OK) {
        close_connection(c);
        return false;
    }
    if (c->body_left > HL_ADMIN_MAX_BODY) {
        refuse(c, 413, "A request's body may have at most 64 KiB here.");
        return false;
    }
    c->state = STATE_BODY;
    bool has_body = c->body_left > 0 || c->framing == HL_FRAMING_CHUNKED;
    if (head->expects_continue && has_body &&
        hl_stream_write(&c->stream, "HTTP/1.1 100 Continue\r\n\r\n", 25) != HL_OK) {
        close_connection(c);
        return false;
    }
    return true;
}

static bool take_head(struct connection *c)
{
    struct hl_head *head = &c->home->head;
    struct hl_head_fault fault;
    size_t len = 0;
    enum hl_head_end end = hl_head_find_end(c->in.p, c->in.n, &c->scanned, &len);
    if (end == HL_HEAD_END_BAD)
        refuse(c, 400, "This is no HTTP/1.1 request: a head has lines that end with CRLF.");
    else if ((end == HL_HEAD_END_FOUND ? len : c->in.n) > HL_ADMIN_MAX_HEAD)
        refuse(c, 431, "A request's head may have at most 16 KiB here.");
    else if (end == HL_HEAD_END_MISSING)
        return false;
    else if (!hl_head_parse_request(head, c->in.p, len, &fault))
        refuse(c, fault.status, fault.detail);
    else if (begin_request(c, head))
        hl_buf_drop(&c->in, len);
    c->scanned = 0;
    return c->state == STATE_BODY;
}

static void answer(struct connection *c);

/* Bodies are read and dropped: no endpoint takes one. */
static bool take_body(struct connection *c)
{
    if (c->framing != HL_FRAMING_CHUNKED) {
        size_t n = c->in.n < c->body_left ? c->in.n : (size_t)c->body_left;
        hl_buf_drop(&c->in, n);
        c->body_left -= n;
        if (c->body_left > 0)
            return false;
        answer(c);
        return true;
    }
    const char *at = c->in.p;
    size_t left = c->in.n;
    struct hl_str data;
    enum hl_chunk_event event = hl_chunk_read(&c->chunks, &at, &left, &data);
    hl_buf_drop(&c->in, c->in.n - left);
    if (event == HL_CHUNK_DATA && (c->body_taken += data.n) > HL_ADMIN_MAX_BODY)
        refuse(c, 413, "A request's body may have at most 64 KiB here.");
    else if (event == HL_CHUNK_BAD)
        refuse(c, 400, c->chunks.fault);
    else if (event == HL_CHUNK_END)
        answer(c);
    return event == HL_CHUNK_DATA || event == HL_CHUNK_END;
}

/* ---- answering ---- */

/* Writes the answer to the present request, which is then over. */
static void write_answer(struct connection *c, const struct hl_api_response *response)
{
    struct hl_answer fields = {
        .status = response->status,
        .content_type = response->content_type,
        .body = hl_buf_str(&response->body),
        .detail = response->detail,
        .extra_fields = response->fields,
        .cache_control = response->cache_control,
        .closes = c->must_close,
        .is_head_request = c->method == HL_METHOD_HEAD,
        .caller_minor = c->minor,
    };
    size_t cap = ANSWER_MAX + response->body.n;
    char *out = malloc(cap);
    size_t n = out ? hl_answer_write(out, cap, &fields) : 0;
    if (n == 0 || hl_stream_write(&c->stream, out, n) != HL_OK) {
        close_connection(c);
    } else if (c->must_close) {
        c->state = STATE_LINGER;
        hl_stream_shutdown(&c->stream);
    } else {
        c->state = STATE_HEAD;
    }
    c->has_begun = false;
    c->method = HL_METHOD_OTHER; /* until the next head says */
    free(out);
}

static void refuse(struct connection *c, uint16_t status, const char *detail)
{
    c->must_close = true;
    c->minor = 1;
    write_answer(c, &(struct hl_api_response){.status = status, .detail = detail});
}

static void answer(struct connection *c)
{
    struct hl_target target;
    hl_chunk_reader_fini(&c->chunks);
    hl_chunk_reader_init(&c->chunks, HL_ADMIN_MAX_HEAD);
    if (!hl_target_split(hl_buf_str(&c->target), &target)) {
        refuse(c, 400, "The request's target is not a path with an optional query.");
        return;
    }
    struct hl_api_request request = {.method = c->method,
        .path = target.path,
        .query = target.query,
        .if_none_match = hl_str_from(c->tags)};
    struct hl_api_response response = {.status = 500};
    hl_api_answer(&c->home->view, &request, &response);
    write_answer(c, &response);
    hl_buf_fini(&response.body);
}
