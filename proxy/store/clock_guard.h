/* clock_guard.h - whether the wall clock can be trusted when it says that something has expired. A
 * clock that is wrong for a moment, or at a start, must not get everything removed. */
#ifndef HL_STORE_CLOCK_GUARD_H
#define HL_STORE_CLOCK_GUARD_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
