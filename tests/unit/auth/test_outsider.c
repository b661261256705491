/* test_outsider.c - the subjects of tokens from outside: each has its own, and their number is bounded. */
#include "auth/outsider.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct hl_outsiders outsiders;
static uint32_t generation;

static void begin(void)
{
    hl_outsiders_init(&outsiders, NULL);
}

static void end(void)
{
    hl_outsiders_fini(&outsiders);
}

TestSuite(outsider, .init = begin, .fini = end);

static struct hl_outsider *meet(struct hl_str identity, uint32_t max_running, uint32_t revision)
{
    struct hl_limits limits = HL_LIMITS_NONE;
    limits.max_running = max_running;
    limits.rate = (struct hl_rate){.count = 1, .window_s = 3600};
    limits.revision = revision;
    struct hl_outsider *outsider = hl_outsiders_meet(&outsiders, identity, &limits, &generation);
    cr_assert(outsider);
    return outsider;
}

static struct hl_outsider *meet_number(unsigned number)
{
    char identity[32];
    int n = snprintf(identity, sizeof identity, "issuer:%u", number);
    return meet((struct hl_str){identity, (size_t)n}, 1, 0);
}

Test(outsider, one_subject_has_one_and_another_another)
{
    struct hl_outsider *one = meet(HL_STR("a:me"), 1, 0);
    cr_assert_eq(meet(HL_STR("a:me"), 1, 0), one);
    cr_assert_neq(meet(HL_STR("b:me"), 1, 0), one);
    cr_assert_neq(meet(HL_STR("a:"), 1, 0), one);
    cr_assert_eq(hl_quota_max_priority(&one->quota), HL_PRIORITY_NORMAL);
}

Test(outsider, what_the_token_says_that_was_issued_last_holds)
{
    struct hl_outsider *one = meet(HL_STR("a:me"), 1, 100);
    meet(HL_STR("a:me"), 9, 99);
    cr_assert(hl_quota_enter(&one->quota));
    cr_assert_not(hl_quota_enter(&one->quota));
    meet(HL_STR("a:me"), 2, 101);
    cr_assert(hl_quota_enter(&one->quota));
}

Test(outsider, beyond_the_bound_one_is_forgotten_that_was_not_heard_of)
{
    struct hl_outsider *first = meet_number(0), *second = meet_number(1), *third = meet_number(2);
    uint32_t before = generation;
    cr_assert(hl_quota_count(&third->quota, 1));
    for (unsigned i = 3; i < HL_OUTSIDERS_MAX; i++)
        meet_number(i);
    cr_assert(hl_quota_enter(&first->quota), "has a call inside");
    hl_outsider_note_use(second);
    cr_assert_eq(meet_number(HL_OUTSIDERS_MAX), third);
    cr_assert_neq(generation, before);
    cr_assert(hl_quota_count(&third->quota, 2), "another's is used up");
    cr_assert_eq(outsiders.n, HL_OUTSIDERS_MAX);
    cr_assert_eq(meet_number(0), first);
    cr_assert_eq(meet_number(1), second);
    cr_assert_neq(meet_number(2), third, "who comes back begins anew");
}

Test(outsider, with_a_call_of_each_inside_there_is_one_more)
{
    for (unsigned i = 0; i < HL_OUTSIDERS_MAX; i++)
        cr_assert(hl_quota_enter(&meet_number(i)->quota));
    struct hl_outsider *more = meet_number(HL_OUTSIDERS_MAX);
    cr_assert_eq(outsiders.n, HL_OUTSIDERS_MAX + 1);
    cr_assert_eq(meet_number(HL_OUTSIDERS_MAX + 1), more, "the only one without");
}
