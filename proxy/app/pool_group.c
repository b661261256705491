/* pool_group.c - what the pools of all workers have in common.
 * Owns: the number of open connections, if that has a limit. Thread: any; a pool is touched by its
 * worker alone, which is asked by message.
 * Promise: with HOOKLINE_APP_CONCURRENCY set nobody keeps a connection beyond that number while a
 * call of another worker has opened one.
 * Not here: the connections (pool.c), when it is barred (readiness.c). */
#include "app/pool.h"

void hl_pool_group_init(struct hl_pool_group *group, bool keeps, uint32_t limit)
{
    hl_list_init(&group->pools);
    group->keeps = keeps;
    group->limit = limit;
    atomic_init(&group->open, 0);
    atomic_init(&group->is_barred, false);
}

void hl_pool_group_bar(struct hl_pool_group *group, bool is_barred)
{
    atomic_store(&group->is_barred, is_barred);
}

bool hl_pool_group_is_busy(const struct hl_pool_group *group)
{
    HL_LIST_EACH (node, &group->pools)
        if (hl_counter_get(&HL_CONTAINER_OF(node, struct hl_pool, group_node)->busy_count) > 0)
            return true;
    return false;
}

static bool is_over_limit(const struct hl_pool_group *group)
{
    return group->limit > 0 && atomic_load(&group->open) > group->limit;
}

void hl_pool_close_surplus(struct hl_pool *pool)
{
    while (!hl_list_is_empty(&pool->idle) && is_over_limit(pool->group))
        hl_upstream_close(HL_CONTAINER_OF(pool->idle.prev, struct hl_upstream, node));
}

void hl_pool_on_room(struct hl_msg *msg)
{
    struct hl_pool *pool = HL_CONTAINER_OF(msg, struct hl_pool, room);
    atomic_store(&pool->is_room_asked, false);
    hl_pool_close_surplus(pool);
}

/* One more is open. Whoever keeps one beyond the limit closes it: this pool, another one that is
 * asked, or one that is about to keep it and sees the number. A pool notes a kept one before it looks
 * at the number, the number is raised here before the pools are looked at. */
void hl_pool_count_open(struct hl_pool *pool)
{
    struct hl_pool_group *group = pool->group;
    if (group->limit == 0)
        return;
    atomic_fetch_add(&group->open, 1);
    hl_pool_close_surplus(pool);
    if (!is_over_limit(group))
        return;
    HL_LIST_EACH (node, &group->pools) {
        struct hl_pool *other = HL_CONTAINER_OF(node, struct hl_pool, group_node);
        if (atomic_load(&other->idle_count) == 0)
            continue;
        if (!atomic_exchange(&other->is_room_asked, true))
            hl_mailbox_post(other->mailbox, &other->room);
        return;
    }
}
