/* test_priority.c - the highest class starts first, and nobody starves. */
#include <criterion/criterion.h>

#include "base/priority.h"
#include "base/str.h"

#define ALL 7u

static enum hl_priority start(struct hl_priority_rule *rule, unsigned waiting)
{
    enum hl_priority next = hl_priority_pick(*rule, waiting);
    *rule = hl_priority_note(*rule, waiting, next);
    return next;
}

Test(priority, of_eight_starts_the_eighth_goes_to_the_lower_classes_in_turn)
{
    struct hl_priority_rule rule = {0};
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 7; i++)
            cr_assert_eq(start(&rule, ALL), HL_PRIORITY_HIGH);
        cr_assert_eq(start(&rule, ALL), round % 2 == 0 ? HL_PRIORITY_NORMAL : HL_PRIORITY_LOW);
    }
}

Test(priority, two_classes_share_seven_to_one)
{
    struct hl_priority_rule rule = {0};
    unsigned waiting = hl_priority_bit(HL_PRIORITY_NORMAL) | hl_priority_bit(HL_PRIORITY_LOW);
    int low = 0;
    for (int i = 0; i < 80; i++)
        low += start(&rule, waiting) == HL_PRIORITY_LOW;
    cr_assert_eq(low, 10);
}

Test(priority, starts_for_which_one_class_waits_do_not_count)
{
    struct hl_priority_rule rule = {0};
    for (int i = 0; i < 100; i++)
        cr_assert_eq(start(&rule, hl_priority_bit(HL_PRIORITY_LOW)), HL_PRIORITY_LOW);
    for (int i = 0; i < 7; i++)
        cr_assert_eq(start(&rule, ALL), HL_PRIORITY_HIGH);
    cr_assert_eq(start(&rule, ALL), HL_PRIORITY_NORMAL);
}

Test(priority, a_class_has_one_name)
{
    enum hl_priority priority = HL_PRIORITY_NORMAL;
    for (unsigned i = 0; i < HL_PRIORITIES; i++) {
        const char *text = hl_priority_text((enum hl_priority)i);
        cr_assert(hl_priority_parse(hl_str_from(text), &priority));
        cr_assert_eq(priority, i);
    }
    cr_assert_not(hl_priority_parse(HL_STR("High"), &priority));
    cr_assert_not(hl_priority_parse(HL_STR(""), &priority));
}

Test(priority, finds_the_start_at_which_the_last_of_a_class_is_next)
{
    const uint64_t alone[HL_PRIORITIES] = {[HL_PRIORITY_NORMAL] = 3};
    cr_assert_eq(hl_priority_place(alone, HL_PRIORITY_NORMAL), 3);
    const uint64_t all[HL_PRIORITIES] = {20, 1, 1};
    cr_assert_eq(hl_priority_place(all, HL_PRIORITY_NORMAL), 8);
    cr_assert_eq(hl_priority_place(all, HL_PRIORITY_LOW), 16);
    cr_assert_eq(hl_priority_place(all, HL_PRIORITY_HIGH), 22);
    const uint64_t few[HL_PRIORITIES] = {2, 1, 1};
    cr_assert_eq(hl_priority_place(few, HL_PRIORITY_NORMAL), 3, "nobody higher is left");
}
