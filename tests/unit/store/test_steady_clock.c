/* test_steady_clock.c - when the clock of times that wait in the store is held. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/clock.h"
#include "store/driver.h"
#include "store/clock.h"

#define HOUR_MS (3600 * 1000ll)
#define DAY_MS  (24 * HOUR_MS)
#define US(ms)  ((uint64_t)(ms)*1000)

/* A process that begins when an earlier one noted this, so many hours before now; its lead then, or -1: the clock
 * is not held. */
static int64_t lead_after(int64_t hours_ago, int64_t noted_ms, int64_t running_ms)
{
    struct hl_steady_clock s;
    int64_t now_ms = hl_clock_wall_ms();
    struct hl_noted_time noted = {.steady_ms = now_ms - hours_ago * HOUR_MS, .lead_ms = noted_ms};
    hl_steady_clock_init(&s, &noted, US(5));
    return hl_steady_clock_hold(&s, now_ms, US(5 + running_ms)) ? hl_clock_lead_ms() : -1;
}

Test(steady_clock, is_held_where_the_clock_goes_on_as_in_the_last_process_and_in_a_new_store)
{
    struct hl_steady_clock s;
    cr_assert_eq(lead_after(0, 0, 0), 0);
    cr_assert_eq(lead_after(23, 0, 0), 0);
    hl_steady_clock_init(&s, &(struct hl_noted_time){0}, US(5));
    cr_assert(hl_steady_clock_hold(&s, hl_clock_wall_ms(), US(5)));
}

Test(steady_clock, is_not_held_before_an_hour_where_the_clock_is_far_from_the_last_process_s)
{
    cr_assert_eq(lead_after(30, 0, 0), -1);
    cr_assert_eq(lead_after(-2, 0, 0), -1);
    cr_assert_eq(lead_after(-2, 0, HOUR_MS - 1), -1);
    cr_assert_eq(lead_after(30, 0, HOUR_MS), 0);
    cr_assert_eq(lead_after(-2, 0, HOUR_MS), 0);
}

Test(steady_clock, is_held_as_soon_as_the_clock_is_right)
{
    struct hl_steady_clock s;
    int64_t now_ms = hl_clock_wall_ms();
    hl_steady_clock_init(&s, &(struct hl_noted_time){.steady_ms = now_ms}, US(5));
    cr_assert_not(hl_steady_clock_hold(&s, now_ms - 400 * DAY_MS, US(10)));
    cr_assert_not(hl_steady_clock_hold(&s, now_ms + 400 * DAY_MS, US(20)));
    cr_assert(hl_steady_clock_hold(&s, now_ms, US(30)));
    cr_assert(
        hl_steady_clock_hold(&s, now_ms + 400 * DAY_MS, US(40)), "from then on whatever it says");
}

Test(steady_clock, goes_on_with_the_lead_that_was_noted)
{
    cr_assert_eq(lead_after(-4, 4 * HOUR_MS, 0), 4 * HOUR_MS);
    cr_assert_eq(lead_after(48, -48 * HOUR_MS, 0), -48 * HOUR_MS);
}

Test(steady_clock, goes_on_without_a_lead_where_the_clock_was_set_right_meanwhile)
{
    cr_assert_eq(lead_after(0, 4 * HOUR_MS, 0), 0);
    cr_assert_eq(lead_after(0, -48 * HOUR_MS, 0), 0);
}

Test(steady_clock, is_held_by_no_clock_of_before_1971)
{
    struct hl_steady_clock s;
    hl_steady_clock_init(&s, &(struct hl_noted_time){0}, US(5));
    cr_assert_not(hl_steady_clock_hold(&s, 1, US(5)));
    cr_assert_not(hl_steady_clock_hold(&s, 1, US(2 * HOUR_MS)));
}
