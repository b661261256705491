/* test_delivery.c - deliveries through the store: leases, attempts, outcomes, lanes, redelivery. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/metric.h"
#include "config/config.h"
#include "fixture.h"
#include "store/accept.h"
#include "store/claim.h"
#include "store/gauges.h"
#include "store/lease.h"
#include "store/question.h"
#include "store/store.h"

#define URL "https://example.org/hook"

static struct hl_get_run deliveries_of(struct fixture *f, const struct hl_id *run_id)
{
    struct hl_get_run g;
    cr_assert_eq(get_run(f, run_id, &g), HL_OK);
    hl_body_fini(&g.outcome.body);
    return g;
}

STORE_TEST(lease_carries_what_the_envelope_says)
{
    struct hl_leased *l = lease_one(f, URL);
    cr_assert_eq(l->round, 1);
    cr_assert_eq(l->n, 1);
    cr_assert_eq(l->max_attempts, 3);
    cr_assert(hl_str_eq(l->url, HL_STR(URL)));
    cr_assert(hl_str_eq(l->secret, HL_STR("s3cret")));
    cr_assert(hl_str_starts_with(l->traceparent, HL_STR("00-0af7651916cd43dd")));
    cr_assert(hl_str_eq(l->project, HL_STR("p")) && hl_str_eq(l->app, HL_STR("a")));
    cr_assert_eq(l->outcome.state, HL_RUN_SUCCESS);
    cr_assert_eq(l->outcome.encoding, HL_ENCODING_TEXT);
    struct hl_str body = {l->outcome.body.bytes, l->outcome.body.size};
    cr_assert(hl_str_eq(body, HL_STR("answer")));
    cr_assert_eq(deliveries_of(f, &l->run_id).run.deliveries_pending, 1);

    cr_assert_eq(say_outcome(f, l, 1, HL_ATTEMPT_OK), HL_OK);
    cr_assert_eq(deliveries_of(f, &l->run_id).run.deliveries_ok, 1);
    cr_assert_eq(say_outcome(f, l, 1, HL_ATTEMPT_OK), HL_ERR_STALE, "the lease has ended");
    hl_leased_free(l);
}

static struct hl_leased *lease_next(struct fixture *f, const struct hl_id *run_id)
{
    struct hl_leased *l = party_wait(&f->sender, HL_STORE_LEASED);
    cr_assert(hl_id_eq(&l->run_id, run_id));
    cr_assert_eq(l->n, 1);
    return l;
}

/* What begins while there is a place is leased without a look at its rows. */
STORE_TEST(lease_says_the_same_of_a_delivery_that_waited_and_of_one_that_did_not)
{
    const struct run_spec spec = {.url = URL, .secret = "s3cret", .tags = "tier=gold"};
    struct hl_id ids[2];
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(record_run(f, spec, &ids[i]), HL_OK);
        give_lease_credit(f, i == 0); /* for the first: before it ends */
        settle(f);
        cr_assert_eq(finish_run(f, &ids[i], 1, "answer"), HL_OK);
    }
    struct hl_leased *at_once = lease_next(f, &ids[0]);
    settle(f);
    cr_assert_null(party_look(&f->sender, HL_STORE_LEASED));
    give_lease_credit(f, 1);
    struct hl_leased *waited = lease_next(f, &ids[1]);
    cr_expect_eq(at_once->round, waited->round);
    cr_expect_eq(at_once->max_attempts, waited->max_attempts);
    cr_expect_eq(at_once->is_async, waited->is_async);
    cr_expect_eq(at_once->lane, waited->lane);
    cr_expect(hl_str_eq(at_once->url, waited->url));
    cr_expect(hl_str_eq(at_once->secret, waited->secret));
    cr_expect(hl_str_eq(at_once->traceparent, waited->traceparent));
    cr_expect(hl_str_eq(at_once->tags, waited->tags) && waited->tags.n > 0);
    cr_expect(hl_str_eq(at_once->project, waited->project));
    cr_expect(hl_str_eq(at_once->app, waited->app));
    const struct hl_outcome *a = &at_once->outcome, *b = &waited->outcome;
    cr_expect_eq(a->state, b->state);
    cr_expect_eq(a->http_status, b->http_status);
    cr_expect_eq(a->encoding, b->encoding);
    cr_expect_eq(a->escaped_size, b->escaped_size);
    cr_expect_str_eq(a->content_type, b->content_type);
    cr_expect(hl_body_is_intact(&a->body) && hl_body_is_intact(&b->body));
    cr_expect(hl_str_eq((struct hl_str){a->body.bytes, a->body.size},
        (struct hl_str){b->body.bytes, b->body.size}));
    cr_expect_eq(say_outcome(f, at_once, 1, HL_ATTEMPT_RETRY), HL_OK);
    cr_expect_eq(say_attempt(f, at_once, 2), HL_OK, "its first attempt counts");
    cr_expect_eq(say_outcome(f, at_once, 2, HL_ATTEMPT_OK), HL_OK);
    hl_leased_free(at_once);
    hl_leased_free(waited);
}

STORE_TEST(delivery_that_begins_does_not_overtake_one_that_waits)
{
    struct hl_id waits, begins;
    cr_assert_eq(record_run(f, (struct run_spec){.url = URL}, &waits), HL_OK);
    cr_assert_eq(record_run(f, (struct run_spec){.url = URL}, &begins), HL_OK);
    cr_assert_eq(finish_run(f, &waits, 1, "x"), HL_OK);
    struct hl_finish *finish = make_finish(&begins, 1, "y");
    finish->m.reply_to = &f->worker.box;
    cr_assert_eq(hl_store_post(f->store, &finish->m), HL_OK);
    give_lease_credit(f, 2); /* mostly in the same transaction */
    hl_finish_free(party_wait(&f->worker, HL_STORE_FINISH));
    hl_leased_free(lease_next(f, &waits));
    hl_leased_free(lease_next(f, &begins));
}

STORE_TEST(attempt_brings_the_delivery_again)
{
    struct hl_leased *l = lease_one(f, URL);
    cr_assert_eq(say_outcome(f, l, 1, HL_ATTEMPT_RETRY), HL_OK);
    struct hl_attempt a = {
        .m.msg.type = HL_STORE_ATTEMPT, .delivery_id = l->delivery_id, .round = l->round, .n = 2};
    cr_assert_eq(ask(f, &f->sender, &a.m), HL_OK);
    cr_assert(hl_id_eq(&a.leased->run_id, &l->run_id));
    cr_assert_eq(a.leased->lane, l->lane);
    cr_assert_eq(a.leased->max_attempts, 3);
    cr_assert(hl_str_eq(a.leased->url, l->url));
    cr_assert(hl_str_eq(a.leased->secret, l->secret));
    cr_assert_eq(a.leased->outcome.finished_ms, l->outcome.finished_ms);
    struct hl_str body = {a.leased->outcome.body.bytes, a.leased->outcome.body.size};
    cr_assert(hl_str_eq(body, HL_STR("answer")));
    hl_leased_free(a.leased);
    hl_leased_free(l);
}

STORE_TEST(i6_a_delivery_exists_iff_the_finish_committed)
{
    struct hl_id id;
    cr_assert_eq(record_run(f, (struct run_spec){.url = URL}, &id), HL_OK);
    cr_assert_eq(deliveries_of(f, &id).run.deliveries_pending, 0);
    cr_assert_eq(finish_run(f, &id, 2, "x"), HL_ERR_STALE);
    cr_assert_eq(deliveries_of(f, &id).run.deliveries_pending, 0);
    cr_assert_eq(finish_run(f, &id, 1, "x"), HL_OK);
    cr_assert_eq(deliveries_of(f, &id).run.deliveries_pending, 1);
}

STORE_TEST(i9_no_attempt_beyond_the_last)
{
    struct hl_leased *l = lease_one(f, URL);
    cr_assert_eq(say_outcome(f, l, 1, HL_ATTEMPT_RETRY), HL_OK);
    cr_assert_eq(say_attempt(f, l, 3), HL_ERR_STALE, "numbers come in order");
    cr_assert_eq(say_attempt(f, l, 2), HL_OK);
    cr_assert_eq(say_outcome(f, l, 2, HL_ATTEMPT_RETRY), HL_OK);
    cr_assert_eq(say_attempt(f, l, 3), HL_OK);
    cr_assert_eq(say_outcome(f, l, 3, HL_ATTEMPT_RETRY), HL_OK, "the last one's retry is its end");
    cr_assert_eq(say_attempt(f, l, 4), HL_ERR_STALE);
    cr_assert_eq(deliveries_of(f, &l->run_id).run.deliveries_dead, 1);
    cr_assert_eq(hl_counter_get(&hl_store_get_gauges(f->store)->dead_letters), 1);
    hl_leased_free(l);
}

STORE_TEST(abandoned_delivery_stays_pending_and_its_credit_is_void)
{
    struct hl_leased *l = lease_one(f, URL);
    give_lease_credit(f, 5);
    cr_assert_eq(say_outcome(f, l, 1, HL_ATTEMPT_ABANDONED), HL_OK);
    settle(f);
    cr_assert_null(party_look(&f->sender, HL_STORE_LEASED), "the sender stops");
    cr_assert_eq(deliveries_of(f, &l->run_id).run.deliveries_pending, 1);

    give_lease_credit(f, 1);
    struct hl_leased *again = party_wait(&f->sender, HL_STORE_LEASED);
    cr_assert(hl_id_eq(&again->delivery_id, &l->delivery_id));
    cr_assert_eq(again->n, 2);
    hl_leased_free(l);
    hl_leased_free(again);
}

STORE_TEST(attempt_that_was_never_sent_does_not_count)
{
    struct hl_leased *l = lease_one(f, URL);
    struct hl_attempt_outcome o = {.m.msg.type = HL_STORE_OUTCOME,
        .delivery_id = l->delivery_id,
        .round = 1,
        .n = 1,
        .verdict = HL_ATTEMPT_ABANDONED};
    cr_assert_eq(ask(f, &f->sender, &o.m), HL_OK);
    give_lease_credit(f, 1);
    struct hl_leased *again = party_wait(&f->sender, HL_STORE_LEASED);
    cr_assert_eq(again->n, 1);
    hl_leased_free(l);
    hl_leased_free(again);
}

STORE_TEST(attempt_that_was_not_sent_yet_brings_the_delivery_once_more)
{
    struct hl_leased *l = lease_one(f, URL);
    for (uint32_t n = 1; n <= 2; n++) {
        struct hl_attempt a = {.m.msg.type = HL_STORE_ATTEMPT,
            .delivery_id = l->delivery_id,
            .round = l->round,
            .n = n,
            .is_again = true};
        cr_assert_eq(ask(f, &f->sender, &a.m), HL_OK);
        struct hl_str body = {a.leased->outcome.body.bytes, a.leased->outcome.body.size};
        cr_assert(hl_str_eq(body, HL_STR("answer")));
        hl_leased_free(a.leased);
        a.n = n + 1;
        a.leased = NULL;
        cr_assert_eq(ask(f, &f->sender, &a.m), HL_ERR_STALE, "there is no such attempt");
        cr_assert_eq(say_outcome(f, l, n, HL_ATTEMPT_RETRY), HL_OK);
        cr_assert_eq(say_attempt(f, l, n + 1), HL_OK, "it was counted once");
    }
    hl_leased_free(l);
}

STORE_TEST(withdrawn_credit_leases_nothing)
{
    struct hl_id id;
    give_lease_credit(f, 5);
    give_lease_credit(f, 0);
    cr_assert_eq(record_run(f, (struct run_spec){.url = URL}, &id), HL_OK);
    cr_assert_eq(finish_run(f, &id, 1, "x"), HL_OK);
    settle(f);
    cr_assert_null(party_look(&f->sender, HL_STORE_LEASED));
}

/* --- lanes ---------------------------------------------------------------------------------- */

static void finish_with_webhook(struct fixture *f, const char *url)
{
    struct hl_id id;
    cr_assert_eq(record_run(f, (struct run_spec){.url = url}, &id), HL_OK);
    cr_assert_eq(finish_run(f, &id, 1, NULL), HL_OK);
}

static bool is_for(const struct hl_leased *l, const char *url)
{
    return hl_str_eq(l->url, hl_str_from(url));
}

STORE_TEST(lane_is_leased_at_most_per_host_times)
{
    for (int i = 0; i < 10; i++)
        finish_with_webhook(f, i % 2 ? "https://Example.org:443/b" : "https://example.org/a");
    give_lease_credit(f, 100);
    struct hl_leased *first = party_wait(&f->sender, HL_STORE_LEASED);
    for (int i = 0; i < 3; i++)
        hl_leased_free(party_wait(&f->sender, HL_STORE_LEASED));
    settle(f);
    cr_assert_null(party_look(&f->sender, HL_STORE_LEASED), "4 of one host are out");
    cr_assert_eq(say_outcome(f, first, 1, HL_ATTEMPT_OK), HL_OK);
    hl_leased_free(party_wait(&f->sender, HL_STORE_LEASED));
    hl_leased_free(first);
}

STORE_TEST(each_of_many_destinations_has_its_turn_before_any_has_another, .timeout = 120)
{
    enum {
        LANES = 80,
        EACH = 2,
        CREDIT = 16
    }; /* more of them than a lease looks at, which takes fewer */
    unsigned turns[LANES] = {0}, lane;
    char url[64];
    for (int i = 0; i < EACH * LANES; i++) {
        snprintf(url, sizeof(url), "https://d%d.example/", i % LANES);
        finish_with_webhook(f, url);
    }
    for (unsigned came = 0; came < EACH * LANES; came += CREDIT) {
        give_lease_credit(f, CREDIT);
        for (int i = 0; i < CREDIT; i++) {
            struct hl_leased *l = party_wait(&f->sender, HL_STORE_LEASED);
            snprintf(url, sizeof(url), "%.*s", (int)l->url.n, l->url.p);
            cr_assert_eq(sscanf(url, "https://d%u.", &lane), 1);
            cr_assert_eq(turns[lane]++, came / LANES, "after %u", came);
            cr_assert_eq(say_outcome(f, l, 1, HL_ATTEMPT_OK), HL_OK);
            hl_leased_free(l);
        }
    }
}

STORE_TEST(one_delivery_is_not_held_up_by_ten_thousand_for_another_host, .timeout = 120)
{
    enum { MANY = 10000 };
    f->config->webhook_per_host = 4;
    for (int i = 0; i < MANY; i += 100) {
        for (int j = 0; j < 100; j++) {
            struct run_spec spec = {.url = "https://many.example/"};
            struct hl_accept *a = make_accept(f, HL_STORE_RECORD, &spec);
            struct hl_finish *finish = make_finish(&a->run_id, 1, NULL);
            a->m.reply_to = finish->m.reply_to = &f->worker.box;
            cr_assert_eq(hl_store_post(f->store, &a->m), HL_OK);
            cr_assert_eq(hl_store_post(f->store, &finish->m), HL_OK);
        }
        for (int j = 0; j < 100; j++) {
            hl_accept_free(party_wait(&f->worker, HL_STORE_RECORD));
            hl_finish_free(party_wait(&f->worker, HL_STORE_FINISH));
        }
    }
    finish_with_webhook(f, "https://one.example/");
    cr_assert_eq(
        hl_counter_get(&hl_store_get_gauges(f->store)->pending_deliveries), (uint64_t)MANY + 1);

    give_lease_credit(f, 4);
    struct hl_leased *a = party_wait(&f->sender, HL_STORE_LEASED);
    struct hl_leased *b = party_wait(&f->sender, HL_STORE_LEASED);
    cr_assert(is_for(a, "https://many.example/") != is_for(b, "https://many.example/"));
    hl_leased_free(a);
    hl_leased_free(b);
}

/* --- redelivery ----------------------------------------------------------------------------- */

STORE_TEST(redelivery_is_a_new_round_with_the_same_ids)
{
    struct hl_leased *l = lease_one(f, URL);
    cr_assert_eq(redeliver(f, &l->delivery_id, "p", NULL), HL_ERR_CONFLICT, "it is pending");
    cr_assert_eq(say_outcome(f, l, 1, HL_ATTEMPT_DEAD), HL_OK);
    cr_assert_eq(redeliver(f, &l->delivery_id, "other", NULL), HL_ERR_NOT_FOUND);
    cr_assert_eq(redeliver(f, &l->delivery_id, "p", NULL), HL_OK);
    give_lease_credit(f, 1);
    struct hl_leased *again = party_wait(&f->sender, HL_STORE_LEASED);
    cr_assert(hl_id_eq(&again->delivery_id, &l->delivery_id));
    cr_assert(hl_id_eq(&again->run_id, &l->run_id));
    cr_assert_eq(again->round, 2);
    cr_assert_eq(again->n, 1);
    cr_assert_eq(say_outcome(f, l, 1, HL_ATTEMPT_OK), HL_ERR_STALE, "round 1 is over");
    cr_assert_eq(say_outcome(f, again, 1, HL_ATTEMPT_OK), HL_OK);
    cr_assert_eq(deliveries_of(f, &l->run_id).run.deliveries_ok, 1);
    hl_leased_free(l);
    hl_leased_free(again);
}

STORE_TEST(all_dead_ones_of_a_project_are_redelivered_once)
{
    enum { DEAD = 300 };
    uint64_t count;
    for (int i = 0; i < DEAD; i++) {
        struct hl_id id;
        struct run_spec spec = {.url = URL, .app = i % 2 ? "a" : "b"};
        cr_assert_eq(record_run(f, spec, &id), HL_OK);
        cr_assert_eq(finish_run(f, &id, 1, NULL), HL_OK);
        give_lease_credit(f, 1);
        struct hl_leased *l = party_wait(&f->sender, HL_STORE_LEASED);
        cr_assert_eq(say_outcome(f, l, 1, HL_ATTEMPT_DEAD), HL_OK);
        hl_leased_free(l);
    }
    cr_assert_eq(redeliver(f, NULL, "other", &count), HL_OK);
    cr_assert_eq(count, 0);
    cr_assert_eq(redeliver(f, NULL, "p", &count), HL_OK);
    cr_assert_eq(count, DEAD);
    cr_assert_eq(redeliver(f, NULL, "p", &count), HL_OK);
    cr_assert_eq(count, 0);
    cr_assert_eq(hl_counter_get(&hl_store_get_gauges(f->store)->pending_deliveries), DEAD);
}

/* The outcome of attempt 1, which asks to give its place away; whether it did. */
static bool park(struct fixture *f, const struct hl_leased *l)
{
    struct hl_attempt_outcome o = {.m.msg.type = HL_STORE_OUTCOME,
        .delivery_id = l->delivery_id,
        .round = l->round,
        .n = 1,
        .verdict = HL_ATTEMPT_RETRY,
        .http_status = 404,
        .started_ms = 1,
        .ended_ms = 2,
        .parks = true};
    cr_assert_eq(ask(f, &f->sender, &o.m), HL_OK);
    return o.is_parked;
}

/* The second attempt of a parked one, and its end. */
static void deliver_parked(struct fixture *f, const struct hl_leased *l)
{
    struct hl_attempt_outcome o = {.m.msg.type = HL_STORE_OUTCOME,
        .delivery_id = l->delivery_id,
        .round = l->round,
        .n = 2,
        .verdict = HL_ATTEMPT_OK,
        .started_ms = 3,
        .ended_ms = 4,
        .is_parked = true};
    cr_assert_eq(say_attempt(f, l, 2), HL_OK);
    cr_assert_eq(ask(f, &f->sender, &o.m), HL_OK);
}

STORE_TEST(deliveries_that_wait_for_a_retry_do_not_hold_their_destination)
{
    struct hl_leased *waiting[200];
    f->config->webhook_per_host = 2;
    fixture_reopen(f);
    give_lease_credit(f, 8);
    for (size_t i = 0; i < HL_ARRAY_LEN(waiting); i++) {
        waiting[i] = lease_one(f, "http://a.example/gone");
        if (!park(f, waiting[i])) {
            cr_assert_eq(i, 128, "64 for each place are parked before one keeps its place");
            hl_leased_free(waiting[i]);
            waiting[i] = NULL;
            break;
        }
    }
    struct hl_leased *in = lease_one(f, "http://a.example/gone");
    finish_with_webhook(f, "http://a.example/gone");
    give_lease_credit(f, 1);
    settle(f);
    cr_assert_null(party_look(&f->sender, HL_STORE_LEASED), "both places are taken");
    deliver_parked(f, waiting[0]);
    settle(f);
    cr_assert_null(party_look(&f->sender, HL_STORE_LEASED), "it had none of them");
    cr_assert_eq(say_outcome(f, in, 1, HL_ATTEMPT_OK), HL_OK);
    hl_leased_free(party_wait(&f->sender, HL_STORE_LEASED));
    hl_leased_free(in);
    for (size_t i = 0; i < HL_ARRAY_LEN(waiting) && waiting[i]; i++)
        hl_leased_free(waiting[i]);
}

/* --- to another URL ------------------------------------------------------------------------------ */

#define ELSEWHERE "https://elsewhere.example/T0000/9f8c7b6a5d4e3f2a1b0c?token=x"

static enum hl_err resend(
    struct fixture *f, const struct hl_leased *l, const char *secret, struct hl_id *resent_as)
{
    const struct hl_resend from = {.delivery_id = l->delivery_id,
        .run_id = l->run_id,
        .resent_as = *resent_as = new_id(f),
        .project = "p",
        .url = HL_STR(ELSEWHERE),
        .secret = hl_str_from(secret)};
    struct hl_resend *r = hl_resend_new(&from);
    enum hl_err rc = ask(f, &f->asker, &r->m);
    hl_resend_free(r);
    return rc;
}

static struct hl_get_delivery one_delivery(struct fixture *f, const struct hl_id *id)
{
    struct hl_get_delivery g = {
        .m.msg.type = HL_STORE_GET_DELIVERY, .delivery_id = *id, .project = "p"};
    cr_assert_eq(ask(f, &f->asker, &g.m), HL_OK);
    return g;
}

STORE_TEST(what_was_sent_goes_to_another_url_as_a_new_delivery_with_a_secret_of_its_own)
{
    struct hl_leased *l = lease_one(f, URL);
    struct hl_id id;
    cr_assert_eq(say_outcome(f, l, 1, HL_ATTEMPT_OK), HL_OK);
    cr_assert_eq(resend(f, l, "other", &id), HL_OK);
    cr_assert_eq(deliveries_of(f, &l->run_id).run.deliveries_ok, 1);
    cr_assert_eq(deliveries_of(f, &l->run_id).run.deliveries_pending, 1);
    give_lease_credit(f, 1);
    struct hl_leased *to = party_wait(&f->sender, HL_STORE_LEASED);
    cr_assert(hl_id_eq(&to->delivery_id, &id));
    cr_assert(hl_id_eq(&to->run_id, &l->run_id));
    cr_assert(hl_str_eq(to->url, HL_STR(ELSEWHERE)));
    cr_assert(hl_str_eq(to->secret, HL_STR("other")));
    cr_assert_neq(to->lane, l->lane);
    cr_assert_eq(to->outcome.body.size, l->outcome.body.size);
    cr_assert_eq(say_outcome(f, to, 1, HL_ATTEMPT_RETRY), HL_OK);
    struct hl_attempt a = {
        .m.msg.type = HL_STORE_ATTEMPT, .delivery_id = id, .round = to->round, .n = 2};
    cr_assert_eq(ask(f, &f->sender, &a.m), HL_OK);
    cr_assert(hl_str_eq(a.leased->url, HL_STR(ELSEWHERE)));
    cr_assert(hl_str_eq(a.leased->secret, HL_STR("other")));
    hl_leased_free(a.leased);
    hl_leased_free(to);
    hl_leased_free(l);
}

STORE_TEST(one_that_went_elsewhere_says_where_and_the_first_one_still_where_it_went)
{
    struct hl_leased *l = lease_one(f, URL);
    struct hl_id id;
    cr_assert_eq(say_outcome(f, l, 1, HL_ATTEMPT_OK), HL_OK);
    cr_assert_eq(resend(f, l, "", &id), HL_OK);
    struct hl_get_delivery to = one_delivery(f, &id), from = one_delivery(f, &l->delivery_id);
    cr_assert(hl_str_eq(hl_buf_str(&to.webhook_url), HL_STR(ELSEWHERE)));
    cr_assert(hl_str_eq(hl_buf_str(&from.webhook_url), HL_STR(URL)));
    cr_assert_eq(to.webhook_secret.n, 0, "the caller's is for the caller's URL alone");
    cr_assert(hl_str_eq(hl_buf_str(&from.webhook_secret), HL_STR("s3cret")));
    cr_assert(hl_str_eq(to.delivery.destination, HL_STR("https://elsewhere.example")));
    cr_assert(hl_str_eq(to.delivery.path, HL_STR("/T0000/9f8c\xe2\x80\xa6"
                                                 "0c?\xe2\x80\xa6")));
    cr_assert(hl_str_eq(from.delivery.path, HL_STR("/hook")));
    cr_assert_eq(strlen(to.delivery.receiver), HL_RECEIVER_LABEL);
    cr_assert_str_neq(to.delivery.receiver, from.delivery.receiver);
    struct hl_get_delivery again = one_delivery(f, &id);
    cr_assert_str_eq(again.delivery.receiver, to.delivery.receiver);
    hl_get_delivery_fini(&again);
    hl_get_delivery_fini(&to);
    hl_get_delivery_fini(&from);
    hl_leased_free(l);
}

STORE_TEST(nothing_goes_elsewhere_that_is_not_there)
{
    struct hl_leased *l = lease_one(f, URL);
    struct hl_id id, was = l->delivery_id;
    l->delivery_id = new_id(f);
    cr_assert_eq(resend(f, l, "", &id), HL_ERR_NOT_FOUND);
    cr_assert_eq(hl_counter_get(&hl_store_get_gauges(f->store)->pending_deliveries), 1);
    l->delivery_id = was;
    hl_leased_free(l);
}

STORE_TEST(nothing_goes_elsewhere_while_as_many_wait_as_may)
{
    f->config->max_pending_deliveries = 1;
    fixture_reopen(f);
    struct hl_leased *l = lease_one(f, URL);
    struct hl_id id;
    cr_assert_eq(resend(f, l, "", &id), HL_ERR_BUSY);
    cr_assert_eq(say_outcome(f, l, 1, HL_ATTEMPT_OK), HL_OK);
    settle(f);
    cr_assert_eq(resend(f, l, "", &id), HL_OK);
    hl_leased_free(l);
}
