/* clock_guard.c - compares the wall clock with the one that only goes forward. The thread that owns
 * the guard. */
#include "store/clock_guard.h"

#include "base/clock.h"
#include "base/log.h"

void hl_clock_guard_init(struct hl_clock_guard *g, int64_t seen_ms, uint64_t now_us)
{
    *g = (struct hl_clock_guard){.seen_ms = seen_ms, .seen_us = now_us};
}

static void warn(int64_t expected_ms, int64_t wall_ms)
{
    char expected[HL_CLOCK_TEXT], wall[HL_CLOCK_TEXT];
    hl_clock_format(expected_ms, expected);
    hl_clock_format(wall_ms, wall);
    HL_LOG(WARN,
        "store: the wall clock jumped ahead by more than a day; nothing expires by it until it has "
        "stayed there for an hour",
        HL_LOG_TEXT("expected", expected), HL_LOG_TEXT("clock", wall));
}

bool hl_clock_guard_trusts(struct hl_clock_guard *g, int64_t wall_ms, uint64_t now_us)
{
    int64_t expected_ms = g->seen_ms + (int64_t)(now_us - g->seen_us) / 1000;
    bool is_ahead = g->seen_ms > 0 && wall_ms - expected_ms > HL_CLOCK_JUMP_MS;
    if (is_ahead && !g->is_ahead) {
        g->is_ahead = true;
        g->ahead_us = now_us;
        warn(expected_ms, wall_ms);
    }
    if (is_ahead && now_us - g->ahead_us < 1000 * (uint64_t)HL_CLOCK_HOLD_MS)
        return false;
    if (g->is_ahead)
        HL_LOG(INFO, is_ahead ? "store: the wall clock is now taken as correct"
                              : "store: the wall clock is right again");
    hl_clock_guard_init(g, wall_ms, now_us);
    return true;
}
