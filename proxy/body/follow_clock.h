/* follow_clock.h - a follower's one timer, for whatever of four things is due first: a heartbeat, another look
 * at the store, the next word on progress, a look at whether it may still follow. Thread: the desk's loop. */
#ifndef HL_BODY_FOLLOW_CLOCK_H
#define HL_BODY_FOLLOW_CLOCK_H

#include "loop/wheel.h"

struct hl_follow_clock {
    struct hl_wheel *wheel;
    struct hl_timer timer;
    uint64_t beat_ms;                                /* between two heartbeats; 0: none */
    uint64_t beat_at, poll_at, progress_at, look_at; /* uv_now; 0: not due */
};

/* What the timer has fired for. */
struct hl_follow_due {
    bool beat, poll, look;
};

void hl_follow_clock_init(struct hl_follow_clock *clock, struct hl_wheel *wheel, uint64_t beat_ms,
    void (*on_fire)(struct hl_timer *timer));
void hl_follow_clock_fini(struct hl_follow_clock *clock);

/* Something goes out: the next heartbeat is due a whole interval later. */
void hl_follow_clock_set_beat(struct hl_follow_clock *clock);
/* Unless one is due already. */
void hl_follow_clock_set_poll(struct hl_follow_clock *clock, uint64_t ms);
void hl_follow_clock_drop_poll(struct hl_follow_clock *clock);
void hl_follow_clock_set_progress(struct hl_follow_clock *clock, uint64_t ms);
void hl_follow_clock_set_look(struct hl_follow_clock *clock, uint64_t ms);
/* It is too early for another word. */
bool hl_follow_clock_awaits_progress(const struct hl_follow_clock *clock);

/* The timer has fired, and is set for what is due next. */
struct hl_follow_due hl_follow_clock_take_due(struct hl_follow_clock *clock);

#endif
