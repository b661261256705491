/* test_permit.c - calls at once that several processes share: permits that are held, given up, and lacked. */
#include <criterion/criterion.h>
#include <pthread.h>

#include "base/permit.h"

#define HOLDERS 3

struct holder {
    struct hl_permits permits;
    struct hl_permit_book book;
    _Atomic uint32_t inside;
};

/* Who gives them out, as the function `hold` of the schema does. */
struct giver {
    uint32_t most, told[HOLDERS], used[HOLDERS];
};

static struct giver giver;
static struct holder holders[HOLDERS];

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t most_of(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static uint32_t share(void)
{
    return most_of(giver.most / HOLDERS, 1);
}

static uint32_t all_told(void)
{
    uint32_t n = 0;
    for (int i = 0; i < HOLDERS; i++)
        n += giver.told[i];
    return n;
}

static struct hl_permit_answer give(int who, struct hl_permit_ask ask)
{
    giver.told[who] = ask.mine;
    giver.used[who] = ask.used;
    int64_t rest = (int64_t)giver.most - all_told();
    uint32_t idle = 0;
    if (ask.wants && rest > 0) {
        uint32_t part = ((uint32_t)rest + HOLDERS - 1) / HOLDERS;
        uint32_t lacks = share() > ask.mine ? share() - ask.mine : 1;
        giver.told[who] += least((uint32_t)rest, most_of(part, lacks));
    }
    for (int i = 0; i < HOLDERS; i++)
        if (i != who)
            idle += giver.told[i] - giver.used[i];
    return (struct hl_permit_answer){
        .has = giver.told[who], .rest = (int64_t)giver.most - all_told(), .idle = idle};
}

static void begin(uint32_t most)
{
    giver = (struct giver){.most = most};
    for (int i = 0; i < HOLDERS; i++)
        holders[i] = (struct holder){.book = {0}};
}

static bool says(int who, uint64_t now_ms, struct hl_permit_ask *ask)
{
    struct holder *h = &holders[who];
    return hl_permit_say(&h->permits, &h->book, &h->inside, giver.most, share(), now_ms, ask);
}

static enum hl_permit_outcome speak(int who, uint64_t now_ms)
{
    struct holder *h = &holders[who];
    struct hl_permit_ask ask;
    cr_assert(says(who, now_ms, &ask));
    struct hl_permit_answer answer = give(who, ask);
    return hl_permit_settle(&h->permits, &h->book, &h->inside, &ask, &answer, share(), now_ms);
}

static bool enter(int who)
{
    struct holder *h = &holders[who];
    if (atomic_fetch_add(&h->inside, 1) < atomic_load(&h->permits.held))
        return true;
    atomic_fetch_sub(&h->inside, 1);
    return false;
}

static void leave(int who)
{
    atomic_fetch_sub(&holders[who].inside, 1);
}

static enum hl_permit_outcome want(int who, uint64_t now_ms)
{
    hl_permit_want(&holders[who].book, now_ms);
    return speak(who, now_ms);
}

static bool is_due(int who, uint64_t now_ms)
{
    struct holder *h = &holders[who];
    return hl_permit_is_due(&h->permits, &h->book, &h->inside, now_ms);
}

static void expect(uint32_t a, uint32_t b, uint32_t c)
{
    const uint32_t held[] = {a, b, c};
    for (int i = 0; i < HOLDERS; i++)
        cr_expect_eq(atomic_load(&holders[i].permits.held), held[i], "%d holds %u", i,
            atomic_load(&holders[i].permits.held));
}

Test(permit, the_first_call_has_its_share_and_what_is_beyond_comes_in_parts)
{
    begin(9);
    cr_assert_not(enter(0));
    cr_assert_eq(want(0, 1), HL_PERMIT_HAS);
    expect(3, 0, 0);
    for (int i = 0; i < 3; i++)
        cr_assert(enter(0));
    cr_assert_not(enter(0));
    cr_assert_eq(want(0, 2), HL_PERMIT_HAS);
    expect(5, 0, 0);
    cr_assert_eq(want(1, 3), HL_PERMIT_HAS);
    cr_assert_eq(want(2, 3), HL_PERMIT_HAS);
    expect(5, 3, 1);
    struct hl_permit_ask ask;
    cr_assert_not(says(0, 4, &ask), "nothing has changed");
}

Test(permit,
    who_lacks_one_waits_while_others_may_have_one_to_spare_and_then_for_a_second_nobody_does)
{
    begin(1);
    cr_assert_eq(want(0, 1000), HL_PERMIT_HAS);
    cr_assert(enter(0));
    cr_assert_eq(want(1, 1000), HL_PERMIT_WAITS);
    cr_assert_eq(speak(1, 1400), HL_PERMIT_WAITS);
    cr_assert_eq(speak(1, 1500), HL_PERMIT_REFUSED);
    cr_assert_eq(atomic_load(&holders[1].permits.none_until_ms), 1500 + HL_PERMIT_BUSY_PACE_MS);
    expect(1, 0, 0);
}

Test(permit, who_has_its_share_and_finds_all_others_used_is_refused_at_once)
{
    begin(3);
    for (int i = 0; i < HOLDERS; i++) {
        cr_assert_eq(want(i, 1), HL_PERMIT_HAS);
        cr_assert(enter(i));
        hl_permit_say_again(&holders[i].book);
        cr_assert_eq(speak(i, 2), HL_PERMIT_NOTHING);
    }
    cr_assert_eq(want(0, 3), HL_PERMIT_REFUSED);
    expect(1, 1, 1);
}

Test(permit, one_moves_from_who_does_not_use_it_to_who_lacks_it)
{
    begin(1);
    cr_assert_eq(want(0, 1), HL_PERMIT_HAS);
    cr_assert_eq(want(1, 2), HL_PERMIT_WAITS);
    hl_permit_hear(&holders[0].book, HL_PERMIT_SHARE);
    cr_assert(is_due(0, 2));
    cr_assert_eq(speak(0, 2), HL_PERMIT_NOTHING);
    expect(0, 0, 0);
    cr_assert_eq(speak(1, 3), HL_PERMIT_HAS);
    expect(0, 1, 0);
}

Test(permit, half_of_those_that_are_spare_goes_and_what_is_used_stays)
{
    begin(30);
    giver.told[0] = 9;
    holders[0].book.told = 9;
    atomic_store(&holders[0].permits.held, 9);
    atomic_store(&holders[0].inside, 4);
    hl_permit_hear(&holders[0].book, HL_PERMIT_SPARE);
    cr_assert_eq(speak(0, 1000), HL_PERMIT_NOTHING);
    expect(6, 0, 0);
    hl_permit_hear(&holders[0].book, HL_PERMIT_SPARE);
    cr_assert(is_due(0, 1100));
    cr_assert_eq(speak(0, 1100), HL_PERMIT_NOTHING);
    expect(5, 0, 0);
    atomic_store(&holders[0].inside, 5);
    hl_permit_hear(&holders[0].book, HL_PERMIT_SPARE);
    cr_assert(is_due(0, 1200), "it says that all are used");
    cr_assert_eq(speak(0, 1200), HL_PERMIT_NOTHING);
    expect(5, 0, 0);
    cr_assert_eq(giver.used[0], 5);
}

Test(permit, who_has_more_than_a_share_leaves_it_to_who_has_less_as_calls_end)
{
    begin(6);
    giver.told[0] = 6;
    holders[0].book.told = 6;
    atomic_store(&holders[0].permits.held, 6);
    atomic_store(&holders[0].inside, 6);
    hl_permit_hear(&holders[0].book, HL_PERMIT_SHARE);
    cr_assert_eq(speak(0, 1000), HL_PERMIT_NOTHING);
    expect(4, 0, 0);
    cr_assert_eq(giver.told[0], 6, "all are inside");
    cr_assert_not(is_due(0, 1100));
    leave(0);
    cr_assert_not(enter(0));
    cr_assert(is_due(0, 1101));
    cr_assert_eq(speak(0, 1101), HL_PERMIT_NOTHING);
    cr_assert_eq(giver.told[0], 5);
    cr_assert_eq(want(1, 1102), HL_PERMIT_HAS);
    cr_assert_leq(all_told(), 6);
}

Test(permit, a_lower_limit_holds_at_once_and_what_is_too_much_goes_as_calls_end)
{
    begin(10);
    for (int i = 0; i < 2; i++) {
        giver.told[i] = holders[i].book.told = 5;
        atomic_store(&holders[i].permits.held, 5);
        atomic_store(&holders[i].inside, 5);
    }
    giver.most = 4;
    for (uint64_t now_ms = 1; all_told() > 4; now_ms++) {
        cr_assert_lt(now_ms, 20);
        for (int i = 0; i < 2; i++) {
            hl_permit_say_again(&holders[i].book);
            speak(i, now_ms);
            cr_assert_leq(atomic_load(&holders[i].permits.held), 4);
            if (atomic_load(&holders[i].inside) > 0)
                leave(i);
        }
    }
    while (atomic_load(&holders[0].inside) > 0)
        leave(0);
    cr_assert_eq(want(0, 100), HL_PERMIT_HAS);
    cr_assert_leq(all_told(), 4);
}

Test(permit, without_a_limit_nobody_needs_one_and_all_go_back)
{
    begin(3);
    cr_assert_eq(want(0, 1), HL_PERMIT_HAS);
    giver.most = 0;
    hl_permit_want(&holders[0].book, 2);
    cr_assert_eq(speak(0, 2), HL_PERMIT_NOTHING);
    cr_assert_eq(giver.told[0], 0);
}

Test(permit, what_was_said_and_lost_is_said_again_and_counts_once)
{
    begin(9);
    struct hl_permit_ask ask;
    hl_permit_want(&holders[0].book, 1);
    cr_assert(says(0, 1, &ask));
    give(0, ask);
    hl_permit_say_again(&holders[0].book);
    cr_assert_eq(speak(0, 2), HL_PERMIT_HAS);
    expect(3, 0, 0);
    cr_assert_eq(giver.told[0], 3);
}

Test(permit, what_nobody_uses_for_a_minute_goes_back)
{
    begin(9);
    cr_assert_eq(want(0, 1000), HL_PERMIT_HAS);
    cr_assert(enter(0));
    cr_assert_not(is_due(0, 30000));
    leave(0);
    cr_assert_not(is_due(0, 89999));
    cr_assert(is_due(0, 90000));
    cr_assert_eq(speak(0, 90000), HL_PERMIT_NOTHING);
    expect(0, 0, 0);
    cr_assert_not(is_due(0, 90001));
}

Test(permit, where_many_calls_come_it_speaks_less_often_and_else_as_soon_as_others_have_spoken)
{
    begin(9);
    struct hl_permit_book *book = &holders[0].book;
    cr_assert_eq(want(0, 1000), HL_PERMIT_HAS);
    cr_assert_not(hl_permit_may_say(book, 1099));
    cr_assert(hl_permit_may_say(book, 1100));
    hl_permit_hurry(book);
    cr_assert(hl_permit_may_say(book, 1001));
    atomic_fetch_add(&holders[0].permits.calls, 51);
    hl_permit_say_again(book);
    cr_assert_eq(speak(0, 2000), HL_PERMIT_NOTHING);
    hl_permit_hurry(book);
    cr_assert_not(hl_permit_may_say(book, 2332));
    cr_assert(hl_permit_may_say(book, 2333));
}

/* ---- by several threads ---- */

#define STEP_MS 250

static _Atomic uint32_t is_over;
static _Atomic uint32_t all_inside;

static void *enter_and_leave(void *which)
{
    int who = *(const int *)which;
    for (int i = 0; i < 200000; i++) {
        if (!enter(who))
            continue;
        if (atomic_fetch_add(&all_inside, 1) >= giver.most)
            atomic_store(&is_over, 1);
        atomic_fetch_sub(&all_inside, 1);
        leave(who);
    }
    return NULL;
}

/* A call that is refused has counted itself for a moment: what is said of it is too much, never too little. */
Test(permit, however_permits_move_meanwhile_no_more_calls_are_inside_than_there_are)
{
    static const int whose[] = {0, 0, 1, 1};
    pthread_t threads[4];
    begin(2);
    for (int i = 0; i < 4; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, enter_and_leave, (void *)&whose[i]), 0);
    for (uint64_t now_ms = 1; now_ms < 2000000; now_ms += STEP_MS) {
        int who = (int)(now_ms / STEP_MS % 2);
        hl_permit_want(&holders[who].book, now_ms);
        hl_permit_hear(&holders[1 - who].book, HL_PERMIT_SHARE);
        hl_permit_say_again(&holders[1 - who].book);
        speak(1 - who, now_ms);
        speak(who, now_ms);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    cr_assert_eq(atomic_load(&is_over), 0);
    cr_assert_leq(all_told(), 2 + 4, "and those that were refused just then");
}
