/* test_run.c - runs through the store: accept, claim, finish, cancel, idempotency, credit. */
#include <criterion/criterion.h>
#include <unistd.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/metric.h"
#include "config/config.h"
#include "fixture.h"
#include "store/accept.h"
#include "store/claim.h"
#include "store/gauges.h"
#include "store/lease.h"
#include "store/question.h"
#include "store/store.h"

static struct hl_claimed *claim_one(struct fixture *f)
{
    give_credit(f, &f->worker, 1, false);
    return party_wait(&f->worker, HL_STORE_CLAIMED);
}

STORE_TEST(i1_run_passes_through_every_state)
{
    struct hl_id id;
    cr_assert_eq(accept_run(f, (struct run_spec){.head = "HEAD", .body = "ping"}, &id), HL_OK);
    cr_assert_eq(state_of(f, &id), HL_RUN_QUEUED);

    struct hl_claimed *c = claim_one(f);
    cr_assert(hl_id_eq(&c->run_id, &id));
    cr_assert_eq(c->epoch, 1);
    cr_assert_eq(c->attempt, 1);
    cr_assert(!c->has_webhook);
    cr_assert(hl_str_eq(c->project, HL_STR("p")) && hl_str_eq(c->app, HL_STR("a")));
    cr_assert(hl_str_eq(c->head, HL_STR("HEAD")));
    cr_assert_eq(c->body.where, HL_BODY_INLINE);
    cr_assert(hl_str_eq((struct hl_str){c->body.bytes, c->body.size}, HL_STR("ping")));
    cr_assert_eq(state_of(f, &id), HL_RUN_RUNNING);

    cr_assert_eq(finish_run(f, &id, c->epoch, "pong"), HL_OK);
    struct hl_get_run g;
    cr_assert_eq(get_run(f, &id, &g), HL_OK);
    cr_assert_eq(g.run.state, HL_RUN_SUCCESS);
    cr_assert_eq(g.outcome.http_status, 200);
    cr_assert_str_eq(g.outcome.content_type, "text/plain");
    struct hl_str body = {g.outcome.body.bytes, g.outcome.body.size};
    cr_assert(hl_str_eq(body, HL_STR("pong")));
    hl_body_fini(&g.outcome.body);
    hl_claimed_free(c);
}

STORE_TEST(empty_body_and_none_are_told_apart)
{
    struct hl_id with, without;
    cr_assert_eq(accept_run(f, (struct run_spec){.body = ""}, &with), HL_OK);
    cr_assert_eq(accept_run(f, (struct run_spec){0}, &without), HL_OK);
    struct hl_claimed *a = claim_one(f), *b = claim_one(f);
    cr_assert_eq(a->body.where, HL_BODY_INLINE);
    cr_assert_eq(a->body.size, 0);
    cr_assert_eq(b->body.where, HL_BODY_NONE);
    hl_claimed_free(a);
    hl_claimed_free(b);
}

STORE_TEST(how_the_time_of_a_call_was_spent_stays_with_its_run)
{
    struct hl_id id;
    struct hl_get_run g;
    cr_assert_eq(record_run(f, (struct run_spec){.project = "p"}, &id), HL_OK);
    struct hl_finish *finish = make_finish(&id, 1, "done");
    finish->outcome.parts = (struct hl_call_parts){
        .gate_us = 7, .connect_us = 1, .first_byte_us = INT64_C(90000000000)};
    cr_assert_eq(ask(f, &f->worker, &finish->m), HL_OK);
    hl_finish_free(finish);
    if (f->kind != HL_STORE_MEMORY)
        fixture_reopen(f);
    cr_assert_eq(get_run(f, &id, &g), HL_OK);
    hl_body_fini(&g.outcome.body);
    cr_assert_eq(g.run.parts.gate_us, 7);
    cr_assert_eq(g.run.parts.connect_us, 1);
    cr_assert_eq(g.run.parts.first_byte_us, INT64_C(90000000000));
}

STORE_TEST(oldest_run_is_claimed_first)
{
    struct hl_id ids[5];
    for (int i = 0; i < 5; i++)
        cr_assert_eq(accept_run(f, (struct run_spec){0}, &ids[i]), HL_OK);
    for (int i = 0; i < 5; i++) {
        struct hl_claimed *c = claim_one(f);
        cr_assert(hl_id_eq(&c->run_id, &ids[i]));
        hl_claimed_free(c);
    }
    cr_assert_eq(hl_counter_get(&hl_store_get_gauges(f->store)->queued_runs), 0);
}

/* The table is empty in between: ids of tickets must not begin again. */
STORE_TEST(i8_run_accepted_after_the_queue_was_empty_is_claimed)
{
    for (int i = 0; i < 3; i++) {
        struct hl_id id;
        cr_assert_eq(accept_run(f, (struct run_spec){0}, &id), HL_OK);
        struct hl_claimed *c = claim_one(f);
        cr_assert(hl_id_eq(&c->run_id, &id));
        cr_assert_eq(finish_run(f, &id, 1, NULL), HL_OK);
        hl_claimed_free(c);
    }
}

STORE_TEST(i5_stale_epoch_changes_nothing)
{
    struct hl_id id, unknown = new_id(f);
    cr_assert_eq(accept_run(f, (struct run_spec){0}, &id), HL_OK);
    cr_assert_eq(finish_run(f, &id, 0, NULL), HL_ERR_STALE, "it is queued");
    hl_claimed_free(claim_one(f));
    cr_assert_eq(finish_run(f, &id, 2, NULL), HL_ERR_STALE);
    cr_assert_eq(state_of(f, &id), HL_RUN_RUNNING);
    cr_assert_eq(finish_run(f, &id, 1, NULL), HL_OK);
    cr_assert_eq(finish_run(f, &unknown, 1, NULL), HL_ERR_NOT_FOUND);
}

STORE_TEST(i7_final_state_never_changes)
{
    struct hl_id id;
    cr_assert_eq(record_run(f, (struct run_spec){0}, &id), HL_OK);
    cr_assert_eq(finish_run(f, &id, 1, "first"), HL_OK);
    cr_assert_eq(finish_run(f, &id, 1, "second"), HL_ERR_STALE);
    cr_assert_eq(cancel_run(f, &id), HL_ERR_CONFLICT);
    struct hl_get_run g;
    cr_assert_eq(get_run(f, &id, &g), HL_OK);
    cr_assert_eq(g.run.state, HL_RUN_SUCCESS);
    cr_assert_eq(g.outcome.body.size, 5);
    hl_body_fini(&g.outcome.body);
}

/* --- idempotency ---------------------------------------------------------------------------- */

STORE_TEST(i3_one_key_makes_one_run)
{
    struct hl_id first, again;
    struct run_spec spec = {.key = "k", .subject = "s", .fingerprint = 1};
    cr_assert_eq(accept_run(f, spec, &first), HL_OK);
    cr_assert_eq(accept_run(f, spec, &again), HL_ERR_EXISTS);
    cr_assert(hl_id_eq(&first, &again), "the earlier run's id");
    spec.fingerprint = 2;
    cr_assert_eq(accept_run(f, spec, NULL), HL_ERR_CONFLICT);
    cr_assert_eq(hl_counter_get(&hl_store_get_gauges(f->store)->queued_runs), 1);
}

STORE_TEST(i3_key_belongs_to_subject_and_app)
{
    static const struct run_spec specs[] = {
        {.key = "k", .subject = "s"},
        {.key = "k", .subject = "t"},
        {.key = "k", .subject = "s", .app = "b"},
        {.key = "k", .subject = "s", .project = "q"},
        {.key = "ks", .subject = ""},
        {.key = "s", .subject = "k"},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(specs); i++)
        cr_assert_eq(accept_run(f, specs[i], NULL), HL_OK, "%zu", i);
    for (size_t i = 0; i < HL_ARRAY_LEN(specs); i++)
        cr_assert_eq(accept_run(f, specs[i], NULL), HL_ERR_EXISTS, "%zu", i);
}

STORE_TEST(i3_expired_key_is_free)
{
    struct run_spec spec = {.key = "k"};
    cr_assert_eq(accept_run(f, spec, NULL), HL_OK);
    struct hl_accept *later = make_accept(f, HL_STORE_ACCEPT, &spec);
    later->created_ms += (int64_t)f->config->retention_ms + 1000;
    cr_assert_eq(ask(f, &f->worker, &later->m), HL_OK, "retention is shorter than 24 h");
    hl_accept_free(later);
}

struct caller {
    struct fixture *f;
    struct party party;
    enum hl_err rc;
    struct hl_accept *accept;
    pthread_t thread;
};

static void *call(void *arg)
{
    struct caller *c = arg;
    c->rc = ask(c->f, &c->party, &c->accept->m);
    return NULL;
}

static void wake_caller(void *arg)
{
    sem_post(&((struct party *)arg)->wake);
}

/* `n` threads accept at once; each has its answer when this returns. */
static void call_at_once(struct fixture *f, struct caller *callers, int n, const char *key)
{
    for (int i = 0; i < n; i++) {
        struct run_spec spec = {.key = key};
        callers[i] = (struct caller){.f = f, .accept = make_accept(f, HL_STORE_ACCEPT, &spec)};
        sem_init(&callers[i].party.wake, 0, 0);
        hl_mailbox_init(&callers[i].party.box, wake_caller, &callers[i].party);
    }
    for (int i = 0; i < n; i++)
        cr_assert_eq(pthread_create(&callers[i].thread, NULL, call, &callers[i]), 0);
    for (int i = 0; i < n; i++)
        pthread_join(callers[i].thread, NULL);
    settle(f); /* the store is done with the callers' mailboxes */
}

STORE_TEST(i3_sixty_four_concurrent_callers_make_one_run)
{
    enum { CALLERS = 64 };
    struct caller callers[CALLERS];
    int made = 0, existed = 0;
    call_at_once(f, callers, CALLERS, "k");
    for (int i = 0; i < CALLERS; i++) {
        made += callers[i].rc == HL_OK;
        existed += callers[i].rc == HL_ERR_EXISTS;
        cr_assert(hl_id_eq(&callers[i].accept->run_id, &callers[0].accept->run_id));
    }
    cr_assert_eq(made, 1);
    cr_assert_eq(existed, CALLERS - 1);
    for (int i = 0; i < CALLERS; i++)
        hl_accept_free(callers[i].accept);
}

STORE_TEST(many_submitters_share_commits)
{
    enum { CALLERS = 256 };
    static struct caller callers[CALLERS];
    uint64_t before = hl_counter_get(&hl_store_get_gauges(f->store)->commits);
    for (int round = 0; round < 4; round++) {
        call_at_once(f, callers, CALLERS, NULL);
        for (int i = 0; i < CALLERS; i++) {
            cr_assert_eq(callers[i].rc, HL_OK);
            hl_accept_free(callers[i].accept);
        }
    }
    cr_assert_lt(hl_counter_get(&hl_store_get_gauges(f->store)->commits) - before, 4 * CALLERS);
    cr_assert_eq(hl_counter_get(&hl_store_get_gauges(f->store)->queued_runs), 4 * CALLERS);
}

/* --- cancel --------------------------------------------------------------------------------- */

STORE_TEST(i11_cancelled_queued_run_never_reaches_the_app)
{
    struct hl_id cancelled, kept;
    cr_assert_eq(accept_run(f, (struct run_spec){.url = "https://e.org/"}, &cancelled), HL_OK);
    cr_assert_eq(accept_run(f, (struct run_spec){0}, &kept), HL_OK);
    cr_assert_eq(cancel_run(f, &cancelled), HL_OK);
    cr_assert_eq(state_of(f, &cancelled), HL_RUN_CANCELLED);
    struct hl_claimed *c = claim_one(f);
    cr_assert(hl_id_eq(&c->run_id, &kept));
    hl_claimed_free(c);

    give_lease_credit(f, 1);
    struct hl_leased *l = party_wait(&f->sender, HL_STORE_LEASED);
    cr_assert(hl_id_eq(&l->run_id, &cancelled));
    cr_assert_eq(l->outcome.state, HL_RUN_CANCELLED);
    cr_assert_eq(l->outcome.body.where, HL_BODY_NONE);
    hl_leased_free(l);
}

STORE_TEST(i11_cancel_of_a_running_run_goes_to_its_worker)
{
    struct hl_id recorded, claimed, nobody = new_id(f);
    cr_assert_eq(record_run(f, (struct run_spec){0}, &recorded), HL_OK);
    cr_assert_eq(accept_run(f, (struct run_spec){0}, &claimed), HL_OK);
    hl_claimed_free(claim_one(f));
    struct hl_id *ids[] = {&recorded, &claimed};
    for (size_t i = 0; i < HL_ARRAY_LEN(ids); i++) {
        cr_assert_eq(cancel_run(f, ids[i]), HL_OK);
        struct hl_cancel_run *cancel = party_wait(&f->worker, HL_STORE_CANCEL_RUN);
        cr_assert(hl_id_eq(&cancel->run_id, ids[i]));
        free(cancel);
        cr_assert_eq(state_of(f, ids[i]), HL_RUN_RUNNING, "its worker ends it");
        cr_assert_eq(finish_run(f, ids[i], 1, NULL), HL_OK);
        cr_assert_eq(cancel_run(f, ids[i]), HL_ERR_CONFLICT);
    }
    cr_assert_eq(cancel_run(f, &nobody), HL_ERR_NOT_FOUND);
}

STORE_TEST(i11_cancel_that_was_accepted_holds_whatever_end_was_on_its_way)
{
    struct hl_id recorded, claimed, after;
    cr_assert_eq(record_run(f, (struct run_spec){.url = "https://e.org/"}, &recorded), HL_OK);
    cr_assert_eq(accept_run(f, (struct run_spec){.url = "https://e.org/"}, &claimed), HL_OK);
    hl_claimed_free(claim_one(f));
    struct hl_id *ids[] = {&recorded, &claimed};
    for (size_t i = 0; i < HL_ARRAY_LEN(ids); i++) {
        cr_assert_eq(cancel_run(f, ids[i]), HL_OK);
        struct hl_finish *finish = make_finish(ids[i], 1, "done");
        cr_assert_eq(ask(f, &f->worker, &finish->m), HL_OK);
        cr_assert_eq(finish->outcome.state, HL_RUN_CANCELLED, "who ended it is told");
        hl_finish_free(finish);
        cr_assert_eq(state_of(f, ids[i]), HL_RUN_CANCELLED);
        free(party_wait(&f->worker, HL_STORE_CANCEL_RUN));
        give_lease_credit(f, 1);
        struct hl_leased *l = party_wait(&f->sender, HL_STORE_LEASED);
        cr_assert(hl_id_eq(&l->run_id, ids[i]));
        cr_assert_eq(l->outcome.state, HL_RUN_CANCELLED, "its webhook says so, too");
        hl_leased_free(l);
    }
    cr_assert_eq(record_run(f, (struct run_spec){0}, &after), HL_OK);
    cr_assert_eq(finish_run(f, &after, 1, "done"), HL_OK);
    cr_assert_eq(cancel_run(f, &after), HL_ERR_CONFLICT);
    cr_assert_eq(state_of(f, &after), HL_RUN_SUCCESS);
}

/* --- refusals ------------------------------------------------------------------------------- */

static void refuses_beyond_limits(struct fixture *f)
{
    struct run_spec keyed = {.key = "k"}, with_webhook = {.url = "https://e.org/"};
    struct hl_id id;
    cr_assert_eq(record_run(f, with_webhook, &id), HL_OK);
    cr_assert_eq(finish_run(f, &id, 1, NULL), HL_OK);
    cr_assert_eq(accept_run(f, with_webhook, NULL), HL_ERR_BUSY, "one delivery is pending");
    cr_assert_eq(record_run(f, with_webhook, NULL), HL_OK, "its run is inside the app already");

    cr_assert_eq(accept_run(f, (struct run_spec){.key = "first"}, NULL), HL_OK);
    cr_assert_eq(accept_run(f, keyed, &id), HL_ERR_BUSY, "one run is queued");
    cr_assert_eq(accept_run(f, (struct run_spec){.key = "first"}, NULL), HL_ERR_EXISTS);
    struct hl_get_run g;
    cr_assert_eq(get_run(f, &id, &g), HL_ERR_NOT_FOUND, "no trace");
    hl_claimed_free(claim_one(f));
    cr_assert_eq(accept_run(f, keyed, NULL), HL_OK, "the refused call's key is free");
}

static void run_with_limits(enum hl_store_kind kind)
{
    struct fixture f;
    fixture_init(&f, kind);
    f.config->max_queued_runs = 1;
    f.config->max_pending_deliveries = 1;
    fixture_open(&f);
    refuses_beyond_limits(&f);
    fixture_fini(&f);
}

Test(sqlite, i15_busy_leaves_no_trace)
{
    run_with_limits(HL_STORE_SQLITE);
}

Test(memory, i15_busy_leaves_no_trace)
{
    run_with_limits(HL_STORE_MEMORY);
}

Test(postgres, i15_busy_leaves_no_trace)
{
    run_with_limits(HL_STORE_POSTGRES);
}

/* A run id that exists fails alone: its neighbours in the batch are accepted. */
STORE_TEST(one_bad_operation_does_not_fail_its_batch)
{
    struct hl_id id;
    cr_assert_eq(accept_run(f, (struct run_spec){0}, &id), HL_OK);
    struct run_spec specs[] = {{0}, {.id = id}, {.key = "k"}, {.key = "k"}};
    static const enum hl_err expected[] = {HL_OK, HL_ERR_INVALID, HL_OK, HL_ERR_EXISTS};
    struct hl_accept *accepts[HL_ARRAY_LEN(specs)];
    for (size_t i = 0; i < HL_ARRAY_LEN(specs); i++) {
        accepts[i] = make_accept(f, HL_STORE_ACCEPT, &specs[i]);
        accepts[i]->m.reply_to = &f->worker.box;
    }
    for (size_t i = 0; i < HL_ARRAY_LEN(specs); i++)
        cr_assert_eq(hl_store_post(f->store, &accepts[i]->m), HL_OK);
    for (size_t i = 0; i < HL_ARRAY_LEN(specs); i++) {
        cr_assert_eq(party_wait(&f->worker, HL_STORE_ACCEPT), accepts[i]);
        cr_assert_eq(accepts[i]->m.rc, expected[i], "%zu: %d", i, accepts[i]->m.rc);
    }
    cr_assert(hl_id_eq(&accepts[3]->run_id, &accepts[2]->run_id));
    cr_assert_eq(hl_counter_get(&hl_store_get_gauges(f->store)->queued_runs), 3);
    for (size_t i = 0; i < HL_ARRAY_LEN(specs); i++)
        hl_accept_free(accepts[i]);
}

/* --- credit --------------------------------------------------------------------------------- */

STORE_TEST(standing_credit_waits_for_runs)
{
    struct hl_id ids[3];
    give_credit(f, &f->worker, 2, false);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(accept_run(f, (struct run_spec){0}, &ids[i]), HL_OK);
    for (int i = 0; i < 2; i++) {
        struct hl_claimed *c = party_wait(&f->worker, HL_STORE_CLAIMED);
        cr_assert(hl_id_eq(&c->run_id, &ids[i]));
        hl_claimed_free(c);
    }
    settle(f);
    cr_assert_null(party_look(&f->worker, HL_STORE_CLAIMED), "credit was 2");
}

STORE_TEST(returning_credit_comes_back_when_nothing_is_queued)
{
    cr_assert_eq(accept_run(f, (struct run_spec){0}, NULL), HL_OK);
    give_credit(f, &f->worker, 5, true);
    hl_claimed_free(party_wait(&f->worker, HL_STORE_CLAIMED));
    struct hl_credit *back = party_wait(&f->worker, HL_STORE_CREDIT_BACK);
    cr_assert_eq(back->n, 4);
    free(back);
    cr_assert_eq(accept_run(f, (struct run_spec){0}, NULL), HL_OK);
    free(party_wait(&f->worker, HL_STORE_WORK));
    cr_assert_null(party_look(&f->worker, HL_STORE_CLAIMED));
}

STORE_TEST(known_worker_without_credit_is_told_of_work_once)
{
    give_credit(f, &f->worker, 0, false);
    cr_assert_eq(accept_run(f, (struct run_spec){0}, NULL), HL_OK);
    free(party_wait(&f->worker, HL_STORE_WORK));
    cr_assert_eq(accept_run(f, (struct run_spec){0}, NULL), HL_OK);
    settle(f);
    cr_assert_null(party_look(&f->worker, HL_STORE_WORK), "once until it gives credit");
    give_credit(f, &f->worker, 1, false);
    hl_claimed_free(party_wait(&f->worker, HL_STORE_CLAIMED));
    free(party_wait(&f->worker, HL_STORE_WORK));
}

STORE_TEST(workers_take_turns)
{
    struct party *parties[] = {&f->worker, &f->asker};
    give_credit(f, parties[0], 10, false);
    give_credit(f, parties[1], 2, false);
    for (int i = 0; i < 4; i++)
        cr_assert_eq(accept_run(f, (struct run_spec){0}, NULL), HL_OK);
    for (size_t i = 0; i < HL_ARRAY_LEN(parties); i++)
        for (int j = 0; j < 2; j++)
            hl_claimed_free(party_wait(parties[i], HL_STORE_CLAIMED));
}

/* --- closing -------------------------------------------------------------------------------- */

STORE_TEST(i18_each_request_is_answered_once_also_on_close)
{
    enum { N = 500 };
    for (int i = 0; i < N; i++) {
        struct hl_accept *a = make_accept(f, HL_STORE_ACCEPT, &(struct run_spec){0});
        a->m.reply_to = &f->worker.box;
        cr_assert_eq(hl_store_post(f->store, &a->m), HL_OK);
    }
    give_credit(f, &f->worker, 10, true);
    fixture_close(f);
    for (int i = 0; i < N; i++) {
        struct hl_accept *a = party_look(&f->worker, HL_STORE_ACCEPT);
        cr_assert(a && a->m.rc == HL_OK);
        hl_accept_free(a);
    }
    cr_assert_null(party_look(&f->worker, HL_STORE_ACCEPT));
    unsigned claimed = 0;
    struct hl_claimed *c;
    while ((c = party_look(&f->worker, HL_STORE_CLAIMED))) {
        hl_claimed_free(c);
        claimed++;
    }
    struct hl_credit *back = party_look(&f->worker, HL_STORE_CREDIT_BACK);
    cr_assert_eq(claimed + (back ? back->n : 0), 10, "credit is used or comes back");
    free(back);
}

/* --- retention ------------------------------------------------------------------------------ */

/* Waits until the run is gone. A store that is asked all the time puts off what can wait. */
static void await_purge(struct fixture *f, const struct hl_id *id)
{
    struct hl_get_run g;
    while (get_run(f, id, &g) == HL_OK) {
        hl_body_fini(&g.outcome.body);
        usleep(1000);
    }
}

static void purges(struct fixture *f)
{
    struct hl_id queued, running, pending, done;
    cr_assert_eq(record_run(f, (struct run_spec){0}, &running), HL_OK);
    cr_assert_eq(accept_run(f, (struct run_spec){0}, &queued), HL_OK);
    cr_assert_eq(record_run(f, (struct run_spec){.url = "https://e.org/"}, &pending), HL_OK);
    cr_assert_eq(finish_run(f, &pending, 1, "kept"), HL_OK);
    cr_assert_eq(record_run(f, (struct run_spec){0}, &done), HL_OK);
    cr_assert_eq(finish_run(f, &done, 1, "gone"), HL_OK);
    await_purge(f, &done);
    cr_assert_eq(state_of(f, &queued), HL_RUN_QUEUED);
    cr_assert_eq(state_of(f, &running), HL_RUN_RUNNING);
    cr_assert_eq(state_of(f, &pending), HL_RUN_SUCCESS);

    give_lease_credit(f, 1);
    struct hl_leased *l = party_wait(&f->sender, HL_STORE_LEASED);
    cr_assert_eq(l->outcome.body.size, 4, "its body is there");
    hl_leased_free(l);
}

static void finish_long_ago(struct fixture *f, const struct hl_id *id)
{
    struct hl_finish *finish = make_finish(id, 1, "answer");
    finish->outcome.finished_ms -= 2 * (int64_t)f->config->retention_ms;
    cr_assert_eq(ask(f, &f->worker, &finish->m), HL_OK);
    hl_finish_free(finish);
}

/* Contract 6. */
STORE_TEST(run_stays_for_the_retention_after_the_end_of_its_delivery)
{
    struct hl_id delivered, other;
    fixture_close(f);
    f->config->stream_retention_ms = 1; /* so soon after a commit what may go is looked for */
    if (f->kind == HL_STORE_MEMORY)
        f->config->retention_ms = 120 * 1000; /* a pass begins when a 64th of it is over */
    fixture_open(f);
    cr_assert_eq(record_run(f, (struct run_spec){.url = "https://e.org/"}, &delivered), HL_OK);
    finish_long_ago(f, &delivered);
    give_lease_credit(f, 1);
    struct hl_leased *l = party_wait(&f->sender, HL_STORE_LEASED);
    cr_assert_eq(say_outcome(f, l, 1, HL_ATTEMPT_DEAD), HL_OK);
    cr_assert_eq(record_run(f, (struct run_spec){0}, &other), HL_OK);
    finish_long_ago(f, &other);
    if (f->kind == HL_STORE_SQLITE)
        fixture_reopen(f); /* a pass begins anew */
    await_purge(f, &other);
    cr_assert_eq(state_of(f, &delivered), HL_RUN_SUCCESS, "it has just become a dead letter");
    cr_assert_eq(redeliver(f, &l->delivery_id, "p", NULL), HL_OK);
    hl_leased_free(l);
}

static void run_with_retention(enum hl_store_kind kind)
{
    struct fixture f;
    fixture_init(&f, kind);
    f.config->retention_ms = 30;
    fixture_open(&f);
    purges(&f);
    fixture_fini(&f);
}

Test(sqlite, i16_purge_removes_only_what_is_final_and_delivered)
{
    run_with_retention(HL_STORE_SQLITE);
}

Test(memory, i16_purge_removes_only_what_is_final_and_delivered)
{
    run_with_retention(HL_STORE_MEMORY);
}

static void sheds(struct fixture *f)
{
    static char large[200 * 1024];
    struct hl_id first, last, pending;
    struct hl_get_run g;
    memset(large, 'x', sizeof(large) - 1);
    cr_assert_eq(record_run(f, (struct run_spec){.url = "https://e.org/"}, &pending), HL_OK);
    cr_assert_eq(finish_run(f, &pending, 1, large), HL_OK);
    for (int i = 0; i < 40; i++) {
        cr_assert_eq(record_run(f, (struct run_spec){0}, i ? &last : &first), HL_OK);
        cr_assert_eq(finish_run(f, i ? &last : &first, 1, large), HL_OK);
    }
    do {
        cr_assert_eq(accept_run(f, (struct run_spec){0}, NULL), HL_OK, "finished bodies make room");
        cr_assert_eq(get_run(f, &first, &g), HL_OK);
        free(g.outcome.body.bytes);
    } while (g.outcome.body.where != HL_BODY_DROPPED);
    cr_assert_eq(g.outcome.body.size, sizeof(large) - 1);
    cr_assert_eq(get_run(f, &pending, &g), HL_OK);
    cr_assert_eq(g.outcome.body.where, HL_BODY_INLINE, "a pending delivery needs its body");
    hl_body_fini(&g.outcome.body);
    cr_assert_eq(get_run(f, &last, &g), HL_OK);
    cr_assert_eq(g.outcome.body.where, HL_BODY_INLINE, "the oldest go first");
    hl_body_fini(&g.outcome.body);
}

static void run_with_max_bytes(enum hl_store_kind kind)
{
    struct fixture f;
    fixture_init(&f, kind);
    f.config->store_max_bytes = (struct hl_store_limit){.bytes = 6 << 20};
    fixture_open(&f);
    sheds(&f);
    fixture_fini(&f);
}

Test(sqlite, oldest_finished_bodies_go_first_at_the_size_limit)
{
    run_with_max_bytes(HL_STORE_SQLITE);
}

Test(memory, oldest_finished_bodies_go_first_at_the_size_limit)
{
    run_with_max_bytes(HL_STORE_MEMORY);
}

/* What is queued is never dropped: when only that is left, new calls are refused. */
static void run_until_full(enum hl_store_kind kind)
{
    struct fixture f;
    static char large[200 * 1024];
    memset(large, 'x', sizeof(large) - 1);
    fixture_init(&f, kind);
    f.config->store_max_bytes = (struct hl_store_limit){.bytes = 4 << 20};
    fixture_open(&f);
    enum hl_err rc = HL_OK;
    struct hl_id id;
    for (int i = 0; i < 100000 && rc == HL_OK; i++)
        rc = accept_run(&f, (struct run_spec){.body = large}, &id);
    cr_assert_eq(rc, HL_ERR_FULL);
    struct hl_get_run g;
    cr_assert_eq(get_run(&f, &id, &g), HL_ERR_NOT_FOUND, "no trace");
    cr_assert_eq(hl_counter_get(&hl_store_get_gauges(f.store)->is_full), 1);
    uint64_t queued = hl_counter_get(&hl_store_get_gauges(f.store)->queued_runs);
    give_credit(&f, &f.worker, (uint32_t)queued, false);
    while (queued-- > 0) {
        struct hl_claimed *c = party_wait(&f.worker, HL_STORE_CLAIMED);
        cr_assert_eq(finish_run(&f, &c->run_id, 1, NULL), HL_OK, "finishes go on");
        hl_claimed_free(c);
    }
    while (hl_counter_get(&hl_store_get_gauges(f.store)->is_full))
        ;
    cr_assert_eq(accept_run(&f, (struct run_spec){.body = large}, NULL), HL_OK);
    fixture_fini(&f);
}

Test(sqlite, i15_full_leaves_no_trace)
{
    run_until_full(HL_STORE_SQLITE);
}

Test(memory, i15_full_leaves_no_trace)
{
    run_until_full(HL_STORE_MEMORY);
}

/* The database's clock has jumped ahead, and this replica has not heard of it yet. */
static void ends_by_its_clock(struct fixture *f)
{
    struct hl_id id;
    struct hl_get_run g;
    int64_t now_ms = hl_clock_wall_ms();
    cr_assert_eq(record_run(f, (struct run_spec){0}, &id), HL_OK);
    hl_clock_follow(now_ms - 2 * 86400000, hl_clock_mono_ms());
    struct hl_finish *finish = make_finish(&id, 1, "answer");
    cr_assert_eq(ask(f, &f->worker, &finish->m), HL_OK);
    hl_finish_free(finish);
    hl_clock_follow(now_ms, hl_clock_mono_ms());
    cr_assert_eq(get_run(f, &id, &g), HL_OK, "it is not past its retention");
    hl_body_fini(&g.outcome.body);
    cr_assert_geq(g.run.finished_ms, now_ms - 1000);
}

Test(postgres, a_run_ends_by_the_servers_clock_though_that_was_set)
{
    fixture_run(HL_STORE_POSTGRES, ends_by_its_clock);
}
