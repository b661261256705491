/* test_release.c - a worker that stops: what it had claimed and not started waits again. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fixture.h"
#include "store/accept.h"
#include "store/claim.h"

static struct hl_claimed *claim_one(struct fixture *f)
{
    give_credit(f, &f->worker, 1, false);
    return party_wait(&f->worker, HL_STORE_CLAIMED);
}

/* Gives the claim back; the reply's rc. */
static enum hl_err release(struct fixture *f, struct hl_claimed *claimed)
{
    struct hl_release *r = hl_release_new(claimed);
    cr_assert(r);
    enum hl_err rc = ask(f, &f->worker, &r->m);
    hl_release_free(r);
    return rc;
}

STORE_TEST(released_run_is_claimed_again_first_with_its_body_and_the_same_attempt)
{
    struct hl_id first, second;
    cr_assert_eq(accept_run(f, (struct run_spec){.head = "H1", .body = "one"}, &first), HL_OK);
    cr_assert_eq(accept_run(f, (struct run_spec){.head = "H2", .body = "two"}, &second), HL_OK);
    struct hl_claimed *c = claim_one(f);
    uint32_t epoch = c->epoch;
    cr_assert_eq(release(f, c), HL_OK);
    cr_assert_eq(state_of(f, &first), HL_RUN_QUEUED);

    c = claim_one(f);
    cr_assert(hl_id_eq(&c->run_id, &first));
    cr_assert_eq(c->attempt, 1);
    cr_assert_gt(c->epoch, epoch);
    cr_assert(hl_str_eq(c->head, HL_STR("H1")));
    cr_assert(hl_str_eq((struct hl_str){c->body.bytes, c->body.size}, HL_STR("one")));
    hl_claimed_free(c);
    c = claim_one(f);
    cr_assert(hl_id_eq(&c->run_id, &second));
    hl_claimed_free(c);
}

STORE_TEST(run_that_began_as_it_came_is_released_with_its_request)
{
    struct hl_id id;
    give_credit(f, &f->worker, 1, false);
    cr_assert_eq(accept_run(f, (struct run_spec){.head = "H1", .body = "one"}, &id), HL_OK);
    struct hl_claimed *c = party_wait(&f->worker, HL_STORE_CLAIMED);
    cr_assert_eq(state_of(f, &id), HL_RUN_RUNNING);
    cr_assert_eq(release(f, c), HL_OK);
    cr_assert_eq(state_of(f, &id), HL_RUN_QUEUED);

    c = claim_one(f);
    cr_assert(hl_id_eq(&c->run_id, &id));
    cr_assert_eq(c->attempt, 1);
    cr_assert(hl_str_eq(c->head, HL_STR("H1")));
    cr_assert(hl_str_eq((struct hl_str){c->body.bytes, c->body.size}, HL_STR("one")));
    cr_assert_eq(finish_run(f, &id, c->epoch, "done"), HL_OK);
    cr_assert_eq(state_of(f, &id), HL_RUN_SUCCESS);
    hl_claimed_free(c);
}

STORE_TEST(runs_of_one_millisecond_are_released_into_their_order_of_acceptance)
{
    struct hl_claimed *claims[3];
    int64_t created_ms = hl_clock_wall_ms();
    for (size_t i = 0; i < HL_ARRAY_LEN(claims); i++) {
        struct hl_accept *a = make_accept(f, HL_STORE_ACCEPT, &(struct run_spec){0});
        a->created_ms = created_ms;
        cr_assert_eq(ask(f, &f->worker, &a->m), HL_OK);
        hl_accept_free(a);
        claims[i] = claim_one(f);
    }
    struct hl_id order[] = {claims[0]->run_id, claims[1]->run_id, claims[2]->run_id};
    cr_assert_eq(release(f, claims[1]), HL_OK);
    cr_assert_eq(release(f, claims[2]), HL_OK);
    cr_assert_eq(release(f, claims[0]), HL_OK);
    for (size_t i = 0; i < HL_ARRAY_LEN(order); i++) {
        struct hl_claimed *c = claim_one(f);
        cr_assert(hl_id_eq(&c->run_id, &order[i]), "%zu", i);
        hl_claimed_free(c);
    }
}

STORE_TEST(finish_and_release_under_a_released_claim_are_stale)
{
    struct hl_id id;
    cr_assert_eq(accept_run(f, (struct run_spec){.body = "x"}, &id), HL_OK);
    struct hl_claimed *c = claim_one(f), *copy = calloc(1, sizeof(*copy));
    copy->run_id = c->run_id;
    copy->epoch = c->epoch;
    uint32_t epoch = c->epoch;
    cr_assert_eq(release(f, c), HL_OK);
    cr_assert_eq(release(f, copy), HL_ERR_STALE);
    cr_assert_eq(finish_run(f, &id, epoch, "late"), HL_ERR_STALE);
    cr_assert_eq(state_of(f, &id), HL_RUN_QUEUED);
}

static void withdraw(struct fixture *f)
{
    struct hl_store_msg *m = calloc(1, sizeof(*m));
    m->msg.type = HL_STORE_WITHDRAW;
    cr_assert_eq(ask(f, &f->worker, m), HL_OK);
    free(m);
}

STORE_TEST(nothing_is_claimed_after_a_withdrawal_was_answered)
{
    struct hl_id id;
    give_credit(f, &f->worker, 5, false);
    withdraw(f);
    cr_assert_eq(accept_run(f, (struct run_spec){.body = "x"}, &id), HL_OK);
    settle(f);
    cr_assert_null(party_look(&f->worker, HL_STORE_CLAIMED));
    cr_assert_eq(state_of(f, &id), HL_RUN_QUEUED);
}

STORE_TEST(credit_that_was_withdrawn_is_given_anew)
{
    struct hl_id id;
    give_credit(f, &f->worker, 5, false);
    withdraw(f);
    cr_assert_eq(accept_run(f, (struct run_spec){.body = "x"}, &id), HL_OK);
    struct hl_claimed *c = claim_one(f);
    cr_assert(hl_id_eq(&c->run_id, &id));
    cr_assert_eq(release(f, c), HL_OK);
    settle(f);
    cr_assert_null(party_look(&f->worker, HL_STORE_CLAIMED), "there was credit for one");
    withdraw(f);
    withdraw(f);
    hl_claimed_free(claim_one(f));
}

/* The store fetches it while the worker takes its credit back. */
static void withdraw_in_the_middle_of_a_body(struct fixture *f)
{
    size_t size = 24 << 20;
    char *text = malloc(size + 1);
    memset(text, 'x', size);
    text[size] = '\0';
    struct hl_accept *a = make_accept(f, HL_STORE_ACCEPT, &(struct run_spec){0});
    a->body = make_file_body(f, text);
    cr_assert_eq(ask(f, &f->worker, &a->m), HL_OK);
    struct hl_id id = a->run_id;
    hl_accept_free(a);
    free(text);
    give_credit(f, &f->worker, 1, false);
    while (state_of(f, &id) != HL_RUN_RUNNING)
        ;
    withdraw(f);
    struct hl_claimed *c = party_look(&f->worker, HL_STORE_CLAIMED);
    if (c)
        cr_assert_eq(release(f, c), HL_OK);
    c = claim_one(f);
    cr_assert(hl_id_eq(&c->run_id, &id));
    cr_assert_eq(c->attempt, 1);
    hl_claimed_free(c);
}

Test(postgres, run_whose_body_was_on_its_way_to_a_worker_that_withdrew_is_claimed_again,
    .timeout = 120)
{
    fixture_run(HL_STORE_POSTGRES, withdraw_in_the_middle_of_a_body);
}

Test(sqlite, released_run_is_queued_after_a_restart_and_not_interrupted)
{
    struct fixture f;
    struct hl_id id;
    fixture_init(&f, HL_STORE_SQLITE);
    fixture_open(&f);
    cr_assert_eq(accept_run(&f, (struct run_spec){.body = "x"}, &id), HL_OK);
    cr_assert_eq(release(&f, claim_one(&f)), HL_OK);
    fixture_reopen(&f);
    cr_assert_eq(state_of(&f, &id), HL_RUN_QUEUED);
    fixture_fini(&f);
}
