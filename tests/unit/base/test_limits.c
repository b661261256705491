/* test_limits.c - limits of accounts: changed one by one, and as numbers. */
#include <criterion/criterion.h>

#include "base/limits.h"

static const struct hl_limits all = {.max_running = 4,
    .max_queued = 1000,
    .rate = {.count = 100, .window_s = 60},
    .max_priority = HL_PRIORITY_HIGH,
    .revision = 7};

static void assert_same(const struct hl_limits *a, const struct hl_limits *b)
{
    cr_assert_eq(a->max_running, b->max_running);
    cr_assert_eq(a->max_queued, b->max_queued);
    cr_assert_eq(a->rate.count, b->rate.count);
    cr_assert_eq(a->rate.window_s, b->rate.window_s);
    cr_assert_eq(a->max_priority, b->max_priority);
    cr_assert_eq(a->revision, b->revision);
}

Test(limits, each_changes_alone)
{
    for (unsigned i = 0; i < HL_LIMIT_COUNT; i++) {
        struct hl_limits limits = all, expected = all;
        struct hl_limits_change change = {.which = 1u << i, .to = HL_LIMITS_NONE};
        hl_limits_apply(&limits, &change);
        if (i == HL_LIMIT_MAX_RUNNING)
            expected.max_running = 0;
        else if (i == HL_LIMIT_MAX_QUEUED)
            expected.max_queued = 0;
        else if (i == HL_LIMIT_RATE)
            expected.rate = (struct hl_rate){0};
        else
            expected.max_priority = HL_PRIORITY_NORMAL;
        expected.revision = 8;
        assert_same(&limits, &expected);
    }
}

Test(limits, are_the_same_after_they_were_numbers)
{
    const struct hl_limits none = HL_LIMITS_NONE;
    int64_t numbers[HL_LIMITS_NUMBERS];
    struct hl_limits limits;
    hl_limits_to_numbers(&all, numbers);
    hl_limits_from_numbers(&limits, numbers);
    assert_same(&limits, &all);
    hl_limits_to_numbers(&none, numbers);
    hl_limits_from_numbers(&limits, numbers);
    assert_same(&limits, &none);
}

Test(limits, numbers_that_are_none_limit_nothing)
{
    const struct hl_limits none = HL_LIMITS_NONE;
    const int64_t numbers[HL_LIMITS_NUMBERS] = {-1, INT64_MIN, 5, 7, 9, 0};
    struct hl_limits limits;
    hl_limits_from_numbers(&limits, numbers);
    assert_same(&limits, &none);
}
