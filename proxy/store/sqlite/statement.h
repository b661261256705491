/* statement.h - every SQL statement of the writing connection, prepared once, and how values go in
 * and come out. Numbers in the text are the enums of record.h (record.c asserts them): delivery
 * state 0 pending, 1 ok, 2 dead; body 0 none, 1 inline, 2 file, 3 dropped. */
#ifndef HL_STORE_SQLITE_STATEMENT_H
#define HL_STORE_SQLITE_STATEMENT_H

#include <sqlite3.h>

#include "base/err.h"
#include "base/str.h"

struct hl_body;
struct hl_id;
struct hl_outcome;

#define HL_SQL_BODY "body_where, body_size, body_sha256, body_file, body_bytes"
#define HL_SQL_RESULT_HEAD                                                                         \
    "result.finished_ms, result.reason, result.http_status, result.content_type, "                 \
    "result.content_encoding, result.encoding, result.escaped_size, result.body_where, "           \
    "result.body_size, result.body_sha256, result.body_file"
#define HL_SQL_RESULT HL_SQL_RESULT_HEAD ", result.body_bytes"

/* A queued run of a class. */
#define HL_SQL_IN_TURN                                                                             \
    "SELECT turn.number, turn.subject, turn.turn, run.has_begun, ticket.run_id,"                   \
    " run.number IS NOT NULL, app.name IS NOT NULL, run.app_id, run.has_webhook, run.created_ms,"  \
    " run.epoch, run.attempt, run.max_attempts, run.attempt_log, ticket.timeout_ms, "              \
    "ticket.start_by_ms, app.project, app.name,"                                                   \
    " ticket.head, " HL_SQL_BODY " FROM turn LEFT JOIN ticket ON ticket.number = turn.number"      \
    " LEFT JOIN run ON run.run_id = ticket.run_id"                                                 \
    " LEFT JOIN app ON app.app_id = run.app_id WHERE turn.class = ?1"

#define HL_LIMIT_COLUMNS                                                                           \
    "max_running, max_queued, rate_count, rate_window_s, max_priority, limits_revision"
#define HL_ACCOUNT_COLUMNS                                                                         \
    "account_id, project, name, role, created_ms, expires_ms, revoked_ms, last_used_ms,"           \
    " " HL_LIMIT_COLUMNS

/* What a delivery is sent from. */
#define HL_SQL_LEASED(index)                                                                       \
    "SELECT delivery.delivery_id, delivery.run_id,"                                                \
    " app.name IS NOT NULL AND webhook.run_id IS NOT NULL AND result.number IS NOT NULL,"          \
    " delivery.lane, delivery.round, delivery.n,"                                                  \
    " delivery.max_attempts, app.project, app.name, webhook.url, webhook.secret,"                  \
    " webhook.traceparent, run.is_async, result.state, " HL_SQL_RESULT " FROM delivery" index      \
    " LEFT JOIN run ON run.run_id = delivery.run_id"                                               \
    " LEFT JOIN app ON app.app_id = run.app_id"                                                    \
    " LEFT JOIN webhook ON webhook.run_id = run.run_id"                                            \
    " LEFT JOIN result ON result.number = run.number"

/* Rows that many operations of a transaction add go in eight at a time: for a row alone, half of the
 * work is what a statement costs. OR FAIL keeps no journal for undoing a part of them: who fails
 * here rolls the whole transaction back. */
#define HL_SQL_MANY       8
#define HL_SQL_EIGHT(row) row ", " row ", " row ", " row ", " row ", " row ", " row ", " row
#define HL_SQL_RUN_ADD_TEXT                                                                        \
    "INSERT OR FAIL INTO run (run_id, app_id, has_begun, is_async, has_webhook, created_ms, "      \
    "started_ms, attempt, epoch, number, method, path, request_size, priority, turn, "             \
    "turn_subject, max_attempts, identity, rerun_of) "                                             \
    "VALUES "
#define HL_SQL_RUN_ROW "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
#define HL_SQL_TICKET_ADD_TEXT                                                                     \
    "INSERT OR FAIL INTO ticket (number, run_id, is_async, head, timeout_ms, "                     \
    "start_by_ms, " HL_SQL_BODY ") VALUES "
#define HL_SQL_TICKET_ROW "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
#define HL_SQL_RESULT_ADD_TEXT                                                                     \
    "INSERT OR FAIL INTO result (number, run_id, app_id, is_async, state, finished_ms, reason, "   \
    "http_status, content_type, content_encoding, encoding, escaped_size, is_stream, " HL_SQL_BODY \
    ") VALUES "
#define HL_SQL_RESULT_ROW "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

/* clang-format off */
#define HL_SQL_MAP(X)                                                                              \
    X(BEGIN, "BEGIN IMMEDIATE")                                                                    \
    X(COMMIT, "COMMIT")                                                                            \
    X(ROLLBACK, "ROLLBACK")                                                                        \
    X(META_GET, "SELECT v FROM meta WHERE k = ?")                                                  \
    X(RUN_NEWEST, "SELECT created_ms FROM run ORDER BY run_id DESC LIMIT 1")                       \
    X(META_PUT, "INSERT OR REPLACE INTO meta (k, v) VALUES (?, ?)")                                \
    X(APP_FIND, "SELECT app_id FROM app WHERE project = ? AND name = ?")                           \
    X(APP_NAMES, "SELECT project, name FROM app WHERE app_id = ?")                                 \
    X(APP_ADD, "INSERT INTO app (project, name) VALUES (?, ?) RETURNING app_id")                   \
    X(APP_AFTER, "SELECT app_id, EXISTS (SELECT 1 FROM run WHERE run.app_id = app.app_id)"         \
        " OR EXISTS (SELECT 1 FROM idem WHERE idem.app_id = app.app_id)"                           \
        " OR EXISTS (SELECT 1 FROM tally WHERE tally.app_id = app.app_id)"                         \
        " FROM app WHERE app_id > ? ORDER BY app_id LIMIT 1")                                      \
    X(APP_DROP, "DELETE FROM app WHERE app_id = ?")                                                \
    X(TALLY_GET, "SELECT counts FROM tally WHERE app_id = ? AND minute = ?")                        \
    X(TALLY_PUT, "INSERT INTO tally (app_id, minute, counts) VALUES (?, ?, ?)"                     \
        " ON CONFLICT DO UPDATE SET counts = excluded.counts")                                     \
    X(TALLY_PURGE, "DELETE FROM tally WHERE (app_id, minute) IN"                                   \
        " (SELECT app_id, minute FROM tally WHERE minute < ? ORDER BY minute LIMIT ?)")            \
    X(TALLY_OLDEST, "SELECT minute FROM tally ORDER BY minute LIMIT 1")                            \
    X(IDEM_FIND, "SELECT run_id, fingerprint, expires_ms FROM idem"                                \
        " WHERE app_id = ? AND subject = ? AND key = ?")                                           \
    X(IDEM_PUT, "INSERT OR REPLACE INTO idem (app_id, subject, key, run_id, fingerprint,"          \
        " expires_ms) VALUES (?, ?, ?, ?, ?, ?)")                                                  \
    X(IDEM_PURGE, "DELETE FROM idem WHERE expires_ms <= (SELECT max(expires_ms) FROM"              \
        " (SELECT expires_ms FROM idem WHERE expires_ms <= ? ORDER BY expires_ms LIMIT ?))")       \
    X(IDEM_OLDEST, "SELECT expires_ms FROM idem ORDER BY expires_ms LIMIT 1")                      \
    X(IDEM_SHED, "DELETE FROM idem WHERE (app_id, subject, key) IN"                                \
        " (SELECT app_id, subject, key FROM"                                                       \
        " (SELECT * FROM idem ORDER BY expires_ms LIMIT ?) AS old"                                 \
        " WHERE NOT EXISTS (SELECT 1 FROM run WHERE run.run_id = old.run_id))")                    \
    X(RUN_ADD, HL_SQL_RUN_ADD_TEXT HL_SQL_RUN_ROW)                                                 \
    X(RUN_ADD_MANY, HL_SQL_RUN_ADD_TEXT HL_SQL_EIGHT(HL_SQL_RUN_ROW))                              \
    X(RUN_FIND, "SELECT run.app_id, coalesce(result.state, run.has_begun), run.epoch,"             \
        " run.is_async, run.has_webhook, run.number, run.is_cancel_wished,"                        \
        " run.priority, run.turn_subject, run.turn, ticket.number IS NOT NULL, ticket.body_file,"  \
        " ticket.body_size, ticket.head IS NOT NULL FROM run LEFT JOIN ticket ON ticket.number = run.number"                \
        " LEFT JOIN result ON result.number = run.number WHERE run.run_id = ?")                    \
    X(RUN_CLAIM, "UPDATE run SET has_begun = 1, epoch = epoch + 1, attempt = attempt + 1,"             \
        " started_ms = ?2 WHERE run_id = ?1")                                                      \
    X(RUN_WISH_CANCEL, "UPDATE run SET is_cancel_wished = 1 WHERE run_id = ?")                     \
    X(RUN_REQUEUE, "UPDATE run SET has_begun = 0, epoch = epoch + 1, started_ms = NULL"                \
        " WHERE run_id = ?")                                                                       \
    X(RUN_RELEASE, "UPDATE run SET has_begun = 0, epoch = epoch + 1, attempt = attempt - 1,"           \
        " started_ms = NULL WHERE run_id = ?")                                                     \
    X(RUN_NOTE, "UPDATE run SET attempt_log = coalesce(attempt_log, '') || ?2 WHERE run_id = ?1")  \
    X(RETRY_ADD, "INSERT INTO retry (number, due_ms, run_id) VALUES (?, ?, ?)")                    \
    X(RETRY_END, "DELETE FROM retry WHERE number = ? RETURNING 1")                                 \
    X(RETRY_DUE, "SELECT number, run_id, due_ms FROM retry ORDER BY due_ms LIMIT 1")               \
    X(RETRY_EACH, "SELECT retry.due_ms, run.priority, run.turn_subject, run.turn FROM retry"        \
        " LEFT JOIN run ON run.run_id = retry.run_id")                                             \
    X(RUN_DROP, "DELETE FROM run WHERE run_id = ?")                                                \
    X(RUN_ORPHANED, "SELECT ticket.number, ticket.run_id, run.number IS NOT NULL, run.app_id,"     \
        " run.is_async, run.has_webhook, run.attempt, run.is_cancel_wished, run.priority,"         \
        " run.turn_subject, run.turn, run.started_ms, run.max_attempts, body_file, body_size,"    \
        " head IS NOT NULL, run.attempt_log FROM ticket"                                           \
        " LEFT JOIN run ON run.run_id = ticket.run_id"                                             \
        " WHERE ticket.number > ? AND coalesce(run.has_begun, 1) = 1"                              \
        " ORDER BY ticket.number LIMIT 1")                                                         \
    X(RUN_LOST_ANY, "SELECT (SELECT count(*) FROM run) <> (SELECT count(*) FROM ticket)"           \
        " + (SELECT count(*) FROM result)")                                                        \
    X(RUN_LOST, "SELECT run_id, app_id, is_async, has_webhook, is_cancel_wished FROM run"          \
        " WHERE run_id > ? AND NOT EXISTS (SELECT 1 FROM ticket WHERE number = run.number)"        \
        " AND NOT EXISTS (SELECT 1 FROM result WHERE number = run.number)"                         \
        " AND NOT EXISTS (SELECT 1 FROM delivery WHERE delivery.run_id = run.run_id)"              \
        " ORDER BY run_id LIMIT 1")                                                                \
    X(RUN_RENUMBER, "UPDATE run SET number = ?2 WHERE run_id = ?1")                                \
    X(TICKET_ADD, HL_SQL_TICKET_ADD_TEXT HL_SQL_TICKET_ROW)                                        \
    X(TICKET_ADD_MANY, HL_SQL_TICKET_ADD_TEXT HL_SQL_EIGHT(HL_SQL_TICKET_ROW))                     \
    X(TICKET_FILL, "UPDATE ticket SET head = ?2, body_where = ?3, body_size = ?4,"                 \
        " body_sha256 = ?5, body_file = ?6, body_bytes = ?7 WHERE number = ?1")                    \
    X(TURN_ADD, "INSERT INTO turn (class, subject, turn, number) VALUES (?, ?, ?, ?)")             \
    X(TURN_END, "DELETE FROM turn WHERE class = ?1 AND turn = ?3 AND number = ?4")                 \
    X(TURN_EACH, "SELECT class, subject, turn FROM turn ORDER BY class, turn, number")             \
    X(TURN_LOST, "INSERT OR IGNORE INTO turn (class, subject, turn, number)"                       \
        " SELECT run.priority, run.turn_subject, run.turn, ticket.number FROM ticket"              \
        " JOIN run ON run.run_id = ticket.run_id WHERE ticket.is_async = 1 AND run.has_begun = 0"  \
        " AND NOT EXISTS (SELECT 1 FROM retry WHERE retry.number = ticket.number)")                \
    X(TURN_STALE, "DELETE FROM turn WHERE NOT EXISTS (SELECT 1 FROM ticket JOIN run"               \
        " ON run.run_id = ticket.run_id WHERE ticket.number = turn.number"                         \
        " AND ticket.is_async = 1 AND run.has_begun = 0 AND run.priority = turn.class"             \
        " AND run.turn = turn.turn)")                                                              \
    X(TURN_NEXT, HL_SQL_IN_TURN " ORDER BY turn.turn, turn.number LIMIT 1")                        \
    /* of those whose subjects are not in a list */                                                \
    X(TURN_NEXT_OTHER, HL_SQL_IN_TURN " AND turn.subject NOT IN (SELECT value FROM json_each(?2))" \
        " ORDER BY turn.turn, turn.number LIMIT 1")                                                \
    X(TICKET_OLDEST, "SELECT run.created_ms, ticket.number FROM ticket JOIN run ON run.run_id = ticket.run_id"    \
        " WHERE ticket.number >= ? AND ticket.is_async = 1 AND run.has_begun = 0"                  \
        " ORDER BY ticket.number LIMIT 1")                                                         \
    X(TICKET_LATE, "SELECT number, run_id, start_by_ms FROM ticket WHERE start_by_ms IS NOT NULL"          \
        " ORDER BY start_by_ms LIMIT 1")                                                           \
    X(TICKET_START_BY, "UPDATE ticket SET start_by_ms = ?2 WHERE number = ?1")                     \
    X(TICKET_END, "DELETE FROM ticket WHERE number = ?")                                           \
    X(QUEUE_TOTALS, "SELECT max((SELECT coalesce(max(number), 0) FROM ticket),"                    \
        " (SELECT coalesce(max(number), 0) FROM result),"                                          \
        " (SELECT coalesce(max(number), 0) FROM"                                                   \
        " (SELECT number FROM run ORDER BY run_id DESC LIMIT 1000))),"                             \
        " (SELECT coalesce(sum(is_async), 0) FROM ticket), (SELECT count(*) FROM turn)"                               \
        " + (SELECT count(*) FROM retry)")                                        \
    X(WEBHOOK_ADD, "INSERT INTO webhook (run_id, lane, url, secret, traceparent)"                  \
        " VALUES (?, ?, ?, ?, ?)")                                                                 \
    X(WEBHOOK_LANE, "SELECT lane FROM webhook WHERE run_id = ?")                                   \
    X(RESULT_ADD, HL_SQL_RESULT_ADD_TEXT HL_SQL_RESULT_ROW)                                        \
    X(RESULT_ADD_MANY, HL_SQL_RESULT_ADD_TEXT HL_SQL_EIGHT(HL_SQL_RESULT_ROW))                     \
    X(RUN_LOG_ADD, "INSERT INTO run_log (run_id, lines) VALUES (?, ?)")                            \
    X(RESULT_AFTER, "SELECT result.number, result.run_id, result.finished_ms, result.body_where,"  \
        " result.body_file, result.body_size, request.number IS NOT NULL, request.body_file,"      \
        " request.body_size, result.is_stream FROM result LEFT JOIN request ON request.number = result.number"       \
        " WHERE result.number > ? ORDER BY result.number LIMIT 1")                                 \
    X(REQUEST_KEEP, "INSERT OR FAIL INTO request (number, run_id, head, " HL_SQL_BODY ") SELECT"   \
        " number, run_id, head, " HL_SQL_BODY " FROM ticket WHERE number = ?")                     \
    X(REQUEST_DROP, "DELETE FROM request WHERE number = ?")                                        \
    X(RESULT_STRIP, "UPDATE result SET body_where = 3, body_bytes = NULL, body_file = NULL,"       \
        " encoding = 3, is_stream = 0 WHERE number = ?")                                                          \
    X(RESULT_OLDEST_STREAM, "SELECT number, run_id, finished_ms, body_where, body_file, body_size,"  \
        " 0, NULL, 0, is_stream FROM result INDEXED BY result_stream WHERE is_stream = 1"              \
        " ORDER BY finished_ms, number LIMIT 1")                                                   \
    X(STREAM_BYTES, "SELECT coalesce(sum(body_size), 0) FROM result WHERE is_stream = 1")          \
    X(RESULT_DROP, "DELETE FROM result WHERE number = ?")                                          \
    X(DELIVERY_ADD, "INSERT INTO delivery (delivery_id, run_id, app_id, lane, state, round, n,"    \
        " max_attempts, is_leased, created_ms) VALUES (?, ?, ?, ?, 0, 1, 0, ?, 0, ?)")             \
    X(DELIVERY_FIND, "SELECT app.project, lane, state, round, n, max_attempts, is_leased,"         \
        " due_ms FROM delivery LEFT JOIN app ON app.app_id = delivery.app_id WHERE delivery_id = ?")      \
    X(DELIVERY_READ, HL_SQL_LEASED("") " WHERE delivery.delivery_id = ?")                          \
    X(DELIVERY_NEXT, HL_SQL_LEASED(" INDEXED BY delivery_due")                                     \
        " WHERE delivery.state = 0 AND delivery.is_leased = 0 AND delivery.due_ms IS NULL"         \
        " AND delivery.lane = ?"                                                                   \
        " ORDER BY delivery.delivery_id LIMIT 1")                                                  \
    X(DELIVERY_LEASE, "UPDATE delivery SET is_leased = 1, n = n + 1, max_attempts = ?2"            \
        " WHERE delivery_id = ?1")                                                                 \
    X(DELIVERY_SET_N, "UPDATE delivery SET n = ?2, due_ms = NULL WHERE delivery_id = ?1")                       \
    X(DELIVERY_UNLEASE, "UPDATE delivery SET is_leased = 0 WHERE delivery_id = ?")                 \
    X(DELIVERY_WAIT, "UPDATE delivery SET is_leased = ?2, due_ms = ?3 WHERE delivery_id = ?1")     \
    X(DELIVERY_RECALL, "UPDATE delivery SET due_ms = NULL WHERE delivery_id IN"                    \
        " (SELECT delivery_id FROM delivery INDEXED BY delivery_waiting WHERE state = 0"           \
        " AND is_leased = 0 AND due_ms IS NOT NULL AND due_ms <= ?1 ORDER BY due_ms LIMIT ?2)"     \
        " RETURNING lane")                                                                         \
    X(DELIVERY_NEXT_DUE, "SELECT due_ms FROM delivery INDEXED BY delivery_waiting WHERE state = 0" \
        " AND is_leased = 0 AND due_ms IS NOT NULL ORDER BY due_ms LIMIT 1")                       \
    X(DELIVERY_WAITING_LANES, "SELECT lane, count(*) FROM delivery INDEXED BY delivery_waiting"    \
        " WHERE state = 0 AND is_leased = 0 AND due_ms IS NOT NULL GROUP BY lane")                 \
    X(WEBHOOK_EXPECTED_LANES, "SELECT webhook.lane, count(*) FROM ticket"                          \
        " JOIN webhook ON webhook.run_id = ticket.run_id GROUP BY webhook.lane")                   \
    X(FAILING_ADD, "INSERT INTO failing (lane, since_ms) VALUES (?, ?)"                            \
        " ON CONFLICT (lane) DO UPDATE SET since_ms = excluded.since_ms")                          \
    X(FAILING_DROP, "DELETE FROM failing WHERE lane = ?")                                          \
    X(FAILING_EACH, "SELECT lane, since_ms FROM failing")                                          \
    X(FAILING_TRIM, "DELETE FROM failing WHERE since_ms < ? AND NOT EXISTS (SELECT 1 FROM app"     \
        " NOT INDEXED CROSS JOIN delivery INDEXED BY delivery_by_lane"                             \
        " ON delivery.app_id = app.app_id WHERE delivery.lane = failing.lane"                      \
        " AND delivery.state = 0)")                                                                \
    X(DELIVERY_END, "UPDATE delivery SET is_leased = 0, due_ms = NULL, state = ?2, done_ms = ?3"   \
        " WHERE delivery_id = ?1")                                                                 \
    X(DELIVERY_RENEW, "UPDATE delivery SET state = 0, round = round + 1, n = 0,"                   \
        " max_attempts = ?2, is_leased = 0, due_ms = NULL, done_ms = ?3 WHERE delivery_id = ?1")   \
    X(DELIVERY_OF, "SELECT 1 FROM delivery WHERE run_id = ? AND state = ?")                        \
    X(DELIVERY_LAST, "SELECT coalesce(max(state = ?2), 0), coalesce(max(done_ms), 0)"              \
        " FROM delivery WHERE run_id = ?1")                                                        \
    X(DELIVERY_ENDED, "SELECT app.app_id, delivery.delivery_id, delivery.lane"                     \
        " FROM app NOT INDEXED CROSS JOIN delivery ON delivery.app_id = app.app_id"                \
        " WHERE app.project = ?1 AND app.app_id >= ?2 AND delivery.state = ?4"                     \
        " AND delivery.delivery_id > (CASE app.app_id WHEN ?2 THEN ?3 ELSE x'' END)"               \
        " AND delivery.delivery_id >= ?5 LIMIT 1")                                                 \
    X(DELIVERY_ORPHANED, "WITH RECURSIVE part(id) AS"                                              \
        " (SELECT (SELECT min(app_id) FROM delivery WHERE app_id >= ?1) UNION ALL"                 \
        " SELECT (SELECT min(app_id) FROM delivery WHERE app_id > part.id) FROM part"              \
        " WHERE part.id IS NOT NULL)"                                                              \
        " SELECT part.id, delivery.delivery_id, delivery.round, delivery.n, delivery.max_attempts" \
        " FROM part CROSS JOIN delivery ON delivery.app_id = part.id"                              \
        " WHERE delivery.state = 0 AND delivery.is_leased = 1"                                     \
        " AND delivery.delivery_id > (CASE part.id WHEN ?1 THEN ?2 ELSE -9e999 END) LIMIT 1")      \
    X(DELIVERY_RENAME, "UPDATE delivery SET delivery_id = run_id, is_leased = 0, state = 2,"        \
        " done_ms = ?1 WHERE state = 0 AND is_leased = ?2 AND (?2 = 1 OR due_ms IS NULL) AND (typeof(delivery_id) <> 'blob'"      \
        " OR length(delivery_id) <> 16) RETURNING lane, run_id")                                   \
    X(DELIVERY_LANES, "SELECT lane, count(*) FROM delivery INDEXED BY delivery_due"                \
        " WHERE state = 0 AND is_leased = 0 AND due_ms IS NULL GROUP BY lane")                                        \
    X(DELIVERY_OLDEST, "SELECT min(coalesce(done_ms, created_ms)) FROM delivery WHERE state = 0")  \
    X(ATTEMPT_ADD, "INSERT INTO attempt (delivery_id, round, n, started_ms) VALUES (?, ?, ?, ?)")  \
    X(ATTEMPT_END, "UPDATE attempt SET started_ms = ?4, ended_ms = ?5, verdict = ?6,"              \
        " http_status = ?7, error = ?8, report = ?9"                                                           \
        " WHERE delivery_id = ?1 AND round = ?2 AND n = ?3 AND verdict IS NULL")                   \
    X(ATTEMPT_LOSE, "UPDATE attempt SET ended_ms = ?4, verdict = 4"                                \
        " WHERE delivery_id = ?1 AND round = ?2 AND n = ?3 AND verdict IS NULL")                   \
    X(ATTEMPT_DROP, "DELETE FROM attempt WHERE delivery_id = ? AND round = ? AND n = ?"            \
        " AND verdict IS NULL")                                                                    \
    X(ATTEMPT_DROP_NAMELESS, "DELETE FROM attempt WHERE typeof(delivery_id) <> 'blob'"             \
        " OR length(delivery_id) <> 16")                                                           \
    X(ACCOUNT_ADD, "INSERT INTO account (" HL_ACCOUNT_COLUMNS ")"                                  \
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")                                      \
    X(ACCOUNT_GET, "SELECT " HL_ACCOUNT_COLUMNS " FROM account WHERE account_id = ?")              \
    X(ACCOUNT_LIMIT, "UPDATE account SET (" HL_LIMIT_COLUMNS ") = (?2, ?3, ?4, ?5, ?6, ?7)"        \
        " WHERE account_id = ?1")                                                                  \
    X(ACCOUNT_FIND, "SELECT project, revoked_ms FROM account WHERE account_id = ?")                \
    X(ACCOUNT_REVOKE, "UPDATE account SET revoked_ms = ?2 WHERE account_id = ?1")                  \
    X(ACCOUNT_ANY, "SELECT 1 FROM account WHERE revoked_ms = 0 LIMIT 1")                           \
    X(ACCOUNT_REVOKE_ALL, "UPDATE account SET revoked_ms = ? WHERE revoked_ms = 0")                \
    X(ACCOUNT_TOUCH, "UPDATE account SET last_used_ms = max(last_used_ms, ?2)"                     \
        " WHERE account_id = ?1")                                                                  \
    X(ACCOUNT_PURGE, "DELETE FROM account WHERE account_id IN (SELECT account_id FROM account"     \
        " WHERE revoked_ms > 0 AND expires_ms <= ? ORDER BY expires_ms LIMIT ?)")                  \
    X(ACCOUNT_OLDEST, "SELECT expires_ms FROM account WHERE revoked_ms > 0"                        \
        " ORDER BY expires_ms LIMIT 1")                                                            \
    X(FILE_KNOWN, "SELECT EXISTS (SELECT 1 FROM ticket WHERE body_file = ?1)"                      \
        " OR EXISTS (SELECT 1 FROM result WHERE body_file = ?1)"                                   \
        " OR EXISTS (SELECT 1 FROM request WHERE body_file = ?1)"                                  \
        " OR EXISTS (SELECT 1 FROM run JOIN ticket ON ticket.number = run.number"                  \
        " WHERE run.run_id BETWEEN ?2 AND ?3 AND run.has_begun = 1)")                              \
    X(FILE_EACH, "SELECT body_file, run_id FROM ticket WHERE body_file IS NOT NULL"                \
        " UNION ALL SELECT body_file, run_id FROM result WHERE body_file IS NOT NULL"              \
        " UNION ALL SELECT body_file, run_id FROM request WHERE body_file IS NOT NULL")            \
    X(PAGES, "SELECT page_count, freelist_count FROM pragma_page_count, pragma_freelist_count")    \
    X(VACUUM, "PRAGMA incremental_vacuum(256)")
/* clang-format on */

enum hl_sql {
#define X(name, text) HL_SQL_##name,
    HL_SQL_MAP(X)
#undef X
        HL_SQL_COUNT
};

/* How many of `left` rows the next statement adds. */
static inline size_t hl_sql_many(size_t left)
{
    return left >= HL_SQL_MANY ? HL_SQL_MANY : 1;
}

/* The text of a statement. */
const char *hl_sql_text(enum hl_sql which);

/* Maps a result code. A full volume is told from other I/O errors by errno. */
enum hl_err hl_sql_err(sqlite3 *db, int rc);

/* Parameters and columns go in order: each call binds or reads the next one. Strings and blobs are
 * borrowed: bound until the statement is reset, read until it is stepped or reset. */
struct hl_sql_args {
    sqlite3_stmt *st;
    int at; /* the last parameter that was bound */
};
void hl_sql_bind_int(struct hl_sql_args *args, int64_t v);
void hl_sql_bind_null(struct hl_sql_args *args);
void hl_sql_bind_time(struct hl_sql_args *args, int64_t ms); /* 0: null */
void hl_sql_bind_id(struct hl_sql_args *args, const struct hl_id *id);
void hl_sql_bind_text(struct hl_sql_args *args, struct hl_str s);
void hl_sql_bind_blob(struct hl_sql_args *args, struct hl_str s);
void hl_sql_bind_body(struct hl_sql_args *args, const struct hl_body *body); /* HL_SQL_BODY */

struct hl_sql_row {
    sqlite3_stmt *st;
    int at; /* the next column */
};
int64_t hl_sql_int(struct hl_sql_row *row);
bool hl_sql_id(struct hl_sql_row *row, struct hl_id *id); /* false: NULL or not an id; zeroed */
struct hl_str hl_sql_str(struct hl_sql_row *row);         /* text or blob */
/* HL_SQL_BODY; `bytes` stays NULL and `*bytes` borrows them. */
void hl_sql_body(struct hl_sql_row *row, struct hl_body *body, struct hl_str *bytes);
/* HL_SQL_RESULT, likewise. */
void hl_sql_outcome(struct hl_sql_row *row, struct hl_outcome *outcome, struct hl_str *bytes);

#endif
