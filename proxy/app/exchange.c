/* exchange.c - see exchange.h.
 * Owns: the connection, and of the answer what is no whole head yet.
 * Promise: it holds no more than a head and a read.
 * Not here: who asks, and what becomes of the answer (readiness.c, api/admin_pass.c, body/relay.c). */
#include "app/exchange.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "http/message.h"
#include "http/refusal.h"
#include "loop/wheel.h"
#include "net/stream.h"

struct hl_exchange {
    struct hl_stream stream;
    struct hl_exchange_order order;
    struct hl_message_rules rules;
    struct hl_timer timer;
    bool is_dropped, is_connected, has_head, is_paused;
    struct hl_message_reader answer;
    struct hl_buf request; /* until it is sent */
    struct hl_buf in;      /* an incomplete head */
};

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

static void end(struct hl_exchange *exchange, enum hl_exchange_end how, int error)
{
    hl_exchange_drop(exchange);
    exchange->order.events->end(exchange->order.owner, how, error);
}

/* ---- how long it may take ---- */

static void on_timer(struct hl_timer *timer)
{
    struct hl_exchange *exchange = HL_CONTAINER_OF(timer, struct hl_exchange, timer);
    end(exchange, HL_EXCHANGE_LATE, exchange->is_connected ? 0 : UV_ETIMEDOUT);
}

static void expect(struct hl_exchange *exchange, uint64_t ms)
{
    if (ms > 0 && !exchange->is_paused)
        hl_timer_arm(exchange->order.wheel, &exchange->timer, ms);
    else
        hl_timer_disarm(&exchange->timer);
}

void hl_exchange_pause(struct hl_exchange *exchange)
{
    exchange->is_paused = true;
    hl_timer_disarm(&exchange->timer);
    hl_stream_pause(&exchange->stream);
}

void hl_exchange_resume(struct hl_exchange *exchange)
{
    const struct hl_exchange_order *order = &exchange->order;
    if (!exchange->is_paused)
        return;
    exchange->is_paused = false;
    if (exchange->has_head)
        expect(exchange, order->silence_ms);
    else
        expect(exchange,
            exchange->is_connected || !order->connect_ms ? order->head_ms : order->connect_ms);
    if (exchange->is_connected)
        hl_stream_resume(&exchange->stream);
}

/* ---- the answer ---- */

static void take_body(struct hl_exchange *exchange, struct hl_str bytes)
{
    const struct hl_exchange_order *order = &exchange->order;
    struct hl_refusal fault;
    struct hl_str data;
    if (!order->is_decoded) {
        if (order->events->bytes && bytes.n > 0)
            order->events->bytes(order->owner, bytes);
        return;
    }
    while (!exchange->is_dropped) {
        switch (hl_message_read_body(&exchange->answer, &bytes, &data, &fault)) {
        case HL_MESSAGE_DATA:
            if (order->events->bytes)
                order->events->bytes(order->owner, data);
            break;
        case HL_MESSAGE_END:
            end(exchange, HL_EXCHANGE_WHOLE, 0);
            return;
        case HL_MESSAGE_FAULT:
            end(exchange, HL_EXCHANGE_UNREADABLE, 0);
            return;
        default:
            return;
        }
    }
}

/* Interim answers say nothing. */
static void take_head(struct hl_exchange *exchange, struct hl_str bytes)
{
    struct hl_refusal fault;
    struct hl_head *head = malloc(sizeof(*head));
    enum hl_message_event event;
    if (!head) {
        end(exchange, HL_EXCHANGE_NO_MEMORY, UV_ENOMEM);
        return;
    }
    do
        event = hl_message_read_response(
            &exchange->answer, &bytes, exchange->order.method, false, head, &fault);
    while (event == HL_MESSAGE_HEAD && head->status < 200);
    if (event == HL_MESSAGE_HEAD) {
        exchange->has_head = true;
        expect(exchange, exchange->order.silence_ms);
        exchange->order.events->head(exchange->order.owner, head);
    } else if (event == HL_MESSAGE_FAULT) {
        end(exchange, HL_EXCHANGE_UNREADABLE, 0);
    }
    free(head);
    if (exchange->is_dropped)
        return;
    if (exchange->has_head)
        take_body(exchange, bytes);
    else
        hl_buf_drop(&exchange->in, exchange->in.n - bytes.n);
}

static void on_bytes(struct hl_exchange *exchange, struct hl_str bytes)
{
    if (exchange->has_head) {
        expect(exchange, exchange->order.silence_ms);
        take_body(exchange, bytes);
    } else if (hl_buf_append_str(&exchange->in, bytes) != HL_OK) {
        end(exchange, HL_EXCHANGE_NO_MEMORY, UV_ENOMEM);
    } else {
        take_head(exchange, hl_buf_str(&exchange->in));
        if (exchange->has_head)
            hl_buf_fini(&exchange->in);
    }
}

/* ---- the connection ---- */

static void on_connected(struct hl_exchange *exchange, int error)
{
    const struct hl_exchange_order *order = &exchange->order;
    enum hl_err err = HL_OK;
    exchange->is_connected = error == 0;
    if (error == 0 && exchange->request.n == 0) {
        end(exchange, HL_EXCHANGE_WHOLE, 0);
        return;
    }
    if (error == 0)
        err = hl_stream_write(&exchange->stream, exchange->request.p, exchange->request.n);
    if (err == HL_ERR_NOMEM) {
        end(exchange, HL_EXCHANGE_NO_MEMORY, UV_ENOMEM);
        return;
    }
    if (error != 0 || err) {
        end(exchange, HL_EXCHANGE_UNREACHABLE, error != 0 ? error : UV_ECONNRESET);
        return;
    }
    wipe(&exchange->request);
    if (order->connect_ms > 0)
        expect(exchange, order->head_ms);
    if (!exchange->is_paused)
        hl_stream_resume(&exchange->stream);
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
    if (exchange->is_dropped || event->kind == HL_STREAM_DRAINED ||
        event->kind == HL_STREAM_WRITE_FAILED)
        return;
    if (event->kind == HL_STREAM_CONNECTED)
        on_connected(exchange, event->error);
    else if (event->kind == HL_STREAM_DATA)
        on_bytes(exchange, (struct hl_str){event->p, event->n});
    else if (event->kind == HL_STREAM_EOF && exchange->has_head && !exchange->order.is_decoded)
        end(exchange, HL_EXCHANGE_WHOLE, 0);
    else
        end(exchange, HL_EXCHANGE_CLOSED, event->error);
}

static int connect_stream(struct hl_exchange *exchange)
{
    const struct hl_exchange_order *order = &exchange->order;
    if (order->tls &&
        hl_tls_connect(order->tls, order->tls_use, &exchange->stream, order->host) != HL_OK)
        return UV_ENOMEM;
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

struct hl_exchange *hl_exchange_begin(
    const struct hl_exchange_order *order, struct hl_buf *request, int *error)
{
    struct hl_exchange *exchange = calloc(1, sizeof(*exchange));
    *error = UV_ENOMEM;
    if (exchange) {
        exchange->order = *order;
        *error = init_stream(exchange);
    }
    if (*error != 0) {
        wipe(request);
        free(exchange);
        return NULL;
    }
    exchange->request = *request;
    hl_buf_init(request, 0);
    hl_buf_init(&exchange->in, 0);
    exchange->rules = (struct hl_message_rules){.max_head = order->max_head,
        .max_trailer = order->max_head,
        .no_head = &hl_refusals[HL_REFUSAL_APP_NO_HEAD],
        .head_too_large = &hl_refusals[HL_REFUSAL_APP_HEAD_TOO_LARGE]};
    hl_message_reader_init(&exchange->answer, &exchange->rules);
    hl_timer_init(&exchange->timer, on_timer);
    if (order->read_size > 0)
        exchange->stream.read_size = order->read_size;
    *error = connect_stream(exchange);
    if (*error != 0) {
        hl_exchange_drop(exchange);
        return NULL;
    }
    expect(exchange, order->connect_ms > 0 ? order->connect_ms : order->head_ms);
    return exchange;
}
