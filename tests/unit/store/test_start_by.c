/* test_start_by.c - queued runs that are to start by a time, or not at all. */
#include <criterion/criterion.h>

#include "base/clock.h"
#include "base/metric.h"
#include "fixture.h"
#include "store/accept.h"
#include "store/claim.h"
#include "store/gauges.h"
#include "store/lease.h"
#include "store/question.h"
#include "store/store.h"

#define SOON_MS  300
#define LATER_MS 3600000
#define GIVE_UP  20000

static struct hl_claimed *claim_one(struct fixture *f)
{
    give_credit(f, &f->worker, 1, false);
    return party_wait(&f->worker, HL_STORE_CLAIMED);
}

static enum hl_err accept_for(
    struct fixture *f, uint64_t start_timeout_ms, const char *url, struct hl_id *id)
{
    struct hl_accept *a =
        make_accept(f, HL_STORE_ACCEPT, &(struct run_spec){.url = url, .body = "ping"});
    a->terms.start_timeout_ms = start_timeout_ms;
    a->terms.timeout_ms = start_timeout_ms / 2;
    enum hl_err rc = ask(f, &f->worker, &a->m);
    *id = a->run_id;
    hl_accept_free(a);
    return rc;
}

static void wait_until_expired(struct fixture *f, const struct hl_id *id)
{
    struct hl_get_run g;
    uint64_t give_up = hl_clock_mono_ms() + GIVE_UP;
    while (state_of(f, id) == HL_RUN_QUEUED)
        cr_assert_lt(hl_clock_mono_ms(), give_up, "it is still queued");
    cr_assert_eq(get_run(f, id, &g), HL_OK);
    cr_assert_eq(g.run.state, HL_RUN_FAILURE);
    cr_assert_eq(g.run.reason, HL_REASON_EXPIRED);
    cr_assert_eq(g.run.attempt, 0);
    cr_assert_gt(g.run.finished_ms, 0);
}

STORE_TEST(run_that_is_not_started_in_time_ends_as_expired_with_its_webhook, .timeout = 180)
{
    struct hl_id id, other;
    cr_assert_eq(accept_for(f, SOON_MS, "http://example.com/hook", &id), HL_OK);
    cr_assert_eq(accept_for(f, LATER_MS, NULL, &other), HL_OK);
    wait_until_expired(f, &id);
    give_lease_credit(f, 1);
    struct hl_leased *l = party_wait(&f->sender, HL_STORE_LEASED);
    cr_assert(hl_id_eq(&l->run_id, &id));
    cr_assert_eq(l->outcome.reason, HL_REASON_EXPIRED);
    hl_leased_free(l);

    struct hl_claimed *c = claim_one(f);
    cr_assert(hl_id_eq(&c->run_id, &other));
    cr_assert_eq(c->terms.timeout_ms, LATER_MS / 2);
    hl_claimed_free(c);
    cr_assert_eq(hl_counter_get(&hl_store_get_gauges(f->store)->expired_runs), 1);
}

STORE_TEST(run_that_has_started_in_time_does_not_expire, .timeout = 180)
{
    struct hl_id id, after;
    cr_assert_eq(accept_for(f, SOON_MS, NULL, &id), HL_OK);
    hl_claimed_free(claim_one(f));
    cr_assert_eq(accept_for(f, SOON_MS, NULL, &after), HL_OK);
    wait_until_expired(f, &after);
    cr_assert_eq(state_of(f, &id), HL_RUN_RUNNING);
    cr_assert_eq(finish_run(f, &id, 1, "pong"), HL_OK);
}

/* With a worker that waits, it begins in the transaction that accepts it. */
STORE_TEST(released_run_has_its_time_to_start_still, .timeout = 180)
{
    struct hl_id id;
    give_credit(f, &f->worker, 1, false);
    settle(f);
    cr_assert_eq(accept_for(f, 2 * SOON_MS, NULL, &id), HL_OK);
    struct hl_release *r = hl_release_new(party_wait(&f->worker, HL_STORE_CLAIMED));
    cr_assert_eq(ask(f, &f->worker, &r->m), HL_OK);
    hl_release_free(r);
    wait_until_expired(f, &id);
}

static void check_over_a_restart(enum hl_store_kind kind)
{
    struct fixture f;
    struct hl_id late, early;
    fixture_init(&f, kind);
    fixture_open(&f);
    cr_assert_eq(accept_for(&f, SOON_MS, NULL, &late), HL_OK);
    cr_assert_eq(accept_for(&f, LATER_MS, NULL, &early), HL_OK);
    fixture_close(&f);
    uint64_t over = hl_clock_mono_ms() + 2 * SOON_MS;
    while (hl_clock_mono_ms() < over)
        ;
    fixture_open(&f);
    struct hl_claimed *c = claim_one(&f);
    cr_assert(hl_id_eq(&c->run_id, &early));
    cr_assert_eq(c->terms.timeout_ms, LATER_MS / 2);
    hl_claimed_free(c);
    wait_until_expired(&f, &late);
    fixture_fini(&f);
}

Test(sqlite, run_whose_time_was_over_while_nobody_looked_is_not_handed_out, .timeout = 180)
{
    check_over_a_restart(HL_STORE_SQLITE);
}

Test(postgres, run_whose_time_was_over_while_nobody_looked_is_not_handed_out, .timeout = 180)
{
    check_over_a_restart(HL_STORE_POSTGRES);
}

Test(sqlite, many_runs_that_were_to_start_are_ended_and_none_of_them_is_handed_out, .timeout = 180)
{
    enum { MANY = 300 };
    struct fixture f;
    struct hl_id id, last;
    fixture_init(&f, HL_STORE_SQLITE);
    fixture_move_to_memory(&f);
    fixture_open(&f);
    for (int i = 0; i < MANY; i++)
        cr_assert_eq(accept_for(&f, 1, NULL, &id), HL_OK);
    cr_assert_eq(accept_for(&f, 0, NULL, &last), HL_OK);
    fixture_close(&f);
    fixture_open(&f);
    struct hl_claimed *c = claim_one(&f);
    cr_assert(hl_id_eq(&c->run_id, &last));
    hl_claimed_free(c);
    fixture_fini(&f);
}
