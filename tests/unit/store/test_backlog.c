/* test_backlog.c - the counts and turns of what waits, and their rollback. */
#include <criterion/criterion.h>

#include "store/backlog.h"

static struct hl_backlog b;

static void init(void)
{
    hl_backlog_init(&b, 2, 3, 256, 2);
    hl_backlog_begin(&b);
}

static void fini(void)
{
    hl_backlog_fini(&b);
}

TestSuite(backlog, .init = init, .fini = fini);

/* The lane whose turn it is is leased from; 0: none is ready. */
static uint64_t lease_next(void)
{
    struct hl_lane *lane = hl_backlog_next_lane(&b, 1000);
    if (!lane)
        return 0;
    uint64_t name = lane->name;
    cr_assert_eq(hl_backlog_lease(&b, name), HL_OK);
    return name;
}

static void add(uint64_t lane, int n)
{
    while (n-- > 0)
        cr_assert_eq(hl_backlog_add_pending(&b, lane), HL_OK);
}

Test(backlog, lanes_take_turns)
{
    static const uint64_t expected[] = {1, 2, 3, 1, 2, 0};
    add(1, 5);
    add(2, 5);
    add(3, 1);
    for (size_t i = 0; i < HL_ARRAY_LEN(expected); i++)
        cr_assert_eq(lease_next(), expected[i], "%zu", i);
    cr_assert_eq(b.now.leased, 5);
    cr_assert_eq(b.now.pending, 11, "leased ones are still pending");
}

Test(backlog, ended_lease_makes_its_lane_ready)
{
    add(1, 3);
    cr_assert_eq(lease_next(), 1);
    cr_assert_eq(lease_next(), 1);
    cr_assert_eq(lease_next(), 0, "2 for each lane");
    cr_assert_eq(hl_backlog_end_leased(&b, 1, false, true), HL_OK);
    cr_assert_eq(lease_next(), 1);
    cr_assert_eq(hl_backlog_unlease(&b, 1, false), HL_OK);
    cr_assert_eq(lease_next(), 1, "given back is due again");
    cr_assert_eq(b.now.dead, 1);
    cr_assert_eq(b.now.pending, 2);
}

Test(backlog, parked_delivery_gives_its_place_away_for_good)
{
    add(1, 5);
    cr_assert_eq(lease_next(), 1);
    cr_assert_eq(lease_next(), 1);
    cr_assert_eq(hl_backlog_park(&b, 1), HL_OK);
    cr_assert_eq(lease_next(), 1, "its place is free");
    cr_assert_eq(hl_backlog_end_leased(&b, 1, true, false), HL_OK);
    cr_assert_eq(lease_next(), 0, "it had none");
    cr_assert_eq(hl_backlog_end_leased(&b, 1, false, false), HL_OK);
    cr_assert_eq(lease_next(), 1);
    cr_assert_eq(b.now.parked, 0);
    cr_assert_eq(b.now.leased, 2);
}

Test(backlog, parked_delivery_that_is_given_back_waits_like_any_other)
{
    add(1, 2);
    cr_assert_eq(lease_next(), 1);
    cr_assert_eq(lease_next(), 1);
    cr_assert_eq(hl_backlog_park(&b, 1), HL_OK);
    cr_assert_eq(hl_backlog_unlease(&b, 1, true), HL_OK);
    cr_assert_eq(lease_next(), 1);
    cr_assert_eq(lease_next(), 0);
    cr_assert_eq(b.now.parked, 0);
}

Test(backlog, lanes_are_counted_where_something_waits_and_no_place_is_free)
{
    add(1, 3);
    add(2, 2);
    cr_assert_eq(b.now.lanes_at_limit, 0);
    for (int i = 0; i < 4; i++)
        cr_assert_neq(lease_next(), 0);
    cr_assert_eq(b.now.lanes_at_limit, 1, "where nothing waits, nobody misses a place");
    hl_backlog_commit(&b);

    hl_backlog_begin(&b);
    add(2, 1);
    cr_assert_eq(b.now.lanes_at_limit, 2);
    cr_assert_eq(hl_backlog_end_leased(&b, 1, false, false), HL_OK);
    cr_assert_eq(b.now.lanes_at_limit, 1);
    hl_backlog_rollback(&b);
    cr_assert_eq(b.now.lanes_at_limit, 1);

    hl_backlog_begin(&b);
    cr_assert_eq(hl_backlog_end_leased(&b, 1, false, false), HL_OK);
    cr_assert_eq(lease_next(), 1);
    cr_assert_eq(b.now.lanes_at_limit, 0);
}

static struct hl_queue_place place = {.class = HL_PRIORITY_NORMAL, .subject = 1};

static void queue(int n)
{
    while (n-- > 0)
        hl_backlog_queue(&b, &place);
}

Test(backlog, limits_are_told)
{
    cr_assert_eq(hl_backlog_has_room(&b, true), HL_OK);
    add(1, 3);
    cr_assert_eq(hl_backlog_has_room(&b, true), HL_ERR_BUSY);
    cr_assert_eq(hl_backlog_has_room(&b, false), HL_OK);
    queue(2);
    cr_assert_eq(hl_backlog_has_room(&b, false), HL_ERR_BUSY);
    hl_backlog_unqueue(&b, &place);
    cr_assert_eq(hl_backlog_has_room(&b, false), HL_OK);
}

Test(backlog, rollback_undoes_all_since_begin)
{
    add(1, 2);
    cr_assert_eq(lease_next(), 1);
    queue(1);
    hl_backlog_commit(&b);

    hl_backlog_begin(&b);
    add(2, 1);
    cr_assert_eq(lease_next(), 1);
    cr_assert_eq(lease_next(), 2);
    cr_assert_eq(hl_backlog_end_leased(&b, 1, false, true), HL_OK);
    hl_backlog_start(&b, &place);
    hl_backlog_rollback(&b);

    cr_assert_eq(b.now.pending, 2);
    cr_assert_eq(b.now.leased, 1);
    cr_assert_eq(b.now.dead, 0);
    cr_assert_eq(b.now.queued_runs, 1);
    cr_assert_eq(b.lanes.n, 1, "a lane that came with the transaction goes with it");
    hl_backlog_begin(&b);
    cr_assert_eq(lease_next(), 1);
    cr_assert_eq(lease_next(), 0);
}

Test(backlog, lanes_without_anything_left_are_forgotten)
{
    add(1, 1);
    add(2, 1);
    hl_backlog_commit(&b);
    hl_backlog_begin(&b);
    cr_assert_eq(lease_next(), 1);
    cr_assert_eq(hl_backlog_end_leased(&b, 1, false, false), HL_OK);
    cr_assert_eq(hl_backlog_add_pending(&b, 1), HL_OK);
    cr_assert_eq(lease_next(), 2);
    cr_assert_eq(lease_next(), 1);
    cr_assert_eq(hl_backlog_end_leased(&b, 1, false, false), HL_OK);
    hl_backlog_commit(&b);
    cr_assert_eq(b.lanes.n, 1);
}
