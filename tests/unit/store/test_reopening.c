/* test_reopening.c - a store that has failed is opened anew soon, then ever more seldom, and after a while
 * its process is given up. */
#include <criterion/criterion.h>

#include "store/outage.h"

#define BEGIN 5000000000u

Test(reopening, pauses_grow_up_to_a_bound)
{
    struct hl_reopening r = {0};
    uint64_t now_us = BEGIN, last = 0;
    for (int i = 0; i < 20; i++) {
        hl_reopening_fail(&r, now_us);
        uint64_t pause_us = r.next_us - now_us;
        cr_assert(i > 0 || pause_us == HL_REOPENING_MIN_US);
        cr_assert(pause_us >= last && pause_us <= HL_REOPENING_MAX_US);
        last = pause_us;
        now_us = r.next_us;
    }
    cr_assert_eq(last, HL_REOPENING_MAX_US);
}

Test(reopening, only_a_store_that_has_worked_for_a_while_begins_with_the_first_pause)
{
    struct hl_reopening r = {0};
    for (int i = 0; i < 3; i++)
        hl_reopening_fail(&r, BEGIN);
    hl_reopening_succeed(&r, BEGIN);
    hl_reopening_fail(&r, BEGIN + 1);
    cr_assert_gt(r.next_us - BEGIN, HL_REOPENING_MIN_US + 1);
    hl_reopening_succeed(&r, BEGIN + 2);
    uint64_t later_us = BEGIN + 2 + HL_REOPENING_CALM_US;
    hl_reopening_fail(&r, later_us);
    cr_assert_eq(r.next_us, later_us + HL_REOPENING_MIN_US);
}

Test(reopening, process_is_given_up_after_a_while_in_vain)
{
    struct hl_reopening r = {0};
    cr_assert(!hl_reopening_is_hopeless(&r, BEGIN));
    hl_reopening_fail(&r, BEGIN);
    cr_assert(!hl_reopening_is_hopeless(&r, BEGIN + HL_REOPENING_HOPELESS_US - 1));
    cr_assert(hl_reopening_is_hopeless(&r, BEGIN + HL_REOPENING_HOPELESS_US));
    hl_reopening_succeed(&r, BEGIN + HL_REOPENING_HOPELESS_US);
    cr_assert(!hl_reopening_is_hopeless(&r, 2 * BEGIN + HL_REOPENING_HOPELESS_US));
}
