/* test_wait_clock.c - for how long something has waited while the wall clock is set. */
#include "run/wait_clock.h"

#include <criterion/criterion.h>

#define HOUR 3600000

static struct hl_wait_clock waits;
static struct hl_seen_time seen;
static struct hl_wait_reading now = {
    .mono_ms = 1000000, .wall_ms = 5000000000, .ahead_ms = 4999000000};

static void go_on(uint64_t ms)
{
    now.mono_ms += ms;
    now.wall_ms += (int64_t)ms;
    hl_wait_clock_look(&waits, &now);
}

static void set(int64_t by_ms)
{
    now.wall_ms += by_ms;
    now.ahead_ms += by_ms;
    hl_wait_clock_look(&waits, &now);
}

Test(wait_clock, is_exact_while_nobody_sets_the_clock)
{
    go_on(0);
    cr_assert_eq(
        hl_wait_clock_age(&waits, now.wall_ms - 2 * HOUR, NULL), 2 * HOUR, "of an earlier process");
    int64_t at = now.wall_ms;
    go_on(700);
    cr_assert_eq(hl_wait_clock_age(&waits, at, NULL), 700);
    cr_assert_eq(hl_wait_clock_age(&waits, now.wall_ms + 5, NULL), 0);
}

/* It is `age` ms old when the clock is set, and looked at from then on every second. */
static void check(int64_t by_ms, uint64_t age)
{
    waits = (struct hl_wait_clock){.is_begun = false};
    seen = (struct hl_seen_time){.since_ms = 0};
    go_on(1000);
    int64_t at = now.wall_ms;
    go_on(age);
    set(by_ms);
    for (uint64_t s = 0; s < 30; s++) {
        hl_seen_time_look(&seen, &waits, at);
        uint64_t is = hl_wait_clock_age(&waits, at, &seen);
        cr_assert(is <= age + s * 1000, "%lld ms at %llu s: %llu", (long long)by_ms,
            (unsigned long long)s, (unsigned long long)is);
        cr_assert(is >= s * 1000, "%lld ms at %llu s: %llu", (long long)by_ms,
            (unsigned long long)s, (unsigned long long)is);
        go_on(1000);
    }
}

Test(wait_clock,
    says_no_more_than_was_waited_and_no_less_than_was_looked_at_however_the_clock_is_set)
{
    static const int64_t sets[] = {HOUR, -HOUR, 5000, -5000, 2000, -2000, 400 * 24ll * HOUR};
    for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++)
        for (uint64_t age = 0; age <= 20000; age += 500)
            check(sets[i], age);
}

Test(wait_clock, is_exact_again_for_what_comes_after_the_clock_was_set)
{
    go_on(0);
    set(HOUR);
    go_on(10);
    int64_t at = now.wall_ms;
    go_on(700);
    cr_assert_eq(hl_wait_clock_age(&waits, at, NULL), 700);
}

Test(wait_clock, counts_another_time_from_when_it_was_seen_first)
{
    go_on(0);
    set(-HOUR);
    int64_t one = now.wall_ms + HOUR / 2, other = one + 100; /* from before */
    hl_seen_time_look(&seen, &waits, one);
    go_on(500);
    hl_seen_time_look(&seen, &waits, one);
    cr_assert_eq(hl_wait_clock_age(&waits, one, &seen), 500);
    hl_seen_time_look(&seen, &waits, other);
    cr_assert_eq(seen.since_ms, now.mono_ms);
    cr_assert_eq(hl_wait_clock_age(&waits, other, &seen), 500, "since the clock was set");
}
