/* test_backoff.c - how long an app that ended has to wait. */
#include "app/supervisor.h"

#include <criterion/criterion.h>

Test(backoff, doubles_up_to_its_most)
{
    struct hl_backoff backoff = {0};
    uint64_t expected = HL_BACKOFF_FIRST_MS;
    for (int i = 0; i < 100; i++) {
        cr_assert_eq(hl_backoff_next(&backoff, false, 0), expected);
        expected = expected * 2 < HL_BACKOFF_MOST_MS ? expected * 2 : HL_BACKOFF_MOST_MS;
    }
}

Test(backoff, starts_afresh_after_a_while_of_health)
{
    struct hl_backoff backoff = {.failures = 7};
    cr_assert_eq(hl_backoff_next(&backoff, true, HL_BACKOFF_HEALTHY_MS), HL_BACKOFF_FIRST_MS);
    cr_assert_eq(hl_backoff_next(&backoff, true, 0), 2 * HL_BACKOFF_FIRST_MS);
}

Test(backoff, goes_on_when_it_was_short_or_never_ready)
{
    struct hl_backoff backoff = {.failures = 2};
    cr_assert_eq(
        hl_backoff_next(&backoff, true, HL_BACKOFF_HEALTHY_MS - 1), 4 * HL_BACKOFF_FIRST_MS);
    cr_assert_eq(
        hl_backoff_next(&backoff, false, HL_BACKOFF_HEALTHY_MS * 10), 8 * HL_BACKOFF_FIRST_MS);
}
