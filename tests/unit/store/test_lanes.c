/* test_lanes.c - whose turn it is, how places are shared, and how lanes stand; and their rollback. */
#include <criterion/criterion.h>

#include "store/lanes.h"

static struct hl_lanes all;

static void init(void)
{
    hl_lanes_init(&all, 3, 256, 2);
    hl_lanes_begin(&all);
}

static void fini(void)
{
    hl_lanes_fini(&all);
}

TestSuite(lanes, .init = init, .fini = fini);

/* The lane whose turn it is is leased from; 0: none is ready. */
static uint64_t lease_while(uint64_t free)
{
    struct hl_lane *lane = hl_lanes_next(&all, free);
    if (!lane)
        return 0;
    uint64_t name = lane->name;
    cr_assert_eq(hl_lanes_lease(&all, name), HL_OK);
    return name;
}

static uint64_t lease_next(void)
{
    return lease_while(1000);
}

static void add(uint64_t lane, int n)
{
    while (n-- > 0)
        cr_assert_eq(hl_lanes_add_pending(&all, lane), HL_OK);
}

Test(lanes, lanes_take_turns)
{
    static const uint64_t expected[] = {1, 2, 3, 1, 2, 0};
    add(1, 5);
    add(2, 5);
    add(3, 1);
    for (size_t i = 0; i < HL_ARRAY_LEN(expected); i++)
        cr_assert_eq(lease_next(), expected[i], "%zu", i);
    cr_assert_eq(all.now.leased, 5);
    cr_assert_eq(all.now.pending, 11, "leased ones are still pending");
}

Test(lanes, ended_lease_makes_its_lane_ready)
{
    add(1, 3);
    cr_assert_eq(lease_next(), 1);
    cr_assert_eq(lease_next(), 1);
    cr_assert_eq(lease_next(), 0, "2 for each lane");
    cr_assert_eq(hl_lanes_end_leased(&all, 1, false, true), HL_OK);
    cr_assert_eq(lease_next(), 1);
    cr_assert_eq(hl_lanes_unlease(&all, 1, false), HL_OK);
    cr_assert_eq(lease_next(), 1, "given back is due again");
    cr_assert_eq(all.now.dead, 1);
    cr_assert_eq(all.now.pending, 2);
}

Test(lanes, parked_delivery_gives_its_place_away_for_good)
{
    add(1, 5);
    cr_assert_eq(lease_next(), 1);
    cr_assert_eq(lease_next(), 1);
    cr_assert_eq(hl_lanes_park(&all, 1), HL_OK);
    cr_assert_eq(lease_next(), 1, "its place is free");
    cr_assert_eq(hl_lanes_end_leased(&all, 1, true, false), HL_OK);
    cr_assert_eq(lease_next(), 0, "it had none");
    cr_assert_eq(hl_lanes_end_leased(&all, 1, false, false), HL_OK);
    cr_assert_eq(lease_next(), 1);
    cr_assert_eq(all.now.parked, 0);
    cr_assert_eq(all.now.leased, 2);
}

Test(lanes, parked_delivery_that_is_given_back_waits_like_any_other)
{
    add(1, 2);
    cr_assert_eq(lease_next(), 1);
    cr_assert_eq(lease_next(), 1);
    cr_assert_eq(hl_lanes_park(&all, 1), HL_OK);
    cr_assert_eq(hl_lanes_unlease(&all, 1, true), HL_OK);
    cr_assert_eq(lease_next(), 1);
    cr_assert_eq(lease_next(), 0);
    cr_assert_eq(all.now.parked, 0);
}

Test(lanes, lanes_are_counted_where_something_waits_and_no_place_is_free)
{
    add(1, 3);
    add(2, 2);
    cr_assert_eq(all.now.at_limit, 0);
    for (int i = 0; i < 4; i++)
        cr_assert_neq(lease_next(), 0);
    cr_assert_eq(all.now.at_limit, 1, "where nothing waits, nobody misses a place");
    hl_lanes_commit(&all);

    hl_lanes_begin(&all);
    add(2, 1);
    cr_assert_eq(all.now.at_limit, 2);
    cr_assert_eq(hl_lanes_end_leased(&all, 1, false, false), HL_OK);
    cr_assert_eq(all.now.at_limit, 1);
    hl_lanes_rollback(&all);
    cr_assert_eq(all.now.at_limit, 1);

    hl_lanes_begin(&all);
    cr_assert_eq(hl_lanes_end_leased(&all, 1, false, false), HL_OK);
    cr_assert_eq(lease_next(), 1);
    cr_assert_eq(all.now.at_limit, 0);
}

Test(lanes, lanes_without_anything_left_are_forgotten)
{
    add(1, 1);
    add(2, 1);
    hl_lanes_commit(&all);
    hl_lanes_begin(&all);
    cr_assert_eq(lease_next(), 1);
    cr_assert_eq(hl_lanes_end_leased(&all, 1, false, false), HL_OK);
    cr_assert_eq(hl_lanes_add_pending(&all, 1), HL_OK);
    cr_assert_eq(lease_next(), 2);
    cr_assert_eq(lease_next(), 1);
    cr_assert_eq(hl_lanes_end_leased(&all, 1, false, false), HL_OK);
    hl_lanes_commit(&all);
    cr_assert_eq(all.by_name.n, 1);
}

/* --- shares, health ------------------------------------------------------------------------------- */

static bool judge(uint64_t lane, enum hl_lane_health health, int64_t failing_since_ms)
{
    struct hl_lane_standing standing = {health, failing_since_ms};
    bool has_changed;
    cr_assert_eq(hl_lanes_judge(&all, lane, standing, &has_changed), HL_OK);
    return has_changed;
}

/* Leases while there are any of `places`; how many. */
static uint32_t lease_all(uint32_t places)
{
    uint32_t n = 0;
    while (n < places && lease_while(places - n) != 0)
        n++;
    return n;
}

static void init_shared(void)
{
    hl_lanes_init(&all, 1000, 16, 0);
    hl_lanes_begin(&all);
}

TestSuite(lanes_shares, .init = init_shared, .fini = fini);

Test(lanes_shares, a_lane_gets_no_more_than_is_free)
{
    add(1, 100);
    judge(1, HL_LANE_PROVEN, 0);
    cr_assert_eq(lease_all(16), 8, "half of all, where nobody else wants any");
    cr_assert_eq(all.now.at_limit, 1);
    add(2, 100);
    judge(2, HL_LANE_PROVEN, 0);
    cr_assert_eq(lease_while(8), 2, "another finds places");
}

Test(lanes_shares, lanes_that_are_not_proven_leave_a_quarter_however_many_they_are)
{
    for (uint64_t lane = 1; lane <= 40; lane++)
        add(lane, 5);
    cr_assert_eq(lease_all(16), 12);
    cr_assert_eq(all.now.unproven, 12);
    add(100, 1);
    cr_assert_eq(lease_while(4), 0);
    judge(100, HL_LANE_PROVEN, 0);
    cr_assert_eq(lease_while(4), 100, "who answers does not wait behind them");
    cr_assert_eq(all.now.unproven, 12);
}

Test(lanes_shares, an_unknown_lane_finds_a_place_beside_one_that_hangs)
{
    add(1, 100);
    uint32_t taken = lease_all(16);
    cr_assert_eq(taken, 8);
    add(2, 5);
    cr_assert_eq(lease_while(16 - taken), 2);
    cr_assert_eq(lease_while(15 - taken), 0, "its second one is not had as easily");
}

Test(lanes_shares, places_of_a_lane_count_as_it_stands)
{
    add(1, 10);
    for (int i = 0; i < 4; i++)
        cr_assert_eq(lease_while(16), 1);
    cr_assert_eq(all.now.unproven, 4);
    judge(1, HL_LANE_PROVEN, 0);
    cr_assert_eq(all.now.unproven, 0);
    cr_assert_eq(hl_lanes_end_leased(&all, 1, false, false), HL_OK);
    judge(1, HL_LANE_UNPROVEN, 0);
    cr_assert_eq(all.now.unproven, 3);
    cr_assert_eq(hl_lanes_end_leased(&all, 1, false, false), HL_OK);
    cr_assert_eq(all.now.unproven, 2);
}

Test(lanes_shares, a_failing_lane_has_one_place)
{
    add(1, 5);
    cr_assert(judge(1, HL_LANE_FAILING, 700));
    cr_assert_eq(hl_lanes_failing_since(&all, 1), 700);
    cr_assert_eq(lease_while(16), 1);
    cr_assert_eq(lease_while(15), 0);
    cr_assert_eq(all.now.at_limit, 1);
    cr_assert_not(judge(1, HL_LANE_FAILING, 700), "it has begun already");
    cr_assert_eq(hl_lanes_unlease(&all, 1, false), HL_OK);
    cr_assert_eq(lease_while(16), 1);
    cr_assert(judge(1, HL_LANE_PROVEN, 0));
    cr_assert_eq(hl_lanes_failing_since(&all, 1), 0);
    cr_assert_eq(lease_while(15), 1, "it is as good as others");
}

Test(lanes_shares, a_failing_lane_has_one_place_of_a_fixed_number_too)
{
    all.per_lane = 4;
    add(1, 5);
    judge(1, HL_LANE_FAILING, 700);
    cr_assert_eq(lease_all(16), 1);
}

Test(lanes_shares, how_a_lane_stands_is_remembered_when_it_has_nothing)
{
    add(1, 1);
    cr_assert_eq(lease_while(16), 1);
    cr_assert_eq(hl_lanes_end_leased(&all, 1, false, false), HL_OK);
    judge(1, HL_LANE_PROVEN, 0);
    hl_lanes_commit(&all);
    cr_assert_eq(all.n_idle, 1);
    hl_lanes_begin(&all);
    for (uint64_t lane = 2; lane <= 40; lane++)
        add(lane, 5);
    cr_assert_eq(lease_all(16), 12);
    add(1, 1);
    cr_assert_eq(all.n_idle, 0);
    cr_assert_eq(lease_while(4), 1);
}

Test(lanes_shares, of_too_many_that_have_nothing_the_first_is_forgotten)
{
    for (uint64_t lane = 1; lane <= HL_IDLE_LANES_MAX + 1; lane++) {
        judge(lane, HL_LANE_FAILING, 700);
        hl_lanes_commit(&all);
        hl_lanes_begin(&all);
    }
    cr_assert_eq(all.n_idle, HL_IDLE_LANES_MAX);
    cr_assert_eq(all.by_name.n, HL_IDLE_LANES_MAX);
    cr_assert_eq(hl_lanes_failing_since(&all, 1), 0);
    cr_assert_eq(hl_lanes_failing_since(&all, 2), 700);
}

Test(lanes_shares, rollback_undoes_how_lanes_stand)
{
    add(1, 5);
    judge(1, HL_LANE_PROVEN, 0);
    cr_assert_eq(lease_while(16), 1);
    add(2, 5);
    cr_assert_eq(lease_while(15), 2);
    hl_lanes_commit(&all);

    hl_lanes_begin(&all);
    judge(1, HL_LANE_FAILING, 700);
    judge(2, HL_LANE_PROVEN, 0);
    judge(1, HL_LANE_UNPROVEN, 0);
    judge(3, HL_LANE_FAILING, 800);
    hl_lanes_rollback(&all);
    cr_assert_eq(all.now.unproven, 1);
    cr_assert_eq(hl_lanes_failing_since(&all, 1), 0);
    cr_assert_eq(hl_lanes_failing_since(&all, 3), 0);
    cr_assert_eq(all.by_name.n, 2, "the third was never there");
    hl_lanes_begin(&all);
    cr_assert_eq(lease_while(14), 1, "those that are proven have their turn");
    cr_assert_eq(lease_while(13), 2);
    cr_assert_eq(all.now.unproven, 2);
}

Test(lanes_shares, what_waits_for_its_time_has_no_place_and_counts)
{
    all.max_pending = 4;
    add(1, 1);
    cr_assert_eq(lease_while(16), 1);
    cr_assert_eq(hl_lanes_put_off(&all, 1, false, 5000), HL_OK);
    cr_assert_eq(all.now.waiting, 1);
    cr_assert_eq(all.now.pending, 1);
    cr_assert_eq(all.now.leased, 0);
    cr_assert_eq(all.now.unproven, 0);
    cr_assert_eq(all.recall_ms, 5000);
    cr_assert_eq(lease_while(16), 0);
    cr_assert_eq(hl_lanes_expect(&all, 1), HL_OK);
    hl_lanes_commit(&all);
    cr_assert(hl_lanes_is_full(&all, 1), "half of what may be pending");
    cr_assert_not(hl_lanes_is_full(&all, 2));
    hl_lanes_begin(&all);
    cr_assert_eq(hl_lanes_recall(&all, 1), HL_OK);
    cr_assert_eq(lease_while(16), 1);
    cr_assert_eq(hl_lanes_end_leased(&all, 1, false, false), HL_OK);
    hl_lanes_commit(&all);
    cr_assert_not(hl_lanes_is_full(&all, 1));
}
