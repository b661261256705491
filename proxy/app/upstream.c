/* upstream.c - a connection to the app, whoever has it.
 * Thread: the worker's. Promise: one that is closed gives nobody an event any more; its memory goes in
 * the stream's last callback.
 * Not here: how it is connected (upstream_wait.c), which is kept and for how long (pool.c). */
#include "app/upstream.h"

#include <string.h>

#include "app/pool.h"
#include "http/head.h"

static void on_stream_event(struct hl_stream *stream, const struct hl_stream_event *event);

struct hl_upstream *hl_upstream_new(struct hl_pool *pool)
{
    struct hl_upstream *u = hl_slab_get_zeroed(&pool->slab);
    if (!u)
        return NULL;
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
    hl_upstream_close_surplus(pool);
    hl_pool_member_ask_room(&pool->member);
    return u;
}

static struct hl_upstream *oldest_kept(const struct hl_pool *pool)
{
    return hl_list_is_empty(&pool->idle)
               ? NULL
               : HL_CONTAINER_OF(pool->idle.prev, struct hl_upstream, node);
}

void hl_upstream_close_surplus(struct hl_pool *pool)
{
    while (oldest_kept(pool) && hl_pool_member_is_over_limit(&pool->member))
        hl_upstream_close(oldest_kept(pool));
}

void hl_upstream_replace(struct hl_pool *pool)
{
    struct hl_upstream *oldest = oldest_kept(pool);
    if (oldest && uv_now(pool->loop) - oldest->idle_since > hl_upstream_fresh_ms(oldest))
        hl_upstream_close(oldest);
}

bool hl_upstream_yield(struct hl_pool *pool)
{
    struct hl_upstream *oldest = oldest_kept(pool);
    if (oldest)
        hl_upstream_reset(oldest);
    return oldest != NULL;
}

void hl_upstream_leave_gone(struct hl_pool *pool)
{
    const struct hl_host *host = &pool->host;
    if (host->is_cut) /* it may be one of the others */
        return;
    HL_LIST_EACH_SAFE (idle, &pool->idle) {
        struct hl_upstream *u = HL_CONTAINER_OF(idle, struct hl_upstream, node);
        if ((u->mark & host->marks) == 0)
            hl_upstream_close(u);
    }
    HL_LIST_EACH (busy, &pool->busy) {
        struct hl_upstream *u = HL_CONTAINER_OF(busy, struct hl_upstream, node);
        u->is_gone |= (u->mark & host->marks) == 0;
    }
}

void hl_upstream_distrust(struct hl_upstream *u)
{
    u->pool->wary_until = uv_now(u->pool->loop) + HL_POOL_WARY_MS;
}

void hl_upstream_note_left(struct hl_upstream *u)
{
    if (uv_now(u->pool->loop) - u->idle_since < HL_POOL_SETTLE_MS)
        hl_upstream_distrust(u);
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
    case HL_UPSTREAM_IDLE: /* EOF, failure, or bytes that nobody asked for: not to be used again */
        hl_upstream_note_left(u);
        hl_upstream_close(u);
        break;
    case HL_UPSTREAM_CONNECTING:
    case HL_UPSTREAM_BUSY:
        if (u->on_event)
            u->on_event(u->owner, event);
        break;
    case HL_UPSTREAM_CLOSING:
        break;
    }
}

/* False: it has been closed before. */
static bool leave(struct hl_upstream *u)
{
    if (u->state == HL_UPSTREAM_CLOSING)
        return false;
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
    return true;
}

void hl_upstream_close(struct hl_upstream *u)
{
    if (leave(u))
        hl_stream_close(&u->stream);
}

void hl_upstream_reset(struct hl_upstream *u)
{
    if (leave(u))
        hl_stream_close_reset(&u->stream);
}

/* How long the app keeps an idle connection: Keep-Alive: timeout=5 (as Node says it), less a second
 * for the way. */
static uint64_t read_keep_ms(const struct hl_head *head)
{
    const struct hl_field *field = hl_head_field(head, HL_FIELD_KEEP_ALIVE);
    if (!field)
        return 0;
    struct hl_str list = field->value, element;
    uint64_t seconds;
    while (hl_str_next_element(&list, &element))
        if (hl_str_starts_with(element, HL_STR("timeout=")) &&
            hl_str_to_u64((struct hl_str){element.p + 8, element.n - 8}, &seconds) &&
            seconds < 3600)
            return seconds > 1 ? (seconds - 1) * 1000 : 1;
    return 0;
}

void hl_upstream_note_head(struct hl_upstream *u, const struct hl_head *head)
{
    u->keep_ms = read_keep_ms(head);
}
