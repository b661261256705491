/* receiver.c - see receiver.h. Thread: main. */
#include "dev/receiver.h"

#include <arpa/inet.h>
#include <llhttp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv/unix.h>

#include "base/buf.h"
#include "config/own_hosts.h"
#include "dev/delivery.h"

/* A caller, who sends one request after another. */
struct connection {
    struct hl_list node;
    uv_tcp_t tcp;
    struct hl_dev_receiver *receiver;
    llhttp_t parser;
    struct hl_buf target, name, value;
    struct hl_buf host, site, origin; /* what a browser says of who asks */
    bool says_twice;                  /* one of them: nobody does so */
    struct hl_dev_inspection inspection;
    bool is_closing;
};

static llhttp_settings_t events;

bool hl_dev_failures_are_valid(const char *failures)
{
    struct hl_str rest = hl_str_from(failures), word;
    bool is_any = false;
    while (hl_str_next_element(&rest, &word)) {
        uint64_t status;
        bool is_status = hl_str_to_u64(word, &status) && status >= 200 && status <= 599;
        if (!is_status && !hl_str_eq(word, HL_STR("timeout")) && !hl_str_eq(word, HL_STR("reset")))
            return false;
        is_any = true;
    }
    return is_any;
}

/* ---- connections ---- */

static void on_closed(uv_handle_t *handle)
{
    struct connection *c = HL_CONTAINER_OF(handle, struct connection, tcp);
    hl_buf_fini(&c->target);
    hl_buf_fini(&c->name);
    hl_buf_fini(&c->value);
    hl_buf_fini(&c->host);
    hl_buf_fini(&c->site);
    hl_buf_fini(&c->origin);
    hl_dev_inspection_end(&c->inspection);
    free(c);
}

static void close_connection(struct connection *c)
{
    if (c->is_closing)
        return;
    c->is_closing = true;
    hl_list_remove(&c->node);
    uv_close((uv_handle_t *)&c->tcp, on_closed);
}

static void reset_connection(struct connection *c)
{
    if (c->is_closing)
        return;
    c->is_closing = true;
    hl_list_remove(&c->node);
    if (uv_tcp_close_reset(&c->tcp, on_closed) != 0)
        uv_close((uv_handle_t *)&c->tcp, on_closed);
}

static void answer(struct connection *c, unsigned status, struct hl_str body)
{
    struct hl_buf out;
    hl_buf_init(&out, 0);
    enum hl_err err = hl_buf_printf(&out,
        "HTTP/1.1 %u Said by hookline dev\r\nContent-Type: application/json\r\n"
        "Content-Length: %zu\r\n\r\n",
        status, body.n);
    if (!err)
        err = hl_buf_append_str(&out, body);
    uv_buf_t bytes = uv_buf_init(out.p, (unsigned)out.n);
    if (err || uv_try_write((uv_stream_t *)&c->tcp, &bytes, 1) != (int)out.n)
        close_connection(c);
    hl_buf_fini(&out);
}

/* ---- deliveries ---- */

/* What the next one is answered with; an empty word: 200. */
static struct hl_str next_failure(struct hl_dev_receiver *r)
{
    struct hl_str rest = r->failures ? hl_str_from(r->failures) : HL_STR(""), word = HL_STR("");
    if (!hl_str_next_element(&rest, &word))
        return HL_STR("");
    r->failures = rest.n > 0 ? rest.p : NULL;
    return word;
}

static void note(struct connection *c, struct hl_str how)
{
    struct hl_dev_receiver *r = c->receiver;
    struct hl_dev_delivery *d = &r->shown[r->count++ % HL_DEV_HOOKS_SHOWN];
    hl_dev_inspection_read(&c->inspection, d);
    snprintf(d->answer, sizeof(d->answer), "%.*s", HL_STR_ARG(how));
    fprintf(r->out, "%-8s | %s of run %s: %s, answered with %s\n", "webhook",
        d->type[0] ? d->type : "something", d->run_id[0] ? d->run_id : "(none)", d->verdict,
        d->answer);
    fflush(r->out);
}

static void take_delivery(struct connection *c)
{
    struct hl_str failure = next_failure(c->receiver);
    uint64_t status = 200;
    note(c, failure.n > 0 ? failure : HL_STR("200"));
    if (hl_str_eq(failure, HL_STR("timeout")))
        return;
    if (hl_str_eq(failure, HL_STR("reset"))) {
        reset_connection(c);
        return;
    }
    if (failure.n > 0 && !hl_str_to_u64(failure, &status))
        status = 500;
    answer(c, (unsigned)status, HL_STR("{}\n"));
}

/* The newest first. */
static void list_deliveries(struct connection *c)
{
    const struct hl_dev_receiver *r = c->receiver;
    struct hl_buf out;
    hl_buf_init(&out, 0);
    size_t n = r->count < HL_DEV_HOOKS_SHOWN ? r->count : HL_DEV_HOOKS_SHOWN;
    enum hl_err err = hl_buf_printf(&out, "{\"deliveries\":[");
    for (size_t i = 0; i < n && !err; i++) {
        const struct hl_dev_delivery *d = &r->shown[(r->count - 1 - i) % HL_DEV_HOOKS_SHOWN];
        err = hl_buf_printf(&out,
            "%s\n{\"time\":\"%s\",\"run_id\":\"%s\",\"type\":\"%s\",\"verdict\":\"%s\",\"answer\":"
            "\"%s\"}",
            i > 0 ? "," : "", d->time, d->run_id, d->type, d->verdict, d->answer);
    }
    if (!err)
        err = hl_buf_printf(&out, "]}\n");
    answer(c, err ? 500 : 200, err ? HL_STR("{}\n") : hl_buf_str(&out));
    hl_buf_fini(&out);
}

/* ---- requests ---- */

static struct connection *connection_of(llhttp_t *parser)
{
    return HL_CONTAINER_OF(parser, struct connection, parser);
}

static int append(struct hl_buf *to, const char *p, size_t n)
{
    return hl_buf_append(to, p, n) == HL_OK ? 0 : -1;
}

static int on_begin(llhttp_t *parser)
{
    struct connection *c = connection_of(parser);
    hl_buf_drop(&c->target, c->target.n);
    hl_buf_drop(&c->host, c->host.n);
    hl_buf_drop(&c->site, c->site.n);
    hl_buf_drop(&c->origin, c->origin.n);
    c->says_twice = false;
    hl_dev_inspection_begin(&c->inspection);
    return 0;
}

static int on_url(llhttp_t *parser, const char *p, size_t n)
{
    return append(&connection_of(parser)->target, p, n);
}

static int on_name(llhttp_t *parser, const char *p, size_t n)
{
    return append(&connection_of(parser)->name, p, n);
}

static int on_value(llhttp_t *parser, const char *p, size_t n)
{
    return append(&connection_of(parser)->value, p, n);
}

static void note_asker(struct connection *c, struct hl_str name, struct hl_str value)
{
    struct {
        struct hl_str name;
        struct hl_buf *out;
    } wanted[] = {{HL_STR("Host"), &c->host}, {HL_STR("Sec-Fetch-Site"), &c->site},
        {HL_STR("Origin"), &c->origin}};
    for (size_t i = 0; i < HL_ARRAY_LEN(wanted); i++) {
        if (!hl_str_eq_nocase(name, wanted[i].name))
            continue;
        bool is_bad = wanted[i].out->n > 0 || hl_buf_append_str(wanted[i].out, value) != HL_OK;
        c->says_twice = c->says_twice || is_bad;
    }
}

/* Whoever shows a page to somebody on this machine can send something here: as at our other listeners a name
 * that was pointed here is refused, and a page of another origin changes nothing. 0: nothing is wrong. */
static unsigned judge_asker(const struct connection *c, bool changes)
{
    const struct hl_str no_names = HL_STR("");
    struct hl_str host = hl_buf_str(&c->host);
    if (c->says_twice || !hl_own_hosts_have(no_names, host))
        return 421;
    bool is_cross =
        hl_own_hosts_is_cross_site_by(no_names, host, hl_buf_str(&c->site), hl_buf_str(&c->origin));
    return changes && is_cross ? 403 : 0;
}

static int on_field(llhttp_t *parser)
{
    struct connection *c = connection_of(parser);
    note_asker(c, hl_buf_str(&c->name), hl_buf_str(&c->value));
    hl_dev_inspection_field(&c->inspection, hl_buf_str(&c->name), hl_buf_str(&c->value));
    hl_buf_drop(&c->name, c->name.n);
    hl_buf_drop(&c->value, c->value.n);
    return 0;
}

static int on_head(llhttp_t *parser)
{
    struct connection *c = connection_of(parser);
    hl_dev_inspection_head(&c->inspection, c->receiver->secret);
    return 0;
}

static int on_body(llhttp_t *parser, const char *p, size_t n)
{
    hl_dev_inspection_body(&connection_of(parser)->inspection, (struct hl_str){p, n});
    return 0;
}

static int on_request(llhttp_t *parser)
{
    struct connection *c = connection_of(parser);
    bool is_ours = hl_str_eq(hl_buf_str(&c->target), HL_STR(HL_DEV_HOOKS_PATH));
    unsigned refused = judge_asker(c, parser->method != HTTP_GET && parser->method != HTTP_HEAD);
    if (refused)
        answer(c, refused, HL_STR("{}\n"));
    else if (is_ours && parser->method == HTTP_POST)
        take_delivery(c);
    else if (is_ours && parser->method == HTTP_GET)
        list_deliveries(c);
    else
        answer(c, is_ours ? 405 : 404, HL_STR("{}\n"));
    return 0;
}

static void on_room(uv_handle_t *handle, size_t wanted, uv_buf_t *out)
{
    static char room[64 * 1024];
    (void)handle;
    (void)wanted;
    *out = uv_buf_init(room, sizeof(room));
}

static void on_bytes(uv_stream_t *stream, ssize_t n, const uv_buf_t *bytes)
{
    struct connection *c = stream->data;
    if (n < 0 || (n > 0 && llhttp_execute(&c->parser, bytes->base, (size_t)n) != HPE_OK))
        close_connection(c);
}

static bool may_accept(void *owner)
{
    (void)owner;
    return true;
}

static void on_connection(struct hl_listener *listener)
{
    struct hl_dev_receiver *r = listener->host.owner;
    struct connection *c = calloc(1, sizeof(*c));
    if (!c)
        return; /* it is asked again */
    uv_tcp_init(listener->host.loop, &c->tcp);
    c->tcp.data = c;
    c->receiver = r;
    hl_buf_init(&c->target, 64 * 1024);
    hl_buf_init(&c->name, 64 * 1024);
    hl_buf_init(&c->value, 64 * 1024);
    hl_buf_init(&c->host, 1024);
    hl_buf_init(&c->site, 1024);
    hl_buf_init(&c->origin, 4096);
    llhttp_init(&c->parser, HTTP_REQUEST, &events);
    hl_list_init(&c->node);
    hl_list_push_back(&r->connections, &c->node);
    int fd = hl_listener_take(listener);
    int rc = uv_tcp_open(&c->tcp, fd);
    if (rc != 0)
        close(fd);
    if (rc != 0 || uv_read_start((uv_stream_t *)&c->tcp, on_room, on_bytes) != 0)
        close_connection(c);
}

int hl_dev_receiver_open(struct hl_dev_receiver *r, uv_loop_t *loop, uint16_t port)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    llhttp_settings_init(&events);
    events.on_message_begin = on_begin;
    events.on_url = on_url;
    events.on_header_field = on_name;
    events.on_header_value = on_value;
    events.on_header_value_complete = on_field;
    events.on_headers_complete = on_head;
    events.on_body = on_body;
    events.on_message_complete = on_request;
    hl_list_init(&r->connections);
    r->port = port;
    const struct hl_listener_host host = {.loop = loop,
        .wheel = &r->wheel,
        .owner = r,
        .may_accept = may_accept,
        .on_connection = on_connection};
    int rc = hl_wheel_init(&r->wheel, loop);
    return rc == 0 ? hl_listener_open(&r->listener, &host, (struct sockaddr *)&at, false) : rc;
}

void hl_dev_receiver_close(struct hl_dev_receiver *r)
{
    HL_LIST_EACH_SAFE (node, &r->connections)
        close_connection(HL_CONTAINER_OF(node, struct connection, node));
    hl_listener_close(&r->listener);
    hl_wheel_close(&r->wheel);
}
