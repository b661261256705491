/* test_credit.c - what may be pushed to whom: turns, and credit that is had back. */
#include "loop/mailbox.h"
#include "store/claim.h"
#include "store/credit.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static struct hl_credit_book book;
static struct hl_mailbox boxes[2];

static void no_wake(void *arg)
{
    (void)arg;
}

static void begin(void)
{
    hl_credit_book_init(&book);
    for (size_t i = 0; i < 2; i++)
        hl_mailbox_init(&boxes[i], no_wake, NULL);
}

static void end(void)
{
    hl_credit_book_fini(&book);
}

TestSuite(credit, .init = begin, .fini = end);

static void add(size_t i, uint32_t n)
{
    struct hl_credit *credit = calloc(1, sizeof(*credit));
    credit->m.reply_to = &boxes[i];
    credit->n = n;
    hl_credit_add(&book, credit);
}

Test(credit, goes_round_those_who_have_some)
{
    struct hl_credit_note notes[4];
    add(0, 3);
    add(1, 1);
    for (size_t i = 0; i < 4; i++)
        cr_assert(hl_credit_take(&book, &notes[i]));
    cr_assert_neq(notes[0].account, notes[1].account);
    cr_assert_eq(notes[2].account, notes[3].account);
    cr_assert_not(hl_credit_take(&book, &notes[0]));
}

Test(credit, is_put_back_when_nothing_was_pushed_for_it)
{
    struct hl_credit_note note;
    add(0, 1);
    cr_assert(hl_credit_take(&book, &note));
    hl_credit_put_back(&book, note);
    cr_assert_eq(book.total, 1);
}

Test(credit, stays_void_that_was_taken_before_a_withdrawal_whatever_is_given_after_it)
{
    struct hl_credit_note before, after;
    add(0, 2);
    cr_assert(hl_credit_take(&book, &before));
    hl_credit_withdraw(&book, &boxes[0]);
    cr_assert_eq(book.total, 0);
    cr_assert(hl_credit_is_void(&book, before));
    add(0, 1);
    cr_assert(hl_credit_is_void(&book, before));
    hl_credit_put_back(&book, before);
    cr_assert_eq(book.total, 1);
    cr_assert(hl_credit_take(&book, &after));
    cr_assert_not(hl_credit_is_void(&book, after));
    hl_credit_put_back(&book, after);
    cr_assert_eq(book.total, 1);
}

/* ---- credit that goes back ---- */

static void add_returning(size_t i, uint32_t n)
{
    struct hl_credit *credit = calloc(1, sizeof(*credit));
    credit->m.reply_to = &boxes[i];
    credit->n = n;
    credit->returns = true;
    hl_credit_add(&book, credit);
}

static void assert_back(size_t i, uint32_t n)
{
    struct hl_msg *msg = hl_mailbox_take(&boxes[i]);
    cr_assert(msg && !msg->next && msg->type == HL_STORE_CREDIT_BACK);
    struct hl_credit *back = HL_CONTAINER_OF(msg, struct hl_credit, m.msg);
    cr_assert_eq(back->n, n);
    free(back);
}

Test(credit, goes_back_whole_when_a_part_was_put_back_after_the_rest_had_gone)
{
    struct hl_credit_note notes[2];
    add_returning(0, 4);
    for (size_t i = 0; i < 2; i++)
        cr_assert(hl_credit_take(&book, &notes[i]));
    hl_credit_return_unused(&book);
    assert_back(0, 2);
    hl_credit_spend(&book, notes[0]);
    hl_credit_put_back(&book, notes[1]);
    hl_credit_return_unused(&book);
    assert_back(0, 1);
    cr_assert_eq(book.total, 0);
}

Test(credit, tells_nobody_of_work_while_it_is_open_what_becomes_of_theirs)
{
    struct hl_credit_note note;
    add_returning(0, 1);
    cr_assert(hl_credit_take(&book, &note));
    hl_credit_hint(&book);
    cr_assert_null(hl_mailbox_take(&boxes[0]));
    hl_credit_put_back(&book, note);
    hl_credit_return_unused(&book);
    assert_back(0, 1);
    hl_credit_hint(&book);
    struct hl_msg *work = hl_mailbox_take(&boxes[0]);
    cr_assert(work && work->type == HL_STORE_WORK);
    free(work);
}
