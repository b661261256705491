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
    atomic_init(&l->starts, 0);
    l->seats = seats;
    l->seat_count = seat_count;
}

void hl_limiter_seat_init(
    struct hl_limiter_seat *seat, struct hl_limiter *l, uint32_t index, struct hl_mailbox *mailbox)
{
    seat->limiter = l;
    seat->index = index;
    seat->mailbox = mailbox;
    atomic_init(&seat->coming, 0);
    atomic_init(&seat->oldest_ms, 0);
    for (int i = 0; i < 2; i++) {
        hl_list_init(&seat->queue[i]);
        atomic_init(&seat->waiting[i], 0);
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
    hl_list_remove(&wait->node);
    atomic_fetch_sub(&seat->waiting[wait->class], 1);
    atomic_fetch_sub(&seat->limiter->waiting[wait->class], 1);
    note_oldest(seat);
}

/* Takes the first waiter of a class off this seat's queue. */
static struct hl_limiter_wait *dequeue(struct hl_limiter_seat *seat, enum hl_limiter_class class)
{
    if (hl_list_is_empty(&seat->queue[class]))
        return NULL;
    struct hl_limiter_wait *wait =
        HL_CONTAINER_OF(seat->queue[class].next, struct hl_limiter_wait, node);
    leave_queue(seat, wait);
    return wait;
}

/* Which class the next slot goes to. */
static enum hl_limiter_class pick_class(struct hl_limiter *l)
{
    bool callers = atomic_load(&l->waiting[HL_LIMITER_CALLER]) > 0;
    bool runs = atomic_load(&l->waiting[HL_LIMITER_ASYNC]) > 0;
    if (runs && (!callers || atomic_load(&l->starts) >= HL_LIMITER_ASYNC_SHARE - 1))
        return HL_LIMITER_ASYNC;
    return HL_LIMITER_CALLER;
}

/* Offers a slot to the next waiter of this seat. False: it does not want it any more. */
static bool offer(struct hl_limiter_seat *seat, struct hl_limiter_wait *wait)
{
    if (wait->class == HL_LIMITER_ASYNC)
        atomic_store(&seat->limiter->starts, 0);
    else
        atomic_fetch_add(&seat->limiter->starts, 1);
    return wait->on_slot(wait);
}

/* This thread holds a slot: gives it to a waiter of its own seat. False: nobody waits here. */
static bool serve_own(struct hl_limiter_seat *seat)
{
    for (;;) {
        enum hl_limiter_class first = pick_class(seat->limiter);
        struct hl_limiter_wait *wait = dequeue(seat, first);
        if (!wait)
            wait = dequeue(seat, first == HL_LIMITER_CALLER ? HL_LIMITER_ASYNC : HL_LIMITER_CALLER);
        if (!wait)
            return false;
        if (offer(seat, wait))
            return true;
    }
}

/* The seat whose turn it is among those with a waiter of that class; NULL: none. */
static struct hl_limiter_seat *next_seat(struct hl_limiter *l, enum hl_limiter_class class)
{
    uint32_t from = atomic_fetch_add(&l->next_worker, 1);
    for (uint32_t i = 0; i < l->seat_count; i++) {
        struct hl_limiter_seat *seat = l->seats[(from + i) % l->seat_count];
        if (atomic_load(&seat->waiting[class]) > 0)
            return seat;
    }
    return NULL;
}

/* Something will be posted to that seat. False: it is closed, its worker reads no more. */
static bool announce(struct hl_limiter_seat *to)
{
    uint32_t n = atomic_load(&to->coming);
    while (!(n & CLOSED))
        if (atomic_compare_exchange_weak(&to->coming, &n, n + 1))
            return true;
    return false;
}

/* Hands a slot that this thread holds to whoever is next. False: nobody waits. */
static bool hand_on(struct hl_limiter_seat *seat)
{
    struct hl_limiter *l = seat->limiter;
    enum hl_limiter_class class = pick_class(l);
    struct hl_limiter_seat *to = next_seat(l, class);
    if (!to)
        to = next_seat(l, class == HL_LIMITER_CALLER ? HL_LIMITER_ASYNC : HL_LIMITER_CALLER);
    if (!to)
        return false;
    if (to == seat)
        return serve_own(seat);
    if (!announce(to))
        return false; /* whoever waited there has left before it closed: look again */
    struct hl_limiter_grant *grant = malloc(sizeof(*grant));
    HL_ASSERT(grant); /* 16 bytes; a slot must not get lost */
    grant->msg.type = HL_LIMITER_GRANT;
    hl_mailbox_post(to->mailbox, &grant->msg);
    return true;
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

void hl_limiter_on_grant(struct hl_limiter_seat *seat, struct hl_msg *msg)
{
    free(HL_CONTAINER_OF(msg, struct hl_limiter_grant, msg));
    atomic_fetch_sub(&seat->coming, 1);
    if (!serve_own(seat))
        hl_limiter_release(seat); /* the waiter has given up meanwhile */
}

bool hl_limiter_seat_close(struct hl_limiter_seat *seat)
{
    HL_ASSERT(hl_list_is_empty(&seat->queue[HL_LIMITER_CALLER]) &&
              hl_list_is_empty(&seat->queue[HL_LIMITER_ASYNC]));
    return (atomic_fetch_or(&seat->coming, CLOSED) & ~CLOSED) == 0;
}

bool hl_limiter_is_full(const struct hl_limiter_seat *seat)
{
    const struct hl_limiter *l = seat->limiter;
    return l->limit > 0 && atomic_load(&l->waiting[HL_LIMITER_CALLER]) >= l->queue_max;
}

bool hl_limiter_queue(
    struct hl_limiter_seat *seat, struct hl_limiter_wait *wait, enum hl_limiter_class class)
{
    struct hl_limiter *l = seat->limiter;
    if (class == HL_LIMITER_CALLER && hl_limiter_is_full(seat))
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
    if (hl_list_is_linked(&wait->node))
        leave_queue(seat, wait);
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
