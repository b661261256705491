/* exchange.h - one request to another HTTP server, and its answer as it comes: for the app's readiness, for calls and
 * lists that the dashboard asks for, for a run that another replica has. Thread: its loop's. */
#ifndef HL_APP_EXCHANGE_H
#define HL_APP_EXCHANGE_H

#include <uv.h>

#include "base/str.h"
#include "http/head.h"
#include "tls/tls.h"

struct hl_buf;

struct hl_exchange;

enum hl_exchange_end {
    HL_EXCHANGE_WHOLE, /* the body is over; in its own framing: the connection closed behind the head */
    HL_EXCHANGE_UNREACHABLE, /* it did not connect, or could not send; `error` is libuv's,
                                or a hl_tls_fault */
    HL_EXCHANGE_LATE,        /* `error`: UV_ETIMEDOUT if it was not even connected */
    HL_EXCHANGE_CLOSED,      /* the connection ended too early */
    HL_EXCHANGE_UNREADABLE,
    HL_EXCHANGE_NO_MEMORY,
};

/* Called after hl_exchange_begin has returned; each may drop the exchange. */
struct hl_exchange_events {
    /* The final head; valid during the call. */
    void (*head)(void *owner, const struct hl_head *head);
    /* What follows it. NULL: nobody wants it. */
    void (*bytes)(void *owner, struct hl_str bytes);
    /* It is over, and gone. */
    void (*end)(void *owner, enum hl_exchange_end how, int error);
};

struct hl_exchange_order {
    uv_loop_t *loop;
    struct hl_wheel *wheel;
    struct hl_reader *reader;
    const struct sockaddr *address; /* NULL: the unix: `path` */
    const char *path;
    struct hl_tls_seat *tls; /* NULL: it speaks none */
    enum hl_tls_use tls_use;
    const char *host; /* hl_tls_connect; outlives the seat */
    enum hl_method method;
    size_t max_head;
    uint32_t read_size; /* 0: as many as a read may have */
    bool is_decoded;    /* bytes: off their framing */
    /* Bounds, 0: none. */
    uint64_t connect_ms;
    /* until the head, once it is connected; without connect_ms, from the begin on */
    uint64_t head_ms;
    uint64_t silence_ms; /* behind the head, for each wait */
    const struct hl_exchange_events *events;
    void *owner;
};

/* `request` is all of it, head and body, and says Connection: close; it is taken, and wiped when it
 * was sent. An empty one: it is WHOLE when it is connected. NULL: it cannot be asked, `*error` is libuv's, and
 * `request` is gone. */
struct hl_exchange *hl_exchange_begin(
    const struct hl_exchange_order *order, struct hl_buf *request, int *error);
/* Bytes are wanted, or not just now, and nothing is late then. */
void hl_exchange_resume(struct hl_exchange *exchange);
void hl_exchange_pause(struct hl_exchange *exchange);
/* No answer is wanted any more; NULL-safe. */
void hl_exchange_drop(struct hl_exchange *exchange);

#endif
