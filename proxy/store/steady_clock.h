/* steady_clock.h - carries the steady clock (base/clock.h) over a restart: times that an earlier process
 * left in the store are of its steady clock, and mean something only if that is continued. */
#ifndef HL_STORE_STEADY_CLOCK_H
#define HL_STORE_STEADY_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct hl_noted_time;

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
