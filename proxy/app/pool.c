/* pool.c - connections to the app.
 * Owns: every upstream connection of one worker, idle, connecting and busy. Thread: the worker's.
 * Promise: a connection that the app has closed, or has written on unasked, is never handed out again
 * once that has come to this machine.
 * Not here: one connection (upstream.c), a new one (upstream_wait.c), what is said on it (run/),
 * whether the app is ready (readiness.c), how many calls it may get (limiter.c), connections over
 * all workers (pool_group.c). */
#include "app/pool.h"

#include <string.h>

#include "app/upstream.h"
#include "app/upstream_wait.h"
#include "base/assert.h"

static void on_sweep(struct hl_timer *timer);

void hl_pool_init(struct hl_pool *pool, const struct hl_pool_parts *parts)
{
    memset(pool, 0, sizeof(*pool));
    hl_pool_member_init(&pool->member, parts->group, parts->mailbox);
    pool->loop = parts->loop;
    pool->wheel = parts->wheel;
    pool->reader = parts->reader;
    pool->url = parts->url;
    pool->tls = parts->tls;
    hl_slab_init(&pool->slab, sizeof(struct hl_upstream), 64);
    hl_list_init(&pool->idle);
    hl_list_init(&pool->busy);
    hl_list_init(&pool->waits);
    hl_timer_init(&pool->sweep, on_sweep);
    hl_host_init(&pool->host, parts->loop, parts->url, hl_upstream_wait_on_resolved);
}

/* The loop reports the app's close, or bytes that nobody asked for, a turn after they came; until
 * then other calls would get the connection. */
static bool is_quiet(struct hl_upstream *u)
{
    if (hl_stream_is_quiet(&u->stream))
        return true;
    hl_upstream_note_left(u);
    return false;
}

static struct hl_upstream *find_kept(struct hl_pool *pool, bool is_replayable)
{
    uint64_t now = uv_now(pool->loop);
    uint64_t settled_ms = now < pool->wary_until ? HL_POOL_SETTLE_MS : 0;
    HL_LIST_EACH_SAFE (node, &pool->idle) {
        struct hl_upstream *u = HL_CONTAINER_OF(node, struct hl_upstream, node);
        uint64_t idle_ms = now - u->idle_since;
        if (!is_replayable && idle_ms > hl_upstream_fresh_ms(u))
            break;
        if (!is_replayable && idle_ms < settled_ms)
            continue;
        if (is_quiet(u))
            return u;
        hl_upstream_close(u);
    }
    return NULL;
}

struct hl_upstream *hl_pool_take(struct hl_pool *pool, bool is_replayable)
{
    struct hl_upstream *u = find_kept(pool, is_replayable);
    if (!u)
        return NULL;
    hl_list_remove(&u->node);
    hl_list_push_back(&pool->busy, &u->node);
    hl_pool_member_note_idle(&pool->member, -1);
    hl_pool_member_note_busy(&pool->member);
    u->state = HL_UPSTREAM_BUSY;
    u->calls++;
    return u;
}

void hl_pool_on_room(struct hl_msg *msg)
{
    struct hl_pool *pool = HL_CONTAINER_OF(msg, struct hl_pool, member.room);
    bool is_one_wanted = hl_pool_member_on_room(&pool->member);
    hl_upstream_close_surplus(pool);
    if (is_one_wanted && !hl_upstream_yield(pool))
        pool->owes_one = hl_counter_get(&pool->member.busy_count) > 0;
}

void hl_pool_put(struct hl_upstream *u)
{
    struct hl_pool *pool = u->pool;
    HL_ASSERT(u->state == HL_UPSTREAM_BUSY);
    if (pool->is_closing || !pool->member.group->keeps || u->stream.has_failed ||
        hl_stream_is_blocked(&u->stream) || !u->stream.is_reading || u->is_gone) {
        hl_upstream_close(u);
        return;
    }
    if (pool->owes_one) {
        pool->owes_one = false;
        hl_upstream_reset(u);
        return;
    }
    hl_upstream_own(u, NULL, NULL);
    struct hl_upstream_wait *wait =
        hl_list_is_empty(&pool->waits) ? NULL : hl_upstream_wait_find(pool);
    u->idle_since = uv_now(pool->loop);
    if (wait && !is_quiet(u)) {
        hl_upstream_close(u);
        return;
    }
    if (wait && u->idle_since >= pool->wary_until) {
        u->calls++;
        hl_upstream_wait_end(wait, u);
        return;
    }
    hl_list_remove(&u->node);
    hl_list_push_front(&pool->idle, &u->node);
    hl_counter_sub(&pool->member.busy_count, 1);
    hl_pool_member_note_idle(&pool->member, 1);
    u->state = HL_UPSTREAM_IDLE;
    u->stream.read_size = HL_READ_SIZE;
    hl_pool_arm_sweep(pool);
    if (hl_pool_member_is_over_limit(&pool->member))
        hl_upstream_close_surplus(pool);
}

/* The connections of calls whose app answers nothing any more, the kernel's probes included, fail. */
static void fail_silent(struct hl_pool *pool)
{
    struct hl_list silent, *node;
    hl_list_init(&silent);
    HL_LIST_EACH_SAFE (busy, &pool->busy) {
        struct hl_upstream *u = HL_CONTAINER_OF(busy, struct hl_upstream, node);
        if (u->state == HL_UPSTREAM_BUSY &&
            hl_peer_is_silent(
                &u->silence, &u->stream, uv_now(pool->loop), HL_POOL_SILENCE_MAX_MS) &&
            !hl_stream_has_unread(&u->stream)) { /* else that is passed on first */
            hl_list_remove(busy);
            hl_list_push_back(&silent, busy);
        }
    }
    while ((node = hl_list_pop_front(&silent)) != NULL) { /* an event may end others of them */
        struct hl_upstream *u = HL_CONTAINER_OF(node, struct hl_upstream, node);
        hl_list_push_back(&pool->busy, node);
        u->stream.has_failed = true;
        hl_stream_pause(&u->stream);
        if (u->on_event)
            u->on_event(u->owner,
                &(struct hl_stream_event){.kind = HL_STREAM_FAILED, .error = UV_ETIMEDOUT});
    }
}

static void on_sweep(struct hl_timer *timer)
{
    struct hl_pool *pool = HL_CONTAINER_OF(timer, struct hl_pool, sweep);
    if (!pool->url->is_unix)
        fail_silent(pool);
    uint64_t now = uv_now(pool->loop);
    while (!hl_list_is_empty(&pool->idle)) {
        struct hl_upstream *oldest = HL_CONTAINER_OF(pool->idle.prev, struct hl_upstream, node);
        if (now - oldest->idle_since < HL_POOL_IDLE_MAX_MS)
            break;
        hl_upstream_close(oldest);
    }
    if (pool->open_count == 0)
        return;
    hl_pool_arm_sweep(pool);
    if (hl_host_is_stale(&pool->host, HL_HOST_KEPT_MS))
        (void)hl_host_resolve(&pool->host); /* without memory the next sweep does */
}

void hl_pool_drop_idle(struct hl_pool *pool)
{
    HL_LIST_EACH_SAFE (node, &pool->idle)
        hl_upstream_close(HL_CONTAINER_OF(node, struct hl_upstream, node));
}

void hl_pool_on_gate(struct hl_pool *pool)
{
    if (hl_gate_is_shut(&pool->member.group->gate))
        hl_pool_drop_idle(pool);
    else if (hl_gate_is_open(&pool->member.group->gate))
        hl_upstream_wait_hurry(pool);
}

void hl_pool_close(struct hl_pool *pool)
{
    pool->is_closing = true;
    hl_timer_fini(pool->wheel, &pool->sweep);
    hl_pool_drop_idle(pool);
    HL_LIST_EACH_SAFE (busy, &pool->busy)
        hl_upstream_close(HL_CONTAINER_OF(busy, struct hl_upstream, node));
    hl_host_close(&pool->host);
}

void hl_pool_fini(struct hl_pool *pool)
{
    hl_slab_fini(&pool->slab);
}
