/* exchange.c - see exchange.h.
 * Owns: the connection, and of the answer what is no whole head yet. Thread: control.
 * Not here: who asks, and what becomes of the answer (admin_pass.c). */
#include "api/exchange.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "http/message.h"
#include "loop/wheel.h"
#include "net/stream.h"

#define HEAD_MAX (64 * 1024)

struct hl_exchange {
    struct hl_stream stream;
    struct hl_exchange_order order;
    struct hl_timer timer;
    bool is_dropped, has_head;
    struct hl_message_reader answer;
    struct hl_buf request; /* until it is sent */
    struct hl_buf in;      /* an incomplete head */
};

static const struct hl_message_rules rules = {.max_head = HEAD_MAX,
    .max_trailer = HEAD_MAX,
    .no_head = &hl_refusals[HL_REFUSAL_PASS_UNREADABLE],
    .head_too_large = &hl_refusals[HL_REFUSAL_PASS_UNREADABLE]};

static void wipe(struct hl_buf *request)
{
    if (request->n > 0)
        explicit_bzero(request->p, request->n);
    hl_buf_fini(request);
}

void hl_exchange_drop(struct hl_exchange *exchange)
{
    if (!exchange || exchange->is_dropped)
        return;
    exchange->is_dropped = true;
    hl_timer_fini(exchange->order.wheel, &exchange->timer);
    wipe(&exchange->request);
    hl_stream_close(&exchange->stream);
}

static void end(struct hl_exchange *exchange, enum hl_refusal_cause why)
{
    hl_exchange_drop(exchange);
    exchange->order.events->end(exchange->order.owner, why);
}

static void on_timer(struct hl_timer *timer)
{
    end(HL_CONTAINER_OF(timer, struct hl_exchange, timer), HL_REFUSAL_PASS_LATE);
}

static void on_connected(struct hl_exchange *exchange, int error)
{
    if (error != 0 ||
        hl_stream_write(&exchange->stream, exchange->request.p, exchange->request.n) != HL_OK) {
        end(exchange, HL_REFUSAL_PASS_UNREACHABLE);
        return;
    }
    wipe(&exchange->request);
    hl_stream_resume(&exchange->stream);
}

/* False: more bytes are needed, or the exchange is gone. */
static bool read_head(struct hl_exchange *exchange, struct hl_str *bytes)
{
    struct hl_refusal fault;
    struct hl_head *head = exchange->order.head;
    enum hl_message_event event;
    do
        event = hl_message_read_response(
            &exchange->answer, bytes, exchange->order.method, false, head, &fault);
    while (event == HL_MESSAGE_HEAD && head->status < 200);
    if (event == HL_MESSAGE_FAULT)
        end(exchange, HL_REFUSAL_PASS_UNREADABLE);
    if (event != HL_MESSAGE_HEAD)
        return false;
    exchange->has_head = true;
    hl_timer_disarm(&exchange->timer);
    exchange->order.events->head(exchange->order.owner, head);
    return !exchange->is_dropped;
}

static void on_bytes(struct hl_exchange *exchange, struct hl_str bytes)
{
    if (exchange->has_head) {
        exchange->order.events->bytes(exchange->order.owner, bytes);
        return;
    }
    if (hl_buf_append_str(&exchange->in, bytes) != HL_OK) {
        end(exchange, HL_REFUSAL_NO_MEMORY);
        return;
    }
    struct hl_str rest = hl_buf_str(&exchange->in);
    bool is_read = read_head(exchange, &rest);
    if (exchange->is_dropped)
        return;
    if (is_read && rest.n > 0)
        exchange->order.events->bytes(exchange->order.owner, rest);
    if (is_read)
        hl_buf_fini(&exchange->in);
    else
        hl_buf_drop(&exchange->in, exchange->in.n - rest.n);
}

static void on_event(struct hl_stream *stream, const struct hl_stream_event *event)
{
    struct hl_exchange *exchange = HL_CONTAINER_OF(stream, struct hl_exchange, stream);
    if (event->kind == HL_STREAM_CLOSED) {
        hl_message_reader_fini(&exchange->answer);
        hl_buf_fini(&exchange->in);
        free(exchange);
        return;
    }
    if (exchange->is_dropped)
        return;
    if (event->kind == HL_STREAM_CONNECTED)
        on_connected(exchange, event->error);
    else if (event->kind == HL_STREAM_DATA)
        on_bytes(exchange, (struct hl_str){event->p, event->n});
    else if (event->kind == HL_STREAM_EOF && exchange->has_head)
        end(exchange, HL_REFUSAL_NONE);
    else if (event->kind != HL_STREAM_DRAINED && event->kind != HL_STREAM_WRITE_FAILED)
        end(exchange, HL_REFUSAL_PASS_UNREADABLE);
}

static int connect_stream(struct hl_exchange *exchange)
{
    const struct hl_exchange_order *order = &exchange->order;
    if (order->address)
        return hl_stream_connect_tcp(&exchange->stream, order->address);
    return hl_stream_connect_unix(&exchange->stream, order->path);
}

static int init_stream(struct hl_exchange *exchange)
{
    const struct hl_exchange_order *order = &exchange->order;
    return order->address
               ? hl_stream_init_tcp(&exchange->stream, order->loop, order->reader, on_event)
               : hl_stream_init_unix(&exchange->stream, order->loop, order->reader, on_event);
}

struct hl_exchange *hl_exchange_begin(const struct hl_exchange_order *order, struct hl_buf *request)
{
    struct hl_exchange *exchange = calloc(1, sizeof(*exchange));
    if (exchange)
        exchange->order = *order;
    if (!exchange || init_stream(exchange) != 0) {
        wipe(request);
        free(exchange);
        return NULL;
    }
    exchange->request = *request;
    hl_buf_init(request, 0);
    hl_buf_init(&exchange->in, 0);
    hl_message_reader_init(&exchange->answer, &rules);
    hl_timer_init(&exchange->timer, on_timer);
    if (connect_stream(exchange) != 0) {
        hl_exchange_drop(exchange);
        return NULL;
    }
    if (order->patience_ms > 0)
        hl_timer_arm(order->wheel, &exchange->timer, order->patience_ms);
    return exchange;
}

void hl_exchange_resume(struct hl_exchange *exchange)
{
    hl_stream_resume(&exchange->stream);
}

void hl_exchange_pause(struct hl_exchange *exchange)
{
    hl_stream_pause(&exchange->stream);
}
