/* test_watch.c - who waits for a run's end is told of it once, after its commit. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/metric.h"
#include "fixture.h"
#include "store/claim.h"
#include "store/gauges.h"
#include "store/store.h"
#include "store/watch.h"

static struct hl_watch *post_watch(
    struct fixture *f, enum hl_store_op op, const struct hl_id *run_id, uint32_t index)
{
    struct hl_watch *watch = calloc(1, sizeof(*watch));
    watch->m.msg.type = op;
    watch->m.reply_to = &f->asker.box;
    watch->m.from = (struct hl_slot_name){.index = index, .generation = 1};
    watch->run_id = *run_id;
    cr_assert_eq(hl_store_post(f->store, &watch->m), HL_OK);
    return watch;
}

static enum hl_err take_watch(struct fixture *f)
{
    struct hl_watch *watch = party_wait(&f->asker, HL_STORE_WATCH);
    enum hl_err rc = watch->m.rc;
    free(watch);
    return rc;
}

STORE_TEST(all_that_wait_for_a_run_are_told_of_its_end_and_nobody_else_is)
{
    struct hl_id run, other;
    cr_assert_eq(accept_run(f, (struct run_spec){0}, &run), HL_OK);
    cr_assert_eq(accept_run(f, (struct run_spec){0}, &other), HL_OK);
    give_credit(f, &f->worker, 1, false);
    hl_claimed_free(party_wait(&f->worker, HL_STORE_CLAIMED));
    post_watch(f, HL_STORE_WATCH, &run, 1);
    post_watch(f, HL_STORE_WATCH, &run, 2);
    post_watch(f, HL_STORE_WATCH, &other, 3);
    settle(f);
    cr_assert_null(party_look(&f->asker, HL_STORE_WATCH));
    cr_assert_eq(hl_counter_get(&hl_store_get_gauges(f->store)->waiters), 3);

    cr_assert_eq(finish_run(f, &run, 1, "pong"), HL_OK);
    cr_assert_eq(take_watch(f), HL_OK);
    cr_assert_eq(take_watch(f), HL_OK);
    settle(f);
    cr_assert_null(party_look(&f->asker, HL_STORE_WATCH));
    cr_assert_eq(cancel_run(f, &other), HL_OK);
    cr_assert_eq(take_watch(f), HL_OK);
}

STORE_TEST(who_waits_no_more_is_told_so_and_not_of_the_end)
{
    struct hl_id run;
    cr_assert_eq(accept_run(f, (struct run_spec){0}, &run), HL_OK);
    post_watch(f, HL_STORE_WATCH, &run, 1);
    post_watch(f, HL_STORE_WATCH, &run, 2);
    post_watch(f, HL_STORE_UNWATCH, &run, 1);
    free(party_wait(&f->asker, HL_STORE_UNWATCH));
    cr_assert_eq(take_watch(f), HL_ERR_CANCELLED);
    post_watch(f, HL_STORE_UNWATCH, &run, 7);
    free(party_wait(&f->asker, HL_STORE_UNWATCH));
    cr_assert_eq(cancel_run(f, &run), HL_OK);
    cr_assert_eq(take_watch(f), HL_OK);
    settle(f);
    cr_assert_null(party_look(&f->asker, HL_STORE_WATCH));
}

STORE_TEST(who_still_waits_when_the_store_closes_is_told)
{
    struct hl_id run;
    cr_assert_eq(accept_run(f, (struct run_spec){0}, &run), HL_OK);
    post_watch(f, HL_STORE_WATCH, &run, 1);
    settle(f);
    fixture_close(f);
    cr_assert_eq(take_watch(f), HL_ERR_UNAVAILABLE);
}

STORE_TEST(many_that_wait_keep_no_request_out, .timeout = 180)
{
    enum { MANY = 6000 };
    struct hl_id run;
    cr_assert_eq(accept_run(f, (struct run_spec){0}, &run), HL_OK);
    for (uint32_t i = 0; i < MANY; i++) {
        post_watch(f, HL_STORE_WATCH, &run, i);
        if (i % 500 == 0)
            settle(f);
    }
    settle(f);
    cr_assert_eq(accept_run(f, (struct run_spec){0}, NULL), HL_OK);
    cr_assert_eq(cancel_run(f, &run), HL_OK);
    for (uint32_t i = 0; i < MANY; i++)
        cr_assert_eq(take_watch(f), HL_OK);
}

/* On the list itself: of one run one wants to know of its answer's head, too. */
Test(watchers, the_head_of_an_answer_is_told_to_those_alone_that_want_it)
{
    struct hl_watchers w;
    struct hl_id run = {{1}};
    struct hl_watch ends = {.run_id = run}, wants = {.run_id = run, .wants_head = true};
    hl_watchers_init(&w);
    cr_assert_eq(hl_watchers_add(&w, &ends), HL_OK);
    cr_assert_eq(hl_watchers_add(&w, &wants), HL_OK);
    hl_watchers_note_head(&w, &run);
    cr_assert_eq(hl_watchers_take(&w), &wants);
    cr_assert_null(wants.next);
    cr_assert_eq(w.n, 1);
    hl_watchers_note_head(&w, &run);
    cr_assert_null(hl_watchers_take(&w));
    hl_watchers_note_end(&w, &run);
    cr_assert_eq(hl_watchers_take(&w), &ends);
    cr_assert_eq(w.n, 0);
    hl_watchers_fini(&w);
}
