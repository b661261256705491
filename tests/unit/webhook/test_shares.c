#include <criterion/criterion.h>

#include "webhook/health.h"
#include "webhook/shares.h"

static struct hl_healths healths;
static struct hl_shares s;
static struct hl_list nodes[64];
static bool ignored;

static void setup(void)
{
    hl_healths_init(&healths);
    hl_shares_init(&s, 0, &healths);
    for (size_t i = 0; i < HL_ARRAY_LEN(nodes); i++)
        hl_list_init(&nodes[i]);
}

static void teardown(void)
{
    hl_shares_fini(&s);
    hl_healths_fini(&healths);
}

TestSuite(shares, .init = setup, .fini = teardown);

static void prove(uint64_t lane)
{
    hl_healths_note(&healths, lane, 0, true, 1, &ignored);
}

/* So many may enter of one lane while `places` are there in all. */
static uint32_t enter_all(uint64_t lane, uint32_t places)
{
    uint32_t n = 0;
    while (hl_shares_enter(&s, lane, places - s.inside, &nodes[lane]))
        n++;
    return n;
}

Test(shares, a_lone_lane_has_half_of_the_places)
{
    prove(1);
    cr_assert_eq(enter_all(1, 16), 8);
}

Test(shares, an_unknown_one_finds_a_place_beside_one_that_hangs)
{
    cr_assert_eq(enter_all(1, 16), 8);
    cr_assert(hl_shares_enter(&s, 2, 8, &nodes[2]));
    cr_assert_not(hl_shares_enter(&s, 2, 7, &nodes[2]));
}

Test(shares, a_quarter_is_left_for_who_answers)
{
    uint32_t n = 0;
    for (uint64_t lane = 1; lane < 40; lane++)
        n += hl_shares_enter(&s, lane, 16 - s.inside, &nodes[lane]);
    cr_assert_eq(n, 12);
    prove(50);
    cr_assert(hl_shares_enter(&s, 50, 4, &nodes[50]));
}

Test(shares, one_that_answers_again_does_not_wait_behind_those_that_hang)
{
    uint32_t n = 0;
    for (uint64_t lane = 2; lane < 40; lane++)
        n += hl_shares_enter(&s, lane, 8 - s.inside, &nodes[lane]);
    cr_assert_eq(n, 6);
    cr_assert_not(hl_shares_enter(&s, 1, 2, &nodes[1]));
    prove(1);
    hl_shares_note(&s, 1);
    cr_assert_eq(hl_shares_next(&s, 2), &nodes[1]);
}

Test(shares, one_that_fails_has_one_place)
{
    hl_healths_learn(&healths, 1, 500);
    cr_assert_eq(enter_all(1, 16), 1);
}

Test(shares, a_fixed_number_takes_the_place_of_all_that)
{
    hl_shares_fini(&s);
    hl_shares_init(&s, 12, &healths);
    cr_assert_eq(enter_all(1, 16), 12);
}

Test(shares, who_waits_goes_on_in_turn_when_somebody_leaves)
{
    prove(1);
    prove(2);
    cr_assert_eq(enter_all(1, 4), 2);
    cr_assert_eq(enter_all(2, 4), 1);
    cr_assert(hl_shares_has_line(&s, 1));
    cr_assert_null(hl_shares_next(&s, 1));
    hl_shares_leave(&s, 1);
    cr_assert_eq(hl_shares_next(&s, 2), &nodes[1]);
    cr_assert_not(hl_shares_has_line(&s, 1));
    hl_shares_leave(&s, 1);
    cr_assert_eq(hl_shares_next(&s, 2), &nodes[2]);
    cr_assert_null(hl_shares_next(&s, 2));
}

Test(shares, who_is_taken_back_is_not_called)
{
    prove(1);
    cr_assert_eq(enter_all(1, 2), 1);
    hl_list_remove(&nodes[1]);
    hl_shares_leave(&s, 1);
    cr_assert_null(hl_shares_next(&s, 2));
}
