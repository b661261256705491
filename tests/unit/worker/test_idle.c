/* test_idle.c - that nothing has been done for HOOKLINE_IDLE_EXIT. */
#include "worker/idle.h"

#include <criterion/criterion.h>

#include "body/journals.h"
#include "config/config.h"
#include "fake_store.h"
#include "loop_fixture.h"
#include "run/run.h"
#include "run/service.h"
#include "store/record.h"
#include "worker/worker.h"

static struct hl_config config;
static struct hl_worker worker; /* never started: only its figures are used */
static struct hl_worker *workers[] = {&worker};
static struct hl_service service = {
    .config = &config, .workers = workers, .worker_count = HL_ARRAY_LEN(workers)};
static struct hl_journals journals;
static struct hl_idle idle;
static unsigned told;

static void on_idle(struct hl_idle *i)
{
    (void)i;
    told++;
}

static void begin(void)
{
    loop_begin();
    service.store = fake_store_begin();
    hl_journals_init(&journals, 4);
    service.journals = &journals;
    config.idle_exit_ms = 1;
}

static void end(void)
{
    hl_idle_close(&idle);
    hl_journals_fini(&journals);
    loop_end();
}

TestSuite(idle, .init = begin, .fini = end, .timeout = 180);

/* It looks so often, with more than its time gone by since the look before. */
static void look(int times)
{
    for (int i = 0; i < times && told == 0; i++) {
        idle.since_ms -= 1000;
        idle.timer.on_fire(&idle.timer);
    }
}

static void start(void)
{
    config.idle_exit_ms = 1000;
    hl_idle_start(&idle, &service, &wheel, on_idle);
}

Test(idle, is_told_once_when_nothing_was_done_for_that_long)
{
    hl_idle_start(&idle, &service, &wheel, on_idle);
    UNTIL(told == 1);
    loop_turns(10);
    cr_assert_eq(told, 1);
}

Test(idle, is_never_told_where_that_is_not_wanted)
{
    config.idle_exit_ms = 0;
    hl_idle_start(&idle, &service, &wheel, on_idle);
    cr_assert_not(hl_timer_is_armed(&idle.timer));
}

/* What keeps it busy, and where. */
static struct hl_counter *const reasons[] = {&worker.runs.count, &fake_store.gauges.queued_runs,
    &fake_store.gauges.waiting_runs, &fake_store.gauges.pending_deliveries,
    &fake_store.gauges.is_uncounted, &worker.metrics.calls_in_flight};

Test(idle, waits_while_there_is_a_run_or_its_caller_or_a_delivery_or_nobody_knows)
{
    start();
    for (size_t i = 0; i < HL_ARRAY_LEN(reasons); i++) {
        hl_counter_add(reasons[i], 1);
        look(3);
        cr_assert_eq(told, 0, "%zu", i);
        hl_counter_sub(reasons[i], 1);
    }
    look(1);
    cr_assert_eq(told, 1);
}

Test(idle, waits_while_bulk_work_is_under_way_though_it_pauses)
{
    start();
    service.jobs = 1;
    look(3);
    cr_assert_eq(told, 0);
    service.jobs = 0;
    look(1);
    cr_assert_eq(told, 1);
}

Test(idle, waits_while_somebody_follows_a_run)
{
    struct hl_id run = {{1}};
    struct hl_follow_place place;
    start();
    cr_assert_eq(hl_journals_enter(&journals, &run, HL_STR("me"), &place), HL_FOLLOW_GRANTED);
    look(3);
    cr_assert_eq(told, 0);
    hl_journals_leave(&place);
    look(1);
    cr_assert_eq(told, 1);
}

Test(idle, sees_a_call_that_came_and_was_answered_between_two_looks)
{
    start();
    for (int i = 0; i < 3; i++) {
        hl_counter_add(&worker.metrics.requests[HL_METHOD_POST][HL_MODE_SYNC][2], 1);
        look(1);
        cr_assert_eq(told, 0);
    }
    hl_counter_add(&worker.metrics.requests[HL_METHOD_GET][HL_MODE_OTHER][2], 1);
    look(1);
    cr_assert_eq(told, 1);
}

Test(idle, sees_a_run_that_began_and_ended_between_two_looks)
{
    start();
    for (int i = 0; i < 3; i++) {
        hl_counter_add(&worker.metrics.runs_finished[HL_MODE_SYNC][HL_RUN_SUCCESS], 1);
        look(1);
        cr_assert_eq(told, 0);
    }
    look(1);
    cr_assert_eq(told, 1);
}
