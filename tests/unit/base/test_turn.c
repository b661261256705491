/* test_turn.c - subjects take turns, whatever each of them has waiting. */
#include <criterion/criterion.h>

#include "base/turn.h"

#define NORMAL HL_PRIORITY_NORMAL

enum { ANN = 11, BEN = 22, CLEO = 33 };

Test(turn, the_one_call_of_a_subject_comes_before_the_second_of_another)
{
    struct hl_turns turns;
    hl_turns_init(&turns);
    cr_assert_eq(hl_turns_give(&turns, NORMAL, ANN), 0);
    cr_assert_eq(hl_turns_give(&turns, NORMAL, ANN), 1);
    cr_assert_eq(hl_turns_give(&turns, NORMAL, ANN), 2);
    cr_assert_eq(hl_turns_give(&turns, NORMAL, BEN), 0);
    cr_assert_eq(hl_turns_give(&turns, HL_PRIORITY_LOW, ANN), 0);
    hl_turns_fini(&turns);
}

Test(turn, who_comes_later_begins_at_the_turn_that_it_is_now)
{
    struct hl_turns turns;
    hl_turns_init(&turns);
    for (int i = 0; i < 10; i++)
        cr_assert_eq(hl_turns_give(&turns, NORMAL, ANN), i);
    for (int i = 0; i < 6; i++)
        hl_turns_start(&turns, NORMAL, ANN, i);
    cr_assert_eq(hl_turns_give(&turns, NORMAL, BEN), 5);
    cr_assert_eq(hl_turns_give(&turns, NORMAL, BEN), 6);
    hl_turns_fini(&turns);
}

Test(turn, who_had_this_turn_waits_for_the_next_one)
{
    struct hl_turns turns;
    hl_turns_init(&turns);
    cr_assert_eq(hl_turns_give(&turns, NORMAL, BEN), 0);
    cr_assert_eq(hl_turns_give(&turns, NORMAL, BEN), 1);
    int64_t turn = hl_turns_give(&turns, NORMAL, ANN);
    for (int i = 0; i < 5; i++) {
        cr_assert_eq(turn, i);
        hl_turns_start(&turns, NORMAL, ANN, turn);
        turn = hl_turns_give(&turns, NORMAL, ANN);
    }
    hl_turns_fini(&turns);
}

Test(turn, turns_that_were_never_had_are_not_held_against_a_subject)
{
    struct hl_turns turns;
    hl_turns_init(&turns);
    for (int i = 0; i < 100; i++)
        (void)hl_turns_give(&turns, NORMAL, ANN);
    for (int i = 0; i < 100; i++)
        hl_turns_leave(&turns, NORMAL, ANN);
    cr_assert_leq(hl_turns_give(&turns, NORMAL, ANN), 1);
    hl_turns_fini(&turns);
}

Test(turn, what_is_rolled_back_has_not_been)
{
    struct hl_turns turns;
    hl_turns_init(&turns);
    cr_assert_eq(hl_turns_give(&turns, NORMAL, ANN), 0);
    hl_turns_begin(&turns);
    for (int i = 1; i < 50; i++)
        cr_assert_eq(hl_turns_give(&turns, NORMAL, ANN), i);
    cr_assert_eq(hl_turns_give(&turns, NORMAL, CLEO), 0);
    hl_turns_start(&turns, NORMAL, ANN, 0);
    hl_turns_start(&turns, NORMAL, ANN, 1);
    hl_turns_rollback(&turns);
    cr_assert_eq(turns.subjects.n, 1);
    cr_assert_eq(hl_turns_give(&turns, NORMAL, ANN), 1);
    cr_assert_eq(hl_turns_give(&turns, NORMAL, CLEO), 0);
    hl_turns_fini(&turns);
}

Test(turn, what_is_put_off_waits_and_is_not_queued_also_after_a_rollback)
{
    struct hl_turns turns;
    hl_turns_init(&turns);
    (void)hl_turns_give(&turns, NORMAL, ANN);
    hl_turns_put_off(&turns, NORMAL, ANN, 7);
    hl_turns_begin(&turns);
    hl_turns_put_off(&turns, NORMAL, ANN, 8);
    hl_turns_call_back(&turns, NORMAL, ANN);
    hl_turns_call_back(&turns, NORMAL, ANN);
    cr_assert_eq(hl_turns_waiting(&turns, NORMAL, ANN), 1);
    cr_assert_eq(hl_turns_queued(&turns, NORMAL, ANN), 1);
    hl_turns_rollback(&turns);
    cr_assert_eq(hl_turns_waiting(&turns, NORMAL, ANN), 2);
    cr_assert_eq(hl_turns_queued(&turns, NORMAL, ANN), 1);
    hl_turns_call_back(&turns, NORMAL, ANN);
    cr_assert_eq(hl_turns_waiting(&turns, NORMAL, ANN), 1);
    cr_assert_eq(hl_turns_queued(&turns, NORMAL, ANN), 1);
    hl_turns_fini(&turns);
}

Test(turn, subjects_that_have_gone_are_forgotten)
{
    struct hl_turns turns;
    hl_turns_init(&turns);
    for (uint64_t who = 1; who <= 1000; who++) {
        hl_turns_begin(&turns);
        (void)hl_turns_give(&turns, NORMAL, who);
        int64_t turn = hl_turns_give(&turns, NORMAL, who);
        hl_turns_start(&turns, NORMAL, who, turn - 1);
        hl_turns_start(&turns, NORMAL, who, turn);
        hl_turns_commit(&turns);
    }
    cr_assert_leq(turns.subjects.n, 1);
    hl_turns_fini(&turns);
}
