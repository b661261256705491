/* pool.c - connections to the app.
 * Owns: every upstream connection of one worker, idle, connecting and busy. Thread: the worker's.
 * Promise: an idle connection that the app closed is never handed out after its close was seen; a
 * wait ends exactly once.
 * Not here: what is said on a connection (run/), whether the app is ready (readiness.c), how many
 * calls it may get (limiter.c), connections over all workers (pool_group.c), and the app's addresses
 * (host.c). */
#include "app/pool.h"

#include <string.h>

#include "base/assert.h"
#include "base/log.h"

#define BACKOFF_FIRST_MS 25
#define BACKOFF_MAX_MS   1000
#define CONNECT_ONE_MS   3000  /* one address of several */
#define CONNECT_MOST_MS  10000 /* the kernel asks ever more seldom for a machine that is away */
#define SWEEP_MS         5000
#define PROBE_IDLE_S     15 /* of a connection on which nothing is said; gone after 45 s */
#define PROBE_INTERVAL_S 10
#define PROBES           3

static void wait_try(struct hl_upstream_wait *wait);
static void on_sweep(struct hl_timer *timer);
static void arm_sweep(struct hl_pool *pool);

static void on_resolved(struct hl_host *host, int status);

void hl_pool_init(struct hl_pool *pool, uv_loop_t *loop, struct hl_wheel *wheel,
    struct hl_reader *reader, const struct hl_app_url *url, struct hl_pool_group *group,
    struct hl_mailbox *mailbox)
{
    memset(pool, 0, sizeof(*pool));
    hl_pool_member_init(&pool->member, group, mailbox);
    pool->loop = loop;
    pool->wheel = wheel;
    pool->reader = reader;
    pool->url = url;
    hl_slab_init(&pool->slab, sizeof(struct hl_upstream), 64);
    hl_list_init(&pool->idle);
    hl_list_init(&pool->busy);
    hl_list_init(&pool->waits);
    hl_timer_init(&pool->sweep, on_sweep);
    hl_host_init(&pool->host, loop, url, on_resolved);
}

struct hl_upstream *hl_pool_take(struct hl_pool *pool, bool is_replayable)
{
    if (hl_list_is_empty(&pool->idle))
        return NULL;
    struct hl_upstream *u = HL_CONTAINER_OF(pool->idle.next, struct hl_upstream, node);
    uint64_t idle_ms = uv_now(pool->loop) - u->idle_since;
    uint64_t fresh_ms = u->keep_ms ? u->keep_ms : HL_POOL_FRESH_MS;
    if (!is_replayable && idle_ms > fresh_ms)
        return NULL;
    hl_list_remove(&u->node);
    hl_list_push_back(&pool->busy, &u->node);
    hl_pool_member_note_idle(&pool->member, -1);
    hl_counter_add(&pool->member.busy_count, 1);
    u->state = HL_UPSTREAM_BUSY;
    u->calls++;
    return u;
}

void hl_upstream_own(struct hl_upstream *u, void *owner,
    void (*on_event)(void *owner, const struct hl_stream_event *event))
{
    u->owner = owner;
    u->on_event = on_event;
}

/* A waiter that sits out its back-off is served by the next connection that comes back. */
static struct hl_upstream_wait *find_sitting_wait(struct hl_pool *pool)
{
    HL_LIST_EACH (node, &pool->waits) {
        struct hl_upstream_wait *wait = HL_CONTAINER_OF(node, struct hl_upstream_wait, node);
        if (!wait->connecting)
            return wait;
    }
    return NULL;
}

static void wait_end(struct hl_upstream_wait *wait, struct hl_upstream *u)
{
    hl_pool_cancel(wait);
    wait->on_done(wait, u);
}

/* Of this pool; the oldest first. */
static void close_surplus(struct hl_pool *pool)
{
    while (!hl_list_is_empty(&pool->idle) && hl_pool_member_is_over_limit(&pool->member))
        hl_upstream_close(HL_CONTAINER_OF(pool->idle.prev, struct hl_upstream, node));
}

void hl_pool_on_room(struct hl_msg *msg)
{
    struct hl_pool *pool = HL_CONTAINER_OF(msg, struct hl_pool, member.room);
    hl_pool_member_on_room(&pool->member);
    close_surplus(pool);
}

void hl_pool_put(struct hl_upstream *u)
{
    struct hl_pool *pool = u->pool;
    HL_ASSERT(u->state == HL_UPSTREAM_BUSY);
    if (pool->is_closing || !pool->member.group->keeps || u->stream.has_failed ||
        hl_stream_is_blocked(&u->stream) || !u->stream.is_reading) {
        hl_upstream_close(u);
        return;
    }
    u->owner = NULL;
    u->on_event = NULL;
    struct hl_upstream_wait *wait = find_sitting_wait(pool);
    if (wait) {
        u->calls++;
        wait_end(wait, u);
        return;
    }
    hl_list_remove(&u->node);
    hl_list_push_front(&pool->idle, &u->node);
    hl_counter_sub(&pool->member.busy_count, 1);
    hl_pool_member_note_idle(&pool->member, 1);
    u->state = HL_UPSTREAM_IDLE;
    u->idle_since = uv_now(pool->loop);
    u->stream.read_size = HL_READ_SIZE;
    arm_sweep(pool);
    close_surplus(pool);
}

/* The connections of calls whose app answers nothing any more, the kernel's probes included, fail. */
static void fail_silent(struct hl_pool *pool)
{
    struct hl_list silent, *node;
    hl_list_init(&silent);
    HL_LIST_EACH_SAFE (busy, &pool->busy) {
        struct hl_upstream *u = HL_CONTAINER_OF(busy, struct hl_upstream, node);
        if (u->state == HL_UPSTREAM_BUSY && hl_peer_is_silent(&u->silence, &u->stream,
                                                uv_now(pool->loop), HL_POOL_SILENCE_MAX_MS)) {
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

static void arm_sweep(struct hl_pool *pool)
{
    if (!hl_timer_is_armed(&pool->sweep))
        hl_timer_arm(pool->wheel, &pool->sweep, SWEEP_MS);
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
    if (pool->open_count > 0)
        arm_sweep(pool);
}

void hl_upstream_close(struct hl_upstream *u)
{
    if (u->state == HL_UPSTREAM_CLOSING)
        return;
    if (u->state == HL_UPSTREAM_IDLE)
        hl_pool_member_note_idle(&u->pool->member, -1);
    else if (u->state == HL_UPSTREAM_BUSY)
        hl_counter_sub(&u->pool->member.busy_count, 1);
    hl_pool_member_note_closed(&u->pool->member);
    hl_list_remove(&u->node);
    hl_list_push_back(&u->pool->busy, &u->node);
    u->state = HL_UPSTREAM_CLOSING;
    u->owner = NULL;
    u->on_event = NULL;
    hl_stream_close(&u->stream);
}

static void sit_out_backoff(struct hl_upstream_wait *wait)
{
    uint64_t left = wait->deadline - uv_now(wait->pool->loop);
    uint64_t ms = wait->backoff_ms;
    hl_timer_arm(wait->pool->wheel, &wait->timer, ms < left ? ms : left);
}

/* The app's machine may vanish; on this one (unix:) it does not. */
static void watch_machine(struct hl_upstream *u)
{
    uv_os_fd_t fd;
    if (u->pool->url->is_unix || uv_fileno(&u->stream.handle, &fd) != 0)
        return;
    hl_peer_probe(fd, PROBE_IDLE_S, PROBE_INTERVAL_S, PROBES);
    arm_sweep(u->pool);
}

/* A connect ended. */
static void on_connected(struct hl_upstream *u, int error)
{
    struct hl_upstream_wait *wait = u->owner;
    u->owner = NULL;
    wait->connecting = NULL;
    hl_timer_disarm(&wait->timer);
    if (error == 0) {
        u->state = HL_UPSTREAM_BUSY;
        hl_counter_add(&u->pool->member.busy_count, 1);
        watch_machine(u);
        hl_stream_resume(&u->stream);
        wait_end(wait, u);
        return;
    }
    HL_LOG(DEBUG, "connect to the app failed", HL_LOG_TEXT("error", uv_strerror(error)));
    wait->cause = hl_cause_of(error);
    hl_upstream_close(u);
    wait->address++;
    if (++wait->tried < u->pool->host.address_count) {
        wait_try(wait);
        return;
    }
    wait->tried = 0;
    sit_out_backoff(wait);
    wait->backoff_ms =
        wait->backoff_ms * 2 > BACKOFF_MAX_MS ? BACKOFF_MAX_MS : wait->backoff_ms * 2;
}

static void on_stream_event(struct hl_stream *stream, const struct hl_stream_event *event)
{
    struct hl_upstream *u = HL_CONTAINER_OF(stream, struct hl_upstream, stream);
    if (event->kind == HL_STREAM_CLOSED) {
        hl_list_remove(&u->node);
        u->pool->open_count--;
        hl_slab_put(&u->pool->slab, u);
        return;
    }
    switch (u->state) {
    case HL_UPSTREAM_CONNECTING:
        if (event->kind == HL_STREAM_CONNECTED)
            on_connected(u, event->error);
        break;
    case HL_UPSTREAM_IDLE: /* EOF, failure, or bytes that nobody asked for: it is not to be used
                              again */
        hl_upstream_close(u);
        break;
    case HL_UPSTREAM_BUSY:
        if (u->on_event)
            u->on_event(u->owner, event);
        break;
    case HL_UPSTREAM_CLOSING:
        break;
    }
}

static struct hl_upstream *upstream_new(struct hl_pool *pool)
{
    struct hl_upstream *u = hl_slab_get(&pool->slab);
    if (!u)
        return NULL;
    memset(u, 0, sizeof(*u));
    u->pool = pool;
    u->state = HL_UPSTREAM_CONNECTING;
    int rc = pool->url->is_unix
                 ? hl_stream_init_unix(&u->stream, pool->loop, pool->reader, on_stream_event)
                 : hl_stream_init_tcp(&u->stream, pool->loop, pool->reader, on_stream_event);
    if (rc != 0) {
        hl_slab_put(&pool->slab, u);
        return NULL;
    }
    hl_list_init(&u->node);
    hl_list_push_back(&pool->busy, &u->node);
    pool->open_count++;
    hl_pool_member_note_open(&pool->member);
    close_surplus(pool);
    hl_pool_member_ask_room(&pool->member);
    return u;
}

static void on_resolved(struct hl_host *host, int status)
{
    struct hl_pool *pool = HL_CONTAINER_OF(host, struct hl_pool, host);
    HL_LIST_EACH_SAFE (node, &pool->waits) {
        struct hl_upstream_wait *wait = HL_CONTAINER_OF(node, struct hl_upstream_wait, node);
        if (!wait->is_resolving)
            continue;
        wait->is_resolving = false;
        if (host->address_count) {
            wait_try(wait); /* ends no wait, so the list stays whole */
            continue;
        }
        wait->cause = hl_cause_of(status != 0 ? status : UV_EAI_NONAME);
        sit_out_backoff(wait);
    }
}

/* Begins one connect for a wait, or a look-up first. */
static void wait_try(struct hl_upstream_wait *wait)
{
    struct hl_pool *pool = wait->pool;
    struct hl_host *host = &pool->host;
    uint64_t left = wait->deadline - uv_now(pool->loop);
    if (atomic_load_explicit(&pool->member.group->is_barred, memory_order_relaxed)) {
        wait->cause.kind = HL_CAUSE_OCCUPIED;
        sit_out_backoff(wait);
        return;
    }
    if (hl_host_is_stale(host) && hl_host_resolve(host) && host->address_count == 0) {
        wait->is_resolving = true; /* on_resolved goes on */
        hl_timer_arm(pool->wheel, &wait->timer, left);
        return;
    }
    struct hl_upstream *u =
        pool->url->is_unix || host->address_count > 0 ? upstream_new(pool) : NULL;
    if (!u) {
        sit_out_backoff(wait);
        return;
    }
    u->owner = wait;
    wait->connecting = u;
    if (pool->url->is_unix) {
        hl_stream_connect_unix(&u->stream, pool->url->path);
    } else {
        unsigned i = wait->address % host->address_count;
        int rc = hl_stream_connect_tcp(&u->stream, (struct sockaddr *)&host->addresses[i]);
        if (rc != 0) {
            on_connected(u, rc);
            return;
        }
    }
    uint64_t most = host->address_count > 1 ? CONNECT_ONE_MS : CONNECT_MOST_MS;
    hl_timer_arm(pool->wheel, &wait->timer, left < most ? left : most);
}

static void on_wait_timer(struct hl_timer *timer)
{
    struct hl_upstream_wait *wait = HL_CONTAINER_OF(timer, struct hl_upstream_wait, timer);
    if (uv_now(wait->pool->loop) >= wait->deadline)
        wait_end(wait, NULL);
    else if (wait->connecting)
        on_connected(wait->connecting, UV_ETIMEDOUT);
    else
        wait_try(wait);
}

void hl_upstream_wait_init(struct hl_upstream_wait *wait,
    void (*on_done)(struct hl_upstream_wait *wait, struct hl_upstream *upstream))
{
    memset(wait, 0, sizeof(*wait));
    hl_list_init(&wait->node);
    hl_timer_init(&wait->timer, on_wait_timer);
    wait->on_done = on_done;
}

void hl_pool_request(struct hl_pool *pool, struct hl_upstream_wait *wait, uint64_t timeout_ms)
{
    HL_ASSERT(!hl_list_is_linked(&wait->node));
    wait->pool = pool;
    wait->deadline = uv_now(pool->loop) + timeout_ms;
    wait->backoff_ms = BACKOFF_FIRST_MS;
    wait->address = wait->tried = 0;
    wait->cause = hl_cause_of(UV_ETIMEDOUT); /* until one ends otherwise */
    hl_list_push_back(&pool->waits, &wait->node);
    wait_try(wait);
}

void hl_pool_cancel(struct hl_upstream_wait *wait)
{
    if (!hl_list_is_linked(&wait->node))
        return;
    hl_list_remove(&wait->node);
    hl_timer_fini(wait->pool->wheel, &wait->timer);
    if (wait->connecting) {
        wait->connecting->owner = NULL;
        hl_upstream_close(wait->connecting);
        wait->connecting = NULL;
    }
}

void hl_pool_drop_idle(struct hl_pool *pool)
{
    HL_LIST_EACH_SAFE (node, &pool->idle)
        hl_upstream_close(HL_CONTAINER_OF(node, struct hl_upstream, node));
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
