/* test_loan.c - calls of a rate that several processes share: what is borrowed, spent, given back. */
#include <criterion/criterion.h>
#include <pthread.h>

#include "base/loan.h"

#define WINDOW_MS 60000

/* Who lends, by its own clock, which is ahead of ours: as the function `lend` of the schema does. */
#define AHEAD_MS 1000000
struct pool {
    uint64_t until_ms;
    uint32_t most, taken, replicas, window_ms;
    unsigned questions;
};

struct borrower {
    struct hl_loan loan;
    struct hl_loan_book book;
};

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t most_of(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static struct hl_loan_answer lend(struct pool *p, struct hl_loan_ask ask, uint64_t now_ms)
{
    now_ms += AHEAD_MS;
    p->questions++;
    if (p->until_ms <= now_ms) {
        if (ask.wanted + ask.owed == 0)
            return (struct hl_loan_answer){.rest = p->most};
        p->until_ms = now_ms + p->window_ms;
        p->taken = ask.had = 0;
    } else if (p->until_ms == ask.until_ms) {
        p->taken -= least(p->taken, ask.back);
    } else {
        ask.had = 0;
    }
    p->taken += ask.owed;
    uint32_t rest = p->most > p->taken ? p->most - p->taken : 0;
    uint32_t share = p->most / p->replicas;
    uint32_t own = share > ask.had ? share - ask.had : 0;
    uint32_t part = most_of((rest + p->replicas - 1) / p->replicas, most_of(own, p->most / 32));
    uint32_t lent = least(rest, least(ask.wanted, most_of(part, 1)));
    p->taken += lent;
    return (struct hl_loan_answer){.lent = lent,
        .rest = rest - lent,
        .until_ms = p->until_ms,
        .left_ms = p->until_ms - now_ms};
}

static uint32_t borrow(struct borrower *b, struct pool *p, uint64_t now_ms)
{
    struct hl_loan_ask ask = hl_loan_ask(&b->loan, &b->book, true, now_ms);
    struct hl_loan_answer answer = lend(p, ask, now_ms);
    hl_loan_settle(&b->loan, &b->book, &ask, &answer, p->window_ms, now_ms);
    return answer.lent;
}

/* A call as a replica makes it, whose question is answered at once. */
static bool call(struct borrower *b, struct pool *p, uint64_t now_ms)
{
    enum hl_loan_take take = hl_loan_take(&b->loan, now_ms);
    if (take == HL_LOAN_EMPTY) {
        borrow(b, p, now_ms);
        take = hl_loan_take(&b->loan, now_ms);
        cr_assert_neq(take, HL_LOAN_EMPTY, "it is known now");
    } else if (take == HL_LOAN_TAKEN && hl_loan_is_low(&b->loan, now_ms)) {
        borrow(b, p, now_ms);
    }
    return take == HL_LOAN_TAKEN;
}

Test(loan, nothing_is_spent_before_it_was_lent)
{
    struct borrower b = {0};
    cr_assert_eq(hl_loan_take(&b.loan, 5), HL_LOAN_EMPTY);
    cr_assert(hl_loan_is_low(&b.loan, 5));
    cr_assert_eq(hl_loan_left_ms(&b.loan, 5), 0);
}

Test(loan, one_replica_may_have_all_of_a_window_and_no_more)
{
    struct pool p = {.most = 5, .replicas = 1, .window_ms = WINDOW_MS};
    struct borrower b = {0};
    for (int i = 0; i < 5; i++)
        cr_assert(call(&b, &p, 10 + (uint64_t)i));
    cr_assert_not(call(&b, &p, 20));
    cr_assert_eq(hl_loan_left_ms(&b.loan, 20), 10 + WINDOW_MS - 20);
    cr_assert_not(call(&b, &p, 10 + WINDOW_MS - 1));
    cr_assert(call(&b, &p, 10 + WINDOW_MS), "another window");
}

/* `shares` of the calls in 100 go to each of three; as many calls as `per_ms` in each ms. */
static unsigned play(
    struct pool *p, const unsigned shares[3], unsigned per_ms, uint64_t ms, unsigned *admitted)
{
    struct borrower b[3] = {0};
    unsigned calls = 0;
    *admitted = 0;
    for (uint64_t now_ms = 1; now_ms <= ms; now_ms++)
        for (unsigned i = 0; i < per_ms; i++, calls++) {
            unsigned at = calls * 37 % 100;
            size_t who = at < shares[0] ? 0 : at < shares[0] + shares[1] ? 1 : 2;
            *admitted += call(&b[who], p, now_ms);
        }
    return calls;
}

static const unsigned even[] = {33, 33, 34}, uneven[] = {80, 15, 5};

Test(loan, three_replicas_make_no_more_calls_than_the_rate_and_ask_once_for_a_hundred)
{
    unsigned admitted;
    struct pool p = {.most = 60000, .replicas = 3, .window_ms = WINDOW_MS};
    unsigned calls = play(&p, even, 2, 60000, &admitted); /* 2,000/s, twice the rate */
    cr_assert_eq(calls, 120000);
    cr_assert_eq(admitted, 60000);
    cr_assert_leq(100 * p.questions, admitted, "%u", p.questions);
}

Test(loan, a_window_of_a_second_that_is_used_up_takes_one_question_for_a_hundred_calls_too)
{
    unsigned admitted;
    struct pool p = {.most = 1000, .replicas = 3, .window_ms = 1000};
    play(&p, even, 1, 20000, &admitted);
    cr_assert_leq(admitted, 20000);
    cr_assert_geq(admitted, 19600, "%u", admitted);
    cr_assert_leq(100 * p.questions, admitted, "%u", p.questions);
}

Test(loan, who_has_most_of_the_calls_gets_most_of_the_rate)
{
    unsigned admitted;
    struct pool p = {.most = 60000, .replicas = 3, .window_ms = WINDOW_MS};
    play(&p, uneven, 2, 60000, &admitted);
    cr_assert_leq(admitted, 60000);
    cr_assert_geq(admitted, 59000, "%u", admitted);
    cr_assert_leq(100 * p.questions, admitted, "%u", p.questions);
}

Test(loan, below_the_rate_nobody_is_refused)
{
    unsigned admitted;
    struct pool p = {.most = 60000, .replicas = 3, .window_ms = WINDOW_MS};
    unsigned calls = play(&p, uneven, 1, 57000, &admitted);
    cr_assert_eq(admitted, calls);
}

Test(loan, few_are_lent_when_few_are_left)
{
    struct pool p = {.most = 90, .replicas = 3, .window_ms = WINDOW_MS};
    struct borrower b[3] = {0};
    cr_assert_eq(borrow(&b[0], &p, 1), 30, "its share");
    cr_assert_eq(borrow(&b[0], &p, 2), 20, "a third of what is left");
    cr_assert_eq(borrow(&b[1], &p, 3), 30);
    cr_assert_eq(borrow(&b[2], &p, 4), 10, "all that is left");
    cr_assert_eq(borrow(&b[2], &p, 5), 0);
    cr_assert_eq(hl_loan_take(&b[2].loan, 6), HL_LOAN_TAKEN);
}

Test(loan, what_is_left_alone_goes_back_and_others_have_it)
{
    struct pool p = {.most = 90, .replicas = 3, .window_ms = WINDOW_MS};
    struct borrower a = {0}, b = {0};
    borrow(&a, &p, 1);
    cr_assert_eq(hl_loan_take(&a.loan, 1), HL_LOAN_TAKEN);
    cr_assert_not(hl_loan_is_idle(&a.loan, &a.book, WINDOW_MS, 1000));
    cr_assert_not(hl_loan_is_idle(&a.loan, &a.book, WINDOW_MS, 8000));
    cr_assert(hl_loan_is_idle(&a.loan, &a.book, WINDOW_MS, 8500), "7.5 s");
    hl_loan_return(&a.loan);
    cr_assert_eq(hl_loan_take(&a.loan, 8500), HL_LOAN_EMPTY);
    struct hl_loan_ask ask = hl_loan_ask(&a.loan, &a.book, false, 8500);
    cr_assert_eq(ask.back, 29);
    cr_assert_eq(ask.wanted, 0);
    struct hl_loan_answer answer = lend(&p, ask, 8500);
    hl_loan_settle(&a.loan, &a.book, &ask, &answer, WINDOW_MS, 8500);
    unsigned n = 0;
    while (call(&b, &p, 9000))
        n++;
    cr_assert_eq(n, 89);
}

Test(loan, of_a_window_that_is_over_nothing_goes_back)
{
    struct pool p = {.most = 90, .replicas = 3, .window_ms = 1000};
    struct borrower a = {0}, b = {0};
    borrow(&a, &p, 1);
    hl_loan_return(&a.loan);
    borrow(&b, &p, 1001);
    struct hl_loan_ask ask = hl_loan_ask(&a.loan, &a.book, false, 1002);
    cr_assert_eq(ask.back, 30);
    lend(&p, ask, 1002);
    cr_assert_eq(p.taken, 30, "b's");
}

Test(loan, what_is_not_wanted_while_another_window_begins_goes_back_to_neither)
{
    struct pool p = {.most = 90, .replicas = 3, .window_ms = 1000};
    struct borrower a = {0};
    borrow(&a, &p, 1);
    struct hl_loan_ask ask = hl_loan_ask(&a.loan, &a.book, true, 1001);
    hl_loan_return(&a.loan); /* the limits are others */
    struct hl_loan_answer answer = lend(&p, ask, 1001);
    hl_loan_settle(&a.loan, &a.book, &ask, &answer, 1000, 1002);
    cr_assert_eq(p.taken, 30);
    lend(&p, hl_loan_ask(&a.loan, &a.book, false, 1003), 1003);
    cr_assert_eq(p.taken, 30, "they may be spent");
}

Test(loan, a_call_that_was_not_made_is_there_again)
{
    struct pool p = {.most = 1, .replicas = 1, .window_ms = WINDOW_MS};
    struct borrower b = {0};
    cr_assert(call(&b, &p, 1));
    cr_assert_not(call(&b, &p, 2));
    hl_loan_give_back(&b.loan, 3);
    cr_assert(call(&b, &p, 4));
    hl_loan_give_back(&b.loan, WINDOW_MS + 4);
    cr_assert_eq(hl_loan_take(&b.loan, WINDOW_MS + 5), HL_LOAN_EMPTY, "it was of another window");
}

Test(loan, without_a_lender_a_share_is_spent_in_windows_of_its_own)
{
    struct borrower b = {0};
    for (uint64_t at_ms = 1; at_ms < 3 * WINDOW_MS; at_ms += WINDOW_MS) {
        for (int i = 0; i < 30; i++)
            cr_assert(hl_loan_take_share(&b.loan, 30, WINDOW_MS, at_ms));
        cr_assert_not(hl_loan_take_share(&b.loan, 30, WINDOW_MS, at_ms + WINDOW_MS - 1));
    }
}

Test(loan, what_was_lent_before_the_lender_went_is_of_the_share)
{
    struct pool p = {.most = 90, .replicas = 3, .window_ms = WINDOW_MS};
    struct borrower b = {0};
    p.taken = 85;
    p.until_ms = AHEAD_MS + WINDOW_MS;
    cr_assert_eq(borrow(&b, &p, 1), 5);
    for (int i = 0; i < 30; i++)
        cr_assert(hl_loan_take_share(&b.loan, 30, WINDOW_MS, 2));
    cr_assert_not(hl_loan_take_share(&b.loan, 30, WINDOW_MS, 3));
}

Test(loan, a_share_that_was_spent_is_told_once_when_the_lender_is_there_again)
{
    struct pool p = {.most = 90, .replicas = 3, .window_ms = WINDOW_MS};
    struct borrower b = {0};
    for (int i = 0; i < 10; i++)
        cr_assert(hl_loan_take_share(&b.loan, 30, WINDOW_MS, 1));
    struct hl_loan_ask unheard = hl_loan_ask(&b.loan, &b.book, true, 2);
    cr_assert_eq(unheard.owed, 10);
    hl_loan_ask_again(&b.loan, &unheard);
    cr_assert(hl_loan_take_share(&b.loan, 30, WINDOW_MS, 3), "it goes on with its share");
    struct hl_loan_ask ask = hl_loan_ask(&b.loan, &b.book, true, 4);
    cr_assert_eq(ask.owed, 11);
    cr_assert(hl_loan_take_share(&b.loan, 30, WINDOW_MS, 5), "while it asks");
    struct hl_loan_answer answer = lend(&p, ask, 6);
    cr_assert_eq(p.taken, 11 + answer.lent);
    hl_loan_settle(&b.loan, &b.book, &ask, &answer, WINDOW_MS, 6);
    ask = hl_loan_ask(&b.loan, &b.book, true, 7);
    cr_assert_eq(ask.owed, 1);
    cr_assert_eq(hl_loan_take(&b.loan, 8), HL_LOAN_TAKEN, "of what was lent");
}

Test(loan, a_share_of_a_window_that_is_over_is_not_told)
{
    struct borrower b = {0};
    cr_assert(hl_loan_take_share(&b.loan, 30, WINDOW_MS, 1));
    cr_assert_eq(hl_loan_ask(&b.loan, &b.book, true, WINDOW_MS + 1).owed, 0);
}

Test(loan, a_call_on_credit_is_told_and_told_again_if_nobody_heard_it)
{
    struct borrower b = {0};
    hl_loan_owe(&b.loan);
    struct hl_loan_ask ask = hl_loan_ask(&b.loan, &b.book, true, 1);
    cr_assert_eq(ask.owed, 1);
    cr_assert_eq(hl_loan_ask(&b.loan, &b.book, true, 1).owed, 0);
    hl_loan_ask_again(&b.loan, &ask);
    cr_assert_eq(hl_loan_ask(&b.loan, &b.book, true, 1).owed, 1);
}

/* ---- threads ---- */

#define THREADS 4

static struct hl_loan shared;

static void *spend(void *taken)
{
    for (int i = 0; i < 20000; i++)
        if (hl_loan_take_share(&shared, 10000, WINDOW_MS, 1))
            atomic_fetch_add((_Atomic unsigned *)taken, 1);
    return NULL;
}

Test(loan, threads_spend_what_is_there_and_no_more)
{
    pthread_t threads[THREADS];
    _Atomic unsigned taken = 0;
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, spend, &taken), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    cr_assert_eq(taken, 10000);
}
