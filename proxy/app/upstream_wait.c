/* upstream_wait.c - waits for a connection to the app. Thread: the worker's.
 * Promise: a wait ends exactly once. One that sits out its back-off is served by the next connection
 * that comes back.
 * Not here: the app's addresses (host.c), why a connect failed, in words (cause.c). */
#include "app/upstream_wait.h"

#include <string.h>
#include <uv/unix.h>

#include "app/pool.h"
#include "app/upstream.h"
#include "base/assert.h"
#include "base/log.h"

#define BACKOFF_FIRST_MS 25
#define BACKOFF_MAX_MS   1000
#define CONNECT_ONE_MS   3000  /* one address of several */
#define CONNECT_MOST_MS  10000 /* the kernel asks ever more seldom for a machine that is away */
#define PROBE_IDLE_S     15    /* of a connection on which nothing is said; gone after 45 s */
#define PROBE_INTERVAL_S 10
#define PROBES           3

static void try_connect(struct hl_upstream_wait *wait);
static void on_timer(struct hl_timer *timer);

void hl_upstream_wait_init(struct hl_upstream_wait *wait,
    void (*on_done)(struct hl_upstream_wait *wait, struct hl_upstream *upstream))
{
    memset(wait, 0, sizeof(*wait));
    hl_list_init(&wait->node);
    hl_timer_init(&wait->timer, on_timer);
    wait->on_done = on_done;
}

void hl_upstream_wait_begin(
    struct hl_upstream_wait *wait, struct hl_pool *pool, uint64_t timeout_ms)
{
    HL_ASSERT(!hl_list_is_linked(&wait->node));
    wait->pool = pool;
    wait->deadline = uv_now(pool->loop) + timeout_ms;
    wait->backoff_ms = BACKOFF_FIRST_MS;
    wait->address = wait->tried = wait->refused = 0;
    wait->cause = hl_cause_of(UV_ETIMEDOUT); /* until one ends otherwise */
    hl_list_push_back(&pool->waits, &wait->node);
    try_connect(wait);
}

static struct hl_gate *gate_of(const struct hl_upstream_wait *wait)
{
    return &wait->pool->member.group->gate;
}

/* A socket may speak between the deadline and the tick that fires for it. */
static uint64_t left_ms(const struct hl_upstream_wait *wait)
{
    uint64_t now = uv_now(wait->pool->loop);
    return now < wait->deadline ? wait->deadline - now : 0;
}

/* hl_upstream_wait_hurry goes on. */
static void wait_for_gate(struct hl_upstream_wait *wait)
{
    uint64_t left = left_ms(wait);
    hl_timer_arm(wait->pool->wheel, &wait->timer, left > 0 ? left : 1);
}

static void sit_out_backoff(struct hl_upstream_wait *wait)
{
    uint64_t left = left_ms(wait);
    uint64_t ms = wait->backoff_ms;
    hl_timer_arm(wait->pool->wheel, &wait->timer, ms < left ? ms : left);
}

static void on_event(void *owner, const struct hl_stream_event *event);
static void on_connected(struct hl_upstream *u, int error);

/* Begins one connect, or a look-up first. */
static void try_connect(struct hl_upstream_wait *wait)
{
    struct hl_pool *pool = wait->pool;
    struct hl_host *host = &pool->host;
    uint64_t left = left_ms(wait);
    if (hl_gate_is_shut(gate_of(wait))) {
        wait_for_gate(wait);
        return;
    }
    if (atomic_load_explicit(&pool->member.group->is_barred, memory_order_relaxed)) {
        wait->cause.kind = HL_CAUSE_OCCUPIED;
        sit_out_backoff(wait);
        return;
    }
    if (hl_host_is_stale(host) && hl_host_resolve(host) && host->address_count == 0) {
        wait->is_resolving = true; /* hl_upstream_wait_on_resolved goes on */
        hl_timer_arm(pool->wheel, &wait->timer, left);
        return;
    }
    struct hl_upstream *u =
        pool->url->is_unix || host->address_count > 0 ? hl_upstream_new(pool) : NULL;
    if (!u) {
        sit_out_backoff(wait);
        return;
    }
    hl_upstream_own(u, wait, on_event);
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

/* The app's machine may vanish; on this one (unix:) it does not. */
static void watch_machine(struct hl_upstream *u)
{
    uv_os_fd_t fd;
    if (u->pool->url->is_unix || uv_fileno(&u->stream.handle, &fd) != 0)
        return;
    hl_peer_probe(fd, PROBE_IDLE_S, PROBE_INTERVAL_S, PROBES);
    hl_pool_arm_sweep(u->pool);
}

static void on_event(void *owner, const struct hl_stream_event *event)
{
    struct hl_upstream_wait *wait = owner;
    if (event->kind == HL_STREAM_CONNECTED)
        on_connected(wait->connecting, event->error);
}

/* Every address refuses: whatever listens there next is another app, or another start of it. */
static void end_round(struct hl_upstream_wait *wait)
{
    if (wait->refused == wait->tried)
        hl_gate_close(gate_of(wait), hl_cause_text(wait->cause));
    wait->tried = wait->refused = 0;
    if (hl_gate_is_shut(gate_of(wait))) {
        wait_for_gate(wait);
        return;
    }
    sit_out_backoff(wait);
    wait->backoff_ms =
        wait->backoff_ms * 2 > BACKOFF_MAX_MS ? BACKOFF_MAX_MS : wait->backoff_ms * 2;
}

/* The gate was shut while it was being made: who is connected to now has not said that it is ready. */
static void give_up_early(struct hl_upstream_wait *wait, struct hl_upstream *u)
{
    hl_upstream_close(u);
    wait_for_gate(wait);
}

static void on_connected(struct hl_upstream *u, int error)
{
    struct hl_upstream_wait *wait = u->owner;
    hl_upstream_own(u, NULL, NULL);
    wait->connecting = NULL;
    hl_timer_disarm(&wait->timer);
    if (error == 0 && hl_gate_is_shut(gate_of(wait))) {
        give_up_early(wait, u);
        return;
    }
    if (error == 0) {
        hl_gate_note_connected(gate_of(wait));
        u->state = HL_UPSTREAM_BUSY;
        hl_counter_add(&u->pool->member.busy_count, 1);
        watch_machine(u);
        hl_stream_resume(&u->stream);
        hl_upstream_wait_end(wait, u);
        return;
    }
    HL_LOG(DEBUG, "connect to the app failed", HL_LOG_TEXT("error", uv_strerror(error)));
    wait->cause = hl_cause_of(error);
    hl_upstream_close(u);
    wait->address++;
    wait->refused += hl_gate_is_refusal(wait->cause);
    if (++wait->tried < u->pool->host.address_count)
        try_connect(wait);
    else
        end_round(wait);
}

void hl_upstream_wait_on_resolved(struct hl_host *host, int status)
{
    struct hl_pool *pool = HL_CONTAINER_OF(host, struct hl_pool, host);
    HL_LIST_EACH_SAFE (node, &pool->waits) {
        struct hl_upstream_wait *wait = HL_CONTAINER_OF(node, struct hl_upstream_wait, node);
        if (!wait->is_resolving)
            continue;
        wait->is_resolving = false;
        if (host->address_count) {
            try_connect(wait); /* ends no wait, so the list stays whole */
            continue;
        }
        wait->cause = hl_cause_of(status != 0 ? status : UV_EAI_NONAME);
        sit_out_backoff(wait);
    }
}

static void on_timer(struct hl_timer *timer)
{
    struct hl_upstream_wait *wait = HL_CONTAINER_OF(timer, struct hl_upstream_wait, timer);
    if (uv_now(wait->pool->loop) >= wait->deadline)
        hl_upstream_wait_end(wait, NULL);
    else if (wait->connecting)
        on_connected(wait->connecting, UV_ETIMEDOUT);
    else
        try_connect(wait);
}

void hl_upstream_wait_hurry(struct hl_pool *pool)
{
    HL_LIST_EACH_SAFE (node, &pool->waits) {
        struct hl_upstream_wait *wait = HL_CONTAINER_OF(node, struct hl_upstream_wait, node);
        if (wait->connecting || wait->is_resolving || hl_gate_is_shut(gate_of(wait)) ||
            uv_now(pool->loop) >= wait->deadline)
            continue;
        wait->backoff_ms = BACKOFF_FIRST_MS;
        try_connect(wait); /* ends no wait, so the list stays whole */
    }
}

struct hl_upstream_wait *hl_upstream_wait_find(struct hl_pool *pool)
{
    if (hl_gate_is_shut(&pool->member.group->gate))
        return NULL;
    HL_LIST_EACH (node, &pool->waits) {
        struct hl_upstream_wait *wait = HL_CONTAINER_OF(node, struct hl_upstream_wait, node);
        if (!wait->connecting)
            return wait;
    }
    return NULL;
}

void hl_upstream_wait_end(struct hl_upstream_wait *wait, struct hl_upstream *u)
{
    hl_upstream_wait_cancel(wait);
    wait->on_done(wait, u);
}

void hl_upstream_wait_cancel(struct hl_upstream_wait *wait)
{
    if (!hl_list_is_linked(&wait->node))
        return;
    hl_list_remove(&wait->node);
    hl_timer_fini(wait->pool->wheel, &wait->timer);
    if (wait->connecting) {
        hl_upstream_close(wait->connecting);
        wait->connecting = NULL;
    }
}
