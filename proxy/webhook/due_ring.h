/* due_ring.h - things that wait for a moment at most a few seconds away: a ring of lists, one for each
 * tenth of a second. Adding and taking is constant time, whatever waits. One thread owns it. */
#ifndef HL_WEBHOOK_DUE_RING_H
#define HL_WEBHOOK_DUE_RING_H

#include <stdint.h>

#include "base/list.h"

#define HL_DUE_TICK_MS 100
/* 12.8 s: the longest wait, and as much again for a thread that is late. */
#define HL_DUE_SLOTS  128
#define HL_DUE_MAX_MS 6000 /* the longest wait */

struct hl_due_ring {
    uint64_t tick; /* all slots up to this one have been taken */
    struct hl_list slots[HL_DUE_SLOTS];
};

/* `now_ms` is monotonic, here and below. */
void hl_due_ring_init(struct hl_due_ring *due, uint64_t now_ms);

/* Adds a node that is in no list. It is due `wait_ms` (at most HL_DUE_MAX_MS) from now, or up to a
 * tick later; earlier only if the thread did not take for longer than the ring's spare half. To
 * take it back before: hl_list_remove. */
void hl_due_ring_add(
    struct hl_due_ring *due, struct hl_list *node, uint64_t now_ms, uint64_t wait_ms);

/* The next node that is due, removed, or NULL. */
struct hl_list *hl_due_ring_take(struct hl_due_ring *due, uint64_t now_ms);

/* Any node, removed, due or not; NULL when nothing waits. */
struct hl_list *hl_due_ring_take_any(struct hl_due_ring *due);

/* Milliseconds until hl_due_ring_take finds something; UINT64_MAX when nothing waits. */
uint64_t hl_due_ring_wait_ms(const struct hl_due_ring *due, uint64_t now_ms);

#endif
