/* test_ending.c - all the ways in which a run ends: what its caller is told, what is counted. */
#include "caller/client.h"
#include "callers_fixture.h"
#include "fake_store.h"
#include "loop_fixture.h"
#include "run/ending.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "run/progress.h"
#include "run/run.h"
#include "run/service.h"
#include "runs_fixture.h"
#include "store/claim.h"

static int caller;
static struct hl_run *run;

static void begin(void)
{
    runs_begin();
    run = run_called(&caller);
    taker.client = NULL;
}

TestSuite(ending, .init = begin, .fini = runs_end, .timeout = 180);

static void fail(enum hl_run_reason reason, enum hl_refusal_cause why)
{
    hl_ending_fail(run, HL_RUN_FAILURE, reason, hl_refusal_make(why));
}

static uint64_t finished(enum hl_mode mode, enum hl_run_state state)
{
    return hl_counter_get(&metrics.runs_finished[mode][state]);
}

static void assert_told(const char *part)
{
    static char text[8192];
    UNTIL(*strcpy(text, caller_hear(caller)));
    cr_assert(strstr(text, part), "%s", text);
}

static struct hl_outcome take_outcome(void)
{
    struct hl_finish *f = HL_CONTAINER_OF(fake_store_take(HL_STORE_FINISH), struct hl_finish, m);
    struct hl_outcome outcome = f->outcome;
    cr_assert(hl_id_eq(&f->run_id, &run->id));
    free(f);
    return outcome;
}

/* The caller has been given a head of the app's. */
static void give_head(const char *text)
{
    cr_assert_eq(hl_client_write2(run->client, hl_str_from(text), HL_STR("")), HL_OK);
    run->response.status = run->client->status = 200;
    hl_progress_response(run, HL_RESPONSE_BODY);
}

/* ---- conclude ---- */

Test(ending, counts_a_run_once)
{
    run->client = NULL;
    hl_ending_conclude(run, HL_RUN_SUCCESS, HL_REASON_NONE, true);
    cr_assert(hl_run_has_ended(run));
    cr_assert_eq(finished(HL_MODE_SYNC, HL_RUN_SUCCESS), 1);
    cr_assert_eq(hl_counter_get(&metrics.calls_in_flight), 0);
    hl_ending_conclude(run, HL_RUN_FAILURE, HL_REASON_TIMEOUT, false);
    fail(HL_REASON_TIMEOUT, HL_REFUSAL_APP_SILENT);
    hl_ending_cancel(run);
    cr_assert_eq(finished(HL_MODE_SYNC, HL_RUN_SUCCESS), 1);
    cr_assert_eq(finished(HL_MODE_SYNC, HL_RUN_FAILURE), 0);
    cr_assert_eq(hl_counter_get(&metrics.calls_in_flight), 0);
}

/* How many measurements there are, and their sum. */
static void assert_measured(const struct hl_histogram *h, uint64_t count, uint64_t sum_us)
{
    uint64_t n = 0;
    for (int i = 0; i < HL_HISTOGRAM_BUCKETS; i++)
        n += hl_counter_get(&h->bucket[i]);
    cr_assert_eq(n, count);
    cr_assert_eq(hl_counter_get(&h->sum_us), sum_us);
}

Test(ending, counts_a_run_that_waited_for_nothing_and_had_its_answer_at_once)
{
    run->client = NULL;
    run->response.status = 200;
    hl_ending_conclude(run, HL_RUN_SUCCESS, HL_REASON_NONE, true);
    assert_measured(&metrics.queue_wait[HL_MODE_SYNC], 1, 0);
    assert_measured(
        &metrics.first_byte[HL_MODE_SYNC], 1, run->times.ended_us - run->times.started_us);
}

Test(ending, counts_how_long_a_run_waited_and_when_its_answer_began)
{
    run->client = NULL;
    run->response.status = 200;
    run->response.is_event_stream = true;
    run->times.queued_us = 5000;
    run->times.first_us = run->times.started_us + 7000;
    hl_ending_conclude(run, HL_RUN_SUCCESS, HL_REASON_NONE, true);
    assert_measured(&metrics.queue_wait[HL_MODE_STREAM], 1, 5000);
    assert_measured(&metrics.first_byte[HL_MODE_STREAM], 1, 7000);
}

Test(ending, counts_the_wait_of_a_run_that_waited_until_its_end_and_no_answer)
{
    run->times.queued_us = 5000;
    run->times.waits_us = run->times.started_us;
    fail(HL_REASON_UPSTREAM_UNREACHABLE, HL_REFUSAL_APP_BUSY);
    assert_measured(
        &metrics.queue_wait[HL_MODE_SYNC], 1, 5000 + run->times.ended_us - run->times.started_us);
    assert_measured(&metrics.first_byte[HL_MODE_SYNC], 0, 0);
}

Test(ending, counts_what_was_passed_through_as_no_run_of_the_app)
{
    run->is_pass = true;
    run->client = NULL;
    hl_ending_conclude(run, HL_RUN_SUCCESS, HL_REASON_NONE, true);
    cr_assert_eq(finished(HL_MODE_OTHER, HL_RUN_SUCCESS), 1);
    cr_assert_eq(finished(HL_MODE_SYNC, HL_RUN_SUCCESS), 0);
}

Test(ending, tells_the_store_of_a_run_that_it_knows)
{
    run_record(run);
    run->client = NULL;
    run->response.status = 503;
    hl_ending_conclude(run, HL_RUN_FAILURE, HL_REASON_APP_ERROR, true);
    cr_assert_eq(run->store.record, HL_RECORD_FINISHING);
    cr_assert_eq(run_count(), 1, "it is there until the store has answered");
    struct hl_outcome o = take_outcome();
    cr_assert(o.state == HL_RUN_FAILURE && o.reason == HL_REASON_APP_ERROR);
    cr_assert_eq(o.http_status, 503);
    cr_assert_geq(o.finished_ms, run->times.started_ms);
}

static void on_nothing(void *owner)
{
    (void)owner;
}

static bool is_kept;

static void on_kept(void *owner, struct hl_spool *spool, enum hl_err err, struct hl_body *body)
{
    (void)owner;
    (void)spool;
    (void)err;
    is_kept = true;
    run->spool = NULL;
    hl_body_fini(body);
}

Test(ending, waits_for_the_copy_before_it_tells_the_store)
{
    static const struct hl_spool_events events = {.on_room = on_nothing, .on_done = on_kept};
    run_record(run);
    run->client = NULL;
    run->spool = hl_spool_new(&runs.spools, 1000, false, false, &events, run);
    hl_ending_conclude(run, HL_RUN_SUCCESS, HL_REASON_NONE, true);
    cr_assert_eq(run->store.record, HL_RECORD_KEEPING);
    UNTIL(is_kept);
    cr_assert_eq(fake_store.count, 0, "who keeps it says so");
}

/* ---- fail ---- */

Test(ending, answers_a_caller_who_has_seen_nothing)
{
    fail(HL_REASON_UPSTREAM_RESET, HL_REFUSAL_APP_CLOSED);
    assert_told("HTTP/1.1 502 Bad Gateway\r\n");
    cr_assert_eq(finished(HL_MODE_SYNC, HL_RUN_FAILURE), 1);
    cr_assert_eq(hl_counter_get(&metrics.upstream_errors[HL_REASON_UPSTREAM_RESET]), 1);
    cr_assert_eq(caller_ending(caller), -1, "the connection goes on");
}

Test(ending, says_when_to_come_back_where_that_helps)
{
    fail(HL_REASON_NONE, HL_REFUSAL_APP_QUEUE_FULL);
    assert_told("\r\nRetry-After: ");
    cr_assert_eq(hl_counter_get(&metrics.upstream_errors[HL_REASON_NONE]), 0);
}

Test(ending, cuts_a_caller_off_who_has_seen_a_head)
{
    give_head("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab");
    fail(HL_REASON_UPSTREAM_RESET, HL_REFUSAL_APP_CLOSED);
    UNTIL(caller_ending(caller) == 0);
    cr_assert_eq(
        hl_counter_get(&metrics.requests[HL_METHOD_GET][HL_MODE_OTHER][HL_CODE_CLASS_CUT]), 1);
}

Test(ending, tells_nobody_when_the_caller_has_gone)
{
    run->client = NULL;
    fail(HL_REASON_TIMEOUT, HL_REFUSAL_APP_SILENT);
    loop_turns(3);
    cr_assert_str_eq(caller_hear(caller), "");
    cr_assert_eq(finished(HL_MODE_SYNC, HL_RUN_FAILURE), 1);
}

/* ---- cancel ---- */

Test(ending, cancels_a_call_with_410)
{
    run_record(run);
    hl_ending_cancel(run);
    assert_told("HTTP/1.1 410 Gone\r\n");
    cr_assert_eq(finished(HL_MODE_SYNC, HL_RUN_CANCELLED), 1);
    cr_assert_eq(take_outcome().state, HL_RUN_CANCELLED);
}

/* ---- what is given back ---- */

static bool on_slot(struct hl_limiter_wait *wait)
{
    (void)wait;
    return true;
}

Test(ending, gives_its_slot_to_the_next)
{
    struct hl_limiter *limiter = &runs.service->limiter;
    hl_limiter_init(limiter, 1, 10, runs.service->seats, 1);
    cr_assert(hl_limiter_try(&runs.seat, HL_LIMITER_CALLER));
    run->app.has_slot = true;
    run->client = NULL;
    hl_ending_conclude(run, HL_RUN_SUCCESS, HL_REASON_NONE, true);
    cr_assert_eq(limiter->in_use, 0);
    cr_assert_not(run->app.has_slot);
    hl_ending_leave_slot(run); /* harmless */
    cr_assert_eq(limiter->in_use, 0);
}

Test(ending, leaves_the_queue_for_a_slot)
{
    struct hl_limiter *limiter = &runs.service->limiter;
    hl_limiter_init(limiter, 1, 10, runs.service->seats, 1);
    cr_assert(hl_limiter_try(&runs.seat, HL_LIMITER_CALLER));
    hl_limiter_wait_init(&run->app.slot_wait, on_slot);
    cr_assert(hl_limiter_queue(&runs.seat, &run->app.slot_wait, HL_LIMITER_CALLER));
    hl_progress_stage(run, HL_STAGE_QUEUED);
    hl_counter_add(&metrics.waiting_for_slot, 1);
    fail(HL_REASON_NONE, HL_REFUSAL_APP_QUEUE_FULL);
    cr_assert_eq(hl_counter_get(&metrics.waiting_for_slot), 0);
    cr_assert_not(hl_list_is_linked(&run->app.slot_wait.node));
}

Test(ending, abandons_a_run_without_a_word)
{
    run_record(run);
    run->client = NULL;
    hl_ending_abandon(run);
    cr_assert(hl_run_has_ended(run));
    cr_assert_eq(fake_store.count, 0);
    cr_assert_eq(run_count(), 0);
}
