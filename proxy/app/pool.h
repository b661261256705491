/* pool.h - the connections to the app that one worker has: kept ones are reused, last used first.
 *
 * One pool a worker, on the worker's loop. An idle connection keeps its read watcher: the app's
 * close removes it. What came since the loop last looked is asked of the kernel before reuse. */
#ifndef HL_APP_POOL_H
#define HL_APP_POOL_H

#include <uv.h>

#include "app/cause.h"
#include "app/host.h"
#include "app/pool_group.h"
#include "base/list.h"
#include "base/slab.h"
#include "loop/wheel.h"

struct hl_app_url;
struct hl_mailbox;
struct hl_msg;
struct hl_tls_seat;

/* An app that ends a connection sooner than this behind an answer, without having said so, is taken to
 * do it again for HL_POOL_WARY_MS: meanwhile a request that cannot be sent twice takes only what was
 * idle for so long. */
#define HL_POOL_SETTLE_MS 50
#define HL_POOL_WARY_MS   10000
/* Kept connections older than this are closed. */
#define HL_POOL_IDLE_MAX_MS 60000
/* An app whose machine does not answer any more for this long has gone. Connections are looked at
 * every HL_POOL_SWEEP_MS, so that its calls end within a minute. */
#define HL_POOL_SILENCE_MAX_MS 45000
#define HL_POOL_SWEEP_MS       5000

struct hl_reader;
struct hl_upstream;

struct hl_pool {
    struct hl_pool_member member; /* of the group of all workers' pools */
    uv_loop_t *loop;
    struct hl_wheel *wheel;
    struct hl_reader *reader;
    const struct hl_app_url *url;
    struct hl_tls_seat *tls; /* NULL: the app speaks none */
    struct hl_slab slab;
    struct hl_list idle;  /* most recently used first */
    struct hl_list busy;  /* connecting, busy and closing */
    struct hl_list waits; /* for a new connection */
    unsigned open_count;
    uint64_t wary_until; /* uv_now */
    uint64_t full_until; /* uv_now: no port, or no descriptor, was free for another connection */
    struct hl_cause full_cause;
    bool owes_one; /* the next that comes back is closed: another worker needs its place */
    struct hl_timer sweep;
    bool is_closing;
    struct hl_host host;
};

/* What a pool works with: borrowed. */
struct hl_pool_parts {
    uv_loop_t *loop;
    struct hl_wheel *wheel;
    struct hl_reader *reader;
    const struct hl_app_url *url;
    struct hl_pool_group *group;
    struct hl_mailbox *mailbox; /* the worker's */
    struct hl_tls_seat *tls;    /* NULL: the app speaks none */
};

void hl_pool_init(struct hl_pool *pool, const struct hl_pool_parts *parts);
/* The worker's mailbox brought HL_GATE_TURNED: kept connections go if the gate is shut, and who waits for
 * a connection goes on if it is open. */
void hl_pool_on_gate(struct hl_pool *pool);
/* The worker's mailbox brought HL_POOL_ROOM. */
void hl_pool_on_room(struct hl_msg *msg);
/* Closes all connections; busy ones too. Waits must have been cancelled. */
void hl_pool_close(struct hl_pool *pool);
void hl_pool_fini(struct hl_pool *pool); /* after the loop ran its close callbacks */

/* Its connections are looked at soon: one of them may have to go. */
static inline void hl_pool_arm_sweep(struct hl_pool *pool)
{
    if (!hl_timer_is_armed(&pool->sweep))
        hl_timer_arm(pool->wheel, &pool->sweep, HL_POOL_SWEEP_MS);
}

/* A kept connection, or NULL. `is_replayable`: the request may be sent again if the connection
 * turns out dead. */
struct hl_upstream *hl_pool_take(struct hl_pool *pool, bool is_replayable);

/* Gives it back for reuse: the last message on it ended cleanly and nothing is unsent. */
void hl_pool_put(struct hl_upstream *u);
/* Closes the kept ones: whoever kept them is not ready. */
void hl_pool_drop_idle(struct hl_pool *pool);
#endif
