/* pool.h - connections to the app: reused last used first, or newly made with back-off until a
 * deadline.
 *
 * One pool a worker, on the worker's loop. An idle connection keeps its read watcher: the app's
 * close removes it at once, so a health look on reuse costs nothing. */
#ifndef HL_APP_POOL_H
#define HL_APP_POOL_H

#include <uv.h>

#include "app/cause.h"
#include "app/host.h"
#include "app/pool_group.h"
#include "base/list.h"
#include "base/slab.h"
#include "config/config.h"
#include "loop/mailbox.h"
#include "loop/wheel.h"
#include "net/peer.h"
#include "net/stream.h"

/* A request that cannot be sent twice (a body, a method that is not idempotent) takes a kept
 * connection only if it was idle for less than this: servers close idle connections after 2 s
 * (gunicorn) to 5 s (Node, uvicorn), and a request that meets that close is lost. */
#define HL_POOL_FRESH_MS 1500
/* Kept connections older than this are closed. */
#define HL_POOL_IDLE_MAX_MS 60000
/* An app whose machine does not answer any more for this long has gone. Connections are looked at
 * every 5 s, so that its calls end within a minute. */
#define HL_POOL_SILENCE_MAX_MS 45000

enum hl_upstream_state {
    HL_UPSTREAM_CONNECTING, /* belongs to a wait */
    HL_UPSTREAM_IDLE,       /* in the pool's list; reading, to see the app's close */
    HL_UPSTREAM_BUSY,       /* belongs to a call: its owner gets the events */
    HL_UPSTREAM_CLOSING,    /* ends in the close callback */
};

struct hl_upstream {
    struct hl_stream stream;
    struct hl_pool *pool;
    struct hl_list node; /* in pool->idle or pool->busy */
    enum hl_upstream_state state;
    uint64_t idle_since;
    uint64_t keep_ms; /* an idle one stays open this long (its Keep-Alive field); 0: unknown */
    uint32_t calls;   /* that used it before */
    struct hl_silence silence; /* of the app's machine, while BUSY */
    void *owner;
    void (*on_event)(void *owner, const struct hl_stream_event *event);
};

struct hl_pool {
    struct hl_pool_member member; /* of the group of all workers' pools */
    uv_loop_t *loop;
    struct hl_wheel *wheel;
    struct hl_reader *reader;
    const struct hl_app_url *url;
    struct hl_slab slab;
    struct hl_list idle; /* most recently used first */
    struct hl_list busy; /* connecting, busy and closing */
    struct hl_list waits;
    unsigned open_count;
    struct hl_timer sweep;
    bool is_closing;
    struct hl_host host;
};

/* Someone who waits for a new connection. Embedded in the waiter; linked while it waits. */
struct hl_upstream_wait {
    struct hl_list node;
    struct hl_pool *pool;
    struct hl_upstream *connecting;
    struct hl_timer timer; /* back-off, or the bound of one connect */
    uint64_t deadline;     /* uv_now */
    uint32_t backoff_ms;
    uint32_t address;
    uint32_t tried; /* addresses in this round */
    bool is_resolving;
    struct hl_cause cause; /* why there is no connection yet */
    /* With a connection (BUSY, owner to be set by hl_upstream_own), or NULL: the deadline has
     * passed. Not from inside hl_pool_request. */
    void (*on_done)(struct hl_upstream_wait *wait, struct hl_upstream *upstream);
};

void hl_pool_init(struct hl_pool *pool, uv_loop_t *loop, struct hl_wheel *wheel,
    struct hl_reader *reader, const struct hl_app_url *url, struct hl_pool_group *group,
    struct hl_mailbox *mailbox);
/* The worker's mailbox brought HL_POOL_ROOM. */
void hl_pool_on_room(struct hl_msg *msg);
/* Closes all connections; busy ones too. Waits must have been cancelled. */
void hl_pool_close(struct hl_pool *pool);
void hl_pool_fini(struct hl_pool *pool); /* after the loop ran its close callbacks */

/* A kept connection, or NULL. `is_replayable`: the request may be sent again if the connection
 * turns out dead. */
struct hl_upstream *hl_pool_take(struct hl_pool *pool, bool is_replayable);

void hl_upstream_wait_init(struct hl_upstream_wait *wait,
    void (*on_done)(struct hl_upstream_wait *wait, struct hl_upstream *upstream));
/* Connects, again and again with back-off, for `timeout_ms`. Ends with on_done or hl_pool_cancel.
 */
void hl_pool_request(struct hl_pool *pool, struct hl_upstream_wait *wait, uint64_t timeout_ms);
/* Harmless when nothing waits. */
void hl_pool_cancel(struct hl_upstream_wait *wait);

/* Who gets a BUSY connection's events. */
void hl_upstream_own(struct hl_upstream *u, void *owner,
    void (*on_event)(void *owner, const struct hl_stream_event *event));
/* Gives it back for reuse: the last message on it ended cleanly and nothing is unsent. */
void hl_pool_put(struct hl_upstream *u);
/* Closes the kept ones: whoever kept them is not ready. */
void hl_pool_drop_idle(struct hl_pool *pool);
/* Ends it; its owner gets no further event. */
void hl_upstream_close(struct hl_upstream *u);

#endif
