/* pool_group.h - what the pools of all workers have in common. A server that gives each connection a
 * thread of its own, and has as many as HOOKLINE_APP_CONCURRENCY says, must not have them taken by
 * kept connections of other workers. */
#ifndef HL_APP_POOL_GROUP_H
#define HL_APP_POOL_GROUP_H

#include <stdatomic.h>

#include "app/gate.h"
#include "base/list.h"
#include "base/metric.h"
#include "loop/mailbox.h"

struct hl_pool_group {
    struct hl_list members; /* complete before the workers start */
    bool keeps;             /* HOOKLINE_APP_KEEPALIVE */
    uint32_t limit;         /* of open connections, kept ones give way; 0: none */
    _Atomic uint32_t open;  /* counted only if there is a limit */
    _Atomic bool is_barred; /* nobody connects: it is not the app that listens there */
    struct hl_gate gate;    /* shut: nobody connects, nor uses a kept one */
};

/* A pool as the others see it; embedded in it. */
struct hl_pool_member {
    struct hl_list node;
    struct hl_pool_group *group;
    struct hl_mailbox *mailbox;  /* of the worker: gets `room` */
    struct hl_msg room;          /* another pool asks that a kept connection be closed */
    _Atomic bool is_room_asked;  /* `room` is on its way */
    _Atomic bool is_one_wanted;  /* another pool can open none while this one has so many */
    _Atomic uint32_t idle_count; /* written by the worker, as is `busy_count` */
    struct hl_counter busy_count;
    struct hl_counter given; /* connections that calls were given, since the start */
    struct hl_counter heard; /* reads that brought bytes of the app's on those */
};

/* The message type; the workers' mailboxes know it (worker/worker.h). */
#define HL_POOL_ROOM 201

void hl_pool_group_init(struct hl_pool_group *group, bool keeps, uint32_t limit);
/* Control. Connections wait, until their deadlines, while it is barred. */
void hl_pool_group_bar(struct hl_pool_group *group, bool is_barred);
/* Whether a call has a connection to the app just now. Any thread. */
bool hl_pool_group_is_busy(const struct hl_pool_group *group);
/* How often calls were given one: that it is another number says that some were inside meanwhile. Any thread. */
uint64_t hl_pool_group_given(const struct hl_pool_group *group);

/* How often the app sent something to a call: another number says that it did meanwhile. Any thread. */
uint64_t hl_pool_group_heard(const struct hl_pool_group *group);

void hl_pool_member_init(
    struct hl_pool_member *member, struct hl_pool_group *group, struct hl_mailbox *mailbox);
/* A call has one, that was kept or is new. */
static inline void hl_pool_member_note_busy(struct hl_pool_member *member)
{
    hl_counter_add(&member->busy_count, 1);
    hl_counter_add(&member->given, 1);
}
/* Another one, or one fewer, is open. */
void hl_pool_member_note_open(struct hl_pool_member *member);
void hl_pool_member_note_closed(struct hl_pool_member *member);

/* Another one, or one fewer (-1), is kept. */
static inline void hl_pool_member_note_idle(struct hl_pool_member *member, int change)
{
    uint32_t n = atomic_load_explicit(&member->idle_count, memory_order_relaxed);
    atomic_store_explicit(&member->idle_count, n + (uint32_t)change,
        member->group->limit > 0 ? memory_order_seq_cst : memory_order_relaxed);
}

/* More are open than may be: whoever keeps one closes it. */
static inline bool hl_pool_member_is_over_limit(const struct hl_pool_member *member)
{
    const struct hl_pool_group *group = member->group;
    return group->limit > 0 && atomic_load(&group->open) > group->limit;
}

/* Asks a pool that keeps one for room, if more are open than may be. */
void hl_pool_member_ask_room(struct hl_pool_member *member);
/* Asks another pool for one: no port, or no descriptor, is free. */
void hl_pool_member_ask_one(struct hl_pool_member *member);
/* `room` has come: it may be asked again. Whether one is wanted whatever the limit. */
bool hl_pool_member_on_room(struct hl_pool_member *member);

#endif
