/* test_overview.c - how runs end is counted with their ends, and told again, on all drivers. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fixture.h"
#include "store/claim.h"
#include "store/lane.h"
#include "store/lease.h"
#include "store/notice.h"
#include "store/overview.h"
#include "store/question.h"

#define HOUR_MS INT64_C(3600000)

static struct hl_overview of(const char *project, const char *app)
{
    int64_t now_ms = hl_clock_wall_ms();
    struct hl_overview o = {.m.msg.type = HL_STORE_OVERVIEW,
        .since_ms = now_ms - HOUR_MS,
        .until_ms = now_ms + 1,
        .step_ms = HL_TALLY_MINUTE_MS,
        .is_async = -1,
        .with_deliveries = true};
    hl_str_put(o.project, sizeof(o.project), project);
    hl_str_put(o.app, sizeof(o.app), app);
    return o;
}

static struct hl_overview look(struct fixture *f, const char *project, const char *app)
{
    struct hl_overview o = of(project, app);
    cr_assert_eq(ask(f, &f->asker, &o.m), HL_OK);
    return o;
}

static unsigned ends(const struct hl_overview_figures *figures, bool is_async,
    enum hl_run_state state, enum hl_run_reason reason)
{
    return figures->ends[is_async][state][reason];
}

static unsigned points(const struct hl_overview *o, bool is_async, enum hl_run_state state)
{
    unsigned n = 0;
    for (size_t i = 0; i < o->n_points; i++)
        for (int reason = 0; reason < HL_OVERVIEW_REASONS; reason++)
            n += o->points[i].ends[is_async][state][reason];
    return n;
}

static void end_run(struct fixture *f, bool is_async, const char *app, enum hl_run_state state,
    enum hl_run_reason reason, int64_t run_us)
{
    struct run_spec spec = {.project = "p", .app = app};
    struct hl_id id;
    if (is_async) {
        cr_assert_eq(accept_run(f, spec, &id), HL_OK);
        give_credit(f, &f->worker, 1, false);
        struct hl_claimed *claimed = party_wait(&f->worker, HL_STORE_CLAIMED);
        cr_assert(hl_id_eq(&claimed->run_id, &id));
        hl_claimed_free(claimed);
    } else {
        cr_assert_eq(record_run(f, spec, &id), HL_OK);
    }
    struct hl_finish *finish = make_finish(&id, 1, "");
    finish->outcome.state = state;
    finish->outcome.reason = reason;
    finish->outcome.finished_ms = hl_clock_wall_ms();
    finish->run_us = run_us;
    finish->queued_us = 7;
    cr_assert_eq(ask(f, &f->worker, &finish->m), HL_OK);
    hl_finish_free(finish);
}

Test(overview,
    what_others_counted_is_left_out_and_later_counts_of_theirs_make_nothing_less_than_none)
{
    struct hl_overview_figures all = {.run = {[3] = 5, [9] = 1}, .wait = {[1] = 2}}, part = {0};
    all.ends[1][HL_RUN_SUCCESS][HL_REASON_NONE] = 7;
    part.ends[1][HL_RUN_SUCCESS][HL_REASON_NONE] = 4;
    part.ends[0][HL_RUN_FAILURE][HL_REASON_TIMEOUT] = 1;
    part.run[3] = 2;
    part.run[9] = 2;
    hl_overview_subtract(&all, &part);
    cr_assert_eq(hl_overview_count(&all, -1, -1, -1), 3);
    cr_assert_eq(hl_overview_count(&all, 1, HL_RUN_SUCCESS, -1), 3);
    cr_assert_eq(hl_overview_sum(all.run), 3);
    cr_assert_eq(hl_overview_sum(all.wait), 2);
}

STORE_TEST(ends_are_counted_by_state_reason_mode_and_app)
{
    end_run(f, true, "a", HL_RUN_SUCCESS, HL_REASON_NONE, 1000);
    end_run(f, true, "a", HL_RUN_FAILURE, HL_REASON_TIMEOUT, 2000);
    end_run(f, false, "a", HL_RUN_SUCCESS, HL_REASON_NONE, 3000);
    end_run(f, true, "b", HL_RUN_FAILURE, HL_REASON_APP_ERROR, 4000);
    struct hl_overview o = look(f, "p", "");
    cr_assert_eq(o.n_apps, (size_t)2);
    cr_assert_eq(ends(&o.total, true, HL_RUN_SUCCESS, HL_REASON_NONE), 1u);
    cr_assert_eq(ends(&o.total, false, HL_RUN_SUCCESS, HL_REASON_NONE), 1u);
    cr_assert_eq(ends(&o.total, true, HL_RUN_FAILURE, HL_REASON_TIMEOUT), 1u);
    cr_assert_eq(ends(&o.total, true, HL_RUN_FAILURE, HL_REASON_APP_ERROR), 1u);
    cr_assert_eq(points(&o, true, HL_RUN_FAILURE), 2u);
    cr_assert_eq(hl_overview_sum(o.total.run), (uint64_t)4);
    cr_assert_eq(hl_overview_quantile(o.total.wait, 99), 7);
    hl_overview_fini(&o);
    o = look(f, "p", "b");
    cr_assert_eq(o.n_apps, (size_t)1);
    cr_assert_str_eq(o.apps[0].app, "b");
    cr_assert_eq(ends(&o.total, true, HL_RUN_FAILURE, HL_REASON_APP_ERROR), 1u);
    cr_assert_eq(
        hl_overview_quantile(o.total.run, 50), (int64_t)hl_tally_bucket_us(hl_tally_bucket(4000)));
    hl_overview_fini(&o);
    o = look(f, "other", "");
    cr_assert_eq(o.n_apps, (size_t)0);
    hl_overview_fini(&o);
}

STORE_TEST(a_mode_can_be_asked_for_alone)
{
    end_run(f, true, "a", HL_RUN_SUCCESS, HL_REASON_NONE, 1000);
    end_run(f, false, "a", HL_RUN_SUCCESS, HL_REASON_NONE, 3000);
    struct hl_overview o = of("p", "a");
    o.is_async = 0;
    cr_assert_eq(ask(f, &f->asker, &o.m), HL_OK);
    cr_assert_eq(ends(&o.total, true, HL_RUN_SUCCESS, HL_REASON_NONE), 0u);
    cr_assert_eq(ends(&o.total, false, HL_RUN_SUCCESS, HL_REASON_NONE), 1u);
    cr_assert_eq(hl_overview_sum(o.total.run), (uint64_t)1);
    hl_overview_fini(&o);
}

STORE_TEST(a_run_that_never_began_is_counted_without_times)
{
    struct hl_id id;
    cr_assert_eq(accept_run(f, (struct run_spec){.project = "p", .app = "a"}, &id), HL_OK);
    struct hl_overview o = look(f, "p", "a");
    cr_assert_eq(o.queued, (uint64_t)1);
    cr_assert_eq(o.running, (uint64_t)0);
    hl_overview_fini(&o);
    cr_assert_eq(cancel_run(f, &id), HL_OK);
    o = look(f, "p", "a");
    cr_assert_eq(o.queued, (uint64_t)0);
    cr_assert_eq(ends(&o.total, true, HL_RUN_CANCELLED, HL_REASON_NONE), 1u);
    cr_assert_eq(hl_overview_sum(o.total.run), (uint64_t)0);
    cr_assert_eq(hl_overview_sum(o.total.wait), (uint64_t)0);
    hl_overview_fini(&o);
}

STORE_TEST(an_end_that_is_refused_is_not_counted)
{
    struct hl_id id;
    cr_assert_eq(record_run(f, (struct run_spec){.project = "p", .app = "a"}, &id), HL_OK);
    cr_assert_eq(finish_run(f, &id, 1, ""), HL_OK);
    cr_assert_eq(finish_run(f, &id, 1, ""), HL_ERR_STALE);
    struct hl_overview o = look(f, "p", "a");
    cr_assert_eq(ends(&o.total, false, HL_RUN_SUCCESS, HL_REASON_NONE), 1u);
    hl_overview_fini(&o);
}

/* One of those that a worker tells of. */
static struct hl_told_tally *told(struct fixture *f, const struct hl_id *source, int64_t minute)
{
    struct hl_told_tally *t = calloc(1, sizeof(*t));
    t->m.msg.type = HL_STORE_TALLY;
    t->source = *source;
    t->id = new_id(f);
    t->n = 2;
    t->minutes = calloc(2, sizeof(*t->minutes));
    for (size_t i = 0; i < t->n; i++) {
        hl_str_put(t->minutes[i].project, sizeof(t->minutes[i].project), "p");
        hl_str_put(t->minutes[i].app, sizeof(t->minutes[i].app), i == 0 ? "a" : "b");
        t->minutes[i].minute = minute;
        cr_assert_eq(
            hl_tally_add_end(&t->minutes[i].tally, false, HL_RUN_SUCCESS, HL_REASON_NONE, 1000, 0),
            HL_OK);
        cr_assert_eq(
            hl_tally_add_end(&t->minutes[i].tally, false, HL_RUN_SUCCESS, HL_REASON_NONE, 9000, 0),
            HL_OK);
    }
    return t;
}

STORE_TEST(calls_without_a_record_are_counted_as_they_are_told)
{
    int64_t minute = hl_clock_wall_ms() / HL_TALLY_MINUTE_MS;
    struct hl_id source = new_id(f);
    for (int i = 0; i < 3; i++) {
        struct hl_told_tally *t = told(f, &source, minute - i / 2);
        cr_assert_eq(ask(f, &f->worker, &t->m), HL_OK);
        hl_told_tally_free(t);
    }
    struct hl_overview o = look(f, "", "");
    cr_assert_eq(o.n_apps, (size_t)2);
    cr_assert_eq(ends(&o.total, false, HL_RUN_SUCCESS, HL_REASON_NONE), 12u);
    cr_assert_eq(points(&o, false, HL_RUN_SUCCESS), 12u);
    cr_assert_eq(hl_overview_sum(o.total.run), (uint64_t)12);
    hl_overview_fini(&o);
}

Test(postgres, what_is_told_twice_counts_once)
{
    struct fixture f;
    fixture_init(&f, HL_STORE_POSTGRES);
    fixture_open(&f);
    struct hl_id source = new_id(&f);
    struct hl_told_tally *t = told(&f, &source, hl_clock_wall_ms() / HL_TALLY_MINUTE_MS);
    cr_assert_eq(ask(&f, &f.worker, &t->m), HL_OK);
    cr_assert_eq(ask(&f, &f.worker, &t->m), HL_OK);
    hl_told_tally_free(t);
    struct hl_overview o = look(&f, "p", "a");
    cr_assert_eq(ends(&o.total, false, HL_RUN_SUCCESS, HL_REASON_NONE), 2u);
    hl_overview_fini(&o);
    fixture_fini(&f);
}

static void stays_after(enum hl_store_kind kind)
{
    struct fixture f;
    fixture_init(&f, kind);
    fixture_open(&f);
    end_run(&f, true, "a", HL_RUN_SUCCESS, HL_REASON_NONE, 1000);
    fixture_reopen(&f);
    end_run(&f, true, "a", HL_RUN_SUCCESS, HL_REASON_NONE, 1000);
    struct hl_overview o = look(&f, "p", "a");
    cr_assert_eq(ends(&o.total, true, HL_RUN_SUCCESS, HL_REASON_NONE), 2u);
    hl_overview_fini(&o);
    fixture_fini(&f);
}

Test(sqlite, what_was_counted_is_there_after_a_restart)
{
    stays_after(HL_STORE_SQLITE);
}

Test(postgres, what_was_counted_is_there_after_a_restart)
{
    stays_after(HL_STORE_POSTGRES);
}

Test(sqlite, a_run_that_was_lost_with_its_process_is_counted_as_interrupted)
{
    struct fixture f;
    struct hl_id id;
    fixture_init(&f, HL_STORE_SQLITE);
    fixture_open(&f);
    cr_assert_eq(record_run(&f, (struct run_spec){.project = "p", .app = "a"}, &id), HL_OK);
    fixture_reopen(&f);
    struct hl_overview o = look(&f, "p", "a");
    cr_assert_eq(ends(&o.total, false, HL_RUN_FAILURE, HL_REASON_INTERRUPTED), 1u);
    cr_assert_eq(hl_overview_sum(o.total.run), (uint64_t)0);
    hl_overview_fini(&o);
    fixture_fini(&f);
}

/* What was counted so long ago that the runs may go, goes as well, in steps; and the app with it. */
static void goes_with_time(enum hl_store_kind kind)
{
    struct fixture f;
    fixture_init(&f, kind);
    fixture_open(&f);
    int64_t minute = (hl_clock_wall_ms() - FIXTURE_RETENTION_MS) / HL_TALLY_MINUTE_MS;
    for (int i = 0; i < 100; i++) {
        struct hl_id source = new_id(&f);
        struct hl_told_tally *t = told(&f, &source, minute - 5 - i);
        cr_assert_eq(ask(&f, &f.worker, &t->m), HL_OK);
        hl_told_tally_free(t);
    }
    for (int i = 0; fixture_count(&f, "tally") > 0; i++) {
        cr_assert_lt(i, 100, "they are still there");
        fixture_reopen(&f);
        settle(&f);
    }
    fixture_fini(&f);
}

Test(sqlite, counts_past_the_retention_go)
{
    goes_with_time(HL_STORE_SQLITE);
}

STORE_TEST(deliveries_are_counted_and_destinations_that_fail_are_named)
{
    struct hl_leased *l = lease_one(f, "https://receiver.example/hook");
    struct hl_overview o = look(f, "", "");
    cr_assert_eq(o.pending, (uint64_t)1);
    cr_assert_eq(o.dead, (uint64_t)0);
    cr_assert_eq(o.n_failing_all, (uint64_t)0);
    hl_overview_fini(&o);
    struct hl_attempt_outcome outcome = {.m.msg.type = HL_STORE_OUTCOME,
        .delivery_id = l->delivery_id,
        .round = l->round,
        .n = 1,
        .verdict = HL_ATTEMPT_DEAD,
        .started_ms = hl_clock_wall_ms(),
        .ended_ms = hl_clock_wall_ms(),
        .health = HL_LANE_FAILING,
        .failing_since_ms = hl_clock_wall_ms()};
    hl_str_put(outcome.error, sizeof(outcome.error), "timeout");
    cr_assert_eq(ask(f, &f->sender, &outcome.m), HL_OK);
    hl_leased_free(l);
    o = look(f, "", "");
    cr_assert_eq(o.pending, (uint64_t)0);
    cr_assert_eq(o.dead, (uint64_t)1);
    cr_assert_eq(o.n_failing_all, (uint64_t)1);
    cr_assert_eq(o.n_failing, (size_t)1);
    cr_assert_str_eq(o.failing[0].row.destination, "https://receiver.example");
    cr_assert_str_eq(o.failing[0].row.last_error, "timeout");
    cr_assert_eq(o.failing[0].row.dead, (uint64_t)1);
    cr_assert_gt(o.failing[0].row.failing_since_ms, INT64_C(0));
    hl_overview_fini(&o);
}
