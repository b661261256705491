/* receiver.c - see receiver.h. Thread: main. */
#include "dev/receiver.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv/unix.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/str.h"
#include "config/access.h"
#include "http/message.h"
#include "http/refusal.h"

/* ---- what a delivery says of itself ---- */

void hl_dev_inspection_begin(struct hl_dev_inspection *i)
{
    hl_dev_inspection_end(i);
    *i = (struct hl_dev_inspection){.n = 0};
}

void hl_dev_inspection_end(struct hl_dev_inspection *i)
{
    if (i->has_hmac)
        hl_signature_fini(&i->hmac);
    i->has_hmac = false;
}

void hl_dev_inspection_field(struct hl_dev_inspection *i, struct hl_str name, struct hl_str value)
{
    struct {
        const char *name;
        char *out;
        size_t size;
    } wanted[] = {{"X-Request-Id", i->run_id, sizeof(i->run_id)},
        {"X-Service-Webhook-Timestamp", i->timestamp, sizeof(i->timestamp)},
        {"X-Service-Webhook-Signature", i->signature, sizeof(i->signature)}};
    for (size_t k = 0; k < HL_ARRAY_LEN(wanted); k++)
        if (hl_str_eq_nocase(name, hl_str_from(wanted[k].name)) && value.n < wanted[k].size)
            snprintf(wanted[k].out, wanted[k].size, "%.*s", HL_STR_ARG(value));
}

void hl_dev_inspection_head(struct hl_dev_inspection *i, struct hl_str secret)
{
    struct hl_id id;
    uint64_t seconds;
    if (!hl_id_parse(hl_str_from(i->run_id), &id)) {
        i->run_id[0] = '\0'; /* it is shown */
        return;
    }
    i->has_hmac = hl_str_to_u64(hl_str_from(i->timestamp), &seconds) &&
                  hl_signature_init(&i->hmac, secret) == HL_OK;
    if (i->has_hmac)
        hl_signature_begin(&i->hmac, &id, (int64_t)seconds);
}

void hl_dev_inspection_body(struct hl_dev_inspection *i, struct hl_str bytes)
{
    size_t room = sizeof(i->beginning) - i->n, n = bytes.n < room ? bytes.n : room;
    memcpy(i->beginning + i->n, bytes.p, n);
    i->n += n;
    if (i->has_hmac)
        hl_signature_feed(&i->hmac, bytes.p, bytes.n);
}

static const char *judge_signature(struct hl_dev_inspection *i)
{
    struct hl_signature_text text;
    if (!i->signature[0])
        return "not signed";
    if (!i->has_hmac)
        return "signature without a run id or timestamp";
    hl_signature_end(&i->hmac, &text);
    bool is_good = strncmp(i->signature, "v1,", 3) == 0 && strcmp(i->signature + 3, text.hex) == 0;
    if (is_good)
        return "signature verified";
    /* Of a call that brings a secret of its own nothing more can be known here. */
    return "signed with another secret: the call's own, if it had one";
}

/* Its first member, as hookline writes it. */
static void read_type(const struct hl_dev_inspection *i, char *out, size_t size)
{
    static const char before[] = "{\"type\":\"";
    size_t at = sizeof(before) - 1, n = 0;
    if (i->n < at || memcmp(i->beginning, before, at) != 0)
        return;
    while (at + n < i->n && n < size - 1 &&
           ((i->beginning[at + n] >= 'a' && i->beginning[at + n] <= 'z') ||
               i->beginning[at + n] == '.'))
        n++;
    memcpy(out, i->beginning + at, n);
}

void hl_dev_inspection_read(struct hl_dev_inspection *i, struct hl_dev_delivery *out)
{
    *out = (struct hl_dev_delivery){.verdict = judge_signature(i)};
    memcpy(out->run_id, i->run_id, sizeof(out->run_id));
    read_type(i, out->type, sizeof(out->type));
    hl_clock_format(hl_clock_wall_ms(), out->time);
    hl_dev_inspection_end(i);
}

/* ---- the receiver ---- */

#define HEAD_MAX (64 * 1024)

/* A caller, who sends one request after another. */
struct connection {
    struct hl_list node;
    uv_tcp_t tcp;
    struct hl_dev_receiver *receiver;
    struct hl_message_reader messages;
    struct hl_buf in; /* what was not read yet: an incomplete head at the most */
    /* the request under way */
    bool has_head, is_last, is_ours;
    enum hl_method method;
    unsigned refused; /* 0: nothing is wrong with who asks */
    struct hl_dev_inspection inspection;
    bool is_closing;
};

static const struct hl_message_rules rules = {.max_head = HEAD_MAX,
    .max_trailer = HEAD_MAX,
    .no_head = &hl_refusals[HL_REFUSAL_NO_HEAD],
    .head_too_large = &hl_refusals[HL_REFUSAL_HEAD_TOO_LARGE]};

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
    hl_message_reader_fini(&c->messages);
    hl_buf_fini(&c->in);
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
    if (hl_str_eq(failure, HL_STR("timeout"))) {
        c->is_last = false; /* it is left to wait */
        return;
    }
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

/* Whoever shows a page to somebody on this machine can send something here: as at our other listeners a name
 * that was pointed here is refused, and a page of another origin changes nothing. 0: nothing is wrong. */
static unsigned judge_asker(const struct hl_head *head)
{
    const struct hl_str no_names = HL_STR("");
    bool changes = head->method_id != HL_METHOD_GET && head->method_id != HL_METHOD_HEAD;
    if (!hl_hookline_hosts_have(no_names, head->host))
        return 421;
    return changes && hl_hookline_hosts_is_cross_site(no_names, head) ? 403 : 0;
}

static void begin_request(struct connection *c, const struct hl_head *head)
{
    c->has_head = true;
    c->is_last = !head->is_persistent;
    c->is_ours = hl_str_eq(head->target, HL_STR(HL_DEV_HOOKS_PATH));
    c->method = head->method_id;
    c->refused = judge_asker(head);
    hl_dev_inspection_begin(&c->inspection);
    for (size_t i = 0; i < head->field_count; i++)
        hl_dev_inspection_field(&c->inspection, head->fields[i].name, head->fields[i].value);
    hl_dev_inspection_head(&c->inspection, c->receiver->secret);
}

static void end_request(struct connection *c)
{
    hl_message_next(&c->messages);
    c->has_head = false;
    if (c->refused)
        answer(c, c->refused, HL_STR("{}\n"));
    else if (c->is_ours && c->method == HL_METHOD_POST)
        take_delivery(c);
    else if (c->is_ours && c->method == HL_METHOD_GET)
        list_deliveries(c);
    else
        answer(c, c->is_ours ? 405 : 404, HL_STR("{}\n"));
}

/* ---- bytes ---- */

/* False: more bytes are needed, or the connection closes. */
static bool take_head(struct connection *c, struct hl_str *bytes)
{
    static struct hl_head head; /* within one event */
    struct hl_refusal fault;
    enum hl_message_event event = hl_message_read_request(&c->messages, bytes, &head, &fault);
    if (event == HL_MESSAGE_HEAD) {
        begin_request(c, &head);
    } else if (event == HL_MESSAGE_FAULT) {
        answer(c, fault.status, HL_STR("{}\n"));
        close_connection(c);
    }
    return c->has_head;
}

static bool take_body(struct connection *c, struct hl_str *bytes)
{
    struct hl_refusal fault;
    struct hl_str data;
    enum hl_message_event event = hl_message_read_body(&c->messages, bytes, &data, &fault);
    if (event == HL_MESSAGE_DATA)
        hl_dev_inspection_body(&c->inspection, data);
    else if (event == HL_MESSAGE_END)
        end_request(c);
    if (event == HL_MESSAGE_FAULT || (event == HL_MESSAGE_END && c->is_last))
        close_connection(c);
    return event != HL_MESSAGE_MORE && !c->is_closing;
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
    if (n < 0 || hl_buf_append(&c->in, bytes->base, (size_t)n) != HL_OK) {
        close_connection(c);
        return;
    }
    struct hl_str rest = hl_buf_str(&c->in);
    while (c->has_head ? take_body(c, &rest) : take_head(c, &rest)) {
    }
    hl_buf_drop(&c->in, c->in.n - rest.n);
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
    hl_buf_init(&c->in, 0);
    hl_message_reader_init(&c->messages, &rules);
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
