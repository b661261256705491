/* schema.c - the tables. At start only.
 *
 * A run is spread over what is needed when: `run` is small, lists well and knows where its webhook
 * goes; `ticket` has what the app will be given and goes when the run ends; `result` has how it ended
 * and what the app answered. Run, ticket and result share a number, which the process gives out, always
 * growing. The queue is `turn`, with a row for each run that waits. A run's end is the row of its result
 * and changes no other: its state is the result's, or else whether it has begun (the view
 * run_with_state). Those that have ended are found by their state, the others, which are few, by their
 * tickets. Times are wall clock milliseconds. body_sha256 has a body's digest, of either kind.
 */
#include "store/sqlite/schema.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/sqlite/statement.h"

#define BODY_COLUMNS                                                                               \
    " body_where INTEGER NOT NULL, body_size INTEGER NOT NULL, body_sha256 BLOB,"                  \
    " body_file BLOB, body_bytes BLOB"

#define EVERY_ATTEMPT                                                                              \
    "CREATE VIEW every_attempt AS"                                                                 \
    " SELECT delivery_id, round, n, started_ms, ended_ms, verdict, http_status, error, report"     \
    " FROM attempt"                                                                                \
    " UNION ALL SELECT delivery_id, round, n, attempt_ms, NULL, NULL, NULL, NULL, NULL"            \
    " FROM delivery WHERE is_leased = 1 AND NOT EXISTS (SELECT 1 FROM attempt"                     \
    " WHERE attempt.delivery_id = delivery.delivery_id AND attempt.round = delivery.round"         \
    " AND attempt.n = delivery.n);"

/* By which runs that have tags are found: a row with each tag, and one with its name alone. */
#define TAG_TABLE                                                                                  \
    "CREATE TABLE tag (app_id INTEGER NOT NULL, tag TEXT NOT NULL, run_id BLOB NOT NULL,"          \
    " PRIMARY KEY (app_id, tag, run_id)) WITHOUT ROWID;"

/* Bulk work, and what became of what it is about. */
#define JOB_TABLES                                                                                 \
    "CREATE TABLE job (job_id BLOB PRIMARY KEY, project TEXT NOT NULL, version INTEGER NOT NULL,"  \
    " ended_ms INTEGER NOT NULL, is_stopping INTEGER NOT NULL, plan BLOB NOT NULL,"                \
    " progress BLOB NOT NULL) WITHOUT ROWID;"                                                      \
    "CREATE INDEX job_by_project ON job (project, job_id);"                                        \
    "CREATE INDEX job_open ON job (project, job_id) WHERE ended_ms = 0;"                           \
    "CREATE INDEX job_by_end ON job (ended_ms) WHERE ended_ms > 0;"                                \
    "CREATE TABLE job_piece (job_id BLOB NOT NULL, n INTEGER NOT NULL, fates INTEGER NOT NULL,"    \
    " items BLOB NOT NULL, PRIMARY KEY (job_id, n)) WITHOUT ROWID;"

/* The tables of a new store, made at once. */
static const char *const newest[] = {
    "CREATE TABLE meta (k TEXT PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID;",
    "CREATE TABLE app (app_id INTEGER PRIMARY KEY, project TEXT NOT NULL, name TEXT NOT NULL,"
    " UNIQUE (project, name));",
    "CREATE TABLE run (run_id BLOB PRIMARY KEY, app_id INTEGER NOT NULL,"
    " has_begun INTEGER NOT NULL, is_async INTEGER NOT NULL, has_webhook INTEGER NOT NULL,"
    " created_ms INTEGER NOT NULL, started_ms INTEGER, attempt INTEGER NOT NULL,"
    " epoch INTEGER NOT NULL, is_cancel_wished INTEGER NOT NULL DEFAULT 0, number INTEGER,"
    " method TEXT NOT NULL, path TEXT NOT NULL, request_size INTEGER,"
    " priority INTEGER NOT NULL DEFAULT 1, turn INTEGER NOT NULL DEFAULT 0,"
    " turn_subject INTEGER NOT NULL DEFAULT 0, max_attempts INTEGER, attempt_log TEXT,"
    " identity TEXT NOT NULL DEFAULT '', rerun_of BLOB, webhook_lane INTEGER, webhook_url BLOB,"
    " webhook_secret BLOB, traceparent TEXT, tags TEXT) WITHOUT ROWID;"
    "CREATE INDEX run_by_app ON run (app_id, is_async, run_id);" TAG_TABLE
    "CREATE INDEX run_again ON run (rerun_of, run_id) WHERE rerun_of IS NOT NULL;",
    "CREATE TABLE ticket (number INTEGER PRIMARY KEY, run_id BLOB NOT NULL,"
    " is_async INTEGER NOT NULL, head BLOB," BODY_COLUMNS
    ", timeout_ms INTEGER, start_by_ms INTEGER);"
    "CREATE INDEX ticket_file ON ticket (body_file) WHERE body_file IS NOT NULL;"
    "CREATE INDEX ticket_by_start ON ticket (start_by_ms) WHERE start_by_ms IS NOT NULL;",
    "CREATE TABLE result (number INTEGER PRIMARY KEY, run_id BLOB NOT NULL,"
    " finished_ms INTEGER NOT NULL, reason INTEGER NOT NULL, http_status INTEGER NOT NULL,"
    " content_type TEXT NOT NULL, content_encoding TEXT NOT NULL, encoding INTEGER NOT NULL,"
    " escaped_size INTEGER NOT NULL," BODY_COLUMNS
    ", app_id INTEGER NOT NULL DEFAULT 0, is_async INTEGER NOT NULL DEFAULT 0,"
    " state INTEGER NOT NULL DEFAULT 0, is_stream INTEGER NOT NULL DEFAULT 0, error TEXT,"
    " gate_us INTEGER, connect_us INTEGER, first_byte_us INTEGER);"
    "CREATE INDEX result_file ON result (body_file) WHERE body_file IS NOT NULL;"
    "CREATE INDEX result_by_state ON result (app_id, state, is_async, run_id);"
    "CREATE INDEX result_stream ON result (finished_ms, number) WHERE is_stream = 1;"
    "CREATE INDEX result_failed ON result (run_id, app_id, reason, error, state)"
    " WHERE state = 3;",
    "CREATE TABLE delivery (delivery_id BLOB PRIMARY KEY,"
    " run_id BLOB NOT NULL REFERENCES run ON DELETE CASCADE, app_id INTEGER NOT NULL,"
    " lane INTEGER NOT NULL, state INTEGER NOT NULL, round INTEGER NOT NULL,"
    " n INTEGER NOT NULL, max_attempts INTEGER NOT NULL, is_leased INTEGER NOT NULL,"
    " created_ms INTEGER NOT NULL, done_ms INTEGER, due_ms INTEGER, attempt_ms INTEGER,"
    " url BLOB, secret BLOB) WITHOUT ROWID;"
    "CREATE INDEX delivery_by_run ON delivery (run_id);"
    "CREATE INDEX delivery_by_state ON delivery (app_id, state, delivery_id);"
    "CREATE INDEX delivery_due ON delivery (lane, delivery_id)"
    " WHERE state = 0 AND is_leased = 0 AND due_ms IS NULL;"
    "CREATE INDEX delivery_waiting ON delivery (due_ms, lane)"
    " WHERE state = 0 AND is_leased = 0 AND due_ms IS NOT NULL;"
    "CREATE INDEX delivery_since ON delivery (coalesce(done_ms, created_ms)) WHERE state = 0;"
    "CREATE INDEX delivery_by_lane ON delivery (app_id, lane, state, delivery_id, done_ms,"
    " created_ms);",
    "CREATE TABLE attempt (delivery_id BLOB NOT NULL REFERENCES delivery ON DELETE CASCADE,"
    " round INTEGER NOT NULL, n INTEGER NOT NULL, started_ms INTEGER NOT NULL,"
    " ended_ms INTEGER, verdict INTEGER, http_status INTEGER, error TEXT, report BLOB,"
    " PRIMARY KEY (delivery_id, round, n)) WITHOUT ROWID;",
    "CREATE TABLE idem (app_id INTEGER NOT NULL, subject BLOB NOT NULL, key BLOB NOT NULL,"
    " run_id BLOB NOT NULL, fingerprint BLOB NOT NULL, expires_ms INTEGER NOT NULL,"
    " PRIMARY KEY (app_id, subject, key)) WITHOUT ROWID;"
    "CREATE INDEX idem_by_expiry ON idem (expires_ms);",
    "CREATE TABLE account (account_id BLOB PRIMARY KEY, project TEXT NOT NULL,"
    " name TEXT NOT NULL, role INTEGER NOT NULL, created_ms INTEGER NOT NULL,"
    " expires_ms INTEGER NOT NULL, revoked_ms INTEGER NOT NULL, last_used_ms INTEGER NOT NULL,"
    " max_running INTEGER NOT NULL DEFAULT 0, max_queued INTEGER NOT NULL DEFAULT 0,"
    " rate_count INTEGER NOT NULL DEFAULT 0, rate_window_s INTEGER NOT NULL DEFAULT 0,"
    " max_priority INTEGER NOT NULL DEFAULT 1, limits_revision INTEGER NOT NULL DEFAULT 0)"
    " WITHOUT ROWID;"
    "CREATE INDEX account_by_project ON account (project, account_id);"
    "CREATE INDEX account_revoked ON account (expires_ms) WHERE revoked_ms > 0;",
    "CREATE TABLE turn (class INTEGER NOT NULL, turn INTEGER NOT NULL, number INTEGER NOT NULL,"
    " subject INTEGER NOT NULL, PRIMARY KEY (class, turn, number)) WITHOUT ROWID;",
    "CREATE TABLE run_log (run_id BLOB PRIMARY KEY REFERENCES run ON DELETE CASCADE,"
    " lines BLOB NOT NULL) WITHOUT ROWID;",
    "CREATE TABLE retry (number INTEGER PRIMARY KEY, due_ms INTEGER NOT NULL,"
    " run_id BLOB NOT NULL);"
    "CREATE INDEX retry_by_due ON retry (due_ms);",
    "CREATE TABLE request (number INTEGER PRIMARY KEY, run_id BLOB NOT NULL,"
    " head BLOB NOT NULL," BODY_COLUMNS ");"
    "CREATE INDEX request_file ON request (body_file) WHERE body_file IS NOT NULL;",
    "CREATE TABLE failing (lane INTEGER PRIMARY KEY, since_ms INTEGER NOT NULL);",
    "CREATE TABLE tally (app_id INTEGER NOT NULL, minute INTEGER NOT NULL,"
    " counts BLOB NOT NULL, PRIMARY KEY (app_id, minute)) WITHOUT ROWID;"
    "CREATE INDEX tally_by_minute ON tally (minute);",
    "CREATE VIEW run_with_state AS SELECT run.*, coalesce(result.state, run.has_begun) AS state"
    " FROM run LEFT JOIN result ON result.number = run.number;",
    EVERY_ATTEMPT,
    "CREATE TABLE audit (audit_id BLOB PRIMARY KEY, project TEXT NOT NULL, action INTEGER NOT NULL,"
    " count INTEGER NOT NULL, told TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE INDEX audit_by_project ON audit (project, audit_id, action);",
    "INSERT INTO meta (k, v) VALUES ('counted_ms', CAST(strftime('%s', 'now') AS INTEGER) * 1000);",
    JOB_TABLES,
};

/* changes[i] leads from user_version i + 1, which earlier hooklines have written, to the next, and the last of them to
 * `newest`. Never edited once released: a change of the tables is a new one, and is made in `newest` too. */
static const char *const changes[] = {
    /* Lists of one mode of run need no walk over the others; accounts. */
    "ALTER TABLE run ADD COLUMN request_size INTEGER;"
    "DROP INDEX run_by_app;"
    "CREATE INDEX run_by_app ON run (app_id, is_async, run_id);"
    "DROP INDEX run_by_state;"
    "CREATE INDEX run_by_state ON run (app_id, state, is_async, run_id) WHERE state >= 2;"
    "CREATE TABLE account (account_id BLOB PRIMARY KEY, project TEXT NOT NULL, name TEXT NOT NULL,"
    " role INTEGER NOT NULL, created_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL,"
    " revoked_ms INTEGER NOT NULL, last_used_ms INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE INDEX account_by_project ON account (project, account_id);"
    "CREATE INDEX account_by_expiry ON account (expires_ms);",

    /* The end of a run is its result, and changes no row of what began: run, ticket and result share
     * one number. What waits is numbered anew, behind all that has ended. */
    "DROP INDEX run_by_state;"
    "ALTER TABLE result ADD COLUMN app_id INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE result ADD COLUMN is_async INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE result ADD COLUMN state INTEGER NOT NULL DEFAULT 0;"
    "UPDATE result SET (app_id, is_async, state) = (SELECT app_id, is_async, state FROM run"
    " WHERE run.run_id = result.run_id);"
    "CREATE INDEX result_by_state ON result (app_id, state, is_async, run_id);"
    "INSERT INTO meta (k, v) SELECT 'behind', (SELECT coalesce(max(id), 0) FROM result)"
    " + (SELECT coalesce(max(id), 0) FROM ticket);"
    "UPDATE ticket SET id = id + (SELECT v FROM meta WHERE k = 'behind');"
    "UPDATE run SET ticket_id = CASE WHEN state >= 2 THEN result_id"
    " ELSE ticket_id + (SELECT v FROM meta WHERE k = 'behind') END, state = state >= 1;"
    "DELETE FROM meta WHERE k = 'behind';"
    "ALTER TABLE run DROP COLUMN result_id;"
    "ALTER TABLE run RENAME COLUMN ticket_id TO number;"
    "ALTER TABLE run RENAME COLUMN state TO has_begun;"
    "ALTER TABLE ticket RENAME COLUMN id TO number;"
    "ALTER TABLE result RENAME COLUMN id TO number;"
    "CREATE VIEW run_with_state AS SELECT run.*, coalesce(result.state, run.has_begun) AS state"
    " FROM run LEFT JOIN result ON result.number = run.number;",

    /* Only revoked accounts are ever removed. The wall time that was seen last is known, here by what
     * ended or was made last. */
    "DROP INDEX account_by_expiry;"
    "CREATE INDEX account_revoked ON account (expires_ms) WHERE revoked_ms > 0;"
    "INSERT INTO meta (k, v) SELECT 'seen_ms', ms FROM (SELECT max(ms) AS ms FROM"
    " (SELECT * FROM (SELECT finished_ms AS ms FROM result ORDER BY number DESC LIMIT 100)"
    " UNION ALL SELECT max(created_ms) FROM account)) WHERE ms IS NOT NULL;",

    /* What a call says of its time: inside the app, and until its first start. */
    "ALTER TABLE ticket ADD COLUMN timeout_ms INTEGER;"
    "ALTER TABLE ticket ADD COLUMN start_by_ms INTEGER;"
    "CREATE INDEX ticket_by_start ON ticket (start_by_ms) WHERE start_by_ms IS NOT NULL;",

    /* Queued runs by their turns; those that there are have all the same, and stand in their order. */
    "ALTER TABLE run ADD COLUMN priority INTEGER NOT NULL DEFAULT 1;"
    "ALTER TABLE run ADD COLUMN turn INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE run ADD COLUMN turn_subject INTEGER NOT NULL DEFAULT 0;"
    "CREATE TABLE turn (class INTEGER NOT NULL, turn INTEGER NOT NULL, number INTEGER NOT NULL,"
    " subject INTEGER NOT NULL, PRIMARY KEY (class, turn, number)) WITHOUT ROWID;"
    "INSERT INTO turn SELECT 1, 0, ticket.number, 0 FROM ticket JOIN run"
    " ON run.run_id = ticket.run_id WHERE ticket.is_async = 1 AND run.has_begun = 0;",

    /* Limits of accounts. */
    "ALTER TABLE account ADD COLUMN max_running INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE account ADD COLUMN max_queued INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE account ADD COLUMN rate_count INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE account ADD COLUMN rate_window_s INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE account ADD COLUMN max_priority INTEGER NOT NULL DEFAULT 1;"
    "ALTER TABLE account ADD COLUMN limits_revision INTEGER NOT NULL DEFAULT 0;",

    /* What is kept of the log about runs that failed. */
    "CREATE TABLE run_log (run_id BLOB PRIMARY KEY REFERENCES run ON DELETE CASCADE,"
    " lines BLOB NOT NULL) WITHOUT ROWID;",

    /* Runs again: how their attempts ended, and when the next is due. */
    "ALTER TABLE run ADD COLUMN max_attempts INTEGER;"
    "ALTER TABLE run ADD COLUMN attempt_log TEXT;"
    "CREATE TABLE retry (number INTEGER PRIMARY KEY, due_ms INTEGER NOT NULL,"
    " run_id BLOB NOT NULL);"
    "CREATE INDEX retry_by_due ON retry (due_ms);",

    /* Who made a run; of those that there are it is not known. */
    "ALTER TABLE run ADD COLUMN identity TEXT NOT NULL DEFAULT '';",

    /* Requests that are kept after their runs' ends; their heads are sealed as those of tickets. */
    "CREATE TABLE request (number INTEGER PRIMARY KEY, run_id BLOB NOT NULL, head BLOB NOT "
    "NULL," BODY_COLUMNS ");"
    "CREATE INDEX request_file ON request (body_file) WHERE body_file IS NOT NULL;"
    "ALTER TABLE run ADD COLUMN rerun_of BLOB;",

    /* Kept streams of synchronous calls: while their bodies are there they have a retention and a share of
     * their own. */
    "ALTER TABLE result ADD COLUMN is_stream INTEGER NOT NULL DEFAULT 0;"
    "CREATE INDEX result_stream ON result (finished_ms, number) WHERE is_stream = 1;",

    /* Retries that wait in the store; what is known of an attempt and of destinations. */
    "ALTER TABLE delivery ADD COLUMN due_ms INTEGER;"
    "DROP INDEX delivery_due;"
    "CREATE INDEX delivery_due ON delivery (lane, delivery_id)"
    " WHERE state = 0 AND is_leased = 0 AND due_ms IS NULL;"
    "CREATE INDEX delivery_waiting ON delivery (due_ms, lane)"
    " WHERE state = 0 AND is_leased = 0 AND due_ms IS NOT NULL;"
    "CREATE INDEX delivery_by_lane ON delivery (app_id, lane, state, delivery_id);"
    "ALTER TABLE attempt ADD COLUMN report BLOB;"
    "CREATE TABLE failing (lane INTEGER PRIMARY KEY, since_ms INTEGER NOT NULL);",

    /* How runs end, counted by minute and app (tally.h), from here on. */
    "CREATE TABLE tally (app_id INTEGER NOT NULL, minute INTEGER NOT NULL, counts BLOB NOT NULL,"
    " PRIMARY KEY (app_id, minute)) WITHOUT ROWID;"
    "CREATE INDEX tally_by_minute ON tally (minute);"
    "INSERT INTO meta (k, v) VALUES ('counted_ms', CAST(strftime('%s', 'now') AS INTEGER) * 1000);"
    /* What is pending has waited since its redelivery, which done_ms says until it ends, or else since it was made. */
    "CREATE INDEX delivery_since ON delivery (coalesce(done_ms, created_ms)) WHERE state = 0;"
    "DROP INDEX delivery_by_lane;"
    "CREATE INDEX delivery_by_lane ON delivery (app_id, lane, state, delivery_id, done_ms,"
    " created_ms);",

    /* Bodies in rows may have short digests (digest.h), which a version before would take for damage. */
    "SELECT 1;",

    /* Values may be sealed in another way (secret.h), which a version before would take for damage. */
    "SELECT 1;",

    /* An attempt has a row when it has ended; until then its delivery says when it began. */
    "ALTER TABLE delivery ADD COLUMN attempt_ms INTEGER;"
    "UPDATE delivery SET attempt_ms = (SELECT started_ms FROM attempt"
    " WHERE attempt.delivery_id = delivery.delivery_id AND attempt.round = delivery.round"
    " AND attempt.n = delivery.n) WHERE state = 0 AND is_leased = 1;"
    "DELETE FROM attempt WHERE verdict IS NULL;" EVERY_ATTEMPT,

    /* Who changed what, from here on. */
    "CREATE TABLE audit (audit_id BLOB PRIMARY KEY, project TEXT NOT NULL, action INTEGER NOT NULL,"
    " count INTEGER NOT NULL, told TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE INDEX audit_by_project ON audit (project, audit_id, action);",

    /* A webhook stands in its run's row. */
    "ALTER TABLE run ADD COLUMN webhook_lane INTEGER;"
    "ALTER TABLE run ADD COLUMN webhook_url BLOB;"
    "ALTER TABLE run ADD COLUMN webhook_secret BLOB;"
    "ALTER TABLE run ADD COLUMN traceparent TEXT;"
    "UPDATE run SET (webhook_lane, webhook_url, webhook_secret, traceparent) ="
    " (SELECT lane, url, secret, traceparent FROM webhook WHERE webhook.run_id = run.run_id)"
    " WHERE has_webhook = 1;"
    "DROP TABLE webhook;",

    /* What the app said went wrong, of what fails from here on. */
    "ALTER TABLE result ADD COLUMN error TEXT;"
    "CREATE INDEX result_failed ON result (run_id, app_id, reason, error, state)"
    " WHERE state = 3;",

    /* Tags of runs. */
    "ALTER TABLE run ADD COLUMN tags TEXT;" TAG_TABLE,

    /* A delivery may go elsewhere than its run says. Reports of attempts have more (attempt.h). */
    "ALTER TABLE delivery ADD COLUMN url BLOB;"
    "ALTER TABLE delivery ADD COLUMN secret BLOB;",

    /* Bulk work. */
    JOB_TABLES,

    /* How the time of a call was spent, of what ends from here on; and which runs repeat another one. */
    "ALTER TABLE result ADD COLUMN gate_us INTEGER;"
    "ALTER TABLE result ADD COLUMN connect_us INTEGER;"
    "ALTER TABLE result ADD COLUMN first_byte_us INTEGER;"
    "CREATE INDEX run_again ON run (rerun_of, run_id) WHERE rerun_of IS NOT NULL;",
};

#define NEWEST ((int)HL_ARRAY_LEN(changes) + 1)
/* Above this size a whole check would hold up the start for too long (about 1 s for each GB). */
#define WHOLE_CHECK_MAX (4ull << 30)
/* From this size on, or when it took so long, the log says what the start waits for. */
#define LONG_CHECK_BYTES (256ull << 20)
#define LONG_CHECK_MS    1000

static int64_t ask(sqlite3 *db, const char *sql, int *rc)
{
    sqlite3_stmt *st = NULL;
    int64_t answer = 0;
    *rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);
    if (*rc == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW)
        answer = sqlite3_column_int64(st, 0);
    if (*rc == SQLITE_OK)
        *rc = sqlite3_finalize(st);
    else
        sqlite3_finalize(st);
    return answer;
}

static enum hl_err explain(sqlite3 *db, int rc, char *why, size_t why_len)
{
    snprintf(why, why_len, "%s", sqlite3_errmsg(db));
    return hl_sql_err(db, rc);
}

/* One `PRAGMA quick_check`; its first line is "ok" or the first thing that is wrong. */
static enum hl_err quick_check(sqlite3 *db, const char *sql, char *why, size_t why_len)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(st);
    if (rc != SQLITE_ROW) {
        enum hl_err err = explain(db, rc, why, why_len);
        sqlite3_finalize(st);
        return err ? err : HL_ERR_CORRUPT;
    }
    const char *line = (const char *)sqlite3_column_text(st, 0);
    enum hl_err err = line && strcmp(line, "ok") == 0 ? HL_OK : HL_ERR_CORRUPT;
    if (err) {
        snprintf(why, why_len, "%s", line ? line : "it cannot be read");
        why[strcspn(why, "\n")] = '\0';
    }
    sqlite3_finalize(st);
    return err;
}

static enum hl_err check_parts(sqlite3 *db, char *why, size_t why_len)
{
    static const char *const parts[] = {"PRAGMA quick_check('ticket')",
        "PRAGMA quick_check('idem')", "PRAGMA quick_check('delivery')"};
    enum hl_err err = HL_OK;
    for (size_t i = 0; i < HL_ARRAY_LEN(parts) && !err; i++)
        err = quick_check(db, parts[i], why, why_len);
    return err;
}

static enum hl_err check_pages(sqlite3 *db, char *why, size_t why_len)
{
    int rc;
    uint64_t size = (uint64_t)ask(
        db, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size", &rc);
    if (rc != SQLITE_OK)
        return explain(db, rc, why, why_len);
    uint64_t began_ms = hl_clock_mono_ms();
    if (size >= LONG_CHECK_BYTES)
        HL_LOG(
            INFO, "store: checking the database, which takes a while", HL_LOG_INT("bytes", size));
    enum hl_err err = size <= WHOLE_CHECK_MAX
                          ? quick_check(db, "PRAGMA quick_check(1)", why, why_len)
                          : check_parts(db, why, why_len);
    uint64_t took_ms = hl_clock_mono_ms() - began_ms;
    if (!err && (size >= LONG_CHECK_BYTES || took_ms >= LONG_CHECK_MS))
        HL_LOG(INFO, "store: the database was checked", HL_LOG_INT("bytes", size),
            HL_LOG_INT("ms", took_ms));
    return err;
}

enum hl_err hl_schema_check_whole(sqlite3 *db, char *why, size_t why_len)
{
    int rc;
    uint64_t size = (uint64_t)ask(
        db, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size", &rc);
    if (rc != SQLITE_OK)
        return explain(db, rc, why, why_len);
    if (size > WHOLE_CHECK_MAX) {
        HL_LOG(WARN,
            "store: the database is too large to be read completely at start-up: run hookline "
            "store check",
            HL_LOG_INT("bytes", size));
        return HL_OK;
    }
    uint64_t began_ms = hl_clock_mono_ms();
    enum hl_err err = quick_check(db, "PRAGMA integrity_check(1)", why, why_len);
    HL_LOG(INFO, "store: the database was read completely", HL_LOG_INT("bytes", size),
        HL_LOG_INT("ms", hl_clock_mono_ms() - began_ms));
    return err;
}

enum hl_err hl_schema_check(sqlite3 *db, bool *is_new, char *why, size_t why_len)
{
    int rc;
    int64_t tables = ask(db, "SELECT count(*) FROM sqlite_schema", &rc);
    if (rc != SQLITE_OK)
        return explain(db, rc, why, why_len);
    int64_t application = ask(db, "PRAGMA application_id", &rc);
    int64_t version = ask(db, "PRAGMA user_version", &rc);
    *is_new = tables == 0 && application == 0;
    if (*is_new)
        return HL_OK;
    if (application != HL_SCHEMA_APPLICATION_ID) {
        snprintf(why, why_len, "it is not a hookline database");
        return HL_ERR_INVALID;
    }
    if (version > NEWEST) {
        snprintf(why, why_len, "it was written by a newer hookline (schema %d, this one knows %d)",
            (int)version, NEWEST);
        return HL_ERR_INVALID;
    }
    return check_pages(db, why, why_len);
}

/* The n texts and the mark are one transaction. */
static int become(sqlite3 *db, int version, const char *const *sql, size_t n)
{
    char mark[96];
    snprintf(mark, sizeof(mark), "PRAGMA application_id = %d; PRAGMA user_version = %d",
        HL_SCHEMA_APPLICATION_ID, version);
    int rc = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    for (size_t i = 0; i < n && rc == SQLITE_OK; i++)
        rc = sqlite3_exec(db, sql[i], NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, mark, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    return rc;
}

enum hl_err hl_schema_migrate(sqlite3 *db, char *why, size_t why_len)
{
    int rc;
    int version = (int)ask(db, "PRAGMA user_version", &rc);
    if (rc == SQLITE_OK && version == 0)
        rc = become(db, version = NEWEST, newest, HL_ARRAY_LEN(newest));
    for (; rc == SQLITE_OK && version < NEWEST; version++)
        rc = become(db, version + 1, &changes[version - 1], 1);
    if (rc == SQLITE_OK)
        return HL_OK;
    enum hl_err err = explain(db, rc, why, why_len);
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return err;
}
