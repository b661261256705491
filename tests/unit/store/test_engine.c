/* test_engine.c - the store's thread over a driver that does what the test says: how long a request
 * waits for maintenance, and what the thread does when a step finds no space or fails for good. */
#include <criterion/criterion.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "store/accept.h"
#include "store/account.h"
#include "store/claim.h"
#include "store/driver.h"
#include "store/engine.h"

/* The functions of the driver are called on the store's thread; the test reads what they counted
 * after the reply that follows it. */
static struct {
    struct hl_driver driver;
    struct hl_engine engine;
    struct fixture f;

    unsigned begun, committed, purges, sheds, settled, released, applied;
    enum hl_err fails_with;        /* commits fail with this … */
    unsigned fails_from, fails_to; /* … from this one on, but for those from that one on; from 0 */
    atomic_int room;               /* enum hl_err */
    unsigned steps;                /* purge has so many steps to do */
    unsigned post_at;              /* the step of purge or shed during which `post` is called */
    void (*post)(void);
    unsigned steps_before, settled_before; /* when the request was applied */
    enum hl_err shed_fails_with;
    unsigned begun_before;      /* when shedding failed */
    _Atomic uint64_t most_body; /* a finish with more finds no space */
    _Atomic unsigned refused;   /* for that */
    bool cancels_first;         /* the first finish is cancelled, in a transaction that is lost */
} s;

static enum hl_err begin(struct hl_driver *d)
{
    (void)d;
    s.begun++;
    return HL_OK;
}

static enum hl_err commit(struct hl_driver *d)
{
    (void)d;
    unsigned n = s.committed++;
    return n >= s.fails_from && n < s.fails_to ? s.fails_with : HL_OK;
}

static void rollback(struct hl_driver *d)
{
    d->is_broken = false;
}

static enum hl_err apply(void)
{
    s.steps_before = s.purges + s.sheds;
    s.settled_before = s.settled;
    s.applied++;
    return HL_OK;
}

static enum hl_err on_accept(struct hl_driver *d, struct hl_accept *a, struct hl_id *existing)
{
    (void)d;
    (void)a;
    (void)existing;
    return apply();
}

static enum hl_err on_finish(struct hl_driver *d, struct hl_finish *f)
{
    if (s.applied == 0)
        s.settled = 0;
    bool fits = f->outcome.body.size <= atomic_load(&s.most_body);
    s.refused += !fits;
    d->is_broken = !fits;
    if (s.cancels_first) {
        hl_outcome_cancel(&f->outcome);
        s.fails_from = s.committed;
        s.fails_to = s.committed + 1;
    }
    s.cancels_first = false;
    return fits ? apply() : HL_ERR_FULL;
}

static enum hl_err on_cancel(
    struct hl_driver *d, struct hl_run_ref *ref, int64_t now_ms, bool *is_running)
{
    (void)d;
    (void)ref;
    (void)now_ms;
    *is_running = false;
    return apply();
}

static enum hl_err on_purge(struct hl_driver *d, int64_t now_ms, unsigned max, int64_t *due_ms)
{
    (void)d;
    cr_assert_leq(max, 64, "runs in a step");
    if (++s.purges == s.post_at)
        s.post();
    *due_ms = s.purges < s.steps ? now_ms : INT64_MAX;
    return HL_OK;
}

static enum hl_err on_shed(struct hl_driver *d, unsigned max)
{
    cr_assert_leq(max, 16, "bodies in a step");
    if (++s.sheds == s.post_at)
        s.post();
    if (s.shed_fails_with) {
        s.begun_before = s.begun;
        d->is_broken = true;
    }
    return s.shed_fails_with;
}

static enum hl_err room(struct hl_driver *d)
{
    (void)d;
    return (enum hl_err)atomic_load(&s.room);
}

static bool release_reserve(struct hl_driver *d)
{
    (void)d;
    s.released++;
    return false;
}

static bool settle_driver(struct hl_driver *d, bool is_idle)
{
    (void)d;
    (void)is_idle;
    s.settled++;
    return false;
}

static void survey(struct hl_driver *d, struct hl_survey *out)
{
    (void)d;
    *out = (struct hl_survey){0};
}

static const struct hl_driver_vt vt = {
    .begin = begin,
    .commit = commit,
    .rollback = rollback,
    .accept = on_accept,
    .finish = on_finish,
    .cancel = on_cancel,
    .purge = on_purge,
    .shed = on_shed,
    .room = room,
    .release_reserve = release_reserve,
    .settle = settle_driver,
    .survey = survey,
};

static void init(void)
{
    memset(&s, 0, sizeof(s));
    fixture_init(&s.f, HL_STORE_MEMORY);
    atomic_store(&s.most_body, UINT64_MAX);
    s.driver = (struct hl_driver){.vt = &vt, .backlog = &s.engine.backlog};
    hl_backlog_init(&s.engine.backlog, 1000, 1000, 256, 4);
}

static void start(void)
{
    cr_assert_eq(hl_engine_start(&s.engine, &s.driver, 3600 * 1000), 0);
}

static void stop(void)
{
    hl_engine_stop(&s.engine);
    hl_backlog_fini(&s.engine.backlog);
}

static void fini(void)
{
    fixture_fini(&s.f);
}

TestSuite(engine, .init = init, .fini = fini, .timeout = 180);

static void post(struct hl_store_msg *m)
{
    m->reply_to = &s.f.worker.box;
    cr_assert_eq(hl_engine_post(&s.engine, m), HL_OK);
}

static void post_accept(void)
{
    post(&make_accept(&s.f, HL_STORE_ACCEPT, &(struct run_spec){0})->m);
}

static void post_finish(void)
{
    struct hl_id id = {{1}};
    post(&make_finish(&id, 1, NULL)->m);
}

static void post_cancel(void)
{
    struct hl_run_ref *ref = calloc(1, sizeof(*ref));
    ref->m.msg.type = HL_STORE_CANCEL;
    post(&ref->m);
}

static enum hl_err await(enum hl_store_op op)
{
    struct hl_store_msg *m = party_wait(&s.f.worker, op);
    enum hl_err rc = m->rc;
    drop_message(&m->msg);
    return rc;
}

/* --- maintenance and those who wait ----------------------------------------------------------- */

Test(engine, cancel_that_held_in_a_transaction_that_was_lost_does_not_hold)
{
    struct hl_finish *f = make_finish(&(struct hl_id){{1}}, 1, NULL);
    f->outcome.state = HL_RUN_FAILURE;
    f->outcome.reason = HL_REASON_APP_ERROR;
    strcpy(f->outcome.error, "boom");
    s.cancels_first = true;
    s.fails_with = HL_ERR_FULL;
    start();
    post(&f->m);
    f = party_wait(&s.f.worker, HL_STORE_FINISH);
    cr_assert_eq(f->m.rc, HL_OK);
    cr_assert_eq(s.applied, 2);
    cr_assert_eq(f->outcome.state, HL_RUN_FAILURE);
    cr_assert_eq(f->outcome.reason, HL_REASON_APP_ERROR);
    cr_assert_str_eq(f->outcome.error, "boom");
    hl_finish_free(f);
    stop();
}

Test(engine, request_that_comes_during_a_purge_waits_for_that_step_only)
{
    s.steps = 1000;
    s.post_at = 5;
    s.post = post_accept;
    start();
    cr_assert_eq(await(HL_STORE_ACCEPT), HL_OK);
    stop();
    cr_assert_eq(s.steps_before, 5, "%u steps were done before it", s.steps_before);
    cr_assert_lt(s.steps_before, s.steps, "the purge was not over");
}

Test(engine, request_that_comes_while_room_is_made_waits_for_four_steps_at_most)
{
    atomic_store(&s.room, HL_ERR_TOO_LARGE);
    s.post_at = 9; /* the first of a look */
    s.post = post_cancel;
    start();
    post_accept();
    cr_assert_eq(await(HL_STORE_ACCEPT), HL_ERR_FULL, "and room goes on being made");
    cr_assert_eq(await(HL_STORE_CANCEL), HL_OK);
    atomic_store(&s.room, HL_OK);
    stop();
    cr_assert_leq(s.steps_before - 9, 4, "%u steps were done before it", s.steps_before);
}

/* --- no space --------------------------------------------------------------------------------- */

Test(engine, purge_that_finds_no_space_gets_the_reserve_and_is_tried_again)
{
    s.fails_with = HL_ERR_FULL;
    s.fails_to = 1;
    s.post_at = 2;
    s.post = post_accept;
    start();
    cr_assert_eq(await(HL_STORE_ACCEPT), HL_OK);
    stop();
    cr_assert_eq(s.released, 1);
    cr_assert_eq(s.purges, 2);
}

Test(engine, thread_sleeps_while_a_finish_waits_for_space)
{
    s.fails_with = HL_ERR_FULL;
    s.fails_from = 1; /* the purge's is the first */
    s.fails_to = 2;
    s.post_at = 1;
    s.post = post_finish;
    start();
    cr_assert_eq(await(HL_STORE_FINISH), HL_OK);
    stop();
    cr_assert_eq(s.applied, 2, "tried again");
    cr_assert_lt(s.settled_before, 16, "%u turns in between", s.settled_before);
}

/* As many as a batch takes are too large for the volume. */
static void post_large(void)
{
    static char large[HL_BATCH_MAX_WEIGHT / 8];
    struct hl_id id = {{1}};
    memset(large, 'x', sizeof(large) - 1);
    for (int i = 0; i < 10; i++)
        post(&make_finish(&id, 1, large)->m);
}

static void post_large_and_small(void)
{
    post_large();
    post_finish();
    post_accept();
    struct hl_touch_accounts *touch = calloc(1, sizeof(*touch));
    touch->m.msg.type = HL_STORE_TOUCH_ACCOUNTS;
    post(&touch->m);
}

Test(engine, who_stands_behind_finishes_that_find_no_space_is_answered)
{
    atomic_store(&s.most_body, 1000);
    s.post_at = 1;
    s.post = post_large_and_small;
    start();
    cr_assert_eq(await(HL_STORE_ACCEPT), HL_ERR_FULL);
    cr_assert_eq(await(HL_STORE_TOUCH_ACCOUNTS), HL_ERR_FULL, "whoever stops waits for it");
    cr_assert_eq(await(HL_STORE_FINISH), HL_OK, "what fits goes on");
    cr_assert_null(party_look(&s.f.worker, HL_STORE_FINISH), "the others wait");
    atomic_store(&s.most_body, UINT64_MAX);
    for (int i = 0; i < 10; i++)
        cr_assert_eq(await(HL_STORE_FINISH), HL_OK);
    stop();
}

Test(engine, what_finds_no_space_is_tried_less_and_less_often)
{
    atomic_store(&s.most_body, 1000);
    atomic_store(&s.room, HL_ERR_FULL);
    s.post_at = 1;
    s.post = post_large;
    start();
    for (int i = 0; i < 4; i++) {
        unsigned refused = atomic_load(&s.refused);
        while (atomic_load(&s.refused) == refused)
            sched_yield();
    }
    stop();
    for (int i = 0; i < 10; i++)
        cr_assert_eq(await(HL_STORE_FINISH), HL_ERR_UNAVAILABLE);
    cr_assert_geq(s.engine.pause_us, 8 * HL_MIN_PAUSE_US);
    cr_assert_leq(s.refused, 20, "one of many of a size is tried");
}

/* --- failed for good -------------------------------------------------------------------------- */

enum { MANY = HL_BATCH_MAX_OPS + 44 };

static void post_many(void)
{
    for (int i = 0; i < MANY; i++)
        post_accept();
}

Test(engine, what_came_with_a_batch_that_failed_for_good_is_refused)
{
    s.fails_with = HL_ERR_IO;
    s.fails_from = 1;
    s.fails_to = 2;
    s.post_at = 1;
    s.post = post_many;
    start();
    int tried = 0;
    for (int i = 0; i < MANY; i++) {
        enum hl_err rc = await(HL_STORE_ACCEPT);
        tried += rc == HL_ERR_IO;
        cr_assert(rc == HL_ERR_IO || rc == HL_ERR_UNAVAILABLE, "the %d-th: %d", i, rc);
    }
    stop();
    cr_assert(tried > 0 && tried < MANY, "%d may have been stored: those of the batch", tried);
    cr_assert_eq(s.begun, 2, "nothing is written any more");
}

Test(engine, nothing_is_written_after_making_room_has_failed_for_good)
{
    enum hl_err rc;
    s.shed_fails_with = HL_ERR_IO;
    start();
    post_accept();
    cr_assert_eq(await(HL_STORE_ACCEPT), HL_OK);
    atomic_store(&s.room, HL_ERR_TOO_LARGE);
    do {
        post_accept();
        rc = await(HL_STORE_ACCEPT);
    } while (rc == HL_OK); /* the last look is good for a moment */
    stop();
    cr_assert_eq(rc, HL_ERR_UNAVAILABLE, "it was not tried");
    cr_assert_eq(s.sheds, 1);
    cr_assert_eq(s.begun_before, s.begun, "%u more", s.begun - s.begun_before);
}
