/* status.c - see status.h: one statement, whose answer is the JSON. */
#include "store/postgres/status.h"

#include <string.h>

#include "base/buf.h"
#include "store/postgres/check.h"
#include "store/postgres/session.h"
#include "store/postgres/statement.h"

#define TIME(at) "to_char(" at " AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"
#define AGE(at)  "round(extract(epoch FROM now() - " at ")::numeric, 1)"

/* clang-format off */
#define REPLICAS                                                                                   \
    "SELECT coalesce(json_agg(json_build_object('replica_id', node_id, 'name', name,"              \
    " 'version', version, 'state', state, 'started_at', " TIME("started_at") ","                   \
    " 'age_seconds', " AGE("started_at") ", 'beat_seconds', " AGE("beat_at") ","                   \
    " 'runs', runs, 'deliveries', deliveries) ORDER BY " HL_PG_REPLICA_ORDER "), '[]')"            \
    " FROM (" HL_PG_REPLICAS ") AS replicas"

/* Another role's sessions show their age in transactions to everybody, in time to pg_read_all_stats. */
#define STATUS                                                                                     \
    "SELECT json_build_object('schema', trim('\"' FROM '~'),"                                      \
    " 'version', (SELECT convert_from(v, 'UTF8')::integer FROM ~.meta WHERE k = 'version'),"       \
    " 'replicas', (" REPLICAS "), 'queued_runs', q.n, 'oldest_queued_at', " TIME("q.oldest") ","   \
    " 'oldest_queued_seconds', " AGE("q.oldest") ", 'running_runs', q.running,"                    \
    " 'pending_deliveries', (SELECT count(*) FROM ~.delivery_ticket),"                             \
    " 'dead_letters', (SELECT count(*) FROM ~.delivery WHERE state = 2),"                          \
    " 'dead_tuples', json_build_object('ticket', " HL_PG_DEAD_TUPLES("ticket") ","                 \
    " 'delivery_ticket', " HL_PG_DEAD_TUPLES("delivery_ticket") "),"                               \
    " 'synchronous_standby_names', current_setting('synchronous_standby_names'),"                  \
    " 'synchronous_commit', current_setting('synchronous_commit'),"                                \
    " 'oldest_snapshot_seconds', a.seconds, 'oldest_snapshot_transactions', a.transactions)::text" \
    " FROM (SELECT count(*) FILTER (WHERE node_id IS NULL) AS n,"                                  \
    " count(*) FILTER (WHERE node_id IS NOT NULL) AS running,"                                     \
    " min(due_at) FILTER (WHERE node_id IS NULL) AS oldest FROM ~.ticket) q,"                      \
    " (SELECT coalesce(max(transactions), 0) AS transactions,"                                     \
    " CASE WHEN bool_and(since IS NOT NULL) OR count(*) = 0"                                       \
    " THEN coalesce(max(" AGE("since") "), 0) END AS seconds FROM (" HL_PG_HOLDERS ") AS holders) a"
/* clang-format on */

static enum hl_err ask(struct hl_pg_session *s, struct hl_buf *json, char *why, size_t why_len)
{
    PGresult *result;
    enum hl_err err = hl_pg_look(s, NULL, true, why, why_len);
    if (!err)
        err = hl_pg_session_ask(s, STATUS, NULL, &result, why, why_len);
    if (err)
        return err;
    const char *text = PQgetvalue(result, 0, 0);
    err = hl_buf_append(json, text, strlen(text));
    PQclear(result);
    return err;
}

enum hl_err hl_pg_status(
    const struct hl_config *config, struct hl_buf *json, char *why, size_t why_len)
{
    struct hl_pg_settings settings;
    struct hl_pg_session session;
    hl_pg_settings_init(&settings, config);
    enum hl_err err = hl_pg_session_open(&session, &settings, NULL, why, why_len);
    if (!err) {
        err = ask(&session, json, why, why_len);
        hl_pg_session_close(&session);
    }
    hl_pg_session_name_setting(err, why, why_len);
    return err;
}
