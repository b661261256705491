/* limiter.h - how many requests may be inside the app at once, over all workers
 * (HOOKLINE_APP_CONCURRENCY, contract 7).
 *
 * A slot that becomes free while someone waits is handed on, never thrown back. Which class is next says
 * base/priority.h; within a class one start in eight goes to a queued run, else callers come first, within
 * a worker by their subjects' turns (base/turn.h), and workers take turns. With no limit set nothing here
 * is touched on a call's way. */
#ifndef HL_APP_LIMITER_H
#define HL_APP_LIMITER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/metric.h"
#include "base/turn.h"
#include "loop/mailbox.h"

struct hl_counter;

enum hl_limiter_class { HL_LIMITER_CALLER, HL_LIMITER_ASYNC };

struct hl_limiter_seat; /* one worker's part */

/* Shared by all workers. */
struct hl_limiter {
    uint32_t limit;     /* 0: none */
    uint32_t queue_max; /* callers waiting, over all workers */
    _Atomic uint32_t in_use;
    _Atomic uint32_t waiting[2];             /* by class, over all workers */
    _Atomic uint32_t callers[HL_PRIORITIES]; /* of those waiting, of each class */
    _Atomic uint32_t next_worker;
    _Atomic uint32_t rule; /* struct hl_priority_rule; of starts, */
    _Atomic uint32_t
        starts[HL_PRIORITIES];       /* and callers' of a class since its last queued run's */
    const struct hl_counter *queued; /* runs, of each class; NULL: all count as normal */
    struct hl_limiter_seat **seats;
    uint32_t seat_count;
};

/* Someone who waits for a slot. Embedded in the waiter. */
struct hl_limiter_wait {
    struct hl_list node;
    enum hl_limiter_class class;
    uint64_t since_ms; /* monotonic */
    /* A caller's, set before it queues up; of a run, the class that its slot is for. */
    enum hl_priority priority;
    uint64_t subject; /* 0: all of those are one */
    int64_t turn;
    struct hl_heap_node in_turn;
    /* True: the slot is the waiter's now. False: it is not wanted any more. */
    bool (*on_slot)(struct hl_limiter_wait *wait);
};

struct hl_limiter_seat {
    struct hl_limiter *limiter;
    /* by class, in the order in which they came; this worker's thread only */
    struct hl_list queue[2];
    struct hl_heap callers[HL_PRIORITIES]; /* those that call, by their turns */
    struct hl_turns turns;
    uint64_t came;               /* callers, so far */
    _Atomic uint32_t waiting[2]; /* the queues' lengths, for the others */
    _Atomic uint32_t callers_waiting[HL_PRIORITIES];
    struct hl_mailbox *mailbox; /* of this worker: gets `grant` */
    uint32_t index;
    /* Slots on their way here; the top bit: closed, none comes any more. While it is not 0 `grant` is
     * in the mailbox, or being read: hl_limiter_on_grant takes all. */
    _Atomic uint32_t coming;
    struct hl_msg grant;        /* HL_LIMITER_GRANT */
    _Atomic uint64_t oldest_ms; /* since when its first caller waits, monotonic; 0: none does */
};

void hl_limiter_init(struct hl_limiter *l, uint32_t limit, uint32_t queue_max,
    struct hl_limiter_seat **seats, uint32_t seat_count);
/* Where it is said how many runs of each class are queued. */
void hl_limiter_know_queue(struct hl_limiter *l, const struct hl_counter queued[HL_PRIORITIES]);
void hl_limiter_seat_init(
    struct hl_limiter_seat *seat, struct hl_limiter *l, uint32_t index, struct hl_mailbox *mailbox);

/* True: a slot is taken (or there is no limit). False: none is free, or others wait already. */
bool hl_limiter_try(struct hl_limiter_seat *seat, enum hl_limiter_class class);

void hl_limiter_wait_init(
    struct hl_limiter_wait *wait, bool (*on_slot)(struct hl_limiter_wait *wait));
/* Queues up; on_slot may be called before the return. False: HOOKLINE_APP_QUEUE callers wait
 * already, or there is no memory. */
bool hl_limiter_queue(
    struct hl_limiter_seat *seat, struct hl_limiter_wait *wait, enum hl_limiter_class class);
/* HOOKLINE_APP_QUEUE callers wait. */
bool hl_limiter_is_full(const struct hl_limiter_seat *seat);
/* Harmless when it does not wait. */
void hl_limiter_cancel(struct hl_limiter_seat *seat, struct hl_limiter_wait *wait);

/* Gives a slot back, or on. */
void hl_limiter_release(struct hl_limiter_seat *seat);
/* The worker's mailbox brought `grant`. */
void hl_limiter_on_grant(struct hl_limiter_seat *seat);

/* The worker ends: nobody may be in its queue, nor come to it any more. False: a grant is on its
 * way still; take it with hl_limiter_on_grant and ask again. True: none will come. */
bool hl_limiter_seat_close(struct hl_limiter_seat *seat);

/* How long the first of all waiting callers has waited; 0: none waits. Any thread. */
uint64_t hl_limiter_queue_age_ms(const struct hl_limiter *l, uint64_t now_ms);

/* The message type of grants; the workers' mailboxes know it (worker/worker.h). */
#define HL_LIMITER_GRANT 200

#endif
