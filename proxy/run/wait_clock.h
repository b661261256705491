/* wait_clock.h - for how long something has waited of which only a wall time is known, whoever sets the wall clock
 * meanwhile. Nothing is older than it is: what is from before the clock was set is as old as that is, and what has
 * been looked at, as long as it was. One thread owns it. */
#ifndef HL_RUN_WAIT_CLOCK_H
#define HL_RUN_WAIT_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* A wall time that is looked at again and again. */
struct hl_seen_time {
    int64_t wall_ms;
    uint64_t since_ms; /* monotonic: it has been this one since then */
};

/* What one reading of the clocks says. */
struct hl_wait_reading {
    uint64_t mono_ms;
    int64_t wall_ms, ahead_ms; /* hl_clock_ahead_ms */
};

struct hl_wait_clock {
    struct hl_wait_reading now;
    bool is_begun, was_set;
    uint64_t set_ms; /* monotonic: the wall clock was found to be set */
};

struct hl_wait_reading hl_wait_reading_take(void);
void hl_wait_clock_look(struct hl_wait_clock *clock, const struct hl_wait_reading *now);
void hl_seen_time_look(
    struct hl_seen_time *seen, const struct hl_wait_clock *clock, int64_t wall_ms);

/* How long ago that was, at the least: exactly, unless the wall clock was set since. `seen`, or NULL, is a time
 * that is no earlier. As of the last look. */
uint64_t hl_wait_clock_age(
    const struct hl_wait_clock *clock, int64_t wall_ms, const struct hl_seen_time *seen);

#endif
