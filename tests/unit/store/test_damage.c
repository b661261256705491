/* test_damage.c - a row that is missing or cannot be read costs its own run or delivery: the store
 * starts, goes on, and others are not held up. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/metric.h"
#include "fixture.h"
#include "store/claim.h"
#include "store/gauges.h"
#include "store/lease.h"
#include "store/operation.h"
#include "store/question.h"
#include "store/store.h"

#define URL "https://receiver.example/hook"

static struct fixture f;

static void setup(void)
{
    fixture_init(&f, HL_STORE_SQLITE);
    fixture_open(&f);
}

static void teardown(void)
{
    fixture_fini(&f);
}

TestSuite(damage, .init = setup, .fini = teardown, .timeout = 180);

/* Every path of the store: a run is accepted, claimed, finished, its webhook delivered. */
static void goes_on(void)
{
    cr_assert_eq(hl_counter_get(&hl_store_get_gauges(f.store)->is_failing), 0);
    struct hl_leased *l = lease_one(&f, "https://other.example/hook");
    cr_assert_eq(say_outcome(&f, l, 1, HL_ATTEMPT_OK), HL_OK);
    hl_leased_free(l);
    cr_assert_eq(hl_counter_get(&hl_store_get_gauges(f.store)->is_failing), 0);
    cr_assert_eq(hl_counter_get(&hl_store_get_gauges(f.store)->queued_runs), 0);
    cr_assert_eq(hl_counter_get(&hl_store_get_gauges(f.store)->pending_deliveries), 0);
}

static struct hl_claimed *claim(void)
{
    give_credit(&f, &f.worker, 1, false);
    return party_wait(&f.worker, HL_STORE_CLAIMED);
}

static void accept_two(struct hl_id ids[2])
{
    for (int i = 0; i < 2; i++)
        cr_assert_eq(accept_run(&f, (struct run_spec){.url = URL}, &ids[i]), HL_OK);
}

static void damage(const char *sql)
{
    fixture_close(&f);
    change(&f, sql);
    fixture_open(&f);
}

static void ends_as_interrupted(const struct hl_id *id)
{
    struct hl_get_run g;
    cr_assert_eq(get_run(&f, id, &g), HL_OK);
    cr_assert_eq(g.run.state, HL_RUN_FAILURE);
    cr_assert_eq(g.run.reason, HL_REASON_INTERRUPTED);
    cr_assert_eq(g.run.deliveries_pending, 0);
    cr_assert_eq(g.run.deliveries_dead, 1);
    hl_body_fini(&g.outcome.body);
}

Test(damage, missing_webhook_of_a_run_that_ends_is_a_dead_letter)
{
    struct hl_id ids[2];
    struct hl_get_run g;
    accept_two(ids);
    damage("UPDATE run SET webhook_url = NULL");
    for (int i = 0; i < 2; i++) {
        struct hl_claimed *c = claim();
        cr_assert_eq(finish_run(&f, &c->run_id, c->epoch, "done"), HL_OK);
        cr_assert_eq(get_run(&f, &c->run_id, &g), HL_OK);
        cr_assert_eq(g.run.state, HL_RUN_SUCCESS);
        cr_assert_eq(g.run.deliveries_dead, 1);
        hl_body_fini(&g.outcome.body);
        hl_claimed_free(c);
    }
    goes_on();
}

Test(damage, missing_webhook_of_an_interrupted_run_does_not_stop_the_start)
{
    struct hl_id ids[2];
    accept_two(ids);
    for (int i = 0; i < 2; i++)
        hl_claimed_free(claim());
    damage("UPDATE run SET webhook_url = NULL WHERE run_id = (SELECT min(run_id) FROM run)");
    ends_as_interrupted(&ids[0]);
    give_lease_credit(&f, 1);
    struct hl_leased *l = party_wait(&f.sender, HL_STORE_LEASED);
    cr_assert(hl_id_eq(&l->run_id, &ids[1]));
    cr_assert_eq(say_outcome(&f, l, 1, HL_ATTEMPT_OK), HL_OK);
    hl_leased_free(l);
    goes_on();
}

/* Two deliveries wait at one destination; the rows of the first are damaged. */
static void buries_the_first(const char *sql)
{
    struct hl_id ids[2];
    accept_two(ids);
    for (int i = 0; i < 2; i++) {
        struct hl_claimed *c = claim();
        cr_assert_eq(finish_run(&f, &c->run_id, c->epoch, "done"), HL_OK);
        hl_claimed_free(c);
    }
    damage(sql);
    give_lease_credit(&f, 1);
    struct hl_leased *l = party_wait(&f.sender, HL_STORE_LEASED);
    cr_assert(hl_id_eq(&l->run_id, &ids[1]), "%s", sql);
    cr_assert_eq(say_outcome(&f, l, 1, HL_ATTEMPT_OK), HL_OK);
    hl_leased_free(l);
    cr_assert_eq(query(&f, "SELECT count(*) FROM delivery WHERE state = 2"), 1, "%s", sql);
    struct hl_list_deliveries list = {
        .m.msg.type = HL_STORE_LIST_DELIVERIES, .project = "p", .state = -1, .limit = 10};
    cr_assert_eq(ask(&f, &f.asker, &list.m), HL_OK);
    cr_assert_eq(list.count, 2, "it does not end the list");
    hl_operation_clear(&list.m);
    goes_on();
}

Test(damage, pending_delivery_without_its_webhook_is_buried)
{
    buries_the_first(
        "UPDATE run SET webhook_url = NULL WHERE run_id = (SELECT min(run_id) FROM run)");
}

Test(damage, pending_delivery_with_a_url_that_cannot_be_opened_is_buried)
{
    buries_the_first("UPDATE run SET webhook_url = zeroblob(50)"
                     " WHERE run_id = (SELECT min(run_id) FROM run)");
}

Test(damage, pending_delivery_without_its_result_is_buried)
{
    buries_the_first("DELETE FROM result WHERE run_id = (SELECT min(run_id) FROM run)");
}

Test(damage, pending_delivery_without_its_run_is_buried)
{
    buries_the_first("DELETE FROM run WHERE run_id = (SELECT min(run_id) FROM run)");
}

Test(damage, pending_delivery_whose_attempt_is_there_already_is_buried)
{
    buries_the_first("INSERT INTO attempt (delivery_id, round, n, started_ms)"
                     " SELECT min(delivery_id), 1, 1, 1 FROM delivery");
}

Test(damage, pending_delivery_with_an_id_that_is_none_is_buried)
{
    buries_the_first("UPDATE delivery SET delivery_id = 'short'"
                     " WHERE delivery_id = (SELECT min(delivery_id) FROM delivery)");
}

Test(damage, leased_delivery_with_an_id_that_is_none_does_not_stop_the_start)
{
    static const char *const ids[] = {"'short'", "'sixteen letters.'", "x'00'"};
    for (unsigned i = 0; i < HL_ARRAY_LEN(ids); i++) {
        struct hl_leased *l = lease_one(&f, URL);
        struct hl_id run_id = l->run_id;
        char sql[128];
        hl_leased_free(l);
        snprintf(sql, sizeof(sql), "UPDATE delivery SET delivery_id = %s WHERE state = 0", ids[i]);
        damage(sql);
        struct hl_get_run g;
        cr_assert_eq(get_run(&f, &run_id, &g), HL_OK);
        cr_assert_eq(g.run.deliveries_dead, 1, "%s", ids[i]);
        hl_body_fini(&g.outcome.body);
        uint64_t count;
        cr_assert_eq(redeliver(&f, &run_id, "p", &count), HL_OK, "it can be sent again");
        give_lease_credit(&f, 1);
        l = party_wait(&f.sender, HL_STORE_LEASED);
        cr_assert_eq(say_outcome(&f, l, 1, HL_ATTEMPT_OK), HL_OK);
        hl_leased_free(l);
    }
    goes_on();
}

Test(damage, deliveries_that_somebody_removed_are_not_waited_for)
{
    hl_leased_free(lease_one(&f, URL));
    fixture_reopen(&f);
    change(&f, "DELETE FROM delivery");
    give_lease_credit(&f, 1);
    settle(&f);
    goes_on();
}

Test(damage, leased_delivery_whose_app_is_missing_is_released_and_buried)
{
    hl_leased_free(lease_one(&f, URL));
    damage("DELETE FROM app");
    give_lease_credit(&f, 1);
    while (query(&f, "SELECT count(*) FROM delivery WHERE state = 2") == 0)
        ;
    goes_on();
}

/* --- queued runs ----------------------------------------------------------------------------- */

static void loses_the_first_request(const char *sql)
{
    struct hl_id ids[2];
    accept_two(ids);
    damage(sql);
    struct hl_claimed *c = claim();
    cr_assert(hl_id_eq(&c->run_id, &ids[1]), "%s", sql);
    cr_assert_eq(finish_run(&f, &c->run_id, c->epoch, "done"), HL_OK);
    hl_claimed_free(c);
    give_lease_credit(&f, 2);
    for (;;) {
        struct hl_leased *l = party_wait(&f.sender, HL_STORE_LEASED);
        bool is_last = hl_id_eq(&l->run_id, &ids[1]);
        cr_assert_eq(say_outcome(&f, l, 1, HL_ATTEMPT_OK), HL_OK);
        hl_leased_free(l);
        if (is_last)
            break;
    }
    goes_on();
}

Test(damage, queued_run_whose_request_cannot_be_opened_ends)
{
    static const char *const heads[] = {"zeroblob(50)", "x''", "NULL"};
    for (size_t i = 0; i < HL_ARRAY_LEN(heads); i++) {
        char sql[128];
        snprintf(sql, sizeof(sql),
            "UPDATE ticket SET head = %s WHERE number = (SELECT min(number) FROM ticket)",
            heads[i]);
        loses_the_first_request(sql);
    }
}

/* Another replica may have the right key. */
static void passes_over_requests(struct fixture *on)
{
    static const char *const heads[] = {"decode(repeat('00', 50), 'hex')", "''", "NULL"};
    enum { DAMAGED = HL_ARRAY_LEN(heads) };
    struct hl_id ids[DAMAGED + 1];
    for (size_t i = 0; i <= DAMAGED; i++)
        cr_assert_eq(accept_run(on, (struct run_spec){0}, &ids[i]), HL_OK);
    for (size_t i = 0; i < DAMAGED; i++) {
        char id[HL_ID_TEXT], sql[160];
        hl_id_format(&ids[i], id);
        snprintf(sql, sizeof(sql), "UPDATE ~.run SET head = %s WHERE run_id = '%.*s'", heads[i],
            HL_ID_TEXT, id);
        change(on, sql);
    }
    give_credit(on, &on->worker, 1, false);
    struct hl_claimed *c = party_wait(&on->worker, HL_STORE_CLAIMED);
    cr_assert(hl_id_eq(&c->run_id, &ids[DAMAGED]));
    cr_assert_eq(finish_run(on, &c->run_id, c->epoch, "done"), HL_OK);
    hl_claimed_free(c);
    for (size_t i = 0; i < DAMAGED; i++)
        cr_assert_eq(state_of(on, &ids[i]), HL_RUN_QUEUED, "%s", heads[i]);
}

Test(postgres, queued_run_whose_request_cannot_be_opened_waits, .timeout = 180)
{
    fixture_run(HL_STORE_POSTGRES, passes_over_requests);
}

Test(damage, queued_request_whose_run_is_missing_is_dropped)
{
    loses_the_first_request("DELETE FROM run WHERE run_id = (SELECT min(run_id) FROM run)");
    cr_assert_eq(query(&f, "SELECT count(*) FROM ticket"), 0);
}

Test(damage, queued_run_whose_request_is_missing_ends_at_the_start)
{
    struct hl_id ids[2];
    accept_two(ids);
    damage("DELETE FROM ticket");
    for (int i = 0; i < 2; i++)
        cr_assert_eq(state_of(&f, &ids[i]), HL_RUN_FAILURE);
    give_lease_credit(&f, 2);
    for (int i = 0; i < 2; i++) {
        struct hl_leased *l = party_wait(&f.sender, HL_STORE_LEASED);
        cr_assert_eq(say_outcome(&f, l, 1, HL_ATTEMPT_OK), HL_OK);
        hl_leased_free(l);
    }
    goes_on();
}

/* While the store is open; they are long, so that they are not remembered. */
Test(damage, requests_that_somebody_removed_are_not_waited_for)
{
    struct hl_id id;
    char head[3000];
    memset(head, 'h', sizeof(head));
    head[sizeof(head) - 1] = '\0';
    for (int i = 0; i < 2; i++)
        cr_assert_eq(accept_run(&f, (struct run_spec){.url = URL, .head = head}, &id), HL_OK);
    change(&f, "DELETE FROM ticket");
    give_credit(&f, &f.worker, 1, true);
    settle(&f);
    goes_on();
}

Test(damage, queued_run_whose_app_is_missing_ends)
{
    struct hl_id ids[2];
    accept_two(ids);
    damage("DELETE FROM app");
    give_credit(&f, &f.worker, 1, false);
    give_lease_credit(&f, 1);
    while (query(&f, "SELECT count(*) FROM delivery WHERE state = 2") < 2)
        ;
    cr_assert_eq(query(&f, "SELECT count(*) FROM result WHERE reason = 6"), 2);
    goes_on();
}

/* --- what was inside the app ------------------------------------------------------------------ */

Test(damage, interrupted_run_that_has_a_result_already_does_not_stop_the_start)
{
    struct hl_id id;
    cr_assert_eq(accept_run(&f, (struct run_spec){0}, &id), HL_OK);
    hl_claimed_free(claim());
    damage("INSERT INTO result SELECT number, run_id, 1000 * unixepoch(), 0, 200, '', '', 3, 0, 0, "
           "0, NULL, NULL,"
           " NULL, app_id, 1, 2, 0, NULL, NULL, NULL, NULL FROM run");
    cr_assert_eq(state_of(&f, &id), HL_RUN_SUCCESS);
    cr_assert_eq(query(&f, "SELECT count(*) FROM ticket"), 0);
    goes_on();
}
