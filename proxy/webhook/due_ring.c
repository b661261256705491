/* due_ring.c - a ring of lists by tenths of a second. `tick` walks after the clock; a slot is emptied
 * when the walk has reached it, so a slot never mixes two rounds: no wait is longer than the ring.
 */
#include "webhook/due_ring.h"

#include "base/assert.h"

void hl_due_ring_init(struct hl_due_ring *due, uint64_t now_ms)
{
    due->tick = now_ms / HL_DUE_TICK_MS;
    for (size_t i = 0; i < HL_DUE_SLOTS; i++)
        hl_list_init(&due->slots[i]);
}

void hl_due_ring_add(
    struct hl_due_ring *due, struct hl_list *node, uint64_t now_ms, uint64_t wait_ms)
{
    HL_ASSERT(wait_ms <= HL_DUE_MAX_MS);
    uint64_t tick = (now_ms + wait_ms + HL_DUE_TICK_MS - 1) / HL_DUE_TICK_MS;
    if (tick < due->tick)
        tick = due->tick;
    if (tick > due->tick + HL_DUE_SLOTS - 1)
        tick = due->tick + HL_DUE_SLOTS - 1;
    hl_list_push_back(&due->slots[tick % HL_DUE_SLOTS], node);
}

struct hl_list *hl_due_ring_take(struct hl_due_ring *due, uint64_t now_ms)
{
    uint64_t now = now_ms / HL_DUE_TICK_MS;
    for (size_t seen = 0; seen <= HL_DUE_SLOTS; seen++) {
        struct hl_list *node = hl_list_pop_front(&due->slots[due->tick % HL_DUE_SLOTS]);
        if (node || due->tick >= now)
            return node;
        due->tick++;
    }
    due->tick = now; /* all slots are empty: the thread slept for longer than the ring */
    return NULL;
}

struct hl_list *hl_due_ring_take_any(struct hl_due_ring *due)
{
    for (size_t i = 0; i < HL_DUE_SLOTS; i++)
        if (!hl_list_is_empty(&due->slots[i]))
            return hl_list_pop_front(&due->slots[i]);
    return NULL;
}

uint64_t hl_due_ring_wait_ms(const struct hl_due_ring *due, uint64_t now_ms)
{
    for (uint64_t tick = due->tick; tick < due->tick + HL_DUE_SLOTS; tick++) {
        if (hl_list_is_empty(&due->slots[tick % HL_DUE_SLOTS]))
            continue;
        uint64_t at_ms = tick * HL_DUE_TICK_MS;
        return at_ms > now_ms ? at_ms - now_ms : 0;
    }
    return UINT64_MAX;
}
