/* upkeep.c - see upkeep.h.
 *
 * A partition goes when nothing in it is wanted any more: DETACH … CONCURRENTLY, which waits for who
 * reads and keeps nobody from writing, then DROP. One that has something unfinished, or that ended late,
 * is emptied by rows. Only one replica at a time is at it, the one that `meta` names, for as long as it lives: a
 * lock of a session would stay with a pooler's connection. */
#include "store/postgres/upkeep.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "store/account.h"
#include "store/audit.h"
#include "store/postgres/job.h"
#include "store/postgres/link.h"
#include "store/postgres/row.h"
#include "store/postgres/session.h"
#include "store/postgres/session_setup.h"
#include "store/tally.h"
#include "store/postgres/thread.h"
#include "store/postgres/partition.h"

#define EVERY_MS           (3600 * 1000)
#define AGAIN_MS           (60 * 1000)
#define PARTITION_AGAIN_MS 250
#define STEP               "500"
#define STEP_MS            (5 * 60 * 1000 + 1000) /* a table may be large, and nobody waits for this */

/* One of the statements that remove STEP rows at most, until one removes none. */
static enum hl_err repeat(struct hl_pg_session *s, const char *sql, char *why, size_t why_len)
{
    int64_t n = 1;
    enum hl_err err = HL_OK;
    while (!err && n > 0)
        err = hl_pg_session_ask_int(s, sql, &n, why, why_len);
    return err;
}

#define COUNTED(what) "WITH gone AS (" what " RETURNING 1) SELECT count(*) FROM gone"

/* --- rows ----------------------------------------------------------------------------------- */

_Static_assert(HL_ACCOUNT_KEEP_MS == 7 * 24 * 3600 * 1000, "a statement says it in days");

/* They go when all that they count may. */
static enum hl_err remove_tallies(
    struct hl_pg_session *s, int64_t cutoff_ms, char *why, size_t why_len)
{
    char sql[300];
    snprintf(sql, sizeof(sql),
        COUNTED("DELETE FROM ~.tally WHERE ctid = ANY (ARRAY(SELECT ctid FROM ~.tally"
                " WHERE minute < %" PRId64 " LIMIT " STEP "))"),
        cutoff_ms / HL_TALLY_MINUTE_MS);
    return repeat(s, sql, why, why_len);
}

static enum hl_err remove_audit(
    struct hl_pg_session *s, int64_t now_ms, int64_t retention_ms, char *why, size_t why_len)
{
    char sql[300], id[HL_ID_TEXT];
    int64_t keep_ms = hl_audit_keep_ms(retention_ms);
    struct hl_id before = hl_id_first_at(now_ms > keep_ms ? now_ms - keep_ms : 0);
    hl_id_format(&before, id);
    snprintf(sql, sizeof(sql),
        COUNTED("DELETE FROM ~.audit WHERE audit_id IN (SELECT audit_id FROM ~.audit"
                " WHERE audit_id < '%.*s' ORDER BY audit_id LIMIT " STEP ")"),
        HL_ID_TEXT, id);
    return repeat(s, sql, why, why_len);
}

/* Those that have ended go as runs do; the pieces of one first. */
static enum hl_err remove_jobs(
    struct hl_pg_session *s, int64_t cutoff_ms, char *why, size_t why_len)
{
    char sql[300];
    snprintf(sql, sizeof(sql),
        COUNTED("DELETE FROM ~.job_piece WHERE ctid = ANY (ARRAY(SELECT p.ctid FROM ~.job_piece p"
                " JOIN ~.job j USING (job_id) WHERE j.ended_ms > 0 AND j.ended_ms < %" PRId64
                " LIMIT " STEP "))"),
        cutoff_ms);
    enum hl_err err = repeat(s, sql, why, why_len);
    snprintf(sql, sizeof(sql),
        COUNTED("DELETE FROM ~.job WHERE ended_ms > 0 AND ended_ms < %" PRId64), cutoff_ms);
    return err ? err : repeat(s, sql, why, why_len);
}

static enum hl_err remove_rows(struct hl_pg_session *s, char *why, size_t why_len)
{
    static const char *const statements[] = {
        COUNTED("DELETE FROM ~.idem WHERE ctid IN (SELECT ctid FROM ~.idem WHERE expires_ms <"
                " (extract(epoch FROM now()) * 1000)::bigint LIMIT " STEP ")"),
        COUNTED("DELETE FROM ~.account WHERE revoked_ms > 0 AND expires_ms < (extract(epoch FROM"
                " now() - interval '7 days') * 1000)::bigint"),
        COUNTED("DELETE FROM ~.event WHERE event_id IN (SELECT event_id FROM ~.event WHERE at <"
                " now() - interval '1 hour' LIMIT " STEP ")"),
        COUNTED("DELETE FROM ~.rate WHERE ctid IN (SELECT ctid FROM ~.rate WHERE until_ms <"
                " (extract(epoch FROM now() - interval '1 hour') * 1000)::bigint LIMIT " STEP ")"),
        COUNTED("DELETE FROM ~.permit p WHERE NOT EXISTS (SELECT FROM ~.node n"
                " WHERE n.node_id = ANY (p.nodes) AND NOT n.is_dead)"),
        COUNTED("DELETE FROM ~.tally_source WHERE at < now() - interval '1 day'"),
        COUNTED("DELETE FROM ~.node WHERE is_dead AND expires_at < now() - interval '1 day'"),
    };
    enum hl_err err = HL_OK;
    for (size_t i = 0; i < HL_ARRAY_LEN(statements) && !err; i++)
        err = repeat(s, statements[i], why, why_len);
    return err;
}

/* --- partitions ----------------------------------------------------------------------------- */

/* Those of a table whose time is past the retention, the oldest first: name, and end in ms. */
static enum hl_err list_old(struct hl_pg_session *s, const char *table, int64_t cutoff_ms,
    PGresult **out, char *why, size_t why_len)
{
    char sql[800];
    snprintf(sql, sizeof(sql),
        "SELECT name, until FROM (SELECT c.relname AS name, ('x' || lpad(replace(substring("
        "pg_get_expr(c.relpartbound, c.oid) FROM 'TO \\(''([0-9a-f]{8}-[0-9a-f]{4})'), '-', ''),"
        " 16, '0'))::bit(64)::bigint AS until FROM pg_inherits i JOIN pg_class c ON c.oid ="
        " i.inhrelid WHERE i.inhparent = '~.%s'::regclass AND NOT i.inhdetachpending) AS p"
        " WHERE until < %" PRId64 " ORDER BY until",
        table, cutoff_ms);
    return hl_pg_session_ask(s, sql, out, why, why_len);
}

/* `how` may be said by the owner only; any other role has the owner's function for it. */
static enum hl_err detach(struct hl_pg_session *s, const char *table, const char *name,
    const char *how, char *why, size_t why_len)
{
    char sql[300];
    int64_t is_owner;
    enum hl_err err = hl_pg_session_ask_int(s,
        "SELECT pg_has_role(relowner, 'USAGE')::integer FROM pg_class WHERE oid ="
        " '~.meta'::regclass",
        &is_owner, why, why_len);
    /* Behind a pooler it would be told nothing: no statement may stand beside it. */
    if (!err && (!is_owner || hl_pg_is_pooled(s->conn))) {
        snprintf(sql, sizeof(sql), "SELECT ~.drop_partition('%s', '%s')", table, name);
        return hl_pg_session_run(s, sql, why, why_len);
    }
    snprintf(sql, sizeof(sql), "ALTER TABLE ~.%s DETACH PARTITION ~.%s %s", table, name, how);
    if (!err)
        err = hl_pg_session_run(s, sql, why, why_len);
    snprintf(sql, sizeof(sql), "DROP TABLE ~.%s", name);
    return err ? err : hl_pg_session_run(s, sql, why, why_len);
}

/* An interrupted DETACH is ended first: nothing else may be detached from that table before. */
static enum hl_err end_detaching(
    struct hl_pg_session *s, const char *table, char *why, size_t why_len)
{
    char sql[300];
    PGresult *result;
    snprintf(sql, sizeof(sql),
        "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid"
        " WHERE i.inhparent = '~.%s'::regclass AND i.inhdetachpending",
        table);
    enum hl_err err = hl_pg_session_ask(s, sql, &result, why, why_len);
    for (int i = 0; !err && i < PQntuples(result); i++)
        err = detach(s, table, PQgetvalue(result, i, 0), "FINALIZE", why, why_len);
    PQclear(result);
    return err;
}

static enum hl_err drop(
    struct hl_pg_session *s, const char *table, const char *name, char *why, size_t why_len)
{
    enum hl_err err = detach(s, table, name, "CONCURRENTLY", why, why_len);
    if (!err)
        HL_LOG(
            INFO, "store: a partition past its retention was dropped", HL_LOG_TEXT("table", name));
    return err;
}

/* Whether anything in it is still wanted, and how its rows go if so. */
struct kind {
    const char *table;
    const char *owner; /* it goes when that one's of the same time has; NULL: by its rows */
    /* a condition on its rows; each %lld is the cutoff */
    const char *wanted;
    const char *removed; /* likewise, of rows that may go alone; NULL: none may */
};

/* Of the run `r`: its webhook is to be sent, or the retention after its end or a redelivery is not over. */
#define HAS_DELIVERY(r)                                                                            \
    "(" r ".has_webhook AND EXISTS (SELECT FROM ~.delivery d WHERE d.run_id = " r ".run_id"        \
    " AND (d.state = 0 OR d.done_ms > %lld)))"

_Static_assert(HL_RUN_SUCCESS == 2 && HL_DELIVERY_PENDING == 0, "these say states in numbers");
static const struct kind kinds[] = {
    {"run", NULL, "state < 2 OR finished_ms > %lld OR " HAS_DELIVERY("p"),
        "state >= 2 AND finished_ms <= %lld AND NOT " HAS_DELIVERY("p")},
    {"delivery", NULL, "state = 0 OR done_ms > %lld", "state > 0 AND done_ms <= %lld"},
    {"attempt", "delivery", NULL, NULL},
    {"tag", "run", NULL, NULL},
    {"body", NULL,
        "EXISTS (SELECT FROM ~.run r WHERE r.run_id <= p.body_id AND (r.request_file = p.body_id"
        " OR r.body_file = p.body_id) AND (r.state < 2 OR r.finished_ms > %lld"
        " OR " HAS_DELIVERY("r") "))",
        NULL},
};

/* As many as there are of them say the same. */
static void write_condition(char *out, size_t size, const char *format, int64_t cutoff_ms)
{
    long long ms = cutoff_ms;
    snprintf(out, size, format, ms, ms);
}

/* A partition whose time is past. */
struct old_partition {
    const struct kind *kind;
    const char *name;
    int64_t cutoff_ms;
};

static enum hl_err ask_wanted(struct hl_pg_session *s, const struct old_partition *old,
    int64_t *is_wanted, char *why, size_t why_len)
{
    const struct kind *kind = old->kind;
    char condition[500], sql[1000];
    if (kind->owner) {
        snprintf(sql, sizeof(sql), "SELECT count(to_regclass('~.%s%s'))", kind->owner,
            old->name + strlen(kind->table));
        return hl_pg_session_ask_int(s, sql, is_wanted, why, why_len);
    }
    write_condition(condition, sizeof(condition), kind->wanted, old->cutoff_ms);
    snprintf(sql, sizeof(sql), "SELECT count(*) FROM (SELECT FROM ~.%s p WHERE %s LIMIT 1) AS w",
        old->name, condition);
    return hl_pg_session_ask_int(s, sql, is_wanted, why, why_len);
}

static enum hl_err tend_partition(
    struct hl_pg_session *s, const struct old_partition *old, char *why, size_t why_len)
{
    const struct kind *kind = old->kind;
    char condition[500], sql[1000];
    int64_t is_wanted;
    enum hl_err err = ask_wanted(s, old, &is_wanted, why, why_len);
    if (err || !is_wanted)
        return err ? err : drop(s, kind->table, old->name, why, why_len);
    if (!kind->removed)
        return HL_OK;
    write_condition(condition, sizeof(condition), kind->removed, old->cutoff_ms);
    snprintf(sql, sizeof(sql),
        COUNTED("DELETE FROM ~.%s WHERE ctid IN (SELECT ctid FROM ~.%s p WHERE %s LIMIT " STEP ")"),
        old->name, old->name, condition);
    return repeat(s, sql, why, why_len);
}

static enum hl_err tend_table(
    struct hl_pg_session *s, const struct kind *kind, int64_t cutoff_ms, char *why, size_t why_len)
{
    PGresult *old;
    enum hl_err err = end_detaching(s, kind->table, why, why_len);
    if (!err)
        err = list_old(s, kind->table, cutoff_ms, &old, why, why_len);
    if (err)
        return err;
    for (int i = 0; i < PQntuples(old) && !err; i++) {
        struct old_partition one = {kind, PQgetvalue(old, i, 0), cutoff_ms};
        err = tend_partition(s, &one, why, why_len);
    }
    PQclear(old);
    return err;
}

/* The lock is that of an older hookline, which holds it for as long as it is at it. */
#define TAKE_TURN                                                                                  \
    "INSERT INTO ~.meta AS m (k, v) SELECT 'upkeep', convert_to('%.*s', 'UTF8') WHERE"             \
    " pg_try_advisory_xact_lock(1751871594, hashtext('~')) ON CONFLICT (k) DO UPDATE"              \
    " SET v = excluded.v WHERE m.v = excluded.v OR NOT EXISTS (SELECT FROM ~.node n WHERE"         \
    " convert_to(n.node_id::text, 'UTF8') = m.v AND NOT n.is_dead AND n.expires_at > now())"       \
    " RETURNING 1"

static enum hl_err take_turn(
    struct hl_pg_session *s, const struct hl_id *me, int64_t *is_mine, char *why, size_t why_len)
{
    char sql[600], id[HL_ID_TEXT];
    hl_id_format(me, id);
    snprintf(sql, sizeof(sql), TAKE_TURN, HL_ID_TEXT, id);
    return hl_pg_session_ask_int(s, sql, is_mine, why, why_len);
}

static enum hl_err leave_turn(
    struct hl_pg_session *s, const struct hl_id *me, char *why, size_t why_len)
{
    char sql[200], id[HL_ID_TEXT];
    hl_id_format(me, id);
    snprintf(sql, sizeof(sql),
        "DELETE FROM ~.meta WHERE k = 'upkeep' AND v = convert_to('%.*s', 'UTF8')", HL_ID_TEXT, id);
    return hl_pg_session_run(s, sql, why, why_len);
}

/* Of a session of our own once: a DETACH … CONCURRENTLY stands alone in its command. */
static enum hl_err set_patience(struct hl_pg_session *s, char *why, size_t why_len)
{
    if (!hl_pg_is_pooled(s->conn))
        return hl_pg_session_run(
            s, HL_PG_SETUP_SIGN "SET statement_timeout = '5min'", why, why_len);
    return hl_buf_append_str(&s->setup, HL_STR("SET LOCAL statement_timeout = '5min'; "));
}

enum hl_err hl_pg_upkeep_run(struct hl_pg_session *s, const struct hl_id *me, int64_t retention_ms,
    char *why, size_t why_len)
{
    int64_t is_mine, now_ms;
    enum hl_err err = hl_pg_partitions_make(s, retention_ms, why, why_len);
    if (!err)
        err = take_turn(s, me, &is_mine, why, why_len);
    if (err || !is_mine)
        return err;
    s->step_ms = STEP_MS;
    err = set_patience(s, why, why_len);
    if (!err)
        err = hl_pg_session_ask_int(
            s, "SELECT (extract(epoch FROM now()) * 1000)::bigint", &now_ms, why, why_len);
    if (!err)
        err = remove_rows(s, why, why_len);
    if (!err)
        err = remove_tallies(s, now_ms - retention_ms, why, why_len);
    if (!err)
        err = remove_audit(s, now_ms, retention_ms, why, why_len);
    if (!err)
        err = remove_jobs(s, now_ms - retention_ms, why, why_len);
    for (size_t i = 0; i < HL_ARRAY_LEN(kinds) && !err; i++)
        err = tend_table(s, &kinds[i], now_ms - retention_ms, why, why_len);
    return err ? err : leave_turn(s, me, why, why_len);
}

/* --- partitions, at once -------------------------------------------------------------------- */

static void on_partitioned(struct hl_pg_store *s, const PGresult *result)
{
    struct hl_pg_row row = {.result = result};
    s->upkeep.partition.is_under_way = false;
    if (!result)
        s->upkeep.partition.due_ms = hl_clock_mono_ms() + PARTITION_AGAIN_MS;
    else
        s->upkeep.lacks_partition = hl_pg_int(&row) > 0;
    if (!s->upkeep.lacks_partition)
        HL_LOG(WARN, "store: created partitions for the current time of the database");
}

/* The upkeep makes them days ahead; the server's clock may have gone further. */
static void make_partitions(struct hl_pg_store *s, uint64_t now_ms)
{
    if (!s->upkeep.lacks_partition || now_ms < hl_pg_repeat_due_ms(&s->upkeep.partition))
        return;
    struct hl_pg_transaction *e = hl_pg_transaction_begin(s, on_partitioned);
    if (!e)
        return;
    hl_pg_add_int(&s->params, HL_PG_P_WIDTH_MS, hl_pg_partition_width_ms((int64_t)s->retention_ms));
    hl_pg_transaction_add(e, HL_PG_DO_PARTITION);
    s->upkeep.partition.is_under_way = hl_pg_transaction_send(e);
}

/* --- turns ---------------------------------------------------------------------------------- */

static enum hl_err work(struct hl_pg_session *session, void *arg, char *why, size_t why_len)
{
    const struct hl_pg_store *s = arg;
    return hl_pg_upkeep_run(session, &s->upkeep.as, (int64_t)s->retention_ms, why, why_len);
}

static void on_done(uv_async_t *async)
{
    struct hl_pg_store *s = async->data;
    char why[300];
    PGconn *conn;
    if (!s->upkeep.job || !hl_pg_job_is_done(s->upkeep.job))
        return;
    enum hl_err err = hl_pg_job_end(s->upkeep.job, &conn, why, sizeof(why));
    s->upkeep.job = NULL;
    PQfinish(conn);
    if (!err)
        return;
    HL_LOG(WARN, "store: the upkeep of the tables was interrupted", HL_LOG_TEXT("why", why));
    s->upkeep.due_ms = hl_clock_mono_ms() + AGAIN_MS;
}

int hl_pg_upkeep_init(struct hl_pg_store *s)
{
    s->upkeep.done.data = s;
    return uv_async_init(&s->loop, &s->upkeep.done, on_done);
}

void hl_pg_upkeep_close(struct hl_pg_store *s)
{
    hl_pg_job_leave(s->upkeep.job);
    s->upkeep.job = NULL;
    uv_close((uv_handle_t *)&s->upkeep.done, NULL);
}

/* Replicas that began together are not at it together. */
uint64_t hl_pg_upkeep_turn(struct hl_pg_store *s, uint64_t now_ms)
{
    uint32_t dice;
    make_partitions(s, now_ms);
    if (s->upkeep.job || !hl_pg_link_is_up(&s->writer))
        return UINT64_MAX;
    if (now_ms < s->upkeep.due_ms)
        return s->upkeep.due_ms;
    hl_random_fill(&dice, sizeof(dice));
    s->upkeep.due_ms = now_ms + EVERY_MS / 2 + dice % EVERY_MS;
    s->upkeep.as = s->member.id;
    s->upkeep.job = hl_pg_job_start(&s->settings, work, s, &s->upkeep.done);
    return UINT64_MAX;
}
