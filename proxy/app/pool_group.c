/* pool_group.c - what the pools of all workers have in common.
 * Owns: the number of open connections, if that has a limit. Thread: any; a pool is touched by its
 * worker alone, which is asked by message.
 * Promise: with HOOKLINE_APP_CONCURRENCY set nobody keeps a connection beyond that number while a
 * call of another worker has opened one.
 * Not here: the connections (pool.c), when it is barred (readiness.c). */
#include "app/pool_group.h"

void hl_pool_group_init(struct hl_pool_group *group, bool keeps, uint32_t limit)
{
    hl_list_init(&group->members);
    group->keeps = keeps;
    group->limit = limit;
    atomic_init(&group->open, 0);
    atomic_init(&group->is_barred, false);
    hl_gate_init(&group->gate);
}

void hl_pool_group_bar(struct hl_pool_group *group, bool is_barred)
{
    atomic_store(&group->is_barred, is_barred);
}

bool hl_pool_group_is_busy(const struct hl_pool_group *group)
{
    HL_LIST_EACH (node, &group->members)
        if (hl_counter_get(&HL_CONTAINER_OF(node, struct hl_pool_member, node)->busy_count) > 0)
            return true;
    return false;
}

/* Of the counter that lies there in each member. */
static uint64_t sum(const struct hl_pool_group *group, size_t offset)
{
    uint64_t n = 0;
    HL_LIST_EACH (node, &group->members) {
        const void *member = HL_CONTAINER_OF(node, struct hl_pool_member, node);
        n += hl_counter_get((const struct hl_counter *)((const char *)member + offset));
    }
    return n;
}

uint64_t hl_pool_group_given(const struct hl_pool_group *group)
{
    return sum(group, offsetof(struct hl_pool_member, given));
}

uint64_t hl_pool_group_heard(const struct hl_pool_group *group)
{
    return sum(group, offsetof(struct hl_pool_member, heard));
}

void hl_pool_member_init(
    struct hl_pool_member *member, struct hl_pool_group *group, struct hl_mailbox *mailbox)
{
    *member =
        (struct hl_pool_member){.group = group, .mailbox = mailbox, .room = {.type = HL_POOL_ROOM}};
    hl_list_push_back(&group->members, &member->node);
}

/* Whoever keeps one beyond the limit closes it: the pool that opened one more, another one that it
 * asks, or one that is about to keep it and sees the number. A pool notes a kept one before it looks
 * at the number, the number is raised here before the pools are looked at. */
void hl_pool_member_note_open(struct hl_pool_member *member)
{
    if (member->group->limit > 0)
        atomic_fetch_add(&member->group->open, 1);
}

void hl_pool_member_note_closed(struct hl_pool_member *member)
{
    if (member->group->limit > 0)
        atomic_fetch_sub(&member->group->open, 1);
}

static void post_room(struct hl_pool_member *member)
{
    if (!atomic_exchange(&member->is_room_asked, true))
        hl_mailbox_post(member->mailbox, &member->room);
}

void hl_pool_member_ask_room(struct hl_pool_member *member)
{
    if (!hl_pool_member_is_over_limit(member))
        return;
    HL_LIST_EACH (node, &member->group->members) {
        struct hl_pool_member *other = HL_CONTAINER_OF(node, struct hl_pool_member, node);
        if (atomic_load(&other->idle_count) == 0)
            continue;
        post_room(other);
        return;
    }
}

/* Who keeps one, else who will have one back. */
void hl_pool_member_ask_one(struct hl_pool_member *member)
{
    struct hl_pool_member *asked = NULL;
    HL_LIST_EACH (node, &member->group->members) {
        struct hl_pool_member *other = HL_CONTAINER_OF(node, struct hl_pool_member, node);
        bool keeps = atomic_load(&other->idle_count) > 0;
        if (other == member || (!keeps && (asked || hl_counter_get(&other->busy_count) == 0)))
            continue;
        asked = other;
        if (keeps)
            break;
    }
    if (!asked)
        return;
    atomic_store(&asked->is_one_wanted, true); /* before `room`, in whose turn it is looked at */
    post_room(asked);
}

bool hl_pool_member_on_room(struct hl_pool_member *member)
{
    atomic_store(&member->is_room_asked, false);
    return atomic_exchange(&member->is_one_wanted, false);
}
