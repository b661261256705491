/* test_upkeep.c - what is past its retention goes with its partition, on PostgreSQL. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "fixture.h"
#include "store/lease.h"
#include "store/operation.h"
#include "store/postgres/session.h"
#include "store/postgres/upkeep.h"
#include "store/question.h"

#define HOUR_MS (3600 * INT64_C(1000))
/* By then the partition of this moment is over: it is of a day. */
#define PAST_MS (30 * HOUR_MS)

/* It borrows `settings`. */
static void open_session(
    struct fixture *f, struct hl_pg_session *session, struct hl_pg_settings *settings)
{
    char why[300] = "";
    *settings = (struct hl_pg_settings){.url = f->url, .name = "test", .ttl_ms = 60000};
    snprintf(settings->schema, sizeof(settings->schema), "\"%s\"", f->schema);
    cr_assert_eq(hl_pg_session_open(session, settings, NULL, why, sizeof(why)), HL_OK, "%s", why);
}

/* Whose turn it is not does nothing, and it may be the store's own, once, at its start: then the second time is ours. */
static void tend_in_turn(struct fixture *f, struct hl_pg_session *session, int64_t ahead_ms)
{
    char why[300] = "";
    struct hl_id me = {{1}};
    for (int i = 0; i < 2; i++) {
        while (fixture_count(f, "meta WHERE k = 'upkeep'") > 0)
            usleep(1000);
        cr_assert_eq(hl_pg_upkeep_run(session, &me, -ahead_ms, why, sizeof(why)), HL_OK, "%s", why);
    }
}

/* As if the retention had ended so long before: what ended up to `ahead_ms` from now is past it. */
static void tend(struct fixture *f, int64_t ahead_ms)
{
    struct hl_pg_session session;
    struct hl_pg_settings settings;
    open_session(f, &session, &settings);
    tend_in_turn(f, &session, ahead_ms);
    hl_pg_session_close(&session);
}

static struct hl_id end_one(struct fixture *f)
{
    struct hl_id id;
    cr_assert_eq(record_run(f, (struct run_spec){.url = "http://h.test/"}, &id), HL_OK);
    cr_assert_eq(finish_run(f, &id, 1, "answer"), HL_OK);
    return id;
}

static bool is_there(struct fixture *f, const struct hl_id *id)
{
    struct hl_get_run g;
    enum hl_err err = get_run(f, id, &g);
    hl_body_fini(&g.outcome.body);
    cr_assert(err == HL_OK || err == HL_ERR_NOT_FOUND);
    return err == HL_OK;
}

static void deliver(struct fixture *f)
{
    give_lease_credit(f, 1);
    struct hl_leased *l = party_wait(&f->sender, HL_STORE_LEASED);
    cr_assert_eq(say_outcome(f, l, l->n, HL_ATTEMPT_OK), HL_OK);
    hl_leased_free(l);
}

static void what_ended_goes(struct fixture *f)
{
    struct hl_id ended = end_one(f), queued;
    cr_assert_eq(accept_run(f, (struct run_spec){0}, &queued), HL_OK);
    deliver(f);
    tend(f, -HOUR_MS);
    cr_assert(is_there(f, &ended), "its retention is not over");
    tend(f, PAST_MS);
    cr_assert_not(is_there(f, &ended));
    cr_assert(is_there(f, &queued), "it has not ended");
    cr_assert_eq(cancel_run(f, &queued), HL_OK);
    tend(f, PAST_MS);
    cr_assert_not(is_there(f, &queued), "its partition is gone");
}

Test(postgres, runs_that_ended_go_alone_and_the_last_one_takes_the_partition_along)
{
    fixture_run(HL_STORE_POSTGRES, what_ended_goes);
}

static void tags_go(struct fixture *f)
{
    struct hl_id id;
    cr_assert_eq(record_run(f, (struct run_spec){.tags = "a=1"}, &id), HL_OK);
    tend(f, PAST_MS);
    cr_assert_eq(fixture_count(f, "tag"), 2, "their run has not ended");
    cr_assert_eq(finish_run(f, &id, 1, "answer"), HL_OK);
    tend(f, PAST_MS);
    cr_assert_eq(fixture_count(f, "tag"), 0);
}

Test(postgres, what_runs_are_found_by_goes_with_the_partition_of_the_runs)
{
    fixture_run(HL_STORE_POSTGRES, tags_go);
}

/* As an older hookline leaves it that was making partitions while tags came. */
static void drop_partitions(struct fixture *f, const char *table)
{
    struct hl_pg_session session;
    struct hl_pg_settings settings;
    char sql[300], why[300] = "";
    open_session(f, &session, &settings);
    snprintf(sql, sizeof(sql),
        "DO $$ DECLARE part text; BEGIN FOR part IN SELECT inhrelid::regclass::text FROM "
        "pg_inherits"
        " WHERE inhparent = '~.%s'::regclass LOOP EXECUTE 'DROP TABLE ' || part; END LOOP; END $$",
        table);
    cr_assert_eq(hl_pg_session_run(&session, sql, why, sizeof(why)), HL_OK, "%s", why);
    hl_pg_session_close(&session);
}

static void count_partitions(struct fixture *f, const char *table, int64_t expected)
{
    char what[120];
    snprintf(what, sizeof(what),
        "meta, pg_inherits WHERE k = 'version' AND inhparent = '%s.%s'::regclass", f->schema,
        table);
    cr_assert_eq(fixture_count(f, what), expected, "%s", table);
}

static void lacking_partitions_are_made(struct fixture *f)
{
    static const char *const tables[] = {"run", "delivery", "attempt", "body", "tag"};
    char what[120];
    struct hl_id id;
    snprintf(what, sizeof(what),
        "meta, pg_inherits WHERE k = 'version' AND inhparent = '%s.run'::regclass", f->schema);
    int64_t before = fixture_count(f, what);
    for (size_t i = 0; i < HL_ARRAY_LEN(tables); i++) {
        drop_partitions(f, tables[i]);
        tend(f, -HOUR_MS);
        count_partitions(f, tables[i], before);
    }
    drop_partitions(f, "tag");
    cr_assert_eq(accept_run(f, (struct run_spec){.tags = "a=1"}, &id), HL_OK);
    cr_assert_eq(fixture_count(f, "tag"), 2, "made at once");
    count_partitions(f, "tag", before);
}

Test(postgres, a_partition_that_one_table_lacks_is_made)
{
    fixture_run(HL_STORE_POSTGRES, lacking_partitions_are_made);
}

static void counts_go(struct fixture *f)
{
    end_one(f);
    cr_assert_eq(fixture_count(f, "tally"), 1);
    tend(f, -HOUR_MS);
    cr_assert_eq(fixture_count(f, "tally"), 1, "its retention is not over");
    tend(f, PAST_MS);
    cr_assert_eq(fixture_count(f, "tally"), 0);
}

Test(postgres, counts_past_their_retention_go)
{
    fixture_run(HL_STORE_POSTGRES, counts_go);
}

static void what_is_past_is_hidden(struct fixture *f)
{
    struct hl_list_runs l = {
        .m.msg.type = HL_STORE_LIST_RUNS, .state = -1, .is_async = -1, .limit = 10};
    fixture_close(f);
    fixture_set_retention(f, 1000);
    fixture_open(f);
    struct hl_id ended = end_one(f), queued;
    deliver(f);
    struct hl_id pending = end_one(f);
    int64_t past_ms = hl_clock_wall_ms() + 1000;
    cr_assert_eq(accept_run(f, (struct run_spec){0}, &queued), HL_OK);
    while (is_there(f, &ended) || hl_clock_wall_ms() <= past_ms)
        usleep(50000);
    cr_assert(is_there(f, &queued), "it has not ended");
    cr_assert(is_there(f, &pending), "its webhook is still to be sent");
    cr_assert_eq(ask(f, &f->asker, &l.m), HL_OK);
    cr_assert_eq(l.count, 2);
    cr_assert(hl_id_eq(&l.rows[0].run_id, &queued));
    cr_assert(hl_id_eq(&l.rows[1].run_id, &pending));
    hl_operation_clear(&l.m);
}

Test(postgres, run_past_its_retention_is_hidden_before_it_is_removed)
{
    fixture_run(HL_STORE_POSTGRES, what_is_past_is_hidden);
}

static void what_is_pending_stays(struct fixture *f)
{
    struct hl_id ended = end_one(f);
    tend(f, PAST_MS);
    cr_assert(is_there(f, &ended), "its webhook is still to be sent");
    deliver(f);
    tend(f, PAST_MS);
    cr_assert_not(is_there(f, &ended));
}

static void what_was_delivered_late_stays(struct fixture *f)
{
    struct hl_id ended = end_one(f);
    deliver(f);
    change(f, "UPDATE ~.delivery SET done_ms = done_ms + 172800000");
    tend(f, PAST_MS);
    cr_assert_eq(fixture_count(f, "run"), 1, "the retention after its delivery is not over");
    cr_assert(is_there(f, &ended));
    tend(f, 2 * PAST_MS);
    cr_assert_eq(fixture_count(f, "run"), 0);
}

Test(postgres, run_stays_for_the_retention_after_the_end_of_its_delivery_when_partitions_are_tended)
{
    fixture_run(HL_STORE_POSTGRES, what_was_delivered_late_stays);
}

Test(postgres, run_whose_webhook_is_pending_stays)
{
    fixture_run(HL_STORE_POSTGRES, what_is_pending_stays);
}
