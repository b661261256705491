/* test_schema.c - a database that an earlier hookline wrote is brought up to date at start. */
#include <criterion/criterion.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "fixture.h"
#include "store/key.h"
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
    cr_assert_eq(hl_key_load(&key, path, true, why, sizeof(why)), HL_OK);
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
    cr_assert_eq(query(&f, "PRAGMA user_version"), 3);

    struct hl_list_runs l = {
        .m.msg.type = HL_STORE_LIST_RUNS, .project = "p", .state = -1, .is_async = -1, .limit = 10};
    cr_assert_eq(ask(&f, &f.asker, &l.m), HL_OK);
    cr_assert_eq(l.count, 2);
    cr_assert(hl_id_eq(&l.rows[0].run_id, &queued));
    cr_assert(hl_id_eq(&l.rows[1].run_id, &ended));
    cr_assert_eq(l.rows[1].state, HL_RUN_SUCCESS);
    cr_assert_eq(l.rows[0].request_size, -1, "nobody wrote it down");
    hl_list_runs_fini(&l);

    give_credit(&f, &f.worker, 1, false);
    struct hl_claimed *c = party_wait(&f.worker, HL_STORE_CLAIMED);
    cr_assert(hl_id_eq(&c->run_id, &queued));
    cr_assert(hl_str_eq(c->head, HL_STR("HEAD")));
    cr_assert_eq(finish_run(&f, &queued, 1, "done"), HL_OK);
    hl_claimed_free(c);
    fixture_reopen(&f);
    cr_assert_eq(state_of(&f, &queued), HL_RUN_SUCCESS);
}
