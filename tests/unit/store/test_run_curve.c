/* test_run_curve.c - runs are counted at the point at which they were accepted, and nowhere else. */
#include "store/run_curve.h"

#include <criterion/criterion.h>

static const struct hl_run_curve none = {.first_ms = 1000, .step_ms = 500, .n_points = 3};

Test(run_curve, a_point_has_what_was_accepted_from_its_beginning_to_the_next)
{
    struct hl_run_curve c = none;
    hl_run_curve_add(&c, 1000, HL_RUN_SUCCESS, 2);
    hl_run_curve_add(&c, 1499, HL_RUN_SUCCESS, 1);
    hl_run_curve_add(&c, 1500, HL_RUN_FAILURE, 1);
    hl_run_curve_add(&c, 2499, HL_RUN_QUEUED, 1);
    cr_assert_eq(c.counts[0][HL_RUN_SUCCESS], 3);
    cr_assert_eq(c.counts[1][HL_RUN_FAILURE], 1);
    cr_assert_eq(c.counts[2][HL_RUN_QUEUED], 1);
}

Test(run_curve, what_is_before_or_behind_it_or_of_no_state_is_left_out)
{
    struct hl_run_curve c = none;
    hl_run_curve_add(&c, 999, HL_RUN_SUCCESS, 1);
    hl_run_curve_add(&c, 2500, HL_RUN_SUCCESS, 1);
    hl_run_curve_add(&c, INT64_MAX, HL_RUN_SUCCESS, 1);
    hl_run_curve_add(&c, 1000, (enum hl_run_state)(HL_RUN_CANCELLED + 1), 1);
    for (int state = 0; state <= HL_RUN_CANCELLED; state++)
        cr_assert_eq(hl_run_curve_sum(&c, (enum hl_run_state)state), 0);
}

Test(run_curve, two_are_added_point_by_point)
{
    struct hl_run_curve c = none, other = none;
    hl_run_curve_add(&c, 1000, HL_RUN_CANCELLED, 1);
    hl_run_curve_add(&other, 1000, HL_RUN_CANCELLED, 2);
    hl_run_curve_add(&other, 2000, HL_RUN_RUNNING, 4);
    hl_run_curve_add_all(&c, &other);
    cr_assert_eq(c.counts[0][HL_RUN_CANCELLED], 3);
    cr_assert_eq(c.counts[2][HL_RUN_RUNNING], 4);
    cr_assert_eq(hl_run_curve_sum(&c, HL_RUN_CANCELLED), 3);
}
