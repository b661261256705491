/* limiter.c - how many requests may be inside the app at once.
 * Owns: the count and each worker's queue. Thread: each seat its worker's; the counts are atomic.
 * Promise: never more than `limit` slots out; a slot and a waiter never miss each other: a waiter
 * is counted before it looks for a slot, a slot is given back before its giver looks for waiters,
 * both sequentially consistent. A slot is never sent to a worker that ends: a seat counts what is
 * on its way to it, and its closing and that count are one atomic value.
 * Not here: how long a caller may wait (run/forward.c), what an asynchronous run is
 * (run/dispatch.c). */
#include "app/limiter.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/metric.h"

#define CLOSED UINT32_C(0x80000000)

void hl_limiter_init(struct hl_limiter *l, uint32_t limit, uint32_t queue_max,
    struct hl_limiter_seat **seats, uint32_t seat_count)
{
    l->limit = limit;
    l->queue_max = queue_max;
    atomic_init(&l->in_use, 0);
    atomic_init(&l->waiting[HL_LIMITER_CALLER], 0);
    atomic_init(&l->waiting[HL_LIMITER_ASYNC], 0);
    atomic_init(&l->next_worker, 0);
    atomic_init(&l->rule, 0);
    for (int i = 0; i < HL_PRIORITIES; i++) {
        atomic_init(&l->callers[i], 0);
        atomic_init(&l->starts[i], 0);
    }
    l->queued = NULL;
    l->seats = seats;
    l->seat_count = seat_count;
}

void hl_limiter_know_queue(struct hl_limiter *l, const struct hl_counter queued[HL_PRIORITIES])
{
    l->queued = queued;
}

void hl_limiter_seat_init(
    struct hl_limiter_seat *seat, struct hl_limiter *l, uint32_t index, struct hl_mailbox *mailbox)
{
    seat->limiter = l;
    seat->index = index;
    seat->mailbox = mailbox;
    atomic_init(&seat->coming, 0);
    seat->grant.type = HL_LIMITER_GRANT;
    atomic_init(&seat->oldest_ms, 0);
    for (int i = 0; i < 2; i++) {
        hl_list_init(&seat->queue[i]);
        atomic_init(&seat->waiting[i], 0);
    }
    seat->came = 0;
    hl_turns_init(&seat->turns);
    for (int i = 0; i < HL_PRIORITIES; i++) {
        hl_heap_init(&seat->callers[i]);
        atomic_init(&seat->callers_waiting[i], 0);
    }
}

void hl_limiter_wait_init(
    struct hl_limiter_wait *wait, bool (*on_slot)(struct hl_limiter_wait *wait))
{
    hl_list_init(&wait->node);
    wait->on_slot = on_slot;
}

/* Takes a free slot, if there is one. */
static bool take(struct hl_limiter *l)
{
    uint32_t n = atomic_load(&l->in_use);
    while (n < l->limit)
        if (atomic_compare_exchange_weak(&l->in_use, &n, n + 1))
            return true;
    return false;
}

bool hl_limiter_try(struct hl_limiter_seat *seat, enum hl_limiter_class class)
{
    struct hl_limiter *l = seat->limiter;
    if (l->limit == 0)
        return true;
    bool others_wait =
        atomic_load(&l->waiting[HL_LIMITER_CALLER]) > 0 ||
        (class == HL_LIMITER_ASYNC && atomic_load(&l->waiting[HL_LIMITER_ASYNC]) > 0);
    return !others_wait && take(l);
}

/* Since when the first caller in this seat's queue waits, for the figures. */
static void note_oldest(struct hl_limiter_seat *seat)
{
    const struct hl_list *queue = &seat->queue[HL_LIMITER_CALLER];
    uint64_t since = 0;
    if (!hl_list_is_empty(queue))
        since = HL_CONTAINER_OF(queue->next, struct hl_limiter_wait, node)->since_ms;
    atomic_store_explicit(&seat->oldest_ms, since, memory_order_relaxed);
}

static void leave_queue(struct hl_limiter_seat *seat, struct hl_limiter_wait *wait)
{
    struct hl_limiter *l = seat->limiter;
    hl_list_remove(&wait->node);
    atomic_fetch_sub(&seat->waiting[wait->class], 1);
    atomic_fetch_sub(&l->waiting[wait->class], 1);
    if (wait->class != HL_LIMITER_CALLER)
        return;
    hl_heap_remove(&seat->callers[wait->priority], &wait->in_turn);
    atomic_fetch_sub(&seat->callers_waiting[wait->priority], 1);
    atomic_fetch_sub(&l->callers[wait->priority], 1);
    note_oldest(seat);
}

/* ---- whose turn it is ---- */

/* Who a slot is for, and which classes waited for it. */
struct choice {
    enum hl_limiter_class class;
    enum hl_priority priority;
    unsigned waiting;
};

static unsigned waiting_callers(const struct hl_limiter *l)
{
    unsigned waiting = 0;
    for (unsigned i = 0; i < HL_PRIORITIES; i++)
        if (atomic_load(&l->callers[i]) > 0)
            waiting |= hl_priority_bit((enum hl_priority)i);
    return waiting;
}

/* Workers wait for slots for queued runs, and learn from here of which class those may be. */
static unsigned waiting_runs(const struct hl_limiter *l)
{
    unsigned waiting = 0;
    if (atomic_load(&l->waiting[HL_LIMITER_ASYNC]) == 0)
        return 0;
    for (unsigned i = 0; i < HL_PRIORITIES && l->queued; i++)
        if (hl_counter_get(&l->queued[i]) > 0)
            waiting |= hl_priority_bit((enum hl_priority)i);
    return waiting ? waiting : hl_priority_bit(HL_PRIORITY_NORMAL);
}

static struct hl_priority_rule load_rule(struct hl_limiter *l)
{
    uint32_t both = atomic_load(&l->rule);
    return (struct hl_priority_rule){(unsigned char)(both >> 8), (unsigned char)both};
}

static struct choice choose(struct hl_limiter *l)
{
    unsigned callers = waiting_callers(l), runs = waiting_runs(l);
    struct choice next = {HL_LIMITER_CALLER, HL_PRIORITY_NORMAL, callers | runs};
    if (next.waiting == 0)
        return next;
    next.priority = hl_priority_pick(load_rule(l), next.waiting);
    unsigned bit = hl_priority_bit(next.priority);
    if ((runs & bit) &&
        (!(callers & bit) || atomic_load(&l->starts[next.priority]) >= HL_PRIORITY_SHARE - 1))
        next.class = HL_LIMITER_ASYNC;
    return next;
}

/* Several workers may do so at once: the share of a class is in proportion then, not exact. */
static void note_start(struct hl_limiter *l, const struct choice *choice)
{
    struct hl_priority_rule rule =
        hl_priority_note(load_rule(l), choice->waiting, choice->priority);
    atomic_store(&l->rule, (uint32_t)rule.passed << 8 | rule.last);
    if (choice->class == HL_LIMITER_ASYNC)
        atomic_store(&l->starts[choice->priority], 0);
    else
        atomic_fetch_add(&l->starts[choice->priority], 1);
}

/* ---- handing on ---- */

static struct hl_limiter_wait *first_caller(
    const struct hl_limiter_seat *seat, enum hl_priority priority)
{
    struct hl_heap_node *first = hl_heap_first(&seat->callers[priority]);
    return first ? HL_CONTAINER_OF(first, struct hl_limiter_wait, in_turn) : NULL;
}

static struct hl_limiter_wait *first_run(const struct hl_limiter_seat *seat)
{
    const struct hl_list *queue = &seat->queue[HL_LIMITER_ASYNC];
    return hl_list_is_empty(queue) ? NULL
                                   : HL_CONTAINER_OF(queue->next, struct hl_limiter_wait, node);
}

/* Who is next in this seat's queue: as chosen, or else whoever waits here. `*next` says whom it became. */
static struct hl_limiter_wait *find_next(const struct hl_limiter_seat *seat, struct choice *next)
{
    struct hl_limiter_wait *wait =
        next->class == HL_LIMITER_ASYNC ? first_run(seat) : first_caller(seat, next->priority);
    for (unsigned i = 0; i < HL_PRIORITIES && !wait; i++) {
        wait = first_caller(seat, (enum hl_priority)i);
        if (wait)
            *next = (struct choice){HL_LIMITER_CALLER, (enum hl_priority)i, next->waiting};
    }
    if (!wait && (wait = first_run(seat)))
        next->class = HL_LIMITER_ASYNC;
    return wait;
}

/* Offers a slot to a waiter of this seat. False: it does not want it any more. */
static bool offer(
    struct hl_limiter_seat *seat, struct hl_limiter_wait *wait, const struct choice *choice)
{
    leave_queue(seat, wait);
    if (wait->class == HL_LIMITER_CALLER)
        hl_turns_start(&seat->turns, wait->priority, wait->subject, wait->turn);
    else
        wait->priority = choice->priority;
    note_start(seat->limiter, choice);
    return wait->on_slot(wait);
}

/* This thread holds a slot: gives it to a waiter of its own seat. False: nobody waits here. */
static bool serve_own(struct hl_limiter_seat *seat)
{
    for (;;) {
        struct choice next = choose(seat->limiter);
        struct hl_limiter_wait *wait = find_next(seat, &next);
        if (!wait)
            return false;
        if (offer(seat, wait, &next))
            return true;
    }
}

static uint32_t waits_for(const struct hl_limiter_seat *seat, const struct choice *choice)
{
    return choice->class == HL_LIMITER_ASYNC
               ? atomic_load(&seat->waiting[HL_LIMITER_ASYNC])
               : atomic_load(&seat->callers_waiting[choice->priority]);
}

/* The seat whose turn it is among those with such a waiter; or, when there is none any more, with any;
 * NULL: none. */
static struct hl_limiter_seat *next_seat(struct hl_limiter *l, const struct choice *choice)
{
    uint32_t from = atomic_fetch_add(&l->next_worker, 1);
    struct hl_limiter_seat *other = NULL;
    for (uint32_t i = 0; i < l->seat_count; i++) {
        struct hl_limiter_seat *seat = l->seats[(from + i) % l->seat_count];
        if (waits_for(seat, choice) > 0)
            return seat;
        bool has_any = atomic_load(&seat->waiting[HL_LIMITER_CALLER]) > 0 ||
                       atomic_load(&seat->waiting[HL_LIMITER_ASYNC]) > 0;
        if (has_any && !other)
            other = seat;
    }
    return other;
}

/* A slot goes to that seat. Its message lies there: a slot must not get lost for want of memory. False:
 * it is closed, its worker reads no more. */
static bool send_slot(struct hl_limiter_seat *to)
{
    uint32_t n = atomic_load(&to->coming);
    do
        if (n & CLOSED)
            return false;
    while (!atomic_compare_exchange_weak(&to->coming, &n, n + 1));
    if (n == 0)
        hl_mailbox_post(to->mailbox, &to->grant);
    return true;
}

/* Hands a slot that this thread holds to whoever is next. False: nobody waits. */
static bool hand_on(struct hl_limiter_seat *seat)
{
    struct hl_limiter *l = seat->limiter;
    struct choice next = choose(l);
    struct hl_limiter_seat *to = next_seat(l, &next);
    if (!to)
        return false;
    if (to == seat)
        return serve_own(seat);
    return send_slot(to); /* or whoever waited there has left before it closed: look again */
}

void hl_limiter_release(struct hl_limiter_seat *seat)
{
    struct hl_limiter *l = seat->limiter;
    if (l->limit == 0)
        return;
    for (;;) {
        if (hand_on(seat))
            return;
        atomic_fetch_sub(&l->in_use, 1);
        bool someone_came = atomic_load(&l->waiting[HL_LIMITER_CALLER]) > 0 ||
                            atomic_load(&l->waiting[HL_LIMITER_ASYNC]) > 0;
        if (!someone_came || !take(l))
            return;
    }
}

void hl_limiter_on_grant(struct hl_limiter_seat *seat)
{
    uint32_t n = atomic_load(&seat->coming) & ~CLOSED, left;
    do {
        for (uint32_t i = 0; i < n; i++)
            if (!serve_own(seat))
                hl_limiter_release(seat); /* the waiter has given up meanwhile */
        left = (atomic_fetch_sub(&seat->coming, n) & ~CLOSED) - n;
        n = left;
    } while (left > 0);
}

bool hl_limiter_seat_close(struct hl_limiter_seat *seat)
{
    HL_ASSERT(hl_list_is_empty(&seat->queue[HL_LIMITER_CALLER]) &&
              hl_list_is_empty(&seat->queue[HL_LIMITER_ASYNC]));
    if ((atomic_fetch_or(&seat->coming, CLOSED) & ~CLOSED) != 0)
        return false;
    for (int i = 0; i < HL_PRIORITIES; i++)
        hl_heap_fini(&seat->callers[i]);
    hl_turns_fini(&seat->turns);
    return true;
}

bool hl_limiter_is_full(const struct hl_limiter_seat *seat)
{
    const struct hl_limiter *l = seat->limiter;
    return l->limit > 0 && atomic_load(&l->waiting[HL_LIMITER_CALLER]) >= l->queue_max;
}

/* Among those that call: by its subject's turn. */
static bool take_place(struct hl_limiter_seat *seat, struct hl_limiter_wait *wait)
{
    struct hl_heap *callers = &seat->callers[wait->priority];
    if (hl_heap_reserve(callers) != HL_OK)
        return false;
    wait->turn = hl_turns_give(&seat->turns, wait->priority, wait->subject);
    wait->in_turn.place = 0;
    hl_heap_add(callers, &wait->in_turn, wait->turn, seat->came++);
    atomic_fetch_add(&seat->callers_waiting[wait->priority], 1);
    atomic_fetch_add(&seat->limiter->callers[wait->priority], 1);
    return true;
}

bool hl_limiter_queue(
    struct hl_limiter_seat *seat, struct hl_limiter_wait *wait, enum hl_limiter_class class)
{
    struct hl_limiter *l = seat->limiter;
    if (class == HL_LIMITER_CALLER && hl_limiter_is_full(seat))
        return false;
    if (class == HL_LIMITER_CALLER && !take_place(seat, wait))
        return false;
    wait->class = class;
    wait->since_ms = hl_clock_mono_ms();
    hl_list_push_back(&seat->queue[class], &wait->node);
    note_oldest(seat);
    atomic_fetch_add(&seat->waiting[class], 1);
    atomic_fetch_add(&l->waiting[class], 1);
    if (take(l))
        hl_limiter_release(seat); /* one was free after all: to whose turn it is */
    return true;
}

void hl_limiter_cancel(struct hl_limiter_seat *seat, struct hl_limiter_wait *wait)
{
    if (!hl_list_is_linked(&wait->node))
        return;
    leave_queue(seat, wait);
    if (wait->class == HL_LIMITER_CALLER)
        hl_turns_leave(&seat->turns, wait->priority, wait->subject);
}

uint64_t hl_limiter_queue_age_ms(const struct hl_limiter *l, uint64_t now_ms)
{
    uint64_t oldest = now_ms;
    for (uint32_t i = 0; i < l->seat_count; i++) {
        uint64_t since = atomic_load_explicit(&l->seats[i]->oldest_ms, memory_order_relaxed);
        if (since != 0 && since < oldest)
            oldest = since;
    }
    return now_ms - oldest;
}
