/* test_backlog.c - the limits of what waits, and the rollback of all of it. */
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
    struct hl_lane *lane = hl_lanes_next(&b.lanes, 1000);
    if (!lane)
        return 0;
    uint64_t name = lane->name;
    cr_assert_eq(hl_lanes_lease(&b.lanes, name), HL_OK);
    return name;
}

static void add(uint64_t lane, int n)
{
    while (n-- > 0)
        cr_assert_eq(hl_lanes_add_pending(&b.lanes, lane), HL_OK);
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
    cr_assert_eq(hl_lanes_end_leased(&b.lanes, 1, false, true), HL_OK);
    hl_backlog_start(&b, &place);
    hl_backlog_rollback(&b);

    cr_assert_eq(b.lanes.now.pending, 2);
    cr_assert_eq(b.lanes.now.leased, 1);
    cr_assert_eq(b.lanes.now.dead, 0);
    cr_assert_eq(b.now.queued_runs, 1);
    cr_assert_eq(b.lanes.by_name.n, 1, "a lane that came with the transaction goes with it");
    hl_backlog_begin(&b);
    cr_assert_eq(lease_next(), 1);
    cr_assert_eq(lease_next(), 0);
}
