/* wheel.h - many coarse deadlines on one uv_timer: a hashed wheel of HL_WHEEL_TICK_MS slots.
 *
 * Arming is lazy: moving a deadline later only writes a field; the entry is put where it belongs
 * when its old slot comes round. A deadline fires up to one tick late, never early. With no entry
 * armed the timer is stopped, so an idle loop sleeps. One loop's thread owns a wheel.
 *
 * A process that was stopped, or got no processor for long, is late itself: a loop asks its timers before its sockets, and
 * what came meanwhile would be taken for missing. A tick that is HL_WHEEL_LATE_MS late lets the sockets go first. */
#ifndef HL_LOOP_WHEEL_H
#define HL_LOOP_WHEEL_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/list.h"

#define HL_WHEEL_TICK_MS 20
#define HL_WHEEL_LATE_MS 200
#define HL_WHEEL_SLOTS   1024 /* later deadlines wait in the last slot and are placed again */

struct hl_wheel {
    uv_timer_t timer;
    uv_loop_t *loop;
    uint64_t tick; /* the last tick handled, in HL_WHEEL_TICK_MS since the loop's clock began */
    uint64_t next; /* the tick that the uv_timer waits for; UINT64_MAX: it is stopped */
    bool
        has_given_way; /* to the sockets, in the tick before: whatever the time, it is a timer's turn */
    unsigned armed; /* linked entries: disarmed ones count until they are swept */
    struct hl_list slots[HL_WHEEL_SLOTS];
};

struct hl_timer {
    struct hl_list node; /* linked iff armed, or disarmed lazily and not yet swept */
    uint64_t deadline;   /* uv_now() ms; 0: not armed */
    uint64_t placed;     /* tick of the slot it is linked in */
    void (*on_fire)(struct hl_timer *timer);
};

int hl_wheel_init(struct hl_wheel *w, uv_loop_t *loop); /* libuv error code or 0 */
void hl_wheel_close(struct hl_wheel *w); /* entries are simply forgotten; frees nothing */

void hl_timer_init(struct hl_timer *t, void (*on_fire)(struct hl_timer *timer));
/* Fires once, `ms` from uv_now(loop) on, at the earliest. Arms again if armed. */
void hl_timer_arm(struct hl_wheel *w, struct hl_timer *t, uint64_t ms);
/* Cheap: the entry stays linked until its slot comes round. */
void hl_timer_disarm(struct hl_timer *t);
static inline bool hl_timer_is_armed(const struct hl_timer *t)
{
    return t->deadline != 0;
}
/* Unlinks at once: before the memory that holds the timer goes. */
void hl_timer_fini(struct hl_wheel *w, struct hl_timer *t);

#endif
