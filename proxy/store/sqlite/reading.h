/* reading.h - the read-only connection and its statements. It can neither write nor checkpoint
 * (database.c says why that matters). Everything here is the reader's thread's; before that thread
 * starts and after it has ended, its owner's. A store in memory has one connection, the writing one,
 * which reads for it on the store's thread. */
#ifndef HL_STORE_SQLITE_READING_H
#define HL_STORE_SQLITE_READING_H

#include "store/secret.h"
#include "store/sqlite/statement.h"

/* clang-format off */
/* The ids of an ordered part (merge.h): ?1 app or run, ?2 and ?6 what else names the part, ?3 before,
 * ?4 from, ?5 how many. */
#define HL_ASK_BODY                                                                                \
    "body_where, body_size, body_sha256, body_file, CASE ?2 WHEN 1 THEN body_bytes END"
#define HL_ASK_MAP(X)                                                                              \
    X(BEGIN, "BEGIN")                                                                              \
    X(END, "COMMIT")                                                                               \
    X(RUN, "SELECT run.run_id, coalesce(result.state, run.has_begun), run.is_async,"               \
        " run.has_webhook, run.attempt,"                                                           \
        " run.created_ms, run.started_ms, coalesce(run.request_size, -1), run.priority, run.attempt_log, (SELECT due_ms FROM retry WHERE retry.number = run.number), run.method, run.path, run.identity, run.rerun_of,"   \
        " app.project, app.name, CASE run.has_webhook WHEN 1 THEN (SELECT"                         \
        " sum(1 << (20 * state)) FROM delivery WHERE delivery.run_id = run.run_id) END,"           \
        " result.number IS NOT NULL, " HL_SQL_RESULT_HEAD                                          \
        ", CASE ?2 WHEN 1 THEN result.body_bytes END"                                              \
        " FROM run JOIN app ON app.app_id = run.app_id"                                            \
        " LEFT JOIN result ON result.number = run.number WHERE run.run_id = ?1")                   \
    X(REQUEST, "SELECT head, " HL_ASK_BODY " FROM ticket WHERE head IS NOT NULL AND number ="      \
        " (SELECT number FROM run WHERE run_id = ?1) UNION ALL SELECT head, " HL_ASK_BODY          \
        " FROM request WHERE number = (SELECT number FROM run WHERE run_id = ?1)")                 \
    X(RUN_NUMBER, "SELECT number FROM run WHERE run_id = ?1")                                      \
    X(WEBHOOK, "SELECT url, secret FROM webhook WHERE run_id = ?1")                                \
    X(RUN_LOG, "SELECT lines FROM run_log WHERE run_id = ?1")                                      \
    X(WAITING, "SELECT count(*) FROM (SELECT 1 FROM turn WHERE class = ?1 LIMIT ?2)")              \
    X(BEFORE, "SELECT (SELECT count(*) FROM (SELECT 1 FROM turn WHERE class = run.priority"        \
        " AND (turn, number) < (run.turn, run.number) LIMIT ?2)) FROM run WHERE run_id = ?1")      \
    X(RUN_IDS, "SELECT run_id FROM run INDEXED BY run_by_app WHERE app_id = ?1 AND is_async = ?2"  \
        " AND run_id < ?3 AND run_id >= ?4 ORDER BY run_id DESC LIMIT ?5")                         \
    X(RUN_IDS_IN_STATE, "SELECT run_id FROM result INDEXED BY result_by_state WHERE app_id = ?1"   \
        " AND state = ?6 AND is_async = ?2 AND run_id < ?3 AND run_id >= ?4"                       \
        " ORDER BY run_id DESC LIMIT ?5")                                                          \
    X(RUN_SEARCHED, "SELECT coalesce(result.reason, 0), coalesce(result.http_status, 0),"          \
        " run.has_webhook, CASE run.has_webhook WHEN 1 THEN (SELECT"                               \
        " sum(1 << (20 * state)) FROM delivery WHERE delivery.run_id = run.run_id) END, run.path"  \
        " FROM run LEFT JOIN result ON result.number = run.number WHERE run.run_id = ?1")          \
    X(QUEUE, "SELECT ticket.number, ticket.run_id, run.has_begun = 0"                              \
        " AND (?2 = '' OR app.project = ?2) AND (?3 = '' OR app.name = ?3) FROM ticket"            \
        " CROSS JOIN run ON run.run_id = ticket.run_id"                                            \
        " CROSS JOIN app ON app.app_id = run.app_id"                                               \
        " WHERE ticket.number < ?1 AND ticket.is_async = 1 ORDER BY ticket.number DESC")           \
    X(APP, "SELECT app_id FROM app WHERE project = ?1 AND name = ?2")                              \
    X(APPS_OF_PROJECT, "SELECT app_id FROM app WHERE project = ?1")                                \
    X(APPS, "SELECT app_id FROM app WHERE ?2 = '' OR name = ?2")                                   \
    X(APP_NAMES, "SELECT name FROM app WHERE project = ?1"                                         \
        " AND EXISTS (SELECT 1 FROM run WHERE run.app_id = app.app_id) ORDER BY name LIMIT ?2")    \
    X(PROJECT_NAMES, "SELECT DISTINCT project FROM app"                                            \
        " WHERE EXISTS (SELECT 1 FROM run WHERE run.app_id = app.app_id)"                          \
        " ORDER BY project LIMIT ?1")                                                              \
    X(DELIVERY, "SELECT delivery.delivery_id, delivery.run_id, delivery.state, result.state,"      \
        " delivery.round, delivery.n, delivery.max_attempts, delivery.created_ms,"                 \
        " CASE WHEN delivery.state <> 0 THEN delivery.done_ms END,"                                \
        " CASE delivery.state WHEN 0 THEN delivery.due_ms END,"                                    \
        " app.project, app.name, webhook.url"                                                      \
        " FROM delivery LEFT JOIN run ON run.run_id = delivery.run_id"                             \
        " LEFT JOIN result ON result.number = run.number"                                          \
        " LEFT JOIN app ON app.app_id = delivery.app_id"                                           \
        " LEFT JOIN webhook ON webhook.run_id = run.run_id WHERE delivery.delivery_id = ?1")       \
    X(DELIVERY_IDS, "SELECT delivery_id FROM delivery INDEXED BY delivery_by_state"                \
        " WHERE app_id = ?1 AND state = ?2 AND delivery_id < ?3 AND delivery_id >= ?4"             \
        " ORDER BY delivery_id DESC LIMIT ?5")                                                     \
    X(DELIVERY_IDS_OF_LANE, "SELECT delivery_id FROM delivery INDEXED BY delivery_by_lane"         \
        " WHERE app_id = ?1 AND lane = ?7 AND state = ?2 AND delivery_id < ?3"                     \
        " AND delivery_id >= ?4 ORDER BY delivery_id DESC LIMIT ?5")                               \
    X(LAST_STATUS, "SELECT coalesce(http_status, 0) FROM attempt WHERE delivery_id = ?1"           \
        " AND ended_ms IS NOT NULL ORDER BY round DESC, n DESC LIMIT 1")                           \
    X(DELIVERY_IDS_OF_RUN, "SELECT delivery_id FROM delivery INDEXED BY delivery_by_run"           \
        " WHERE run_id = ?1 AND delivery_id < ?3 AND delivery_id >= ?4"                            \
        " ORDER BY delivery_id DESC LIMIT ?5")                                                     \
    X(ATTEMPTS, "SELECT round, n, started_ms, ended_ms, coalesce(verdict, 5), http_status, error,"  \
        " CASE ?3 WHEN 1 THEN report END"                                                          \
        " FROM attempt WHERE delivery_id = ?1 ORDER BY round DESC, n DESC LIMIT ?2")               \
    X(LANE_NEXT, "SELECT lane FROM (SELECT (SELECT min(delivery.lane) FROM delivery"              \
        " INDEXED BY delivery_by_lane WHERE delivery.app_id = app.app_id"                          \
        " AND delivery.lane > coalesce(?2, -9e999)) AS lane FROM app WHERE app.project = ?1)"      \
        " WHERE lane IS NOT NULL ORDER BY lane LIMIT 1")                                           \
    X(LANE_URL, "SELECT delivery.run_id, webhook.url FROM app CROSS JOIN delivery"                 \
        " INDEXED BY delivery_by_lane ON delivery.app_id = app.app_id AND delivery.lane = ?2"      \
        " JOIN webhook ON webhook.run_id = delivery.run_id WHERE app.project = ?1 LIMIT 1")        \
    X(LANE_COUNTS, "SELECT coalesce(sum(state = 0), 0), coalesce(sum(state = 2), 0),"              \
        " min(CASE delivery.state WHEN 0 THEN coalesce(done_ms, created_ms) END),"                 \
        " (SELECT since_ms FROM failing WHERE lane = ?2) FROM app CROSS JOIN delivery"             \
        " INDEXED BY delivery_by_lane ON delivery.app_id = app.app_id AND delivery.lane = ?2"      \
        " WHERE app.project = ?1 AND delivery.state IN (0, 2)")                                    \
    X(LANE_ATTEMPTS, "WITH s(state) AS (VALUES (0), (1), (2)), looked(id) AS"                      \
        " (SELECT delivery_id FROM app CROSS JOIN s CROSS JOIN delivery ON delivery_id IN"         \
        " (SELECT delivery_id FROM delivery INDEXED BY delivery_by_lane WHERE app_id = app.app_id" \
        " AND lane = ?2 AND state = s.state ORDER BY delivery_id DESC LIMIT ?3)"                   \
        " WHERE app.project = ?1 ORDER BY delivery_id DESC LIMIT ?3)"                              \
        " SELECT started_ms, ended_ms, coalesce(verdict, 5), http_status, error FROM looked"       \
        " CROSS JOIN attempt ON attempt.delivery_id = looked.id")                                  \
    X(MINUTES, "SELECT app.project, app.name, tally.minute, tally.counts FROM tally"               \
        " INDEXED BY tally_by_minute CROSS JOIN app ON app.app_id = tally.app_id"                  \
        " WHERE tally.minute >= ?3 AND tally.minute < ?4 AND (?1 = '' OR app.project = ?1)"        \
        " AND (?2 = '' OR app.name = ?2) ORDER BY tally.minute DESC LIMIT ?5")                     \
    X(COUNTED_SINCE, "SELECT v FROM meta WHERE k = 'counted_ms'")                                  \
    X(RUNS_NOW, "SELECT coalesce(sum(run.has_begun = 0), 0), coalesce(sum(run.has_begun), 0),"     \
        " (SELECT count(*) FROM (SELECT 1 FROM ticket WHERE is_async = 1 LIMIT ?3)) = ?3"          \
        " FROM (SELECT run_id FROM ticket WHERE is_async = 1 LIMIT ?3) AS t"                       \
        " CROSS JOIN run ON run.run_id = t.run_id CROSS JOIN app ON app.app_id = run.app_id"       \
        " WHERE (?1 = '' OR app.project = ?1) AND (?2 = '' OR app.name = ?2)")                     \
    X(DELIVERIES_NOW, "SELECT count(*) FROM (SELECT 1 FROM app CROSS JOIN delivery"                \
        " INDEXED BY delivery_by_state ON delivery.app_id = app.app_id AND delivery.state = ?4"    \
        " WHERE (?1 = '' OR app.project = ?1) AND (?2 = '' OR app.name = ?2) LIMIT ?3)")           \
    X(FAILING_LANES, "SELECT failing.lane, app.project FROM (SELECT lane, since_ms FROM failing"   \
        " ORDER BY since_ms LIMIT ?2) AS failing CROSS JOIN app ON app.app_id ="                   \
        " (SELECT app.app_id FROM app WHERE (?1 = '' OR app.project = ?1)"                         \
        " AND EXISTS (SELECT 1 FROM delivery"                       \
        " INDEXED BY delivery_by_lane WHERE delivery.app_id = app.app_id"                          \
        " AND delivery.lane = failing.lane) LIMIT 1) ORDER BY failing.since_ms")                   \
    X(ATTEMPT_COUNT, "SELECT count(*) FROM attempt WHERE delivery_id = ?1")                        \
    X(ACCOUNTS, "SELECT " HL_ACCOUNT_COLUMNS " FROM account WHERE account_id < ?1"                 \
        " ORDER BY account_id DESC LIMIT ?2")                                                      \
    X(ACCOUNTS_OF_PROJECT, "SELECT " HL_ACCOUNT_COLUMNS                                            \
        " FROM account INDEXED BY account_by_project"                                              \
        " WHERE project = ?3 AND account_id < ?1 ORDER BY account_id DESC LIMIT ?2")
/* clang-format on */

enum hl_ask {
#define X(name, text) HL_ASK_##name,
    HL_ASK_MAP(X)
#undef X
        HL_ASK_COUNT
};

struct hl_reading {
    sqlite3 *db;
    bool is_shared; /* the writing one */
    sqlite3_stmt *st[HL_ASK_COUNT];
    struct hl_sealer sealer;
    const char *data_dir; /* borrowed: of bodies in files */
};

/* Opens the database at `path`, which the writing connection has open. Whatever it says,
 * hl_reading_close is due. */
HL_MUST_CHECK enum hl_err hl_reading_open(
    struct hl_reading *r, const char *path, const struct hl_key *key, char *why, size_t why_len);
/* Reads with a connection that writes, and outlives it. As above. */
HL_MUST_CHECK enum hl_err hl_reading_share(
    struct hl_reading *r, sqlite3 *db, const struct hl_key *key);
void hl_reading_close(struct hl_reading *r);

/* The statement, with no parameter bound. */
struct hl_sql_args hl_reading_bind(struct hl_reading *r, enum hl_ask which);
/* Its next row: OK, or NOT_FOUND and the statement is reset. After OK: hl_reading_done. */
HL_MUST_CHECK enum hl_err hl_reading_row(
    struct hl_reading *r, enum hl_ask which, struct hl_sql_row *row);
void hl_reading_done(struct hl_reading *r, enum hl_ask which);

#endif
