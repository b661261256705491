/* test_webhook.c - webhooks in every store: retries that wait there, places, destinations that fail or have
 * as much as one may have, and what is shown of them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/metric.h"
#include "config/config.h"
#include "fixture.h"
#include "store/accept.h"
#include "store/gauges.h"
#include "store/lane.h"
#include "store/lease.h"
#include "store/operation.h"
#include "store/question.h"
#include "store/store.h"

#define A "https://a.example/hook"
#define B "https://b.example:8443/hook"

#define HOUR_MS       3600000
#define FAILING_SINCE 1234567 /* long ago: longer than anything is kept */

/* One that goes on with what was there before. */
#define LASTING_TEST(name)                                                                         \
    static void name(struct fixture *f);                                                           \
    Test(sqlite, name)                                                                             \
    {                                                                                              \
        fixture_run(HL_STORE_SQLITE, name);                                                        \
    }                                                                                              \
    Test(postgres, name)                                                                           \
    {                                                                                              \
        fixture_run(HL_STORE_POSTGRES, name);                                                      \
    }                                                                                              \
    static void name(struct fixture *f)

/* One whose clock is this process's, and not the database's. */
#define OWN_CLOCK_TEST(name)                                                                       \
    static void name(struct fixture *f);                                                           \
    Test(sqlite, name)                                                                             \
    {                                                                                              \
        fixture_run(HL_STORE_SQLITE, name);                                                        \
    }                                                                                              \
    Test(memory, name)                                                                             \
    {                                                                                              \
        fixture_run(HL_STORE_MEMORY, name);                                                        \
    }                                                                                              \
    static void name(struct fixture *f)

static void finish_with_webhook(struct fixture *f, const char *url)
{
    struct hl_id id;
    cr_assert_eq(record_run(f, (struct run_spec){.url = url}, &id), HL_OK);
    cr_assert_eq(finish_run(f, &id, 1, NULL), HL_OK);
}

static void share_places(struct fixture *f)
{
    f->config->webhook_per_host = 0;
    fixture_reopen(f);
}

static struct hl_attempt_outcome outcome_for(
    const struct hl_leased *l, enum hl_attempt_verdict verdict, uint16_t status)
{
    return (struct hl_attempt_outcome){.m.msg.type = HL_STORE_OUTCOME,
        .delivery_id = l->delivery_id,
        .round = l->round,
        .n = l->n,
        .verdict = verdict,
        .http_status = status,
        .started_ms = hl_clock_wall_ms() - 7,
        .ended_ms = hl_clock_wall_ms()};
}

static void put_off(struct fixture *f, const struct hl_leased *l, int64_t next_ms)
{
    struct hl_attempt_outcome o = outcome_for(l, HL_ATTEMPT_RETRY, 503);
    o.next_ms = next_ms;
    o.puts_off = true;
    cr_assert_eq(ask(f, &f->sender, &o.m), HL_OK);
}

static void get_delivery(struct fixture *f, const struct hl_id *id, struct hl_get_delivery *g)
{
    *g = (struct hl_get_delivery){.m.msg.type = HL_STORE_GET_DELIVERY, .delivery_id = *id};
    cr_assert_eq(ask(f, &f->asker, &g->m), HL_OK);
}

/* --- retries that wait in the store --------------------------------------------------------------- */

STORE_TEST(retry_that_is_put_off_comes_as_a_lease_and_not_early)
{
    struct hl_get_delivery g;
    struct hl_leased *l = lease_one(f, A);
    int64_t next_ms = hl_clock_wall_ms() + 700;
    put_off(f, l, next_ms);
    get_delivery(f, &l->delivery_id, &g);
    cr_assert_eq(g.delivery.next_ms, next_ms);
    cr_assert_eq(g.delivery.state, HL_DELIVERY_PENDING);
    hl_get_delivery_fini(&g);
    cr_assert_eq(say_attempt(f, l, 2), HL_ERR_STALE, "its lease has ended");

    give_lease_credit(f, 1);
    struct hl_leased *again = party_wait(&f->sender, HL_STORE_LEASED);
    cr_assert_geq(hl_clock_wall_ms(), next_ms);
    cr_assert(hl_id_eq(&again->delivery_id, &l->delivery_id));
    cr_assert_eq(again->n, 2);
    get_delivery(f, &l->delivery_id, &g);
    cr_assert_eq(g.delivery.next_ms, 0, "it is being sent");
    hl_get_delivery_fini(&g);
    cr_assert_eq(say_outcome(f, again, 2, HL_ATTEMPT_OK), HL_OK);
    hl_leased_free(l);
    hl_leased_free(again);
}

static void set_clock(int64_t by_ms)
{
    hl_clock_follow(hl_clock_wall_ms() + by_ms, hl_clock_mono_ms());
}

/* The rest of a wait in the middle of which somebody sets the clock. */
static void outlast_set_clock(struct fixture *f, int64_t by_ms)
{
    uint64_t began_ms = hl_clock_mono_ms();
    struct hl_leased *l = lease_one(f, A);
    put_off(f, l, hl_clock_steady_ms() + 700);
    set_clock(by_ms);
    give_lease_credit(f, 1);
    struct hl_leased *again = party_wait(&f->sender, HL_STORE_LEASED);
    cr_assert_geq(hl_clock_mono_ms() - began_ms, 700);
    cr_assert_eq(again->n, 2);
    hl_leased_free(l);
    hl_leased_free(again);
}

OWN_CLOCK_TEST(retry_that_is_put_off_comes_no_later_because_the_clock_was_set_back)
{
    outlast_set_clock(f, -4 * HOUR_MS);
}

OWN_CLOCK_TEST(retry_that_is_put_off_comes_neither_early_nor_late_because_the_clock_was_set_ahead)
{
    outlast_set_clock(f, HOUR_MS);
    outlast_set_clock(f, 48 * HOUR_MS);
}

/* By how much the clock is set while the process runs, and once more between that and the next one. */
static struct {
    int64_t there_ms, then_ms;
} jump;

static void outlast_restart(struct fixture *f)
{
    uint64_t began_ms = hl_clock_mono_ms();
    struct hl_leased *l = lease_one(f, A);
    put_off(f, l, hl_clock_steady_ms() + 900);
    set_clock(jump.there_ms);
    fixture_close(f);
    set_clock(jump.then_ms);
    fixture_open(f);
    give_lease_credit(f, 1);
    hl_leased_free(party_wait(&f->sender, HL_STORE_LEASED));
    cr_assert_geq(hl_clock_mono_ms() - began_ms, 900, "it is early");
    hl_leased_free(l);
}

Test(sqlite, retry_that_is_put_off_is_in_time_after_a_restart_though_the_clock_was_set_before)
{
    jump.there_ms = -4 * HOUR_MS;
    fixture_run(HL_STORE_SQLITE, outlast_restart);
    jump.there_ms = 48 * HOUR_MS;
    fixture_run(HL_STORE_SQLITE, outlast_restart);
}

Test(sqlite,
    retry_that_is_put_off_is_in_time_after_a_restart_though_the_clock_was_set_and_then_set_right)
{
    jump.there_ms = -4 * HOUR_MS;
    jump.then_ms = 4 * HOUR_MS;
    fixture_run(HL_STORE_SQLITE, outlast_restart);
    jump.there_ms = 48 * HOUR_MS;
    jump.then_ms = -48 * HOUR_MS;
    fixture_run(HL_STORE_SQLITE, outlast_restart);
}

STORE_TEST(retry_that_is_put_off_has_no_place)
{
    f->config->webhook_per_host = 1;
    fixture_reopen(f);
    struct hl_leased *l = lease_one(f, A);
    put_off(f, l, hl_clock_wall_ms() + 3600000);
    struct hl_leased *other = lease_one(f, A);
    cr_assert_not(hl_id_eq(&other->delivery_id, &l->delivery_id));
    hl_leased_free(l);
    hl_leased_free(other);
}

LASTING_TEST(waiting_retries_are_not_sent_early_after_a_restart)
{
    give_lease_credit(f, 4);
    struct hl_leased *l = lease_one(f, A), *held = lease_one(f, B);
    int64_t next_ms = hl_clock_wall_ms() + 900;
    put_off(f, l, next_ms);
    struct hl_attempt_outcome o = outcome_for(held, HL_ATTEMPT_RETRY, 503);
    o.next_ms = next_ms;
    cr_assert_eq(ask(f, &f->sender, &o.m), HL_OK);
    o = outcome_for(held, HL_ATTEMPT_ABANDONED, 0);
    cr_assert_eq(ask(f, &f->sender, &o.m), HL_OK);
    fixture_reopen(f);
    give_lease_credit(f, 8);
    for (int i = 0; i < 2; i++) {
        hl_leased_free(party_wait(&f->sender, HL_STORE_LEASED));
        cr_assert_geq(hl_clock_wall_ms(), next_ms);
    }
    hl_leased_free(l);
    hl_leased_free(held);
}

STORE_TEST(last_attempt_is_not_put_off)
{
    struct hl_leased *l = lease_one(f, A);
    for (uint32_t n = 1; n < 3; n++) {
        cr_assert_eq(say_outcome(f, l, n, HL_ATTEMPT_RETRY), HL_OK);
        cr_assert_eq(say_attempt(f, l, n + 1), HL_OK);
    }
    l->n = 3;
    put_off(f, l, hl_clock_wall_ms() + 3600000);
    cr_assert_eq(hl_counter_get(&hl_store_get_gauges(f->store)->dead_letters), 1);
    hl_leased_free(l);
}

STORE_TEST(lanes_whose_deliveries_all_wait_are_passed_over)
{
    enum { WAITING = 70 }; /* more than a lease looks at */
    char url[64];
    for (int i = 0; i < WAITING; i++) {
        snprintf(url, sizeof(url), "https://waits%d.example/", i);
        struct hl_leased *l = lease_one(f, url);
        put_off(f, l, hl_clock_wall_ms() + 3600000);
        hl_leased_free(l);
    }
    struct hl_leased *l = lease_one(f, A);
    cr_assert(hl_str_eq(l->url, HL_STR(A)));
    hl_leased_free(l);
}

/* --- places -------------------------------------------------------------------------------------- */

static void judge(struct fixture *f, const struct hl_leased *l, enum hl_lane_health health)
{
    struct hl_attempt_outcome o = outcome_for(l, HL_ATTEMPT_OK, 200);
    o.health = health;
    o.failing_since_ms = health == HL_LANE_FAILING ? FAILING_SINCE : 0;
    cr_assert_eq(ask(f, &f->sender, &o.m), HL_OK);
}

static unsigned take_leases(struct fixture *f)
{
    struct hl_leased *l;
    unsigned n = 0;
    settle(f);
    while ((l = party_look(&f->sender, HL_STORE_LEASED))) {
        n++;
        hl_leased_free(l);
    }
    return n;
}

STORE_TEST(lone_destination_may_have_half_of_all_places)
{
    share_places(f);
    for (int i = 0; i < 20; i++)
        finish_with_webhook(f, A);
    give_lease_credit(f, 16);
    hl_leased_free(party_wait(&f->sender, HL_STORE_LEASED));
    cr_assert_eq(take_leases(f), 7);
}

STORE_TEST(however_many_destinations_hang_those_that_answer_have_places)
{
    char url[64];
    share_places(f);
    struct hl_leased *l = lease_one(f, A);
    judge(f, l, HL_LANE_PROVEN);
    hl_leased_free(l);
    for (int i = 0; i < 90; i++) {
        snprintf(url, sizeof(url), "https://hangs%d.example/", i);
        finish_with_webhook(f, url);
    }
    give_lease_credit(f, 16);
    hl_leased_free(party_wait(&f->sender, HL_STORE_LEASED));
    cr_assert_eq(take_leases(f), 11, "all that are not proven leave a quarter");
    finish_with_webhook(f, A);
    l = party_wait(&f->sender, HL_STORE_LEASED);
    cr_assert(hl_str_eq(l->url, HL_STR(A)));
    hl_leased_free(l);
}

/* --- destinations that fail ----------------------------------------------------------------------- */

static void fail(struct fixture *f, const struct hl_leased *l, int64_t since_ms)
{
    struct hl_attempt_outcome o = outcome_for(l, HL_ATTEMPT_DEAD, 0);
    o.health = HL_LANE_FAILING;
    o.failing_since_ms = since_ms;
    cr_assert_eq(ask(f, &f->sender, &o.m), HL_OK);
}

LASTING_TEST(failing_destination_is_noted_until_it_answers_and_has_one_place)
{
    share_places(f);
    struct hl_leased *l = lease_one(f, A);
    cr_assert_eq(l->failing_since_ms, 0);
    for (int i = 0; i < 3; i++)
        finish_with_webhook(f, A);
    fail(f, l, FAILING_SINCE);
    hl_leased_free(l);
    fixture_reopen(f);
    give_lease_credit(f, 16);
    l = party_wait(&f->sender, HL_STORE_LEASED);
    cr_assert_eq(l->failing_since_ms, FAILING_SINCE);
    cr_assert_eq(take_leases(f), 0, "its place is taken");
    judge(f, l, HL_LANE_PROVEN);
    hl_leased_free(l);
    l = party_wait(&f->sender, HL_STORE_LEASED);
    cr_assert_eq(l->failing_since_ms, 0);
    hl_leased_free(l);
    cr_assert_eq(take_leases(f), 1, "it is as good as others");
}

static void forget_what_nothing_waits_for(struct fixture *f)
{
    struct hl_leased *l = lease_one(f, A);
    fail(f, l, FAILING_SINCE);
    hl_leased_free(l);
    l = lease_one(f, B);
    int64_t lately_ms = hl_clock_wall_ms();
    fail(f, l, lately_ms);
    hl_leased_free(l);
    fixture_reopen(f);
    l = lease_one(f, A);
    cr_assert_eq(l->failing_since_ms, 0);
    hl_leased_free(l);
    l = lease_one(f, B);
    cr_assert_eq(l->failing_since_ms, lately_ms);
    hl_leased_free(l);
}

Test(sqlite, failing_destination_is_forgotten_once_nothing_waits_for_it_and_its_records_are_gone)
{
    fixture_run(HL_STORE_SQLITE, forget_what_nothing_waits_for);
}

/* --- half of what may be pending ------------------------------------------------------------------ */

static enum hl_err accept_for(struct fixture *f, const char *url, bool *is_over)
{
    struct run_spec spec = {.url = url};
    struct hl_accept *a = make_accept(f, HL_STORE_ACCEPT, &spec);
    enum hl_err rc = ask(f, &f->asker, &a->m);
    *is_over = a->is_over_destination;
    hl_accept_free(a);
    return rc;
}

STORE_TEST(destination_has_at_most_half_of_what_may_be_pending)
{
    bool is_over;
    f->config->max_pending_deliveries = 8;
    fixture_reopen(f);
    for (int i = 0; i < 4; i++) {
        cr_assert_not(hl_store_is_destination_full(f->store, HL_STR(A)));
        cr_assert_eq(accept_for(f, A, &is_over), HL_OK);
        cr_assert_not(is_over);
    }
    cr_assert_eq(accept_for(f, A, &is_over), HL_ERR_BUSY);
    cr_assert(is_over);
    cr_assert(hl_store_is_destination_full(f->store, HL_STR("https://A.example:443/other")));
    cr_assert_not(hl_store_is_destination_full(f->store, HL_STR(B)));
    cr_assert_eq(accept_for(f, B, &is_over), HL_OK);
}

LASTING_TEST(what_others_accepted_counts_and_what_has_ended_does_not)
{
    bool is_over;
    f->config->max_pending_deliveries = 4;
    fixture_reopen(f);
    struct hl_leased *l = lease_one(f, A);
    finish_with_webhook(f, A);
    fixture_reopen(f); /* as another one, which has accepted nothing */
    while (!hl_store_is_destination_full(f->store, HL_STR(A)))
        settle(f);
    cr_assert_eq(accept_for(f, A, &is_over), HL_ERR_BUSY);
    cr_assert(is_over);
    hl_leased_free(l);
    give_lease_credit(f, 1);
    l = party_wait(&f->sender, HL_STORE_LEASED);
    judge(f, l, HL_LANE_PROVEN);
    cr_assert_eq(accept_for(f, A, &is_over), HL_OK);
    hl_leased_free(l);
}

/* --- what is shown -------------------------------------------------------------------------------- */

STORE_TEST(report_of_an_attempt_is_kept_and_shown_with_its_delivery)
{
    struct hl_get_delivery g;
    struct hl_leased *l = lease_one(f, A);
    struct hl_attempt_outcome o = outcome_for(l, HL_ATTEMPT_RETRY, 503);
    o.report = calloc(1, sizeof(*o.report));
    *o.report = (struct hl_attempt_report){.name_us = 11,
        .connect_us = 22,
        .tls_us = -1,
        .first_byte_us = 44,
        .address = "192.0.2.1:443",
        .content_type = "text/plain"};
    memcpy(o.report->body, "no\0\xff", o.report->body_n = 4);
    cr_assert_eq(ask(f, &f->sender, &o.m), HL_OK);
    hl_attempt_outcome_fini(&o);
    cr_assert_eq(say_attempt(f, l, 2), HL_OK);
    cr_assert_eq(say_outcome(f, l, 2, HL_ATTEMPT_OK), HL_OK);
    get_delivery(f, &l->delivery_id, &g);
    cr_assert_eq(g.delivery.n_attempts, 2);
    const struct hl_attempt_report *r = g.delivery.attempts[0].report;
    cr_assert_not_null(r);
    cr_assert(r->name_us == 11 && r->connect_us == 22 && r->tls_us == -1 && r->first_byte_us == 44);
    cr_assert_str_eq(r->address, "192.0.2.1:443");
    cr_assert_str_eq(r->content_type, "text/plain");
    cr_assert(hl_str_eq((struct hl_str){r->body, r->body_n}, (struct hl_str){"no\0\xff", 4}));
    cr_assert_null(g.delivery.attempts[1].report, "there was none");
    hl_get_delivery_fini(&g);
    hl_leased_free(l);
}

static struct hl_list_destinations list(struct fixture *f, uint32_t limit, const uint64_t *after)
{
    struct hl_list_destinations l = {.m.msg.type = HL_STORE_LIST_DESTINATIONS,
        .project = "p",
        .limit = limit,
        .has_after = after != NULL,
        .after = after ? *after : 0};
    cr_assert_eq(ask(f, &f->asker, &l.m), HL_OK);
    return l;
}

/* PostgreSQL is asked each few seconds. */
static int64_t gauged_since(struct fixture *f, int64_t from_ms)
{
    int64_t since_ms = 0;
    for (int i = 0; i < 20000 && since_ms < from_ms; i++) {
        usleep(1000);
        since_ms = (int64_t)hl_counter_get(&hl_store_get_gauges(f->store)->oldest_delivery_ms);
    }
    return since_ms;
}

static int64_t listed_since(struct fixture *f)
{
    struct hl_list_destinations all = list(f, 10, NULL);
    cr_assert_eq(all.count, 1);
    int64_t since_ms = all.rows[0].oldest_ms;
    hl_operation_clear(&all.m);
    return since_ms;
}

static int64_t shown_end(struct fixture *f, const struct hl_id *id)
{
    struct hl_get_delivery g = {.m.msg.type = HL_STORE_GET_DELIVERY, .delivery_id = *id};
    cr_assert_eq(ask(f, &f->asker, &g.m), HL_OK);
    int64_t done_ms = g.delivery.done_ms;
    hl_get_delivery_fini(&g);
    return done_ms;
}

STORE_TEST(what_is_redelivered_has_waited_since_then, .timeout = 180)
{
    struct hl_leased *l = lease_one(f, A);
    cr_assert_eq(say_outcome(f, l, 1, HL_ATTEMPT_DEAD), HL_OK);
    cr_assert_gt(shown_end(f, &l->delivery_id), 0);
    usleep(20000);
    int64_t from_ms = hl_clock_wall_ms();
    cr_assert_eq(redeliver(f, &l->delivery_id, "p", NULL), HL_OK);
    int64_t since_ms = listed_since(f);
    cr_assert_geq(since_ms, from_ms);
    cr_assert_eq(gauged_since(f, from_ms), since_ms);
    cr_assert_eq(shown_end(f, &l->delivery_id), 0, "it has not ended");

    give_lease_credit(f, 1);
    struct hl_leased *again = party_wait(&f->sender, HL_STORE_LEASED);
    put_off(f, again, hl_clock_wall_ms() + 3600000);
    cr_assert_eq(listed_since(f), since_ms, "a retry is of the same round");
    cr_assert_eq(shown_end(f, &l->delivery_id), 0);
    hl_leased_free(l);
    hl_leased_free(again);
}

STORE_TEST(what_waits_from_before_a_redelivery_is_the_oldest)
{
    struct hl_leased *l = lease_one(f, A);
    cr_assert_eq(say_outcome(f, l, 1, HL_ATTEMPT_DEAD), HL_OK);
    finish_with_webhook(f, A);
    int64_t first_ms = listed_since(f);
    cr_assert_gt(first_ms, 0);
    usleep(20000);
    cr_assert_eq(redeliver(f, &l->delivery_id, "p", NULL), HL_OK);
    cr_assert_eq(listed_since(f), first_ms);
    cr_assert_eq(gauged_since(f, first_ms), first_ms);
    hl_leased_free(l);
}

STORE_TEST(destinations_say_what_is_pending_dead_and_was_sent)
{
    struct hl_leased *l = lease_one(f, A);
    fail(f, l, FAILING_SINCE);
    hl_leased_free(l);
    l = lease_one(f, A);
    judge(f, l, HL_LANE_FAILING);
    hl_leased_free(l);
    finish_with_webhook(f, B);
    struct hl_list_destinations all = list(f, 10, NULL);
    cr_assert_eq(all.count, 2);
    cr_assert_not(all.has_more);
    const struct hl_destination_row *a = &all.rows[0], *b = &all.rows[1];
    if (strcmp(a->destination, "https://a.example") != 0)
        b = a, a = &all.rows[1];
    cr_assert_str_eq(a->destination, "https://a.example");
    cr_assert_str_eq(b->destination, "https://b.example:8443");
    cr_assert(a->pending == 0 && a->dead == 1 && a->oldest_ms == 0);
    cr_assert(a->attempts == 2 && a->ok == 1 && a->p95_us >= 7000 && a->last_ms > 0);
    cr_assert_eq(a->last_status, 200);
    cr_assert_eq(a->failing_since_ms, FAILING_SINCE);
    cr_assert(b->pending == 1 && b->dead == 0 && b->oldest_ms > 0);
    cr_assert(b->attempts == 0 && b->p95_us == -1 && b->last_ms == 0);

    struct hl_list_destinations first = list(f, 1, NULL);
    cr_assert(first.count == 1 && first.has_more);
    struct hl_list_destinations second = list(f, 1, &first.rows[0].lane);
    cr_assert(second.count == 1 && !second.has_more);
    cr_assert_neq(first.rows[0].lane, second.rows[0].lane);
    hl_operation_clear(&all.m);
    hl_operation_clear(&first.m);
    hl_operation_clear(&second.m);
}
