/* test_clock_guard.c - when a wall clock is believed. */
#include <criterion/criterion.h>

#include "store/clock.h"

#define T       INT64_C(1795248000000)
#define HOUR_MS (3600 * 1000ll)
#define DAY_MS  (24 * HOUR_MS)
#define US(ms)  ((uint64_t)(ms)*1000)

static struct hl_clock_guard known_at(int64_t seen_ms)
{
    struct hl_clock_guard g;
    hl_clock_guard_init(&g, seen_ms, US(5));
    return g;
}

Test(clock_guard, believes_what_comes_within_a_day_of_the_last_process_and_any_first_time)
{
    struct hl_clock_guard g = known_at(T), fresh = known_at(0);
    cr_assert(hl_clock_guard_trusts(&g, T + 23 * HOUR_MS, US(10)));
    cr_assert(hl_clock_guard_trusts(&fresh, T, US(10)));
}

Test(clock_guard, holds_a_clock_that_is_ahead_for_an_hour_of_running)
{
    struct hl_clock_guard g = known_at(T);
    int64_t ahead = T + 400 * DAY_MS;
    cr_assert_not(hl_clock_guard_trusts(&g, ahead, US(10)));
    cr_assert_not(hl_clock_guard_trusts(&g, ahead + HOUR_MS - 1, US(10 + HOUR_MS - 1)));
    cr_assert_eq(g.seen_ms, T, "nothing of it is noted");
    cr_assert(hl_clock_guard_trusts(&g, ahead + HOUR_MS, US(10 + HOUR_MS)));
    cr_assert_eq(g.seen_ms, ahead + HOUR_MS);
    cr_assert(hl_clock_guard_trusts(&g, ahead + 2 * HOUR_MS, US(10 + 2 * HOUR_MS)));
}

Test(clock_guard, believes_a_clock_that_comes_back_and_holds_the_next_jump_anew)
{
    struct hl_clock_guard g = known_at(T);
    cr_assert_not(hl_clock_guard_trusts(&g, T + 2 * DAY_MS, US(10)));
    cr_assert(hl_clock_guard_trusts(&g, T + HOUR_MS / 2, US(10 + HOUR_MS / 2)));
    cr_assert_not(hl_clock_guard_trusts(&g, T + 2 * DAY_MS, US(HOUR_MS * 3 / 4)));
    cr_assert_not(hl_clock_guard_trusts(&g, T + 2 * DAY_MS, US(HOUR_MS * 5 / 4)));
}

Test(clock_guard, counts_the_time_that_a_process_was_idle)
{
    struct hl_clock_guard g = known_at(T);
    cr_assert(hl_clock_guard_trusts(&g, T + 30 * DAY_MS, US(5 + 30 * DAY_MS)));
}

Test(clock_guard, follows_a_clock_that_is_set_back)
{
    struct hl_clock_guard g = known_at(T + 400 * DAY_MS);
    cr_assert(hl_clock_guard_trusts(&g, T, US(10)));
    cr_assert_eq(g.seen_ms, T);
    cr_assert_not(hl_clock_guard_trusts(&g, T + 400 * DAY_MS, US(20)));
}
