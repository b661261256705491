/* upstream_wait.h - a waiter for a connection to the app: a new one is made, with back-off until a
 * deadline, or a used one is returned meanwhile. While the app's gate is shut nobody connects.
 *
 * The addresses of a name are tried one behind the other, each while those before it have not answered
 * (RFC 8305): the first that does is the one. */
#ifndef HL_APP_UPSTREAM_WAIT_H
#define HL_APP_UPSTREAM_WAIT_H

#include "app/cause.h"
#include "base/list.h"
#include "loop/wheel.h"

struct hl_host;
struct hl_pool;
struct hl_upstream;

/* Embedded in the waiter; linked while it waits. */
struct hl_upstream_wait {
    struct hl_list node;
    struct hl_pool *pool;
    struct hl_list attempts; /* connections that are being made, each to another address */
    struct hl_timer timer;   /* back-off, the next attempt, or the bound of one */
    uint64_t deadline;       /* uv_now */
    uint64_t next_at;        /* not before this another attempt begins while others go on */
    uint32_t backoff_ms;
    uint64_t tried;          /* in this round: the marks of addresses */
    uint32_t ended, refused; /* in this round: attempts that failed */
    bool is_resolving;
    bool lacks_room;       /* an attempt of this round found no port or no descriptor free */
    bool has_made_room;    /* a kept connection was closed for it since it last sat out */
    struct hl_cause cause; /* why there is no connection yet */
    /* With a connection (BUSY, owner to be set by hl_upstream_own), or NULL: the deadline has
     * passed. Not from inside hl_upstream_wait_begin. */
    void (*on_done)(struct hl_upstream_wait *wait, struct hl_upstream *upstream);
};

/* None has begun, and none is to cancel: `*wait` is zeroed but for that. */
static inline void hl_upstream_wait_none(struct hl_upstream_wait *wait)
{
    hl_list_init(&wait->node);
}
static inline bool hl_upstream_wait_is_connecting(const struct hl_upstream_wait *wait)
{
    return !hl_list_is_empty(&wait->attempts);
}
void hl_upstream_wait_init(struct hl_upstream_wait *wait,
    void (*on_done)(struct hl_upstream_wait *wait, struct hl_upstream *upstream));
/* Connects, again and again with back-off, for `timeout_ms`. Ends with on_done or
 * hl_upstream_wait_cancel. */
void hl_upstream_wait_begin(
    struct hl_upstream_wait *wait, struct hl_pool *pool, uint64_t timeout_ms);
/* Harmless when it does not wait. */
void hl_upstream_wait_cancel(struct hl_upstream_wait *wait);

/* The gate has opened: those of `pool` that sit something out connect at once. */
void hl_upstream_wait_hurry(struct hl_pool *pool);
/* The one of `pool` that has waited longest with no connect under way, or NULL; so too while the gate is
 * shut. */
struct hl_upstream_wait *hl_upstream_wait_find(struct hl_pool *pool);
/* Ends it with a connection that came back. */
void hl_upstream_wait_end(struct hl_upstream_wait *wait, struct hl_upstream *upstream);
/* The name of `pool->host` has been looked up. */
void hl_upstream_wait_on_resolved(struct hl_host *host, int status);

#endif
