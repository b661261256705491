#include <criterion/criterion.h>

#include "webhook/health.h"

static struct hl_healths all;

static void setup(void)
{
    hl_healths_init(&all);
}

static void teardown(void)
{
    hl_healths_fini(&all);
}

TestSuite(health, .init = setup, .fini = teardown);

static bool was_failing;

static struct hl_health answer(uint64_t lane, uint64_t ms)
{
    return hl_healths_note(&all, lane, 1000, true, ms, &was_failing);
}

static struct hl_health silence(uint64_t lane, int64_t started_ms)
{
    return hl_healths_note(&all, lane, started_ms, false, 30000, &was_failing);
}

Test(health, a_prompt_answer_proves_and_a_slow_one_does_not)
{
    cr_assert_eq(hl_healths_find(&all, 7).health, HL_LANE_UNPROVEN);
    cr_assert_eq(answer(7, 20).health, HL_LANE_PROVEN);
    cr_assert_eq(hl_healths_find(&all, 7).health, HL_LANE_PROVEN);
    cr_assert_eq(hl_healths_find(&all, 8).health, HL_LANE_UNPROVEN);
    cr_assert_eq(answer(7, HL_PROMPT_MS).health, HL_LANE_UNPROVEN);
    cr_assert_eq(answer(7, 20).health, HL_LANE_PROVEN);
    cr_assert_eq(silence(7, 1).health, HL_LANE_UNPROVEN);
}

Test(health, fails_after_twenty_in_a_row_since_the_first_of_them)
{
    answer(7, 20);
    for (int i = 0; i < HL_FAILING_AFTER - 1; i++)
        cr_assert_eq(silence(7, 5000 + i).health, HL_LANE_UNPROVEN);
    answer(7, 20);
    for (int i = 0; i < HL_FAILING_AFTER - 1; i++)
        cr_assert_eq(silence(7, 9000 + i).health, HL_LANE_UNPROVEN);
    struct hl_health h = silence(7, 99999);
    cr_assert_eq(h.health, HL_LANE_FAILING);
    cr_assert_eq(h.failing_since_ms, 9000);
    cr_assert_not(was_failing);
    cr_assert_eq(all.failing, 1);
    cr_assert_eq(silence(7, 100000).failing_since_ms, 9000);
    cr_assert(was_failing);
    cr_assert_eq(answer(7, 9000).health, HL_LANE_UNPROVEN);
    cr_assert(was_failing);
    cr_assert_eq(all.failing, 0);
}

Test(health, is_learned_from_others_but_what_was_answered_here_since_then_counts_more)
{
    cr_assert(hl_healths_learn(&all, 7, 500));
    cr_assert_not(hl_healths_learn(&all, 7, 600), "it is known");
    cr_assert_eq(hl_healths_find(&all, 7).failing_since_ms, 500);
    answer(8, 20);
    cr_assert_not(hl_healths_learn(&all, 8, 500));
    cr_assert_eq(hl_healths_find(&all, 8).health, HL_LANE_PROVEN);
    cr_assert_not(hl_healths_learn(&all, 9, 0));
    cr_assert_eq(all.n, 2);
    cr_assert_eq(answer(7, 20).health, HL_LANE_PROVEN);
    cr_assert(was_failing);
    cr_assert_eq(all.failing, 0);
}

Test(health, is_learned_where_nothing_was_answered_since)
{
    answer(7, 20); /* at 1020 */
    silence(8, 1000);
    cr_assert_not(hl_healths_learn(&all, 7, 1020));
    cr_assert(hl_healths_learn(&all, 7, 1021));
    cr_assert(hl_healths_learn(&all, 8, 900));
    cr_assert_eq(all.failing, 2);
    cr_assert_eq(silence(8, 2000).failing_since_ms, 900);
    cr_assert(was_failing);
    answer(7, 20);
    cr_assert_eq(all.failing, 1);
}

Test(health, ends_when_the_store_that_was_told_knows_of_it_no_more)
{
    for (int i = 0; i < HL_FAILING_AFTER; i++)
        silence(7, 5000);
    cr_assert_not(hl_healths_learn(&all, 7, 0), "it was not told yet");
    cr_assert_eq(hl_healths_find(&all, 7).health, HL_LANE_FAILING);
    hl_healths_confirm(&all, 7);
    cr_assert(hl_healths_learn(&all, 7, 0));
    cr_assert_eq(hl_healths_find(&all, 7).health, HL_LANE_UNPROVEN);
    cr_assert_eq(all.failing, 0);
    cr_assert_eq(silence(7, 6000).health, HL_LANE_UNPROVEN, "it is counted anew");
    cr_assert(hl_healths_learn(&all, 7, 6500), "another one says so");
    cr_assert(hl_healths_learn(&all, 7, 0));
    hl_healths_confirm(&all, 7);
    hl_healths_confirm(&all, 8);
    cr_assert_eq(all.n, 1);
}

Test(health, recalls_what_had_no_answer_before_unless_something_had_one_since)
{
    cr_assert_not(hl_healths_knows(&all, 7));
    cr_assert_not(hl_healths_recall(&all, 7, HL_FAILING_AFTER, 900), "there was no attempt");
    silence(7, 5000);
    cr_assert(hl_healths_knows(&all, 7));
    cr_assert_not(hl_healths_recall(&all, 7, 0, 900));
    cr_assert_not(hl_healths_recall(&all, 7, HL_FAILING_AFTER - 2, 900), "one is missing");
    cr_assert_eq(silence(7, 6000).failing_since_ms, 900);
    cr_assert_not(hl_healths_recall(&all, 7, HL_FAILING_AFTER, 800), "it is known");
    silence(8, 5000);
    cr_assert(hl_healths_recall(&all, 8, HL_FAILING_AFTER - 1, 900));
    cr_assert_eq(hl_healths_find(&all, 8).failing_since_ms, 900);
    cr_assert_eq(all.failing, 2);
    silence(9, 5000);
    answer(9, 20);
    silence(9, 5000);
    cr_assert_not(hl_healths_recall(&all, 9, HL_FAILING_AFTER, 900));
}

Test(health, of_too_many_the_one_heard_of_least_lately_is_forgotten)
{
    hl_healths_learn(&all, 1, 500);
    answer(2, 20);
    for (uint64_t lane = 3; lane <= HL_HEALTH_LANES; lane++)
        answer(lane, 20);
    answer(1, 2000);
    answer(HL_HEALTH_LANES + 1, 20);
    cr_assert_eq(all.n, HL_HEALTH_LANES);
    cr_assert_eq(hl_healths_find(&all, 2).health, HL_LANE_UNPROVEN);
    cr_assert_eq(hl_healths_find(&all, 3).health, HL_LANE_PROVEN);
    cr_assert_eq(all.failing, 0);
}
