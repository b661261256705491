/* test_retry.c - runs that wait for their next attempt: no claim sees them, then they stand where they stood. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/metric.h"
#include "config/config.h"
#include "fixture.h"
#include "store/attempt.h"
#include "store/claim.h"
#include "store/gauges.h"
#include "store/lease.h"
#include "store/question.h"
#include "store/store.h"

#define SOON_MS  300
#define LATER_MS 3600000

static void init(struct fixture *f)
{
    fixture_close(f);
    f->config->run_attempts = 3;
    f->config->retry_on.interrupted = true;
    fixture_open(f);
}

static struct hl_claimed *claim_one(struct fixture *f)
{
    give_credit(f, &f->worker, 1, false);
    return party_wait(&f->worker, HL_STORE_CLAIMED);
}

/* Takes the claim. */
static enum hl_err put_off(struct fixture *f, struct hl_claimed *c, int64_t wait_ms)
{
    struct hl_release *r = hl_release_new(c);
    r->is_retry = true;
    r->due_ms = hl_clock_steady_ms() + wait_ms;
    r->ended = (struct hl_attempt_entry){.attempt = c->attempt,
        .started_ms = 1000 * c->attempt,
        .finished_ms = 1000 * c->attempt + 5,
        .http_status = 503,
        .reason = HL_REASON_APP_ERROR};
    enum hl_err rc = ask(f, &f->worker, &r->m);
    hl_release_free(r);
    return rc;
}

static struct hl_run_row look(struct fixture *f, const struct hl_id *id)
{
    struct hl_get_run g;
    cr_assert_eq(get_run(f, id, &g), HL_OK);
    hl_body_fini(&g.outcome.body);
    return g.run;
}

STORE_TEST(run_that_is_tried_again_comes_back_when_it_is_due, .timeout = 180)
{
    struct hl_id id, other;
    init(f);
    cr_assert_eq(accept_run(f, (struct run_spec){.body = "ping"}, &id), HL_OK);
    struct hl_claimed *c = claim_one(f);
    int64_t first_ms = c->first_ms;
    cr_assert_eq(put_off(f, c, SOON_MS), HL_OK);
    cr_assert_eq(accept_run(f, (struct run_spec){.body = "pong"}, &other), HL_OK);
    c = claim_one(f);
    cr_assert(hl_id_eq(&c->run_id, &other), "it does not hold up others");
    hl_claimed_free(c);

    c = claim_one(f);
    cr_assert(hl_id_eq(&c->run_id, &id));
    cr_assert_eq(c->attempt, 2);
    cr_assert_eq(c->first_ms, 1000, "%lld", (long long)first_ms);
    cr_assert(hl_str_eq((struct hl_str){c->body.bytes, c->body.size}, HL_STR("ping")));
    cr_assert_eq(finish_run(f, &id, c->epoch, "done"), HL_OK);
    hl_claimed_free(c);
    cr_assert_eq(state_of(f, &id), HL_RUN_SUCCESS);
}

STORE_TEST(between_two_attempts_the_record_says_so, .timeout = 180)
{
    struct hl_id id;
    struct hl_attempt_entry entry;
    init(f);
    cr_assert_eq(accept_run(f, (struct run_spec){0}, &id), HL_OK);
    cr_assert_eq(put_off(f, claim_one(f), LATER_MS), HL_OK);
    struct hl_get_run *g = calloc(1, sizeof(*g));
    g->m.msg.type = HL_STORE_GET_RUN;
    g->run_id = id;
    cr_assert_eq(ask(f, &f->asker, &g->m), HL_OK);
    cr_assert_eq(g->run.state, HL_RUN_QUEUED);
    cr_assert_eq(g->run.attempt, 1);
    cr_assert_gt(g->run.next_attempt_ms, hl_clock_wall_ms());
    cr_assert(hl_attempt_entry_read(&g->run.attempt_log, &entry));
    cr_assert_eq(entry.attempt, 1);
    cr_assert_eq(entry.started_ms, 1000);
    cr_assert_eq(entry.finished_ms, 1005);
    cr_assert_eq(entry.http_status, 503);
    cr_assert_eq(entry.reason, HL_REASON_APP_ERROR);
    cr_assert_not(hl_attempt_entry_read(&g->run.attempt_log, &entry));
    hl_get_run_fini(g);
    free(g);
    if (f->kind != HL_STORE_POSTGRES)
        cr_assert_eq(hl_counter_get(&hl_store_get_gauges(f->store)->waiting_runs), 1);
    cr_assert_eq(hl_counter_get(&hl_store_get_gauges(f->store)->queued_runs), 0);
}

/* The workers end what has waited for too long by what the gauges say, and while the app is away nothing else is asked. */
STORE_TEST(when_it_is_due_the_gauges_have_it_though_nothing_is_asked, .timeout = 180)
{
    struct hl_id id;
    init(f);
    cr_assert_eq(accept_run(f, (struct run_spec){0}, &id), HL_OK);
    cr_assert_eq(put_off(f, claim_one(f), 5 * SOON_MS), HL_OK);
    const struct hl_store_gauges *gauges = hl_store_get_gauges(f->store);
    while (
        hl_counter_get(&gauges->queued_runs) == 0 || hl_counter_get(&gauges->oldest_queued_ms) == 0)
        usleep(1000);
}

STORE_TEST(cancelled_between_two_attempts_it_ends, .timeout = 180)
{
    struct hl_id id, other;
    init(f);
    cr_assert_eq(accept_run(f, (struct run_spec){.url = "http://example.com/x"}, &id), HL_OK);
    cr_assert_eq(put_off(f, claim_one(f), SOON_MS), HL_OK);
    cr_assert_eq(cancel_run(f, &id), HL_OK);
    cr_assert_eq(state_of(f, &id), HL_RUN_CANCELLED);
    give_lease_credit(f, 1);
    hl_leased_free(party_wait(&f->sender, HL_STORE_LEASED));
    cr_assert_eq(accept_run(f, (struct run_spec){0}, &other), HL_OK);
    struct hl_claimed *c = claim_one(f);
    cr_assert(hl_id_eq(&c->run_id, &other));
    hl_claimed_free(c);
    while (hl_counter_get(&hl_store_get_gauges(f->store)->waiting_runs) > 0)
        usleep(1000); /* PostgreSQL: until its queue is looked at */
}

STORE_TEST(stale_claim_is_not_tried_again)
{
    struct hl_id id;
    init(f);
    cr_assert_eq(accept_run(f, (struct run_spec){0}, &id), HL_OK);
    struct hl_claimed *c = claim_one(f);
    cr_assert_eq(finish_run(f, &id, c->epoch, "done"), HL_OK);
    cr_assert_eq(put_off(f, c, SOON_MS), HL_ERR_STALE);
    cr_assert_eq(look(f, &id).state, HL_RUN_SUCCESS);
}

static void outlives_a_restart(struct fixture *f)
{
    struct hl_id id;
    init(f);
    cr_assert_eq(accept_run(f, (struct run_spec){.body = "ping"}, &id), HL_OK);
    cr_assert_eq(put_off(f, claim_one(f), SOON_MS), HL_OK);
    fixture_reopen(f);
    struct hl_claimed *c = claim_one(f);
    cr_assert(hl_id_eq(&c->run_id, &id));
    cr_assert_eq(c->attempt, 2);
    cr_assert(hl_str_eq((struct hl_str){c->body.bytes, c->body.size}, HL_STR("ping")));
    hl_claimed_free(c);
}

Test(sqlite, retry_outlives_a_restart, .timeout = 180)
{
    fixture_run(HL_STORE_SQLITE, outlives_a_restart);
}

Test(postgres, retry_outlives_a_restart, .timeout = 180)
{
    fixture_run(HL_STORE_POSTGRES, outlives_a_restart);
}

STORE_TEST(waiting_runs_count_for_the_limit)
{
    struct hl_id id;
    if (f->kind == HL_STORE_POSTGRES) /* counted when the queue is surveyed */
        return;
    f->config->max_queued_runs = 1;
    init(f);
    cr_assert_eq(accept_run(f, (struct run_spec){0}, &id), HL_OK);
    cr_assert_eq(put_off(f, claim_one(f), LATER_MS), HL_OK);
    cr_assert_eq(accept_run(f, (struct run_spec){0}, &id), HL_ERR_BUSY);
}
