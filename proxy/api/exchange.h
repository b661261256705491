/* exchange.h - one request to another HTTP server of this machine, and its answer as it comes: the head
 * parsed, the body in its own framing. */
#ifndef HL_API_EXCHANGE_H
#define HL_API_EXCHANGE_H

#include <uv.h>

#include "base/str.h"
#include "http/head.h"
#include "http/refusal.h"

struct hl_buf;

struct hl_exchange;

/* Called after hl_exchange_begin has returned; each may drop the exchange. */
struct hl_exchange_events {
    /* The final head; valid during the call. */
    void (*head)(void *owner, const struct hl_head *head);
    /* What follows it, as it came. */
    void (*bytes)(void *owner, struct hl_str bytes);
    /* It closed behind its answer (HL_REFUSAL_NONE), or why there is none, or no more of it. The exchange
     * is gone. */
    void (*end)(void *owner, enum hl_refusal_cause why);
};

struct hl_exchange_order {
    uv_loop_t *loop;
    struct hl_wheel *wheel;
    struct hl_reader *reader;
    struct hl_head *head;           /* scratch, used within one event */
    const struct sockaddr *address; /* NULL: the unix: `path` */
    const char *path;
    enum hl_method method;
    uint64_t patience_ms; /* until the head has come; 0: for ever */
    const struct hl_exchange_events *events;
    void *owner;
};

/* `request` is all of it, head and body, and says Connection: close; it is taken, and wiped when it
 * was sent. NULL: it cannot be asked, and `request` is gone. */
struct hl_exchange *hl_exchange_begin(
    const struct hl_exchange_order *order, struct hl_buf *request);
/* Bytes are wanted, or not just now. */
void hl_exchange_resume(struct hl_exchange *exchange);
void hl_exchange_pause(struct hl_exchange *exchange);
/* No answer is wanted any more; NULL-safe. */
void hl_exchange_drop(struct hl_exchange *exchange);

#endif
