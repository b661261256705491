/* clock.h - what the store believes of time: whether the wall clock can be trusted when it says that something has
 * expired, for a clock that is wrong for a moment, or at a start, must not get everything removed; and the steady clock
 * (base/clock.h) over a restart, for times that an earlier process left in the store are of its steady clock, and mean
 * something only if that is continued. */
#ifndef HL_STORE_CLOCK_H
#define HL_STORE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct hl_noted_time;

/* --- the wall clock ------------------------------------------------------------------------------ */

#define HL_CLOCK_JUMP_MS (24 * 3600 * 1000ll) /* further ahead than this it is not believed … */
#define HL_CLOCK_HOLD_MS (3600 * 1000ll)      /* … until it has stayed there for so long */

/* One thread owns it. */
struct hl_clock_guard {
    int64_t seen_ms;  /* the last time that was believed; 0: none yet */
    uint64_t seen_us; /* CLOCK_MONOTONIC, then */
    bool is_ahead;
    uint64_t ahead_us; /* CLOCK_MONOTONIC, since when */
};

/* `seen_ms`: what an earlier process believed last; 0: nobody knows. */
void hl_clock_guard_init(struct hl_clock_guard *g, int64_t seen_ms, uint64_t now_us);
/* Says in the log when the answer changes. A clock that is set back is believed at once. */
bool hl_clock_guard_trusts(struct hl_clock_guard *g, int64_t wall_ms, uint64_t now_us);

/* --- the steady clock ---------------------------------------------------------------------------- */

/* One thread owns it. */
struct hl_steady_clock {
    int64_t seen_ms;   /* the steady clock of an earlier process; 0: nobody knows */
    uint64_t since_us; /* CLOCK_MONOTONIC, at the start */
    int64_t noted_ms;  /* the lead that the next process is told */
    uint64_t again_us; /* CLOCK_MONOTONIC: it could not be noted; not again before */
    bool is_held;
};

void hl_steady_clock_init(
    struct hl_steady_clock *s, const struct hl_noted_time *noted, uint64_t now_us);
/* Whether it is held. A wall clock with which it goes on where the earlier process was is held to at once, and
 * any that is not before 1971 after an hour. */
bool hl_steady_clock_hold(struct hl_steady_clock *s, int64_t wall_ms, uint64_t now_us);

#endif
