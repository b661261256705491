#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/str.h"

#define HOUR_MS (3600 * 1000ll)

Test(clock, formats_rfc_3339_in_utc)
{
    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {-1, "1969-12-31T23:59:59.999Z"},
        {1795248000123, "2026-11-21T08:00:00.123Z"},
        {951782400000, "2000-02-29T00:00:00.000Z"},
        {253402300799999, "9999-12-31T23:59:59.999Z"},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        char text[HL_CLOCK_TEXT];
        hl_clock_format(cases[i].ms, text);
        cr_assert_str_eq(text, cases[i].text);
    }
}

Test(clock, reads_the_same_monotonic_time_in_both_units)
{
    uint64_t ms = hl_clock_mono_ms(), us = hl_clock_mono_us();
    cr_assert(us / 1000 >= ms && us / 1000 - ms < 10000);
}

Test(clock, knows_the_present)
{
    cr_assert_gt(hl_clock_wall_ms(), 1700000000000);
}

static int64_t distance(int64_t wall_ms)
{
    int64_t ms = hl_clock_wall_ms() - wall_ms;
    return ms < 0 ? -ms : ms;
}

Test(clock, follows_another_that_is_far_off)
{
    static const int64_t times[] = {1700000000000, 1800000000000, 1800000001000};
    for (size_t i = 0; i < HL_ARRAY_LEN(times); i++) {
        hl_clock_follow(times[i], hl_clock_mono_ms());
        cr_assert_lt(distance(times[i]), HL_CLOCK_STEP_MS);
    }
}

Test(clock, follows_nothing_that_an_answer_says_which_took_as_long)
{
    int64_t now_ms = hl_clock_wall_ms();
    hl_clock_follow(now_ms - 9000, hl_clock_mono_ms() - 10000);
    cr_assert_lt(distance(now_ms), HL_CLOCK_STEP_MS);
    hl_clock_follow(now_ms - 20000, hl_clock_mono_ms() - 10000);
    cr_assert_lt(distance(now_ms - 15000), HL_CLOCK_STEP_MS);
}

Test(clock, knows_how_far_off_the_machine_is_from_the_one_that_it_follows)
{
    int64_t machine_ms = hl_clock_machine_ms();
    cr_assert_eq(hl_clock_offset_ms(), 0);
    hl_clock_follow(machine_ms - 86400000, hl_clock_mono_ms());
    cr_assert_leq(llabs(hl_clock_offset_ms() + 86400000), HL_CLOCK_STEP_MS);
    cr_assert_leq(llabs(hl_clock_machine_ms() - machine_ms), HL_CLOCK_STEP_MS);
    hl_clock_follow(machine_ms + 100, hl_clock_mono_ms()); /* nothing that would be followed */
    hl_clock_follow(machine_ms - 2000, hl_clock_mono_ms() - 10000); /* nor known any better */
    cr_assert_leq(llabs(hl_clock_offset_ms() - 100), 50);
}

static void set_wall(int64_t by_ms)
{
    hl_clock_follow(hl_clock_wall_ms() + by_ms, hl_clock_mono_ms());
}

Test(clock, that_follows_another_goes_on_from_there_whoever_sets_the_machine_s)
{
    int64_t wall_ms = hl_clock_wall_ms();
    hl_clock_follow(wall_ms, hl_clock_mono_ms()); /* as the machine's */
    cr_assert_lt(distance(wall_ms), HL_CLOCK_STEP_MS);
    cr_assert_lt(llabs(hl_clock_offset_ms()), HL_CLOCK_STEP_MS);
}

Test(clock, that_is_steady_is_the_wall_clock_and_its_lead_until_it_is_held)
{
    set_wall(0);
    cr_assert_leq(llabs(hl_clock_steady_ms() - hl_clock_wall_ms()), 50);
    hl_clock_set_steady(HOUR_MS, false);
    set_wall(3 * HOUR_MS);
    cr_assert_eq(hl_clock_lead_ms(), HOUR_MS);
    cr_assert_leq(llabs(hl_clock_steady_ms() - hl_clock_wall_ms() - HOUR_MS), 50);
}

Test(clock, that_is_held_goes_on_evenly_and_says_how_far_it_is_ahead)
{
    static const int64_t sets[] = {-4 * HOUR_MS, 72 * HOUR_MS, -68 * HOUR_MS};
    hl_clock_set_steady(HOUR_MS, true);
    int64_t lead_ms = HOUR_MS, ahead_ms = hl_clock_steady_ms() - (int64_t)hl_clock_mono_ms();
    for (size_t i = 0; i < HL_ARRAY_LEN(sets); i++) {
        set_wall(sets[i]);
        lead_ms -= sets[i];
        cr_assert_leq(llabs(hl_clock_lead_ms() - lead_ms), 100);
        cr_assert_eq(hl_clock_lead_ms(), hl_clock_lead_ms(), "and does not tremble");
        cr_assert_leq(llabs(hl_clock_steady_ms() - (int64_t)hl_clock_mono_ms() - ahead_ms), 100);
    }
}

Test(clock, that_is_held_is_not_ahead_of_the_wall_clock)
{
    for (int i = 0; i < 1000; i++) {
        hl_clock_set_steady(0, true);
        int64_t steady_ms = hl_clock_steady_ms();
        cr_assert_leq(steady_ms, hl_clock_wall_ms());
    }
}

Test(clock, parses_what_it_formats)
{
    char text[HL_CLOCK_TEXT];
    static const int64_t times[] = {0, 1, 999, 951782400000, 1795334400123, 253402300799999};
    for (size_t i = 0; i < HL_ARRAY_LEN(times); i++) {
        int64_t ms;
        hl_clock_format(times[i], text);
        cr_assert(hl_clock_parse(hl_str_from(text), &ms), "%s", text);
        cr_assert_eq(ms, times[i], "%s", text);
    }
}

Test(clock, parses_offsets_and_fractions)
{
    static const struct {
        const char *text;
        int64_t ms;
    } cases[] = {
        {"1970-01-01T02:00:00+02:00", 0},
        {"1970-01-01T02:00:00 02:00", 0}, /* a + that a query's decoding took away */
        {"1969-12-31T19:00:00-05:00", -1},
        {"1970-01-01t00:00:00.5z", 500},
        {"1970-01-01 00:00:00.123999999Z", 123},
        {"2016-12-31T23:59:60Z", INT64_C(1483228800000)},
        {"2024-02-29T00:00:00Z", INT64_C(1709164800000)},
        {"2023-02-29T00:00:00Z", -1},
        {"2026-04-31T00:00:00Z", -1},
        {"2026-00-01T00:00:00Z", -1},
        {"2026-01-01T24:00:00Z", -1},
        {"2026-01-01T00:60:00Z", -1},
        {"2026-01-01T00:00:61Z", -1},
        {"2026-01-01T00:00:00", -1},
        {"2026-01-01T00:00:00.Z", -1},
        {"2026-01-01T00:00:00Zx", -1},
        {"2026-01-01T00:00:00+24:00", -1},
        {"2026-01-01T00:00:00+0200", -1},
        {"26-01-01T00:00:00Z", -1},
        {"2026/01/01T00:00:00Z", -1},
        {"", -1},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        int64_t ms = -1;
        bool is_time = hl_clock_parse(hl_str_from(cases[i].text), &ms);
        cr_assert_eq(is_time, cases[i].ms >= 0, "%s", cases[i].text);
        if (is_time)
            cr_assert_eq(ms, cases[i].ms, "%s", cases[i].text);
    }
}
