/* clock.c - see clock.h. The thread that owns it. */
#include "store/clock.h"

#include "base/clock.h"
#include "base/log.h"
#include "store/driver.h"

/* --- the wall clock ------------------------------------------------------------------------------ */

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

/* --- the steady clock ---------------------------------------------------------------------------- */

#define BACK_MS (60 * 1000)
#define YEAR_MS (365 * 24 * 3600 * 1000ll)

void hl_steady_clock_init(
    struct hl_steady_clock *s, const struct hl_noted_time *noted, uint64_t now_us)
{
    *s = (struct hl_steady_clock){
        .seen_ms = noted->steady_ms, .since_us = now_us, .noted_ms = noted->lead_ms};
    hl_clock_set_steady(noted->lead_ms, false);
}

static bool goes_on(const struct hl_steady_clock *s, int64_t steady_ms, int64_t gone_ms)
{
    int64_t ahead_ms = steady_ms - (s->seen_ms + gone_ms);
    return s->seen_ms == 0 || (ahead_ms >= -BACK_MS && ahead_ms <= HL_CLOCK_JUMP_MS);
}

/* The clock may have been set right again while nobody was there: then it goes on without the lead. Where both
 * are likely nothing is to come early. */
static bool find_lead(
    const struct hl_steady_clock *s, int64_t wall_ms, int64_t gone_ms, int64_t *lead_ms)
{
    bool has_lead = goes_on(s, wall_ms + s->noted_ms, gone_ms);
    bool has_none = goes_on(s, wall_ms, gone_ms);
    *lead_ms = has_none && (!has_lead || s->noted_ms > 0) ? 0 : s->noted_ms;
    return has_lead || has_none;
}

bool hl_steady_clock_hold(struct hl_steady_clock *s, int64_t wall_ms, uint64_t now_us)
{
    int64_t lead_ms, gone_ms = (int64_t)(now_us - s->since_us) / 1000;
    if (s->is_held || wall_ms < YEAR_MS ||
        (!find_lead(s, wall_ms, gone_ms, &lead_ms) && gone_ms < HL_CLOCK_HOLD_MS))
        return s->is_held;
    hl_clock_set_steady(lead_ms, true);
    return s->is_held = true;
}
