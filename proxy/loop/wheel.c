/* wheel.c - many coarse deadlines on one uv_timer. The loop's thread owns it. Time is counted in
 * ticks; the slot of tick t is slots[t % HL_WHEEL_SLOTS] and holds entries of one turn only, since
 * none is placed further than one turn ahead. The uv_timer waits for the earliest slot that holds
 * something (`next`), so a loop with far deadlines sleeps until then.
 * Promise: an entry fires when its deadline's tick is swept, at most one tick late, never early; behind the sockets when the
 * loop was away. */
#include "loop/wheel.h"

#include "base/compiler.h"

#define STOPPED UINT64_MAX

static void on_tick(uv_timer_t *timer);

static uint64_t tick_of(uint64_t ms)
{
    return ms / HL_WHEEL_TICK_MS;
}

/* The first tick at which `deadline` has passed. */
static uint64_t tick_after(uint64_t deadline)
{
    return (deadline + HL_WHEEL_TICK_MS - 1) / HL_WHEEL_TICK_MS;
}

int hl_wheel_init(struct hl_wheel *w, uv_loop_t *loop)
{
    w->loop = loop;
    w->tick = tick_of(uv_now(loop));
    w->next = STOPPED;
    w->has_given_way = false;
    w->armed = 0;
    for (size_t i = 0; i < HL_WHEEL_SLOTS; i++)
        hl_list_init(&w->slots[i]);
    return uv_timer_init(loop, &w->timer);
}

void hl_wheel_close(struct hl_wheel *w)
{
    uv_close((uv_handle_t *)&w->timer, NULL);
}

void hl_timer_init(struct hl_timer *t, void (*on_fire)(struct hl_timer *timer))
{
    hl_list_init(&t->node);
    t->deadline = 0;
    t->placed = 0;
    t->on_fire = on_fire;
}

static void wait_for(struct hl_wheel *w, uint64_t tick)
{
    uint64_t now = uv_now(w->loop), due = tick * HL_WHEEL_TICK_MS;
    w->next = tick;
    uv_timer_start(&w->timer, on_tick, due > now ? due - now : 0, 0);
}

static void stop_waiting(struct hl_wheel *w)
{
    w->next = STOPPED;
    uv_timer_stop(&w->timer);
}

/* Every slot before `next` is empty, so the time until then counts as handled. Keeps far deadlines
 * far: they are placed up to one turn after `tick`. */
static void catch_up(struct hl_wheel *w)
{
    uint64_t tick = tick_of(uv_now(w->loop));
    if (tick >= w->next)
        tick = w->next - 1;
    if (tick > w->tick)
        w->tick = tick;
}

static void place(struct hl_wheel *w, struct hl_timer *t)
{
    uint64_t tick = tick_after(t->deadline);
    if (tick <= w->tick)
        tick = w->tick + 1;
    if (tick > w->tick + HL_WHEEL_SLOTS - 1)
        tick = w->tick + HL_WHEEL_SLOTS - 1;
    t->placed = tick;
    hl_list_push_back(&w->slots[tick % HL_WHEEL_SLOTS], &t->node);
    w->armed++;
    if (tick < w->next)
        wait_for(w, tick);
}

static void take_out(struct hl_wheel *w, struct hl_timer *t)
{
    hl_list_remove(&t->node);
    w->armed--;
}

void hl_timer_arm(struct hl_wheel *w, struct hl_timer *t, uint64_t ms)
{
    t->deadline = uv_now(w->loop) + ms;
    if (t->deadline == 0)
        t->deadline = 1;
    if (hl_list_is_linked(&t->node)) {
        if (t->placed <= tick_after(t->deadline))
            return;
        take_out(w, t);
    }
    catch_up(w);
    place(w, t);
}

void hl_timer_disarm(struct hl_timer *t)
{
    t->deadline = 0;
}

void hl_timer_fini(struct hl_wheel *w, struct hl_timer *t)
{
    t->deadline = 0;
    if (!hl_list_is_linked(&t->node))
        return;
    take_out(w, t);
    if (w->armed == 0)
        stop_waiting(w);
}

/* Handles what is due in the slot of `w->tick`. A callback may arm, disarm and end any timer, those
 * of this slot too: they are taken one at a time from a list that stays whole. */
static void sweep(struct hl_wheel *w)
{
    struct hl_list *slot = &w->slots[w->tick % HL_WHEEL_SLOTS], due, *node;
    if (hl_list_is_empty(slot))
        return;
    hl_list_insert_between(&due, slot->prev, slot);
    hl_list_remove(slot);

    while ((node = hl_list_pop_front(&due))) {
        struct hl_timer *t = HL_CONTAINER_OF(node, struct hl_timer, node);
        w->armed--;
        if (!hl_timer_is_armed(t))
            continue;
        if (tick_after(t->deadline) > w->tick) {
            place(w, t);
            continue;
        }
        t->deadline = 0;
        t->on_fire(t);
    }
}

static uint64_t earliest_slot(const struct hl_wheel *w)
{
    uint64_t tick = w->tick + 1;
    while (hl_list_is_empty(&w->slots[tick % HL_WHEEL_SLOTS]))
        tick++;
    return tick;
}

static bool gives_way(struct hl_wheel *w)
{
    bool is_late = uv_now(w->loop) >= w->next * HL_WHEEL_TICK_MS + HL_WHEEL_LATE_MS;
    w->has_given_way = is_late && !w->has_given_way;
    return w->has_given_way;
}

static void on_tick(uv_timer_t *timer)
{
    struct hl_wheel *w = HL_CONTAINER_OF(timer, struct hl_wheel, timer);
    if (gives_way(w)) {
        uv_timer_start(timer, on_tick, 1, 0);
        return;
    }
    uint64_t now = tick_of(uv_now(w->loop));

    /* After a long sleep of the machine one turn meets every slot. */
    if (now > w->tick + HL_WHEEL_SLOTS)
        w->tick = now - HL_WHEEL_SLOTS;
    while (w->tick < now && w->armed > 0) {
        w->tick++;
        w->next =
            w->tick + 1; /* what callbacks arm is found by this sweep or by the search below */
        sweep(w);
    }
    if (w->armed > 0)
        wait_for(w, earliest_slot(w));
    else
        stop_waiting(w);
}
