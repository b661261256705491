/* test_quota.c - limits of accounts as the process holds to them. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>

#include "store/lender.h"
#include "store/op.h"
#include "store/quota.h"

static struct hl_quota quota;

static void set(uint32_t max_running, struct hl_rate rate, uint32_t revision)
{
    struct hl_limits limits = HL_LIMITS_NONE;
    limits.max_running = max_running;
    limits.rate = rate;
    limits.revision = revision;
    hl_quota_set(&quota, &limits);
}

static const struct hl_rate none, two_a_minute = {.count = 2, .window_s = 60};

Test(quota, without_limits_all_may_enter_and_call)
{
    cr_assert_not(hl_quota_has_limits(NULL));
    set(0, none, 0);
    cr_assert_not(hl_quota_has_limits(&quota));
    for (int i = 0; i < 100; i++)
        cr_assert(hl_quota_enter(&quota) && hl_quota_count(&quota, 1));
}

Test(quota, no_more_enter_than_may_be_inside)
{
    set(2, none, 0);
    cr_assert(hl_quota_has_limits(&quota));
    cr_assert(hl_quota_enter(&quota) && hl_quota_enter(&quota));
    for (int i = 0; i < 3; i++)
        cr_assert_not(hl_quota_enter(&quota));
    cr_assert_eq(hl_quota_look(&quota, HL_LIMIT_MAX_RUNNING, 1).max, 2);
    cr_assert_eq(hl_quota_look(&quota, HL_LIMIT_MAX_RUNNING, 1).wait_s, 0, "nobody knows");
    hl_quota_leave(&quota);
    cr_assert(hl_quota_enter(&quota));
    cr_assert_not(hl_quota_enter(&quota));
}

Test(quota, who_is_inside_counts_when_a_limit_comes_and_when_it_is_lowered)
{
    set(0, none, 0);
    for (int i = 0; i < 3; i++)
        cr_assert(hl_quota_enter(&quota));
    set(2, none, 1);
    cr_assert_not(hl_quota_enter(&quota));
    hl_quota_leave(&quota);
    cr_assert_not(hl_quota_enter(&quota));
    hl_quota_leave(&quota);
    cr_assert(hl_quota_enter(&quota));
    set(0, none, 2);
    cr_assert(hl_quota_enter(&quota), "lifted");
}

Test(quota, a_refused_rate_says_how_long_it_lasts_in_whole_seconds)
{
    set(0, two_a_minute, 0);
    cr_assert(hl_quota_count(&quota, 1000) && hl_quota_count(&quota, 2000));
    cr_assert_not(hl_quota_count(&quota, 2500));
    struct hl_quota_hit hit = hl_quota_look(&quota, HL_LIMIT_RATE, 2500);
    cr_assert_eq(hit.max, 2);
    cr_assert_eq(hit.window_s, 60);
    cr_assert_eq(hit.wait_s, 59, "58.5 s");
    cr_assert_not(hl_quota_count(&quota, 60999));
    cr_assert_eq(hl_quota_look(&quota, HL_LIMIT_RATE, 60999).wait_s, 1, "1 ms");
    cr_assert_eq(hl_quota_look(&quota, HL_LIMIT_RATE, 61000).wait_s, 1, "it is over");
    hl_quota_uncount(&quota, 60999);
    cr_assert(hl_quota_count(&quota, 60999));
    cr_assert(hl_quota_count(&quota, 61000));
}

Test(quota, of_two_limits_those_of_the_later_change_hold)
{
    set(5, none, 2);
    set(1, none, 1);
    cr_assert(hl_quota_enter(&quota) && hl_quota_enter(&quota));
}

Test(quota, for_somebody_else_it_begins_anew_but_counts_who_is_inside)
{
    set(2, two_a_minute, 9);
    cr_assert(hl_quota_enter(&quota));
    cr_assert(hl_quota_count(&quota, 1) && hl_quota_count(&quota, 1));
    struct hl_limits others = HL_LIMITS_NONE;
    others.max_running = 1;
    others.rate = two_a_minute;
    hl_quota_renew(&quota, others);
    cr_assert_not(hl_quota_enter(&quota));
    cr_assert(hl_quota_count(&quota, 2));
    hl_quota_leave(&quota);
    cr_assert(hl_quota_enter(&quota));
}

Test(quota, what_another_database_says_holds_though_its_revision_is_lower)
{
    struct hl_limits limits = {.max_running = 1, .revision = 1, .overrules = true};
    set(5, none, 2);
    hl_quota_set(&quota, &limits);
    cr_assert(hl_quota_enter(&quota));
    cr_assert_not(hl_quota_enter(&quota));
}

/* ---- a rate that replicas share ---- */

static const struct hl_id name = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};
static struct hl_mailbox lenders, workers;
static struct hl_lender lender;
static struct hl_lender_desk desk;

static void nobody_wakes(void *arg)
{
    (void)arg;
}

static void share(uint32_t replicas)
{
    hl_mailbox_init(&lenders, nobody_wakes, NULL);
    hl_mailbox_init(&workers, nobody_wakes, NULL);
    hl_lender_init(&lender, &lenders);
    hl_bell_init(&desk.bell, &workers, 7);
    hl_lender_add(&lender, &desk);
    atomic_store(&lender.replicas, replicas);
    hl_quota_share(&quota, &lender, &name);
}

/* The lender is asked once, and has so many. */
static void answer(uint32_t lent, uint32_t rest, uint64_t now_ms)
{
    struct hl_msg *msg = hl_mailbox_take(&lenders);
    cr_assert(msg == &quota.ask && !msg->next);
    cr_assert_eq(msg->type, HL_STORE_BORROW);
    struct hl_loan_ask ask = hl_loan_ask(&quota.loan, &quota.borrower.book, true, now_ms);
    hl_loan_settle(&quota.loan, &quota.borrower.book, &ask,
        &(struct hl_loan_answer){.lent = lent, .rest = rest, .until_ms = 99, .left_ms = 60000},
        60000, now_ms);
    atomic_store(&quota.is_asked, false);
    hl_lender_ring(&lender);
}

static bool hears_desk(void)
{
    struct hl_msg *msg = hl_mailbox_take(&workers);
    cr_assert(!msg || (msg == &desk.bell.msg && !msg->next));
    if (msg)
        hl_bell_heard(&desk.bell);
    return msg != NULL;
}

Test(quota, of_a_rate_that_is_shared_a_call_waits_until_some_was_lent)
{
    share(3);
    set(0, two_a_minute, 0);
    cr_assert_eq(hl_quota_count(&quota, 1), HL_QUOTA_UNKNOWN);
    cr_assert(hl_quota_await(&quota, HL_LIMIT_RATE, &desk));
    cr_assert(hl_quota_await(&quota, HL_LIMIT_RATE, &desk), "another one waits with it");
    cr_assert_not(hears_desk());
    answer(1, 0, 5);
    cr_assert(hears_desk());
    cr_assert_eq(hl_quota_count(&quota, 6), HL_QUOTA_COUNTED);
    cr_assert_eq(hl_quota_count(&quota, 6), HL_QUOTA_OVER);
    cr_assert_eq(hl_quota_look(&quota, HL_LIMIT_RATE, 6).wait_s, 60);
    hl_quota_uncount(&quota, 7);
    cr_assert_eq(hl_quota_count(&quota, 8), HL_QUOTA_COUNTED);
    hl_lender_ring(&lender);
    cr_assert_not(hears_desk(), "nobody waits");
}

Test(quota, more_is_borrowed_before_the_last_was_spent)
{
    share(1);
    set(0, (struct hl_rate){.count = 1000, .window_s = 60}, 0);
    cr_assert_eq(hl_quota_count(&quota, 1), HL_QUOTA_UNKNOWN);
    cr_assert(hl_quota_await(&quota, HL_LIMIT_RATE, &desk));
    answer(80, 920, 5);
    for (int i = 0; i < 69; i++)
        cr_assert_eq(hl_quota_count(&quota, 6), HL_QUOTA_COUNTED);
    cr_assert_null(hl_mailbox_take(&lenders));
    cr_assert_eq(hl_quota_count(&quota, 6), HL_QUOTA_COUNTED);
    answer(80, 840, 7);
    for (int i = 0; i < 79; i++)
        cr_assert_eq(hl_quota_count(&quota, 8), HL_QUOTA_COUNTED);
}

Test(quota, without_the_lender_its_share_is_spent_and_nobody_waits)
{
    share(3);
    set(0, (struct hl_rate){.count = 7, .window_s = 60}, 0);
    cr_assert_eq(hl_quota_count(&quota, 1), HL_QUOTA_UNKNOWN);
    atomic_store(&lender.is_cut_off, true);
    cr_assert_not(hl_quota_await(&quota, HL_LIMIT_RATE, &desk), "it was cut off meanwhile");
    for (int i = 0; i < 2; i++)
        cr_assert_eq(hl_quota_count(&quota, 1), HL_QUOTA_COUNTED);
    cr_assert_eq(hl_quota_count(&quota, 60000), HL_QUOTA_OVER);
    cr_assert_eq(hl_quota_count(&quota, 60001), HL_QUOTA_COUNTED);
    atomic_store(&lender.replicas, 100);
    cr_assert_eq(hl_quota_count(&quota, 120001), HL_QUOTA_COUNTED, "one at least");
    cr_assert_eq(hl_quota_count(&quota, 120001), HL_QUOTA_OVER);
}

Test(quota, another_rate_gives_back_what_was_borrowed_and_asks_anew)
{
    share(1);
    set(0, two_a_minute, 0);
    cr_assert_eq(hl_quota_count(&quota, 1), HL_QUOTA_UNKNOWN);
    cr_assert(hl_quota_await(&quota, HL_LIMIT_RATE, &desk));
    answer(2, 0, 5);
    cr_assert_eq(hl_quota_count(&quota, 6), HL_QUOTA_COUNTED);
    set(0, (struct hl_rate){.count = 5, .window_s = 60}, 1);
    cr_assert_eq(hl_quota_count(&quota, 7), HL_QUOTA_UNKNOWN);
    cr_assert_eq(hl_loan_ask(&quota.loan, &quota.borrower.book, true, 8).back, 1);
}

Test(quota, somebody_else_has_another_name_and_nothing_of_what_was_borrowed)
{
    struct hl_id read;
    uint32_t first, second;
    share(1);
    set(0, two_a_minute, 0);
    cr_assert(hl_quota_read_name(&quota, &read, &first) && hl_id_eq(&read, &name));
    cr_assert_eq(hl_quota_count(&quota, 1), HL_QUOTA_UNKNOWN);
    cr_assert(hl_quota_await(&quota, HL_LIMIT_RATE, &desk));
    answer(2, 0, 5);
    struct hl_id other = {{16}};
    hl_quota_share(&quota, &lender, &other);
    cr_assert(hl_quota_read_name(&quota, &read, &second) && hl_id_eq(&read, &other));
    cr_assert_neq(first, second);
    cr_assert_eq(hl_quota_count(&quota, 6), HL_QUOTA_UNKNOWN);
}

/* ---- calls at once that replicas share ---- */

/* The lender has heard once, and this replica holds so many. */
static void hold(uint32_t held)
{
    struct hl_msg *msg = hl_mailbox_take(&lenders);
    cr_assert(msg == &quota.permits_call.msg && !msg->next);
    cr_assert_eq(msg->type, HL_STORE_HOLD);
    atomic_store(&quota.permits.held, held);
    atomic_store(&quota.permits_call.wants, false);
    atomic_store(&quota.permits_call.is_out, false);
    hl_lender_ring(&lender);
}

static bool awaits_permit(void)
{
    return hl_quota_await(&quota, HL_LIMIT_MAX_RUNNING, &desk);
}

Test(quota, of_max_running_that_is_shared_as_many_enter_as_permits_are_held)
{
    share(3);
    set(5, none, 0);
    cr_assert_not(hl_quota_enter(&quota));
    cr_assert(hl_quota_may_have_more(&quota, 1));
    cr_assert(awaits_permit());
    cr_assert(awaits_permit(), "another one waits with it");
    cr_assert_not(hears_desk());
    hold(2);
    cr_assert(hears_desk());
    cr_assert(hl_quota_enter(&quota) && hl_quota_enter(&quota));
    cr_assert_not(hl_quota_enter(&quota));
    cr_assert_eq(hl_quota_room(&quota), 0);
    atomic_store(&quota.permits.none_until_ms, 100);
    cr_assert_not(hl_quota_may_have_more(&quota, 99), "others have none");
    cr_assert(hl_quota_may_have_more(&quota, 100));
    hl_quota_leave(&quota);
    cr_assert(hl_quota_enter(&quota));
}

Test(quota, without_the_lender_its_share_of_max_running_enters_and_nobody_waits)
{
    share(3);
    set(7, none, 0);
    cr_assert(awaits_permit());
    hold(5);
    atomic_store(&lender.is_cut_off, true);
    cr_assert(hl_quota_enter(&quota) && hl_quota_enter(&quota));
    cr_assert_not(hl_quota_enter(&quota), "a third of seven");
    cr_assert_not(hl_quota_may_have_more(&quota, 1));
    cr_assert_not(awaits_permit());
    atomic_store(&lender.replicas, 100);
    hl_quota_leave(&quota);
    cr_assert_not(hl_quota_enter(&quota), "one at least");
    hl_quota_leave(&quota);
    cr_assert(hl_quota_enter(&quota));
}

Test(quota, another_max_running_is_told_where_permits_are_held_and_holds_at_once)
{
    share(3);
    set(5, none, 0);
    cr_assert_null(hl_mailbox_take(&lenders), "nothing is held");
    cr_assert(awaits_permit());
    hold(3);
    atomic_store(&quota.permits.none_until_ms, UINT64_MAX);
    set(1, none, 1);
    cr_assert(hl_quota_may_have_more(&quota, 1));
    hold(3);
    cr_assert(hl_quota_enter(&quota));
    cr_assert_not(hl_quota_enter(&quota));
    set(0, none, 2);
    hold(0);
    cr_assert(hl_quota_enter(&quota), "lifted: nobody needs one");
}

Test(quota, another_max_running_is_told_behind_what_is_being_said)
{
    share(3);
    set(5, none, 0);
    cr_assert(awaits_permit());
    hold(3);
    cr_assert(awaits_permit());
    set(1, none, 1);
    cr_assert(
        atomic_load(&quota.permits_call.must_say), "it may be on its way with the limit before");
    hold(3);
}

Test(quota, somebody_else_has_none_of_the_permits_and_they_are_told_to_go_back)
{
    struct hl_id other = {{16}};
    share(3);
    set(5, none, 0);
    cr_assert(awaits_permit());
    hold(3);
    hl_quota_share(&quota, &lender, &other);
    cr_assert_not(hl_quota_enter(&quota));
    hold(0);
}

#define THREADS 4

static void *enter_and_leave(void *most)
{
    for (int i = 0; i < 20000; i++) {
        if (!hl_quota_enter(&quota))
            continue;
        atomic_fetch_add((_Atomic int *)most, 1);
        hl_quota_leave(&quota);
    }
    return NULL;
}

static struct hl_mailbox box;
static struct hl_quota_bell bell = {.box = &box, .msg.type = 1};

static void wake(void *arg)
{
    (void)arg;
}

/* It rings once until it is heard. */
static bool hears_bell(void)
{
    struct hl_msg *msg = hl_mailbox_take(&box);
    cr_assert(!msg || (msg == &bell.msg && !msg->next));
    if (msg)
        atomic_store(&bell.is_rung, false);
    return msg != NULL;
}

Test(quota, whoever_leaves_a_place_that_was_asked_for_in_vain_rings)
{
    hl_mailbox_init(&box, wake, NULL);
    set(1, none, 0);
    cr_assert(hl_quota_enter_or_wait(&quota, &bell));
    cr_assert_not(hl_quota_enter_or_wait(&quota, &bell));
    cr_assert_not(hl_quota_enter(&quota), "who is refused leaves nothing");
    cr_assert_not(hears_bell());
    hl_quota_leave(&quota);
    cr_assert(hears_bell());
    cr_assert(hl_quota_enter(&quota));
    hl_quota_leave(&quota);
    cr_assert_not(hears_bell(), "nobody has asked since");
}

Test(quota, another_limit_rings)
{
    hl_mailbox_init(&box, wake, NULL);
    set(1, none, 0);
    cr_assert(hl_quota_enter(&quota));
    cr_assert_not(hl_quota_enter_or_wait(&quota, &bell));
    set(2, none, 1);
    cr_assert(hears_bell());
}

static void *come_and_go(void *arg)
{
    for (int i = 0; i < 20000; i++)
        if (hl_quota_enter(&quota))
            hl_quota_leave(&quota);
    return arg;
}

/* However they meet: who waits for the bell alone gets in when all have gone. */
Test(quota, no_place_is_left_free_without_a_bell_for_whoever_waits, .timeout = 180)
{
    pthread_t threads[3];
    hl_mailbox_init(&box, wake, NULL);
    set(1, none, 0);
    for (size_t i = 0; i < 3; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, come_and_go, NULL), 0);
    for (unsigned in = 0; in < 2000;) {
        if (hl_quota_enter_or_wait(&quota, &bell)) {
            hl_quota_leave(&quota);
            in++;
        } else {
            while (!hears_bell())
                sched_yield(); /* for ever, if it was missed */
        }
    }
    for (size_t i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

Test(quota, threads_share_the_places_and_none_is_lost)
{
    pthread_t threads[THREADS];
    _Atomic int entered = 0;
    set(2, none, 0);
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, enter_and_leave, &entered), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    cr_assert_gt(entered, 0);
    cr_assert_eq(quota.running, 0);
    cr_assert(hl_quota_enter(&quota) && hl_quota_enter(&quota));
    cr_assert_not(hl_quota_enter(&quota));
}
