/* upstream_wait.c - waits for a connection to the app. Thread: the worker's.
 * Promise: a wait ends exactly once. One that sits out its back-off is served by the next connection
 * that comes back.
 * Not here: the app's addresses and their order (host.c), why a connect failed, in words (cause.c). */
#include "app/upstream_wait.h"

#include <string.h>
#include <uv/unix.h>

#include "app/pool.h"
#include "app/upstream.h"
#include "base/assert.h"
#include "base/log.h"
#include "tls/tls.h"

#define BACKOFF_FIRST_MS 25
#define BACKOFF_MAX_MS   1000
#define NEXT_AFTER_MS    250   /* between two addresses (RFC 8305 5) ... */
#define NEXT_LEAST_MS    10    /* ... and when there is little time */
#define CONNECT_MOST_MS  10000 /* the kernel asks ever more seldom for a machine that is away */
#define ROOM_AGAIN_MS    25    /* another look for a port that is free, for all who wait */
#define PROBE_IDLE_S     15    /* of a connection on which nothing is said; gone after 45 s */
#define PROBE_INTERVAL_S 10
#define PROBES           3

/* Where no name is resolved, all that there is. */
static const struct hl_host_address local = {.mark = 1};

static void try_connect(struct hl_upstream_wait *wait);
static void on_timer(struct hl_timer *timer);

void hl_upstream_wait_init(struct hl_upstream_wait *wait,
    void (*on_done)(struct hl_upstream_wait *wait, struct hl_upstream *upstream))
{
    memset(wait, 0, sizeof(*wait));
    hl_list_init(&wait->node);
    hl_list_init(&wait->attempts);
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

static void sit_out(struct hl_upstream_wait *wait, uint64_t ms)
{
    uint64_t left = left_ms(wait);
    hl_timer_arm(wait->pool->wheel, &wait->timer, ms < left ? ms : left);
}

static uint32_t take_backoff(struct hl_upstream_wait *wait)
{
    uint32_t ms = wait->backoff_ms;
    wait->backoff_ms = ms * 2 > BACKOFF_MAX_MS ? BACKOFF_MAX_MS : ms * 2;
    return ms;
}

static void begin_round(struct hl_upstream_wait *wait);
static void go_on(struct hl_upstream_wait *wait);

/* Begins a round over the addresses, or a look-up first. Nothing is being connected. */
static void try_connect(struct hl_upstream_wait *wait)
{
    struct hl_pool *pool = wait->pool;
    struct hl_host *host = &pool->host;
    bool has_failed = wait->backoff_ms > BACKOFF_FIRST_MS;
    if (hl_gate_is_shut(gate_of(wait))) {
        wait_for_gate(wait);
        return;
    }
    if (atomic_load_explicit(&pool->member.group->is_barred, memory_order_relaxed)) {
        wait->cause.kind = HL_CAUSE_OCCUPIED;
        sit_out(wait, wait->backoff_ms);
        return;
    }
    if (uv_now(pool->loop) < pool->full_until) {
        wait->cause = pool->full_cause;
        sit_out(wait, ROOM_AGAIN_MS);
        return;
    }
    if (hl_host_is_stale(host, has_failed ? HL_HOST_DOUBT_MS : HL_HOST_FRESH_MS) &&
        hl_host_resolve(host) && host->address_count == 0) {
        wait->is_resolving = true; /* hl_upstream_wait_on_resolved goes on */
        hl_timer_arm(pool->wheel, &wait->timer, left_ms(wait));
        return;
    }
    begin_round(wait);
    go_on(wait);
}

/* ---- attempts ---- */

static const struct hl_host_address *next_address(const struct hl_upstream_wait *wait)
{
    const struct hl_pool *pool = wait->pool;
    if (pool->url->is_unix)
        return wait->tried & local.mark ? NULL : &local;
    return hl_host_next(&pool->host, wait->tried);
}

/* All addresses once more, but for those that have not answered yet. */
static void begin_round(struct hl_upstream_wait *wait)
{
    wait->tried = 0;
    wait->ended = wait->refused = 0;
    wait->lacks_room = false;
    HL_LIST_EACH (node, &wait->attempts)
        wait->tried |= HL_CONTAINER_OF(node, struct hl_upstream, node)->mark;
}

static void note_failure(struct hl_upstream_wait *wait, int error)
{
    HL_LOG(DEBUG, "connect to the app failed", HL_LOG_TEXT("error", hl_tls_error_text(error)));
    wait->cause = hl_cause_of(error);
    wait->ended++;
    wait->refused += hl_gate_is_refusal(wait->cause);
    wait->lacks_room |= hl_cause_is_lack(wait->cause);
}

static void on_event(void *owner, const struct hl_stream_event *event);

/* False: it has failed already. */
static bool attempt(struct hl_upstream_wait *wait, const struct hl_host_address *address)
{
    struct hl_pool *pool = wait->pool;
    struct hl_upstream *u = hl_upstream_new(pool);
    int rc = u ? 0 : UV_ENOMEM;
    wait->tried |= address->mark;
    if (u && pool->tls &&
        hl_tls_connect(pool->tls, HL_TLS_APP, &u->stream, pool->url->host) != HL_OK)
        rc = UV_ENOMEM;
    else if (u && pool->url->is_unix)
        rc = hl_stream_connect_unix(&u->stream, pool->url->path);
    else if (u)
        rc = hl_stream_connect_tcp(&u->stream, (const struct sockaddr *)&address->socket);
    if (rc != 0) {
        if (u)
            hl_upstream_close(u);
        note_failure(wait, rc);
        return false;
    }
    u->wait = wait;
    u->mark = address->mark;
    u->idle_since = uv_now(pool->loop);
    hl_upstream_own(u, u, on_event);
    hl_list_remove(&u->node);
    hl_list_push_back(&wait->attempts, &u->node);
    return true;
}

/* When there is something to do beside the attempts under way. */
static void arm(struct hl_upstream_wait *wait)
{
    const struct hl_pool *pool = wait->pool;
    const struct hl_upstream *oldest =
        HL_CONTAINER_OF(wait->attempts.next, struct hl_upstream, node);
    uint64_t now = uv_now(pool->loop), at = oldest->idle_since + CONNECT_MOST_MS;
    if (at > wait->deadline)
        at = wait->deadline;
    if ((wait->ended > 0 || next_address(wait)) && at > wait->next_at)
        at = wait->next_at;
    if (!pool->url->is_unix && !pool->host.is_literal && at > now + HL_HOST_DOUBT_MS)
        at = now + HL_HOST_DOUBT_MS;
    hl_timer_arm(pool->wheel, &wait->timer, at > now ? at - now : 1);
}

/* Each address gets its share of a short time. */
static uint64_t next_after_ms(const struct hl_upstream_wait *wait)
{
    const struct hl_host *host = &wait->pool->host;
    unsigned untried = 0;
    for (unsigned i = 0; i < host->address_count; i++)
        untried += (wait->tried & host->addresses[i].mark) == 0;
    uint64_t share = left_ms(wait) / (untried + 1);
    return share > NEXT_AFTER_MS ? NEXT_AFTER_MS : share < NEXT_LEAST_MS ? NEXT_LEAST_MS : share;
}

static void end_round(struct hl_upstream_wait *wait);

/* The next attempt. Those that failed are repeated while others have not answered. */
static void go_on(struct hl_upstream_wait *wait)
{
    const struct hl_host_address *address;
    while ((address = next_address(wait)) != NULL && !attempt(wait, address))
        ;
    if (!hl_upstream_wait_is_connecting(wait)) {
        end_round(wait);
        return;
    }
    bool is_first_try = address || wait->ended == 0;
    wait->next_at =
        uv_now(wait->pool->loop) + (is_first_try ? next_after_ms(wait) : take_backoff(wait));
    arm(wait);
}

static void go_on_in_time(struct hl_upstream_wait *wait)
{
    bool is_connecting = hl_upstream_wait_is_connecting(wait);
    bool is_due = uv_now(wait->pool->loop) >= wait->next_at;
    if (is_connecting && is_due && wait->ended > 0 && !next_address(wait))
        begin_round(wait);
    if (is_connecting && !(is_due && next_address(wait)))
        arm(wait);
    else
        go_on(wait);
}

/* A kept connection is closed for it, of this worker or else of another one. */
static bool make_room(struct hl_upstream_wait *wait)
{
    struct hl_pool *pool = wait->pool;
    bool has_room = !wait->has_made_room && hl_upstream_yield(pool);
    wait->has_made_room = has_room;
    if (has_room)
        return true;
    pool->full_until = uv_now(pool->loop) + ROOM_AGAIN_MS;
    pool->full_cause = wait->cause;
    hl_pool_member_ask_one(&pool->member);
    return false;
}

/* Every address refuses: whatever listens there next is another app, or another start of it. */
static void end_round(struct hl_upstream_wait *wait)
{
    if (wait->lacks_room && make_room(wait)) {
        begin_round(wait);
        go_on(wait);
        return;
    }
    if (wait->ended > 0 && wait->refused == wait->ended)
        hl_gate_close(gate_of(wait), hl_cause_text(wait->cause));
    if (hl_gate_is_shut(gate_of(wait)))
        wait_for_gate(wait);
    else
        sit_out(wait, wait->lacks_room ? ROOM_AGAIN_MS : take_backoff(wait));
}

/* ---- what comes of them ---- */

/* The app's machine may vanish; on this one (unix:) it does not. */
static void watch_machine(struct hl_upstream *u)
{
    uv_os_fd_t fd;
    if (u->pool->url->is_unix || uv_fileno(&u->stream.handle, &fd) != 0)
        return;
    hl_peer_probe(fd, PROBE_IDLE_S, PROBE_INTERVAL_S, PROBES);
    hl_pool_arm_sweep(u->pool);
}

static void close_attempts(struct hl_upstream_wait *wait)
{
    HL_LIST_EACH_SAFE (node, &wait->attempts)
        hl_upstream_close(HL_CONTAINER_OF(node, struct hl_upstream, node));
}

/* Who has not tried the address that answers does so at once. */
static void tell_best(struct hl_pool *pool)
{
    HL_LIST_EACH_SAFE (node, &pool->waits) {
        struct hl_upstream_wait *wait = HL_CONTAINER_OF(node, struct hl_upstream_wait, node);
        if (hl_upstream_wait_is_connecting(wait) && (wait->tried & pool->host.best) == 0)
            go_on(wait); /* ends no wait, so the list stays whole */
    }
}

static void on_open(struct hl_upstream_wait *wait, struct hl_upstream *u)
{
    struct hl_pool *pool = u->pool;
    hl_gate_note_connected(gate_of(wait));
    u->state = HL_UPSTREAM_BUSY;
    hl_list_remove(&u->node);
    hl_list_push_back(&pool->busy, &u->node);
    hl_pool_member_note_busy(&pool->member);
    watch_machine(u);
    hl_stream_resume(&u->stream);
    if (!wait->has_made_room)
        hl_upstream_replace(pool);
    bool is_news = hl_host_prefer(&pool->host, u->mark);
    hl_upstream_wait_end(wait, u);
    if (is_news)
        tell_best(pool);
}

static void on_connected(struct hl_upstream *u, int error)
{
    struct hl_upstream_wait *wait = u->wait;
    hl_upstream_own(u, NULL, NULL);
    u->wait = NULL;
    hl_timer_disarm(&wait->timer);
    if (error != 0) {
        hl_upstream_close(u);
        note_failure(wait, error);
        go_on(wait);
    } else if (hl_gate_is_shut(gate_of(wait))) {
        close_attempts(wait); /* who is connected to now has not said that it is ready */
        wait_for_gate(wait);
    } else {
        on_open(wait, u);
    }
}

static void on_event(void *owner, const struct hl_stream_event *event)
{
    if (event->kind == HL_STREAM_CONNECTED)
        on_connected(owner, event->error);
}

/* The name does not have these addresses any more. */
static void leave_gone(struct hl_upstream_wait *wait)
{
    HL_LIST_EACH_SAFE (node, &wait->attempts) {
        struct hl_upstream *u = HL_CONTAINER_OF(node, struct hl_upstream, node);
        if ((u->mark & wait->pool->host.marks) == 0)
            hl_upstream_close(u);
    }
    go_on_in_time(wait);
}

void hl_upstream_wait_on_resolved(struct hl_host *host, int status)
{
    struct hl_pool *pool = HL_CONTAINER_OF(host, struct hl_pool, host);
    if (status == 0)
        hl_upstream_leave_gone(pool);
    HL_LIST_EACH_SAFE (node, &pool->waits) { /* none of this ends a wait: the list stays whole */
        struct hl_upstream_wait *wait = HL_CONTAINER_OF(node, struct hl_upstream_wait, node);
        bool is_awaited = wait->is_resolving;
        wait->is_resolving = false;
        if (hl_upstream_wait_is_connecting(wait)) {
            leave_gone(wait);
        } else if (is_awaited && host->address_count == 0) {
            wait->cause = hl_cause_of(status != 0 ? status : UV_EAI_NONAME);
            sit_out(wait, wait->backoff_ms);
        } else if (is_awaited || host->added != 0) {
            try_connect(wait);
        }
    }
}

static void give_up_old(struct hl_upstream_wait *wait)
{
    uint64_t now = uv_now(wait->pool->loop);
    HL_LIST_EACH_SAFE (node, &wait->attempts) {
        struct hl_upstream *u = HL_CONTAINER_OF(node, struct hl_upstream, node);
        if (now - u->idle_since < CONNECT_MOST_MS)
            break;
        hl_upstream_close(u);
        note_failure(wait, UV_ETIMEDOUT);
    }
}

/* The app may have moved while a connect waits for it. */
static void look_again(struct hl_host *host)
{
    if (hl_host_is_stale(host, HL_HOST_DOUBT_MS) && !hl_host_resolve(host))
        HL_LOG(DEBUG, "the app's host name is not looked up: out of memory");
}

static void on_timer(struct hl_timer *timer)
{
    struct hl_upstream_wait *wait = HL_CONTAINER_OF(timer, struct hl_upstream_wait, timer);
    if (uv_now(wait->pool->loop) >= wait->deadline) {
        hl_upstream_wait_end(wait, NULL);
    } else if (!hl_upstream_wait_is_connecting(wait)) {
        try_connect(wait);
    } else {
        give_up_old(wait);
        look_again(&wait->pool->host);
        go_on_in_time(wait);
    }
}

void hl_upstream_wait_hurry(struct hl_pool *pool)
{
    HL_LIST_EACH_SAFE (node, &pool->waits) {
        struct hl_upstream_wait *wait = HL_CONTAINER_OF(node, struct hl_upstream_wait, node);
        if (hl_upstream_wait_is_connecting(wait) || wait->is_resolving ||
            hl_gate_is_shut(gate_of(wait)) || uv_now(pool->loop) >= wait->deadline)
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
        if (!hl_upstream_wait_is_connecting(wait))
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
    close_attempts(wait);
}
