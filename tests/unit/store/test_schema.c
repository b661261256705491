/* test_schema.c - a database that an earlier hookline wrote is brought up to date at start. */
#include <criterion/criterion.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "fault_vfs.h"
#include "fixture.h"
#include "store/claim.h"
#include "store/key.h"
#include "store/lane.h"
#include "store/lease.h"
#include "store/operation.h"
#include "store/question.h"
#include "store/secret.h"
#include "store/sqlite/schema.h"

#define BODY                                                                                       \
    " body_where INTEGER NOT NULL, body_size INTEGER NOT NULL, body_sha256 BLOB,"                  \
    " body_file BLOB, body_bytes BLOB"

/* What user_version 1 was: a copy, for it may not change with the code. */
static const char version_1[] =
    "CREATE TABLE meta (k TEXT PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE app (app_id INTEGER PRIMARY KEY, project TEXT NOT NULL, name TEXT NOT NULL,"
    " UNIQUE (project, name));"
    "CREATE TABLE run (run_id BLOB PRIMARY KEY, app_id INTEGER NOT NULL, state INTEGER NOT NULL,"
    " is_async INTEGER NOT NULL, has_webhook INTEGER NOT NULL, created_ms INTEGER NOT NULL,"
    " started_ms INTEGER, attempt INTEGER NOT NULL, epoch INTEGER NOT NULL,"
    " is_cancel_wished INTEGER NOT NULL DEFAULT 0, ticket_id INTEGER, result_id INTEGER,"
    " method TEXT NOT NULL, path TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE INDEX run_by_app ON run (app_id, run_id);"
    "CREATE INDEX run_by_state ON run (app_id, state, run_id) WHERE state >= 2;"
    "CREATE TABLE ticket (id INTEGER PRIMARY KEY, run_id BLOB NOT NULL,"
    " is_async INTEGER NOT NULL, head BLOB," BODY ");"
    "CREATE INDEX ticket_file ON ticket (body_file) WHERE body_file IS NOT NULL;"
    "CREATE TABLE result (id INTEGER PRIMARY KEY, run_id BLOB NOT NULL,"
    " finished_ms INTEGER NOT NULL, reason INTEGER NOT NULL, http_status INTEGER NOT NULL,"
    " content_type TEXT NOT NULL, content_encoding TEXT NOT NULL, encoding INTEGER NOT NULL,"
    " escaped_size INTEGER NOT NULL," BODY ");"
    "CREATE INDEX result_file ON result (body_file) WHERE body_file IS NOT NULL;"
    "CREATE TABLE webhook (run_id BLOB PRIMARY KEY REFERENCES run ON DELETE CASCADE,"
    " lane INTEGER NOT NULL, url BLOB NOT NULL, secret BLOB, traceparent TEXT NOT NULL)"
    " WITHOUT ROWID;"
    "CREATE TABLE delivery (delivery_id BLOB PRIMARY KEY,"
    " run_id BLOB NOT NULL REFERENCES run ON DELETE CASCADE, app_id INTEGER NOT NULL,"
    " lane INTEGER NOT NULL, state INTEGER NOT NULL, round INTEGER NOT NULL, n INTEGER NOT NULL,"
    " max_attempts INTEGER NOT NULL, is_leased INTEGER NOT NULL, created_ms INTEGER NOT NULL,"
    " done_ms INTEGER) WITHOUT ROWID;"
    "CREATE INDEX delivery_by_run ON delivery (run_id);"
    "CREATE INDEX delivery_by_state ON delivery (app_id, state, delivery_id);"
    "CREATE INDEX delivery_due ON delivery (lane, delivery_id) WHERE state = 0 AND is_leased = 0;"
    "CREATE TABLE attempt (delivery_id BLOB NOT NULL REFERENCES delivery ON DELETE CASCADE,"
    " round INTEGER NOT NULL, n INTEGER NOT NULL, started_ms INTEGER NOT NULL, ended_ms INTEGER,"
    " verdict INTEGER, http_status INTEGER, error TEXT,"
    " PRIMARY KEY (delivery_id, round, n)) WITHOUT ROWID;"
    "CREATE TABLE idem (app_id INTEGER NOT NULL, subject BLOB NOT NULL, key BLOB NOT NULL,"
    " run_id BLOB NOT NULL, fingerprint BLOB NOT NULL, expires_ms INTEGER NOT NULL,"
    " PRIMARY KEY (app_id, subject, key)) WITHOUT ROWID;"
    "CREATE INDEX idem_by_expiry ON idem (expires_ms);"
    "PRAGMA user_version = 1;"
    "INSERT INTO app VALUES (1, 'p', 'a');"
    "INSERT INTO run VALUES (x'0193500000007000800000000000000a', 1, 2, 0, 0, 1700000000000,"
    " 1700000000000, 1, 1, 0, NULL, 7, 'POST', '/run');"
    "INSERT INTO result VALUES (7, x'0193500000007000800000000000000a', 32503680000000, 0, 200,"
    " 'text/plain', '', 1, 0, 0, 0, NULL, NULL, NULL);"
    "INSERT INTO run VALUES (x'0193500000007000800000000000000b', 1, 0, 1, 0, 1700000000000,"
    " NULL, 0, 0, 0, 7, NULL, 'POST', '/run');"; /* tickets and results were numbered apart */

static struct fixture f;

static void setup(void)
{
    fixture_init(&f, HL_STORE_SQLITE);
}

static void teardown(void)
{
    fixture_fini(&f);
}

TestSuite(schema, .init = setup, .fini = teardown);

static void bind_and_run(sqlite3 *db, const char *sql, const void *bytes, size_t n)
{
    sqlite3_stmt *st;
    cr_assert_eq(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
    sqlite3_bind_blob(st, 1, bytes, (int)n, SQLITE_STATIC);
    cr_assert_eq(sqlite3_step(st), SQLITE_DONE, "%s", sqlite3_errmsg(db));
    sqlite3_finalize(st);
}

/* One run that has ended and one that waits, with the request that the app is to get. */
static void write_version_1(const struct hl_id *queued)
{
    char path[128], why[256], mark[64];
    struct hl_key key;
    struct hl_sealer sealer;
    struct hl_buf head;
    sqlite3 *db;
    snprintf(path, sizeof(path), "%s/key", f.dir);
    cr_assert_eq(hl_key_load(&key, path, HL_KEY_MADE, why, sizeof(why)), HL_OK);
    cr_assert_eq(hl_sealer_init(&sealer, &key), HL_OK);
    hl_buf_init(&head, 0);
    cr_assert_eq(hl_seal(&sealer, "ticket.head", queued, HL_STR("HEAD"), &head), HL_OK);
    snprintf(path, sizeof(path), "%s/hookline.db", f.dir);
    cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
    cr_assert_eq(
        sqlite3_exec(db, version_1, NULL, NULL, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
    snprintf(mark, sizeof(mark), "PRAGMA application_id = %d", HL_SCHEMA_APPLICATION_ID);
    cr_assert_eq(sqlite3_exec(db, mark, NULL, NULL, NULL), SQLITE_OK);
    bind_and_run(db, "INSERT INTO meta VALUES ('key_check', ?)", key.check, sizeof(key.check));
    bind_and_run(db,
        "INSERT INTO ticket VALUES (7, x'0193500000007000800000000000000b', 1, ?, 0, 0, NULL,"
        " NULL, NULL)",
        head.p, head.n);
    sqlite3_close(db);
    hl_buf_fini(&head);
    hl_sealer_fini(&sealer);
}

Test(schema, version_1_is_brought_up_to_date_with_all_that_is_in_it)
{
    struct hl_id ended, queued;
    cr_assert(hl_id_parse(HL_STR("01935000-0000-7000-8000-00000000000a"), &ended));
    cr_assert(hl_id_parse(HL_STR("01935000-0000-7000-8000-00000000000b"), &queued));
    write_version_1(&queued);
    fixture_open(&f);
    cr_assert_eq(query(&f, "PRAGMA user_version"), 24);

    struct hl_list_runs l = {
        .m.msg.type = HL_STORE_LIST_RUNS, .project = "p", .state = -1, .is_async = -1, .limit = 10};
    cr_assert_eq(ask(&f, &f.asker, &l.m), HL_OK);
    cr_assert_eq(l.count, 2);
    cr_assert(hl_id_eq(&l.rows[0].run_id, &queued));
    cr_assert(hl_id_eq(&l.rows[1].run_id, &ended));
    cr_assert_eq(l.rows[1].state, HL_RUN_SUCCESS);
    cr_assert_eq(l.rows[0].request_size, -1, "nobody wrote it down");
    hl_operation_clear(&l.m);

    give_credit(&f, &f.worker, 1, false);
    struct hl_claimed *c = party_wait(&f.worker, HL_STORE_CLAIMED);
    cr_assert(hl_id_eq(&c->run_id, &queued));
    cr_assert(hl_str_eq(c->head, HL_STR("HEAD")));
    cr_assert_eq(finish_run(&f, &queued, 1, "done"), HL_OK);
    hl_claimed_free(c);
    fixture_reopen(&f);
    cr_assert_eq(state_of(&f, &queued), HL_RUN_SUCCESS);
}

/* --- version 2 -------------------------------------------------------------------------------- */

/* What led from 1 to 2: a copy too. */
static const char version_2[] =
    "DELETE FROM run; DELETE FROM result; DELETE FROM ticket;"
    "ALTER TABLE run ADD COLUMN request_size INTEGER;"
    "DROP INDEX run_by_app;"
    "CREATE INDEX run_by_app ON run (app_id, is_async, run_id);"
    "DROP INDEX run_by_state;"
    "CREATE INDEX run_by_state ON run (app_id, state, is_async, run_id) WHERE state >= 2;"
    "CREATE TABLE account (account_id BLOB PRIMARY KEY, project TEXT NOT NULL, name TEXT NOT NULL,"
    " role INTEGER NOT NULL, created_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL,"
    " revoked_ms INTEGER NOT NULL, last_used_ms INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE INDEX account_by_project ON account (project, account_id);"
    "CREATE INDEX account_by_expiry ON account (expires_ms);"
    "PRAGMA user_version = 2;";

enum { DELIVERED_LATE, RECORDED, RUNNING, WAITING, WAITING_FILE, CANCELLED, RUNS };

static struct hl_id id_of(int which)
{
    struct hl_id id;
    cr_assert(hl_id_parse(HL_STR("01935000-0000-7000-8000-000000000000"), &id));
    id.b[15] = (uint8_t)(which + 1);
    return id;
}

static void execute(sqlite3 *db, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void execute(sqlite3 *db, const char *fmt, ...)
{
    char sql[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(sql, sizeof(sql), fmt, args);
    va_end(args);
    cr_assert_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
}

static void put_run(sqlite3 *db, int which, int state, bool is_async, bool has_webhook, int number)
{
    bool is_final = state >= HL_RUN_SUCCESS, has_begun = state == HL_RUN_RUNNING;
    char id[] = "0193500000007000800000000000000X", at[16];
    id[31] = (char)('1' + which);
    snprintf(at, sizeof(at), "%d", number);
    execute(db,
        "INSERT INTO run VALUES (x'%s', 1, %d, %d, %d, 1700000000000, 1700000000000, %d, %d, 0,"
        " %s, %s, 'POST', '/run', NULL)",
        id, state, is_async, has_webhook, has_begun, has_begun, is_final ? "NULL" : at,
        is_final ? at : "NULL");
    if (is_final)
        execute(db,
            "INSERT INTO result VALUES (%d, x'%s', 32503680000000, 0, 200, 'text/plain', '', 1, 0,"
            " 0, 0, NULL, NULL, NULL)",
            number, id);
}

static void put_ticket(
    sqlite3 *db, struct hl_sealer *sealer, int which, int number, const char *body)
{
    struct hl_id id = id_of(which);
    struct hl_buf head;
    char sql[256];
    hl_buf_init(&head, 0);
    cr_assert_eq(hl_seal(sealer, "ticket.head", &id, HL_STR("HEAD"), &head), HL_OK);
    snprintf(sql, sizeof(sql),
        "INSERT INTO ticket SELECT %d, run_id, 1, ?, %s FROM run WHERE ticket_id = %d", number,
        body, number);
    bind_and_run(db, sql, head.p, head.n);
    hl_buf_fini(&head);
}

static void put_webhook(sqlite3 *db, struct hl_sealer *sealer, int which)
{
    struct hl_id id = id_of(which);
    struct hl_buf url;
    char sql[256];
    hl_buf_init(&url, 0);
    cr_assert_eq(hl_seal(sealer, "webhook.url", &id, HL_STR("https://e.org/"), &url), HL_OK);
    snprintf(sql, sizeof(sql),
        "INSERT INTO webhook VALUES (x'0193500000007000800000000000000%d', 5, ?, NULL, '')",
        which + 1);
    bind_and_run(db, sql, url.p, url.n);
    hl_buf_fini(&url);
}

/* Results 1 and 2 have the numbers of two tickets. */
static void fill_version_2(sqlite3 *db, struct hl_sealer *sealer)
{
    put_run(db, RECORDED, HL_RUN_RUNNING, false, true, 1);
    put_run(db, RUNNING, HL_RUN_RUNNING, true, false, 2);
    put_run(db, WAITING, HL_RUN_QUEUED, true, false, 3);
    put_run(db, WAITING_FILE, HL_RUN_QUEUED, true, false, 7);
    put_run(db, DELIVERED_LATE, HL_RUN_SUCCESS, true, true, 1);
    put_run(db, CANCELLED, HL_RUN_CANCELLED, true, false, 2);
    execute(db, "INSERT INTO ticket SELECT 1, run_id, 0, NULL, 0, 0, NULL, NULL, NULL FROM run"
                " WHERE ticket_id = 1");
    put_ticket(db, sealer, RUNNING, 2, "1, 3, zeroblob(32), NULL, CAST('two' AS BLOB)");
    put_ticket(db, sealer, WAITING, 3, "0, 0, NULL, NULL, NULL");
    put_ticket(db, sealer, WAITING_FILE, 7,
        "2, 9, zeroblob(32), x'01935000000070008000000000000077', NULL");
    put_webhook(db, sealer, RECORDED);
    put_webhook(db, sealer, DELIVERED_LATE);
    execute(db, "INSERT INTO delivery VALUES (x'019350000000700080000000000000dd',"
                " x'01935000000070008000000000000001', 1, 5, 0, 1, 1, 3, 1, 1700000000000, NULL)");
    execute(db, "INSERT INTO attempt VALUES (x'019350000000700080000000000000dd', 1, 1,"
                " 1700000000000, NULL, NULL, NULL, NULL)");
}

static void write_version_2(bool is_empty)
{
    char path[128], why[256];
    struct hl_key key;
    struct hl_sealer sealer;
    sqlite3 *db;
    struct hl_id nobody = {{1}};
    write_version_1(&nobody);
    snprintf(path, sizeof(path), "%s/key", f.dir);
    cr_assert_eq(hl_key_load(&key, path, HL_KEY_MISSED, why, sizeof(why)), HL_OK);
    cr_assert_eq(hl_sealer_init(&sealer, &key), HL_OK);
    snprintf(path, sizeof(path), "%s/hookline.db", f.dir);
    cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
    execute(db, "%s", version_2);
    if (!is_empty)
        fill_version_2(db, &sealer);
    sqlite3_close(db);
    hl_sealer_fini(&sealer);
}

static void claims(int which, uint32_t attempt, enum hl_body_where where)
{
    struct hl_id id = id_of(which);
    give_credit(&f, &f.worker, 1, false);
    struct hl_claimed *c = party_wait(&f.worker, HL_STORE_CLAIMED);
    cr_assert(hl_id_eq(&c->run_id, &id), "%d", which);
    cr_assert_eq(c->attempt, attempt);
    cr_assert_eq(c->body.where, where);
    cr_assert(hl_str_eq(c->head, HL_STR("HEAD")));
    hl_claimed_free(c);
}

static void check_version_2(void)
{
    static const enum hl_run_state states[RUNS] = {[DELIVERED_LATE] = HL_RUN_SUCCESS,
        [RECORDED] = HL_RUN_FAILURE,
        [CANCELLED] = HL_RUN_CANCELLED};
    for (int i = 0; i < RUNS; i++) {
        struct hl_id id = id_of(i);
        cr_assert_eq(state_of(&f, &id), states[i], "run %d is %d", i, state_of(&f, &id));
    }
    cr_assert_eq(query(&f, "SELECT count(DISTINCT number) FROM run"), RUNS);
    cr_assert_eq(query(&f, "SELECT count(*) FROM run JOIN ticket USING (run_id, number)"), 3);
    cr_assert_eq(query(&f, "SELECT count(*) FROM run JOIN result USING (run_id, number)"), 3);
    cr_assert_eq(query(&f, "SELECT count(*) FROM delivery WHERE state = 0"), 2);
    cr_assert_eq(
        query(&f, "SELECT started_ms FROM attempt WHERE verdict = 4 AND ended_ms > started_ms"),
        1700000000000, "it was under way");
    claims(RUNNING, 2, HL_BODY_INLINE);
    claims(WAITING, 1, HL_BODY_NONE);
    claims(WAITING_FILE, 1, HL_BODY_FILE);
    give_lease_credit(&f, 1);
    struct hl_leased *l = party_wait(&f.sender, HL_STORE_LEASED);
    struct hl_id late = id_of(DELIVERED_LATE);
    cr_assert(hl_id_eq(&l->run_id, &late));
    cr_assert_eq(l->n, 2);
    cr_assert_eq(l->outcome.http_status, 200);
    hl_leased_free(l);
}

Test(schema, version_2_is_brought_up_to_date_with_runs_in_every_state)
{
    fixture_set_run_attempts(&f, 2);
    write_version_2(false);
    fixture_open(&f);
    check_version_2();
}

Test(schema, version_2_is_whole_after_an_upgrade_that_was_broken_off_at_any_write, .timeout = 180)
{
    int k = 0;
    fixture_set_run_attempts(&f, 2);
    write_version_2(false);
    fault_vfs_install();
    do {
        cr_assert_lt(++k, 1000);
        fault_vfs_fail_after(k, SQLITE_IOERR_WRITE);
    } while (fixture_try_open(&f) != HL_OK);
    fault_vfs_fail_after(0, 0);
    cr_assert_gt(k, 10);
    fixture_reopen(&f); /* what the store's thread writes at its start may have met the fault */
    check_version_2();
}

Test(schema, empty_version_2_is_brought_up_to_date)
{
    struct hl_id id;
    write_version_2(true);
    fixture_open(&f);
    cr_assert_eq(accept_run(&f, (struct run_spec){0}, &id), HL_OK);
    cr_assert_eq(state_of(&f, &id), HL_RUN_QUEUED);
}

/* --- a new one -------------------------------------------------------------------------------- */

/* Of what is made of `older`: each table, index and view as it is stated, and which facts are noted; in the order of their
 * names, for where in the file they stand may differ. seen_ms is of the runs that there were. */
static void read_schema(const char *older, struct hl_buf *text)
{
    char why[256];
    sqlite3 *db;
    sqlite3_stmt *st;
    cr_assert_eq(sqlite3_open(":memory:", &db), SQLITE_OK);
    cr_assert_eq(sqlite3_exec(db, older, NULL, NULL, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
    cr_assert_eq(hl_schema_migrate(db, why, sizeof(why)), HL_OK, "%s", why);
    cr_assert_eq(sqlite3_prepare_v2(db,
                     "SELECT name || ': ' || coalesce(sql, '') || char(10) FROM sqlite_schema"
                     " UNION ALL SELECT 'meta ' || k || char(10) FROM meta WHERE k <> 'seen_ms'"
                     " UNION ALL SELECT 'version ' || user_version FROM pragma_user_version"
                     " ORDER BY 1",
                     -1, &st, NULL),
        SQLITE_OK, "%s", sqlite3_errmsg(db));
    while (sqlite3_step(st) == SQLITE_ROW)
        cr_assert_eq(
            hl_buf_append_str(text, hl_str_from((const char *)sqlite3_column_text(st, 0))), HL_OK);
    sqlite3_finalize(st);
    sqlite3_close(db);
}

Test(schema, new_one_is_what_an_older_one_becomes)
{
    struct hl_buf upgraded, made;
    hl_buf_init(&upgraded, 0);
    hl_buf_init(&made, 0);
    read_schema(version_1, &upgraded);
    read_schema("", &made);
    cr_assert_gt(made.n, 3000);
    cr_assert(hl_str_eq(hl_buf_str(&upgraded), hl_buf_str(&made)),
        "an older one:\n%.*s\na new one:\n%.*s", HL_STR_ARG(hl_buf_str(&upgraded)),
        HL_STR_ARG(hl_buf_str(&made)));
    hl_buf_fini(&upgraded);
    hl_buf_fini(&made);
}

/* --- version 12 ------------------------------------------------------------------------------- */

#define HOOK "https://a.example/hook"

/* What led to 13 and further, taken back. */
static const char back_to_12[] =
    "CREATE TABLE webhook (run_id BLOB PRIMARY KEY REFERENCES run ON DELETE CASCADE,"
    " lane INTEGER NOT NULL, url BLOB NOT NULL, secret BLOB, traceparent TEXT NOT NULL)"
    " WITHOUT ROWID;"
    "INSERT INTO webhook SELECT run_id, webhook_lane, webhook_url, webhook_secret, traceparent"
    " FROM run WHERE webhook_url IS NOT NULL;"
    "ALTER TABLE run DROP COLUMN webhook_lane; ALTER TABLE run DROP COLUMN webhook_url;"
    "ALTER TABLE run DROP COLUMN webhook_secret; ALTER TABLE run DROP COLUMN traceparent;"
    "DROP TABLE tag; ALTER TABLE run DROP COLUMN tags;"
    "DROP INDEX result_failed; ALTER TABLE result DROP COLUMN error;"
    "DROP INDEX run_again; ALTER TABLE result DROP COLUMN gate_us;"
    "ALTER TABLE result DROP COLUMN connect_us; ALTER TABLE result DROP COLUMN first_byte_us;"
    "DROP VIEW every_attempt; ALTER TABLE delivery DROP COLUMN attempt_ms;"
    "DROP TABLE job; DROP TABLE job_piece;"
    "DROP TABLE audit; DROP TABLE tally; DELETE FROM meta WHERE k = 'counted_ms';"
    "DROP INDEX delivery_due; DROP INDEX delivery_waiting; DROP INDEX delivery_by_lane;"
    "DROP INDEX delivery_since;"
    "ALTER TABLE delivery DROP COLUMN due_ms; ALTER TABLE delivery DROP COLUMN url;"
    "ALTER TABLE delivery DROP COLUMN secret;"
    "CREATE INDEX delivery_due ON delivery (lane, delivery_id) WHERE state = 0 AND is_leased = 0;"
    "ALTER TABLE attempt DROP COLUMN report;"
    "DROP TABLE failing;"
    "PRAGMA user_version = 12;";

/* One that was delivered, a dead letter, one whose process ended while it waited for its retry. */
static void write_version_12(struct hl_id *waiting)
{
    struct hl_id id;
    fixture_open(&f);
    struct hl_leased *ok = lease_one(&f, HOOK), *dead = lease_one(&f, HOOK);
    struct hl_leased *retry = lease_one(&f, HOOK);
    cr_assert_eq(say_outcome(&f, ok, 1, HL_ATTEMPT_OK), HL_OK);
    cr_assert_eq(say_outcome(&f, dead, 1, HL_ATTEMPT_DEAD), HL_OK);
    cr_assert_eq(say_outcome(&f, retry, 1, HL_ATTEMPT_RETRY), HL_OK);
    *waiting = retry->delivery_id;
    hl_leased_free(ok);
    hl_leased_free(dead);
    hl_leased_free(retry);
    cr_assert_eq(record_run(&f, (struct run_spec){.url = HOOK}, &id), HL_OK);
    cr_assert_eq(finish_run(&f, &id, 1, "sent by nobody yet"), HL_OK);
    fixture_close(&f);
    change(&f, back_to_12);
}

static struct hl_leased *take_lease(void)
{
    give_lease_credit(&f, 1);
    return party_wait(&f.sender, HL_STORE_LEASED);
}

Test(schema, version_12_is_brought_up_to_date_with_deliveries_in_every_state)
{
    struct hl_id waiting;
    write_version_12(&waiting);
    fixture_open(&f);
    cr_assert_eq(query(&f, "PRAGMA user_version"), 24);
    cr_assert_eq(query(&f, "SELECT count(*) FROM delivery WHERE state = 1"), 1);
    cr_assert_eq(query(&f, "SELECT count(*) FROM delivery WHERE state = 2"), 1);
    cr_assert_eq(query(&f, "SELECT count(*) FROM attempt WHERE report IS NULL"), 3);

    struct hl_leased *retry = take_lease(), *first = take_lease();
    cr_assert(hl_id_eq(&retry->delivery_id, &waiting));
    cr_assert_eq(retry->n, 2, "it was due at once: nobody wrote down when");
    cr_assert_eq(first->n, 1);
    struct hl_attempt_outcome o = {.m.msg.type = HL_STORE_OUTCOME,
        .delivery_id = waiting,
        .round = 1,
        .n = 2,
        .verdict = HL_ATTEMPT_RETRY,
        .started_ms = 1,
        .ended_ms = 2,
        .next_ms = INT64_MAX / 2,
        .puts_off = true,
        .health = HL_LANE_FAILING,
        .failing_since_ms = 5};
    cr_assert_eq(ask(&f, &f.sender, &o.m), HL_OK);
    cr_assert_eq(say_outcome(&f, first, 1, HL_ATTEMPT_ABANDONED), HL_OK);
    hl_leased_free(retry);
    hl_leased_free(first);

    fixture_reopen(&f);
    first = take_lease();
    cr_assert_eq(first->n, 2);
    cr_assert_eq(first->failing_since_ms, 5);
    hl_leased_free(first);
    cr_assert_eq(query(&f, "SELECT count(*) FROM delivery WHERE due_ms > 0"), 1);
}

Test(schema, version_12_is_whole_after_an_upgrade_that_was_broken_off_at_any_write, .timeout = 180)
{
    int k = 0;
    struct hl_id waiting;
    write_version_12(&waiting);
    fault_vfs_install();
    do {
        cr_assert_lt(++k, 1000);
        fault_vfs_fail_after(k, SQLITE_IOERR_WRITE);
    } while (fixture_try_open(&f) != HL_OK);
    fault_vfs_fail_after(0, 0);
    cr_assert_gt(k, 10);
    fixture_reopen(&f);
    struct hl_leased *retry = take_lease(), *first = take_lease();
    cr_assert(hl_id_eq(&retry->delivery_id, &waiting));
    cr_assert_eq(first->n, 1);
    hl_leased_free(retry);
    hl_leased_free(first);
}
