/* test_report.c - what the store is told of a run, and what its answers do. */
#include "caller/metrics.h"
#include "callers_fixture.h"
#include "fake_store.h"
#include "loop_fixture.h"
#include "run/progress.h"
#include "run/report.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "captured_log.h"
#include "run/run.h"
#include "runs_fixture.h"
#include "store/accept.h"
#include "store/claim.h"

static struct hl_run *run;

static void begin(void)
{
    runs_begin();
    run = run_new();
    captured_log_begin();
}

static void end(void)
{
    captured_log_end();
    runs_end();
}

TestSuite(report, .init = begin, .fini = end, .timeout = 180);

static uint64_t lost(void)
{
    return hl_counter_get(&metrics.webhooks_lost);
}

static struct hl_finish *take_finish(void)
{
    return HL_CONTAINER_OF(fake_store_take(HL_STORE_FINISH), struct hl_finish, m);
}

/* ---- a synchronous run with a webhook begins ---- */

static void owe_record(void)
{
    run->store.has_webhook = true;
    run->store.accept = calloc(1, sizeof(*run->store.accept));
    run->store.accept->run_id = run->id;
    hl_progress_record(run, HL_RECORD_DUE);
}

Test(report, tells_the_store_of_a_run_that_begins)
{
    owe_record();
    hl_report_begin(run);
    cr_assert_eq(run->store.record, HL_RECORD_OPEN);
    cr_assert_null(run->store.accept);
    cr_assert_not_null(run->store.finish);
    struct hl_store_msg *m = fake_store_take(HL_STORE_RECORD);
    cr_assert_eq(m->reply_to, runs.box);
    cr_assert_eq(hl_slot_find(runs.slots, m->from), run);
    m->rc = HL_OK;
    hl_report_on_record(&runs, HL_CONTAINER_OF(m, struct hl_accept, m));
    cr_assert_eq(lost(), 0);
}

Test(report, loses_a_webhook_and_not_its_call_when_the_store_takes_nothing)
{
    owe_record();
    fake_store.refusal = HL_ERR_UNAVAILABLE;
    hl_report_begin(run);
    cr_assert_eq(run->store.record, HL_RECORD_NONE);
    cr_assert_not(run->store.has_webhook);
    cr_assert(!run->store.accept && !run->store.finish);
    cr_assert_not(hl_run_has_ended(run));
    cr_assert_eq(lost(), 1);
    cr_assert_eq(captured_log_count("a webhook is lost", "\"level\":\"error\""), 1);
}

/* ---- a run ends ---- */

static struct hl_finish *end_run(void)
{
    run_record(run);
    run->store.claimed = calloc(1, sizeof(*run->store.claimed));
    run->store.claimed->epoch = 7;
    hl_report_end(run);
    cr_assert_eq(run->store.record, HL_RECORD_FINISHING);
    struct hl_finish *f = take_finish();
    cr_assert(hl_id_eq(&f->run_id, &run->id));
    cr_assert_eq(f->epoch, 7);
    return f;
}

static void answer(struct hl_finish *f, enum hl_err rc)
{
    f->m.rc = rc;
    hl_report_on_finish(&runs, f);
}

Test(report, forgets_a_run_whose_end_is_on_disk)
{
    answer(end_run(), HL_OK);
    cr_assert_eq(run_count(), 0);
    cr_assert_eq(captured_log_count("\"level\":\"error\"", ""), 0);
}

Test(report, says_an_end_again_that_the_store_has_no_room_for)
{
    answer(end_run(), HL_ERR_FULL);
    cr_assert_eq(run->store.record, HL_RECORD_AGAIN);
    cr_assert_eq(run_count(), 1);
    cr_assert_eq(fake_store.count, 0, "not at once");
    UNTIL(fake_store.count == 1);
    cr_assert_eq(run->store.record, HL_RECORD_FINISHING);
    answer(take_finish(), HL_OK);
    cr_assert_eq(run_count(), 0);
}

Test(report, does_not_say_it_again_to_a_store_that_is_broken)
{
    answer(end_run(), HL_ERR_IO);
    cr_assert_eq(run_count(), 0);
    cr_assert_eq(captured_log_count("a run's end is not recorded", ""), 1);
    cr_assert_eq(lost(), 0, "the next start ends it as interrupted");
}

Test(report, does_not_say_it_again_when_the_worker_ends_now)
{
    struct hl_finish *f = end_run();
    runs.is_cut = true;
    answer(f, HL_ERR_FULL);
    cr_assert_eq(run_count(), 0);
    runs.is_cut = false;
}

Test(report, counts_the_webhook_of_a_run_that_the_store_never_knew)
{
    answer(end_run(), HL_ERR_NOT_FOUND);
    cr_assert_eq(lost(), 1);
    cr_assert_eq(run_count(), 0);
}

Test(report, is_silent_about_a_run_that_another_has_taken_over)
{
    answer(end_run(), HL_ERR_STALE);
    cr_assert_eq(captured_log_count("\"level\":\"error\"", ""), 0);
    cr_assert_eq(run_count(), 0);
}

Test(report, takes_an_answer_about_a_run_that_has_gone)
{
    struct hl_finish *f = end_run();
    hl_run_free(run);
    hl_runs_free_ended(&runs);
    answer(f, HL_ERR_FULL);
    cr_assert_eq(fake_store.count, 0);
}
