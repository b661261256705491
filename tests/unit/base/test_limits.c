/* test_limits.c - limits of who calls: changed one by one, as an operator writes them, and as numbers. */
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

Test(limits, are_read_as_they_are_written_and_the_others_stay)
{
    struct hl_limits limits = HL_LIMITS_NONE;
    cr_assert(hl_limits_parse(
        HL_STR("max_running=4, max_queued=1000,rate=100/m,max_priority=high"), &limits));
    limits.revision = all.revision;
    assert_same(&limits, &all);
    cr_assert(hl_limits_parse(HL_STR("rate=5/s"), &limits));
    cr_assert_eq(limits.rate.count, 5);
    cr_assert_eq(limits.max_running, 4);
}

Test(limits, what_is_no_list_of_them_is_not_taken)
{
    static const char *const bad[] = {"", ",", "rate", "rate=", "=", "=4", "rate=100", "rate=0/m",
        "max_running=0", "max_running=1000000001", "max_running=-1", "max_running=4x",
        "max_running=null", "max_priority=urgent", "speed=1", "Rate=1/m", "rate =1/m",
        "rate=1/m,rate=2/m", "rate=1/m;max_running=4", "max_queued=18446744073709551616"};
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++) {
        struct hl_limits limits = HL_LIMITS_NONE;
        cr_expect_not(hl_limits_parse(hl_str_from(bad[i]), &limits), "%s", bad[i]);
    }
}

Test(limits, names_stand_for_them_whatever_is_in_a_name)
{
    struct hl_str names[HL_LIMIT_COUNT] = {{0}};
    cr_assert(
        hl_limit_names_parse(HL_STR("rate=https://id.example/rate?of=me,max_running=r"), names));
    cr_assert(hl_str_eq(names[HL_LIMIT_RATE], HL_STR("https://id.example/rate?of=me")));
    cr_assert(hl_str_eq(names[HL_LIMIT_MAX_RUNNING], HL_STR("r")));
    cr_assert_eq(names[HL_LIMIT_MAX_QUEUED].n, 0);
}
