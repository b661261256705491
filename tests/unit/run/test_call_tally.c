/* test_call_tally.c - how a worker's calls are counted, told, and told again when the store did not take them. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "fake_store.h"
#include "loop/mailbox.h"
#include "run/call_tally.h"
#include "store/notice.h"

enum { APPS = 20, CALLS = 3, NOW_MINUTE = 1000 };

static struct hl_mailbox box;
static uv_loop_t loop;
static struct hl_wheel wheel;
static struct hl_id_source ids;
static struct hl_call_tally tally;

static void wake(void *arg)
{
    (void)arg;
}

static void init(void)
{
    cr_assert_eq(uv_loop_init(&loop), 0);
    cr_assert_eq(hl_wheel_init(&wheel, &loop), 0);
    hl_mailbox_init(&box, wake, NULL);
    hl_id_source_init(&ids);
    hl_call_tally_init(&tally, fake_store_begin(), &wheel, &box, &ids);
}

static void fini(void)
{
    hl_call_tally_fini(&tally);
    hl_wheel_close(&wheel);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_assert_eq(uv_loop_close(&loop), 0);
}

TestSuite(call_tally, .init = init, .fini = fini);

static void end_call(unsigned app, int64_t minute)
{
    char name[16];
    snprintf(name, sizeof(name), "app-%u", app);
    struct hl_ended_call ended = {.project = HL_STR("p"),
        .app = hl_str_from(name),
        .state = HL_RUN_SUCCESS,
        .finished_ms = minute * HL_TALLY_MINUTE_MS,
        .run_us = 1000 * (int64_t)app,
        .queued_us = -1};
    hl_call_tally_add(&tally, &ended);
}

/* More apps than are open at once, in turn. */
static void end_calls(void)
{
    for (unsigned i = 0; i < CALLS; i++)
        for (unsigned app = 0; app < APPS; app++)
            end_call(app, NOW_MINUTE);
}

/* What the store is told next. */
static struct hl_told_tally *told_now(void)
{
    hl_call_tally_end(&tally);
    struct hl_store_msg *m = fake_store_take(HL_STORE_TALLY);
    return HL_CONTAINER_OF(m, struct hl_told_tally, m);
}

/* How many ends it speaks of; each app has as many. */
static uint64_t ends_in(const struct hl_told_tally *told)
{
    uint64_t n = 0;
    for (size_t i = 0; i < told->n; i++) {
        const struct hl_tally *t = &told->minutes[i].tally;
        cr_assert_eq(t->n, (size_t)2, "an end, and its run time");
        cr_assert_eq(hl_tally_count_n(t->counts[0]), hl_tally_count_n(t->counts[1]));
        n += hl_tally_count_n(t->counts[0]);
    }
    return n;
}

Test(call_tally, calls_of_many_apps_are_told_at_once)
{
    end_calls();
    cr_assert(hl_timer_is_armed(&tally.timer));
    struct hl_told_tally *told = told_now();
    cr_assert_eq(told->n, (size_t)APPS);
    cr_assert_eq(ends_in(told), (uint64_t)APPS * CALLS);
    hl_call_tally_on_reply(&tally, told, false);
    hl_call_tally_end(&tally);
    cr_assert_eq(fake_store.count, (size_t)0, "nothing is told twice");
}

/* For it may have taken it all the same, and knows it by its id. */
Test(call_tally, what_the_store_did_not_take_is_told_again_as_it_was)
{
    end_calls();
    struct hl_told_tally *told = told_now();
    struct hl_id source = told->source, id = told->id;
    told->m.rc = HL_ERR_UNAVAILABLE;
    hl_call_tally_on_reply(&tally, told, false);
    cr_assert(hl_timer_is_armed(&tally.timer));
    end_calls();
    told = told_now();
    cr_assert(hl_id_eq(&told->source, &source) && hl_id_eq(&told->id, &id));
    cr_assert_eq(ends_in(told), (uint64_t)APPS * CALLS);
    told->m.rc = HL_OK;
    hl_call_tally_on_reply(&tally, told, false);
    told = HL_CONTAINER_OF(fake_store_take(HL_STORE_TALLY), struct hl_told_tally, m);
    cr_assert(hl_id_eq(&told->source, &source) && !hl_id_eq(&told->id, &id));
    cr_assert_eq(ends_in(told), (uint64_t)APPS * CALLS);
    hl_call_tally_on_reply(&tally, told, false);
}

Test(call_tally, minutes_are_kept_apart)
{
    for (int i = 0; i < CALLS; i++)
        end_call(1, NOW_MINUTE);
    for (int i = 0; i < CALLS; i++)
        end_call(1, NOW_MINUTE + 1);
    struct hl_told_tally *told = told_now();
    cr_assert_eq(told->n, (size_t)2);
    cr_assert_eq(told->minutes[0].minute, (int64_t)NOW_MINUTE);
    cr_assert_eq(told->minutes[1].minute, (int64_t)NOW_MINUTE + 1);
    hl_call_tally_on_reply(&tally, told, false);
}

Test(call_tally, when_the_store_takes_nothing_for_long_the_oldest_go)
{
    for (int64_t minute = 0; minute < 2 * HL_CALL_TALLY_MAX; minute++)
        end_call(1, NOW_MINUTE + minute);
    struct hl_told_tally *told = told_now();
    cr_assert_eq(told->n, (size_t)HL_CALL_TALLY_MAX);
    cr_assert_eq(told->minutes[0].minute, (int64_t)NOW_MINUTE + HL_CALL_TALLY_MAX);
    hl_call_tally_on_reply(&tally, told, true);
}
