/* test_snapshot_age.c - how old others' oldest snapshot is, and when that is worth a line. */
#include <criterion/criterion.h>

#include "store/postgres/thread.h"

#define MINUTE_MS UINT64_C(60000)

Test(snapshot_age, is_as_old_as_the_same_transaction_has_been_seen)
{
    struct hl_pg_snapshot_age h = {0};
    cr_assert_eq(hl_pg_snapshot_age_look(&h, 0, 0, 1000), 0);
    cr_assert_eq(hl_pg_snapshot_age_look(&h, 700, 0, 20000), 0);
    cr_assert_eq(hl_pg_snapshot_age_look(&h, 700, 0, 50000), 30000);
    cr_assert_eq(hl_pg_snapshot_age_look(&h, 701, 0, 60000), 0, "that one is gone");
    cr_assert_eq(hl_pg_snapshot_age_look(&h, 0, 0, 70000), 0);
    cr_assert_eq(hl_pg_snapshot_age_look(&h, 0, 0, 90000), 0, "nothing grows older");
    cr_assert_eq(
        hl_pg_snapshot_age_look(&h, 600, 0, 95000), 0, "numbers begin again after the last");
}

Test(snapshot_age, goes_by_the_time_that_may_be_seen_when_that_is_longer)
{
    struct hl_pg_snapshot_age h = {0};
    cr_assert_eq(hl_pg_snapshot_age_look(&h, 700, 45000, 1000), 45000);
    cr_assert_eq(hl_pg_snapshot_age_look(&h, 700, 100, 31000), 30000);
}

Test(snapshot_age, says_so_after_a_minute_and_again_after_ten)
{
    struct hl_pg_snapshot_age h = {0};
    cr_assert_not(hl_pg_snapshot_age_says(&h, MINUTE_MS - 1, MINUTE_MS));
    cr_assert(hl_pg_snapshot_age_says(&h, MINUTE_MS, MINUTE_MS));
    cr_assert_not(hl_pg_snapshot_age_says(&h, 10 * MINUTE_MS, 11 * MINUTE_MS - 1));
    cr_assert_not(hl_pg_snapshot_age_says(&h, 0, 11 * MINUTE_MS), "it is gone meanwhile");
    cr_assert(hl_pg_snapshot_age_says(&h, MINUTE_MS, 11 * MINUTE_MS));
}
