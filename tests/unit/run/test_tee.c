/* test_tee.c - how long the copy for a webhook may hold up a caller: the clock of its pauses. */
#include "caller/client.h"
#include "fake_store.h"
#include "loop_fixture.h"
#include "run/run.h"
#include "run/tee.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "data_dir_fixture.h"
#include "runs_fixture.h"

#define MUCH (1024 * 1024) /* more than a spool holds */

static struct hl_client client;
static struct hl_run *run;
static struct {
    unsigned rooms;
    bool is_done;
    enum hl_body_where where;
} told;

static void on_room(void *owner)
{
    (void)owner;
    told.rooms++;
}

static void on_done(void *owner, struct hl_spool *spool, enum hl_err err, struct hl_body *body)
{
    (void)owner;
    (void)spool;
    (void)err;
    told.is_done = true;
    told.where = body->where;
    run->spool = NULL;
    if (body->where == HL_BODY_FILE)
        hl_spool_remove_file(&runs.spools, &body->file);
    hl_body_fini(body);
}

static const struct hl_spool_events events = {.on_room = on_room, .on_done = on_done};

/* A run whose copy is behind. */
static void begin(void)
{
    runs_begin();
    data_dir_begin();
    runs.spools.data_dir = data_dir;
    runs.spools.burst_left = 0;
    run = run_new();
    run->client = &client;
    run->spool = hl_spool_new(&runs.spools, UINT64_MAX, false, false, &events, run);
    char *bytes = calloc(1, MUCH);
    hl_spool_take(run->spool, bytes, MUCH); /* goes to the disk */
    hl_spool_take(run->spool, bytes, MUCH); /* has to wait */
    free(bytes);
}

static void end(void)
{
    run->client = NULL;
    hl_timer_disarm(&run->tee.look); /* as a run that ends does */
    if (run->spool) {
        hl_spool_end(run->spool);
        UNTIL(told.is_done);
    }
    UNTIL(runs.spools.open == 0 && loop_is_idle());
    data_dir_end();
    runs_end();
}

TestSuite(tee, .init = begin, .fini = end, .timeout = 180);

Test(tee, holds_a_caller_up_while_its_copy_is_behind)
{
    cr_assert(hl_tee_lags(run));
    cr_assert_neq(run->tee.paused_since, 0);
    cr_assert(hl_timer_is_armed(&run->tee.look));
    UNTIL_WITH(hl_tee_lags(run), !hl_spool_is_full(run->spool)); /* the disk moves */
    cr_assert_not(hl_tee_lags(run));
    cr_assert_eq(run->tee.paused_since, 0);
    cr_assert_not(hl_timer_is_armed(&run->tee.look));
}

Test(tee, has_all_the_time_when_no_caller_waits)
{
    run->client = NULL;
    cr_assert(hl_tee_lags(run));
    cr_assert_eq(run->tee.paused_since, 0);
    cr_assert_not(hl_timer_is_armed(&run->tee.look));
}

/* A look, whenever it comes, finds this: the copy goes. */
static void assert_given_up(void)
{
    unsigned rooms = told.rooms;
    run->tee.look.on_fire(&run->tee.look);
    cr_assert_eq(told.rooms, rooms + 1, "the caller goes on");
    hl_spool_end(run->spool);
    UNTIL(told.is_done);
    cr_assert_eq(told.where, HL_BODY_UNKEPT);
}

Test(tee, keeps_a_copy_that_has_cost_little)
{
    cr_assert(hl_tee_lags(run));
    run->tee.look.on_fire(&run->tee.look);
    cr_assert_eq(told.rooms, 0);
    cr_assert(hl_timer_is_armed(&run->tee.look), "it is looked at again");
}

Test(tee, gives_a_copy_up_when_the_disk_stands_still)
{
    cr_assert(hl_tee_lags(run));
    run->tee.moved_at -= 1000;
    assert_given_up();
}

Test(tee, gives_a_copy_up_that_has_cost_five_seconds_in_all)
{
    run->tee.paused_ms = 5000;
    cr_assert(hl_tee_lags(run));
    assert_given_up();
}

Test(tee, gives_a_copy_up_that_the_store_has_no_room_for)
{
    cr_assert(hl_tee_lags(run));
    hl_counter_add(&fake_store.gauges.is_full, 1);
    assert_given_up();
}

Test(tee, gives_a_copy_up_that_a_failing_store_will_not_take)
{
    cr_assert(hl_tee_lags(run));
    hl_counter_add(&fake_store.gauges.is_failing, 1);
    assert_given_up();
}

Test(tee, keeps_a_copy_while_a_store_elsewhere_is_gone)
{
    cr_assert(hl_tee_lags(run));
    fake_store.is_shared = true;
    hl_counter_add(&fake_store.gauges.is_failing, 1);
    run->tee.look.on_fire(&run->tee.look);
    cr_assert_eq(told.rooms, 0);
    cr_assert(hl_timer_is_armed(&run->tee.look), "it is looked at again");
}
