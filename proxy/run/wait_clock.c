/* wait_clock.c - see wait_clock.h. */
#include "run/wait_clock.h"

#include "base/clock.h"

struct hl_wait_reading hl_wait_reading_take(void)
{
    return (struct hl_wait_reading){hl_clock_mono_ms(), hl_clock_wall_ms(), hl_clock_ahead_ms()};
}

void hl_wait_clock_look(struct hl_wait_clock *clock, const struct hl_wait_reading *now)
{
    int64_t by_ms = now->ahead_ms - clock->now.ahead_ms;
    if (clock->is_begun && (by_ms >= HL_CLOCK_SET_MS || by_ms <= -HL_CLOCK_SET_MS)) {
        clock->was_set = true;
        clock->set_ms = now->mono_ms;
    }
    clock->is_begun = true;
    clock->now = *now;
}

void hl_seen_time_look(
    struct hl_seen_time *seen, const struct hl_wait_clock *clock, int64_t wall_ms)
{
    if (seen->since_ms == 0 || seen->wall_ms != wall_ms)
        *seen = (struct hl_seen_time){wall_ms, clock->now.mono_ms};
}

uint64_t hl_wait_clock_age(
    const struct hl_wait_clock *clock, int64_t wall_ms, const struct hl_seen_time *seen)
{
    int64_t by_wall_ms = clock->now.wall_ms - wall_ms;
    uint64_t since_set_ms = clock->now.mono_ms - clock->set_ms, age_ms = 0;
    bool is_before_set = clock->was_set && (by_wall_ms < 0 || (uint64_t)by_wall_ms > since_set_ms);
    if (is_before_set)
        age_ms = since_set_ms;
    else if (by_wall_ms > 0)
        age_ms = (uint64_t)by_wall_ms;
    uint64_t seen_ms = seen && wall_ms <= seen->wall_ms ? clock->now.mono_ms - seen->since_ms : 0;
    return age_ms > seen_ms ? age_ms : seen_ms;
}
