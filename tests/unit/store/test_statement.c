/* test_statement.c - the statements of the .sql files: both engines take them as their tables say, and none reads all of
 * a table that grows. */
#include "fixture.h"

#include <criterion/criterion.h>
#include <libpq-fe.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "store/import/read.h"
#include "store/import/write.h"
#include "store/postgres/once.h"
#include "store/postgres/param.h"
#include "store/postgres/session.h"
#include "store/postgres/sql.h"
#include "store/sqlite/ask.h"
#include "store/sqlite/sql.h"

#define PLAN_MAX 40000

/* Those of one header. */
struct set {
    const struct hl_statement *statements;
    size_t n;
    const char *const *params;
};
#define SET(prefix, count)                                                                         \
    {                                                                                              \
        prefix##_statements, count, prefix##_param_names                                           \
    }

/* A statement that may read a table so, and why. */
struct leave {
    const char *statement, *table, *why;
};

static bool has_leave(const struct leave *leaves, const char *statement, const char *table)
{
    for (; leaves->statement; leaves++)
        if (strcmp(leaves->statement, statement) == 0 && strcmp(leaves->table, table) == 0)
            return true;
    return false;
}

/* --- SQLite --------------------------------------------------------------------------------- */

static const struct set sqlite_sets[] = {SET(hl_sql, HL_SQL_COUNT), SET(hl_ask, HL_ASK_COUNT),
    SET(hl_import_read, HL_IMPORT_READ_COUNT)};

/* What is there for each run, delivery or call. */
static const char *const sqlite_tables[] = {"run", "ticket", "turn", "retry", "result", "request",
    "run_log", "delivery", "attempt", "idem", "tally", "account", "tag", NULL};

static const char at_start[] = "at a start alone";
static const char in_order[] = "the first in the order of the table";
static const char of_few[] = "an index of those alone that are meant";

static const struct leave sqlite_leaves[] = {{"RUN_NEWEST", "run", in_order},
    {"RUN_LOST_ANY", "run", at_start}, {"RUN_LOST_ANY", "ticket", at_start},
    {"RUN_LOST_ANY", "result", at_start}, {"TURN_EACH", "turn", at_start},
    {"TURN_LOST", "ticket", at_start}, {"TURN_STALE", "turn", at_start},
    {"QUEUE_TOTALS", "run", in_order}, {"QUEUE_TOTALS", "ticket", at_start},
    {"QUEUE_TOTALS", "turn", at_start}, {"RETRY_EACH", "retry", at_start},
    {"WEBHOOK_EXPECTED_LANES", "ticket", at_start}, {"DELIVERY_LANES", "delivery", of_few},
    {"DELIVERY_RENAME", "delivery", "a row without an id was found: damage"},
    {"ATTEMPT_DROP_NAMELESS", "attempt", "likewise"},
    {"ACCOUNT_ANY", "account", "at a start, where the signing key is missing"},
    {"ACCOUNT_REVOKE_ALL", "account", "where the signing key is given up"},
    {"STREAM_BYTES", "result", of_few}, {"RUNS_NOW", "ticket", in_order}, {NULL, NULL, NULL}};

static sqlite3 *open_database(struct fixture *f)
{
    char path[300];
    sqlite3 *db;
    fixture_init(f, HL_STORE_SQLITE);
    fixture_open(f);
    fixture_close(f);
    snprintf(path, sizeof(path), "%s/hookline.db", f->dir);
    cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
    return db;
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *text, const char *name)
{
    sqlite3_stmt *st = NULL;
    cr_assert_eq(
        sqlite3_prepare_v2(db, text, -1, &st, NULL), SQLITE_OK, "%s: %s", name, sqlite3_errmsg(db));
    return st;
}

static void check_params(sqlite3 *db, const struct set *set, const struct hl_statement *statement)
{
    sqlite3_stmt *st = prepare(db, statement->text, statement->name);
    size_t n = statement->n_params * statement->n_rows;
    cr_expect_eq((size_t)sqlite3_bind_parameter_count(st), n, "%s", statement->name);
    for (size_t i = 0; i < n && statement->n_rows == 1; i++) {
        const char *name = sqlite3_bind_parameter_name(st, (int)i + 1);
        cr_assert_str_eq(name + 1, set->params[statement->params[i]], "%s", statement->name);
    }
    sqlite3_finalize(st);
}

/* The table that is read from end to end, or NULL. An index that is walked in order as far as LIMIT is none. */
static const char *scanned_table(const struct hl_statement *statement, const char *detail)
{
    bool is_walk = strstr(detail, " USING ") && strstr(statement->text, "LIMIT");
    if (strncmp(detail, "SCAN ", 5) != 0 || is_walk)
        return NULL;
    for (size_t i = 0; sqlite_tables[i]; i++) {
        size_t n = strlen(sqlite_tables[i]);
        if (strncmp(detail + 5, sqlite_tables[i], n) == 0 &&
            (detail[5 + n] == ' ' || !detail[5 + n]))
            return sqlite_tables[i];
    }
    return NULL;
}

static void check_plan(sqlite3 *db, const struct hl_statement *statement)
{
    char sql[8000];
    snprintf(sql, sizeof(sql), "EXPLAIN QUERY PLAN %s", statement->text);
    sqlite3_stmt *st = prepare(db, sql, statement->name);
    while (sqlite3_step(st) == SQLITE_ROW) {
        const char *detail = (const char *)sqlite3_column_text(st, 3);
        const char *table = scanned_table(statement, detail);
        cr_expect(!table || has_leave(sqlite_leaves, statement->name, table), "%s: %s",
            statement->name, detail);
    }
    sqlite3_finalize(st);
}

static void each_of_sqlite(
    void (*check)(sqlite3 *db, const struct set *set, const struct hl_statement *statement))
{
    struct fixture f;
    sqlite3 *db = open_database(&f);
    for (size_t k = 0; k < HL_ARRAY_LEN(sqlite_sets); k++)
        for (size_t i = 0; i < sqlite_sets[k].n; i++)
            check(db, &sqlite_sets[k], &sqlite_sets[k].statements[i]);
    sqlite3_close(db);
    fixture_fini(&f);
}

Test(statement, sqlite_numbers_parameters_as_the_table_does)
{
    each_of_sqlite(check_params);
}

static void check_plan_of(sqlite3 *db, const struct set *set, const struct hl_statement *statement)
{
    if (set->statements != hl_import_read_statements) /* which reads all there is */
        check_plan(db, statement);
}

Test(statement, sqlite_reads_no_table_that_grows_from_end_to_end)
{
    each_of_sqlite(check_plan_of);
}

/* --- PostgreSQL ----------------------------------------------------------------------------- */

static const struct set postgres_sets[] = {SET(hl_pg_sql, HL_PG_SQL_COUNT),
    SET(hl_pg_once, HL_PG_ONCE_COUNT), SET(hl_import_write, HL_IMPORT_WRITE_COUNT)};

static const char of_replicas[] = "there is a row for each replica";

static const struct leave postgres_leaves[] = {{"hl_NODE_UNHEARD", "node", of_replicas},
    {"hl_NODE_BURY", "node", of_replicas}, {"hl_NODE_BEAT", "node", of_replicas},
    {"hl_COUNT", "node", of_replicas}, {"hl_RATE_LEND", "node", of_replicas},
    {"hl_ASK_REPLICAS", "node", of_replicas}, {"hl_ASK_OVERVIEW", "node", of_replicas},
    {"hl_STATUS", "node", of_replicas}, {"hl_REKEY_OTHERS", "node", of_replicas},
    {"hl_ASK_OVERVIEW", "failing", "in order, as far as LIMIT"},
    {"hl_EVENT_ACCOUNTS", "account", "after an outage, all are read"},
    {"hl_DESTINATION_COUNT", "delivery_ticket", "all are counted, while much is pending"},
    {"hl_STATUS", "ticket", "a command counts what waits and runs"},
    {"hl_REKEY_READ_SHARED", "meta", "a few rows"}, {NULL, NULL, NULL}};

static struct hl_pg_session open_schema(struct fixture *f, struct hl_pg_settings *settings)
{
    char why[300] = "";
    struct hl_pg_session session;
    fixture_init(f, HL_STORE_POSTGRES);
    fixture_open(f);
    fixture_close(f);
    hl_pg_settings_init(settings, f->config);
    cr_assert_eq(hl_pg_session_open(&session, settings, NULL, why, sizeof(why)), HL_OK, "%s", why);
    return session;
}

static PGresult *run(PGconn *conn, const char *sql)
{
    PGresult *result = PQexec(conn, sql);
    ExecStatusType status = PQresultStatus(result);
    cr_assert(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK, "%s: %s", sql,
        PQerrorMessage(conn));
    return result;
}

/* The types that param.h writes: bigint, uuid, bytea, text, and arrays of them. */
static bool is_written(Oid type)
{
    static const Oid types[] = {20, 2950, 17, 25, 1016, 2951, 1001, 1009};
    for (size_t i = 0; i < HL_ARRAY_LEN(types); i++)
        if (types[i] == type)
            return true;
    return false;
}

static void check_types(PGconn *conn, const struct set *set, const struct hl_statement *statement)
{
    PGresult *result = PQdescribePrepared(conn, statement->name);
    cr_assert_eq(PQresultStatus(result), PGRES_COMMAND_OK, "%s", statement->name);
    cr_assert_eq((size_t)PQnparams(result), statement->n_params, "%s", statement->name);
    for (int i = 0; i < PQnparams(result); i++)
        cr_expect(is_written(PQparamtype(result, i)), "%s: %s", statement->name,
            set->params[statement->params[i]]);
    PQclear(result);
}

/* The table of a line of a plan that is read without an index: sessions are told to, where there is one. */
static bool reads_all(const char *line, char table[64])
{
    const char *at = strstr(line, "Seq Scan on ");
    return at && at < strchr(line, '\n') && sscanf(at, "Seq Scan on %63[a-z_0-9]", table) == 1;
}

/* `value_of`: a parameter's, as text of SQL. What is below a recursive step is shown with ANALYZE alone. */
static void explain(PGconn *conn, const char *options, const struct set *set,
    const struct hl_statement *statement, const char *(*value_of)(const char *name),
    char plan[PLAN_MAX])
{
    char sql[1000];
    size_t n =
        (size_t)snprintf(sql, sizeof(sql), "EXPLAIN (%s) EXECUTE \"%s\"", options, statement->name);
    for (size_t i = 0; i < statement->n_params; i++)
        n += (size_t)snprintf(sql + n, sizeof(sql) - n, "%s%s", i ? ", " : " (",
            value_of(set->params[statement->params[i]]));
    if (statement->n_params > 0)
        snprintf(sql + n, sizeof(sql) - n, ")");
    PGresult *result = run(conn, sql);
    plan[0] = '\0';
    for (int i = 0; i < PQntuples(result); i++) {
        strncat(plan, PQgetvalue(result, i, 0), PLAN_MAX - strlen(plan) - 1);
        strncat(plan, "\n", PLAN_MAX - strlen(plan) - 1);
    }
    PQclear(result);
}

static const char *null(const char *name)
{
    (void)name;
    return "NULL";
}

static void check_postgres_plan(
    PGconn *conn, const struct set *set, const struct hl_statement *statement)
{
    char plan[PLAN_MAX], table[64];
    explain(conn, "COSTS off", set, statement, null, plan);
    for (const char *at = plan; *at; at = strchr(at, '\n') + 1)
        if (reads_all(at, table) && !has_leave(postgres_leaves, statement->name, table))
            cr_expect_fail("%s: %.*s", statement->name, (int)strcspn(at, "\n"), at);
}

static void prepare_shared(struct hl_pg_session *session, const struct hl_statement *statement)
{
    struct hl_buf text = {0};
    cr_assert_eq(hl_pg_qualify(session->settings, statement->text, &text), HL_OK);
    PGresult *result = PQprepare(session->conn, statement->name, text.p, 0, NULL);
    cr_assert_eq(PQresultStatus(result), PGRES_COMMAND_OK, "%s: %s", statement->name,
        PQerrorMessage(session->conn));
    PQclear(result);
    hl_buf_fini(&text);
}

static void check_statement(struct hl_pg_session *session, const struct set *set, size_t at)
{
    const struct hl_statement *statement = &set->statements[at];
    prepare_shared(session, statement);
    check_types(session->conn, set, statement);
    if (strstr(statement->text, "FROM"))
        check_postgres_plan(session->conn, set, statement);
    PQclear(run(session->conn, "DEALLOCATE ALL"));
}

Test(postgres_statement, has_the_parameters_of_the_table_and_reads_no_table_from_end_to_end)
{
    struct fixture f;
    struct hl_pg_settings settings;
    struct hl_pg_session session = open_schema(&f, &settings);
    PQclear(run(session.conn, "SET plan_cache_mode = force_generic_plan"));
    for (size_t k = 0; k < HL_ARRAY_LEN(postgres_sets); k++)
        for (size_t i = 0; i < postgres_sets[k].n; i++)
            check_statement(&session, &postgres_sets[k], i);
    hl_pg_session_close(&session);
    fixture_fini(&f);
}

static void change_tables(struct hl_pg_session *session, const char *sql)
{
    char why[300] = "";
    cr_assert_eq(hl_pg_session_run(session, sql, why, sizeof(why)), HL_OK, "%s", why);
}

static const char *first_page_of_queued(const char *name)
{
    static const char *const values[][2] = {{"before", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"},
        {"from", "'00000000-0000-0000-0000-000000000000'"}, {"project", "'p'"}, {"app", "'a'"},
        {"state", "0"}, {"mode", "-1"}, {"max", "101"}};
    for (size_t i = 0; i < HL_ARRAY_LEN(values); i++)
        if (strcmp(name, values[i][0]) == 0)
            return values[i][1];
    return "NULL";
}

/* All of a long queue was sorted for each page: a plan without statistics takes what looks like few rows. */
Test(postgres_statement, of_what_has_not_ended_follows_its_key_before_there_are_statistics)
{
    static const char *const modes[] = {"force_generic_plan", "force_custom_plan"};
    const struct hl_statement *statement = &hl_pg_sql_statements[HL_PG_DO_ASK_TICKETS];
    struct fixture f;
    struct hl_pg_settings settings;
    struct hl_pg_session session = open_schema(&f, &settings);
    prepare_shared(&session, statement);
    change_tables(&session,
        "INSERT INTO ~.ticket (run_id, due_at, epoch, attempt, is_async)"
        " SELECT gen_random_uuid(), now(), 1, 0, true FROM generate_series(1, 10000)");
    for (size_t i = 0; i < HL_ARRAY_LEN(modes); i++) {
        char plan[PLAN_MAX], set_mode[60];
        snprintf(set_mode, sizeof(set_mode), "SET plan_cache_mode = %s", modes[i]);
        PQclear(run(session.conn, set_mode));
        explain(session.conn, "ANALYZE", &postgres_sets[0], statement, first_page_of_queued, plan);
        cr_expect(strstr(plan, "Index Scan Backward using ticket_pkey on ticket"), "%s:\n%s",
            modes[i], plan);
    }
    hl_pg_session_close(&session);
    fixture_fini(&f);
}

/* What the last column of a beat of `me` says. */
static bool has_dead(struct hl_pg_session *session, const struct hl_id *me)
{
    char why[300] = "";
    struct hl_pg_params params = {0};
    PGresult *result;
    hl_pg_add_id(&params, HL_PG_P_ME, me);
    hl_pg_add_id(&params, HL_PG_P_SESSION, me);
    hl_pg_add_int(&params, HL_PG_P_TTL_MS, 60000);
    hl_pg_add_int(&params, HL_PG_P_TAKES_CALLS, 1);
    const struct hl_statement *beat = &hl_pg_sql_statements[HL_PG_DO_NODE_BEAT];
    cr_assert_eq(
        hl_pg_session_do(session, beat, &params, &result, why, sizeof(why)), HL_OK, "%s", why);
    cr_assert_eq(PQntuples(result), 1);
    bool has = *PQgetvalue(result, 0, PQnfields(result) - 1) == 1; /* in binary */
    PQclear(result);
    hl_pg_params_fini(&params);
    return has;
}

Test(postgres_statement, of_a_beat_says_whether_another_replica_is_to_be_buried)
{
    struct fixture f;
    struct hl_pg_settings settings;
    struct hl_id me = {{1}};
    struct hl_pg_session session = open_schema(&f, &settings);
    change_tables(&session,
        "INSERT INTO ~.node (node_id, name, version, address, started_at, beat_at, expires_at)"
        " VALUES ('01000000-0000-0000-0000-000000000000', 'me', '', '', now(), now(), now()),"
        " ('02000000-0000-0000-0000-000000000000', 'other', '', '', now(), now(), 'infinity')");
    cr_expect_not(has_dead(&session, &me));
    change_tables(
        &session, "UPDATE ~.node SET expires_at = now() - interval '1 s' WHERE name = 'other'");
    cr_expect(has_dead(&session, &me), "its time is past");
    change_tables(&session, "UPDATE ~.node SET expires_at = '-infinity' WHERE name = 'other'");
    cr_expect(has_dead(&session, &me), "it has left something");
    change_tables(&session, "UPDATE ~.node SET is_dead = true WHERE name = 'other'");
    cr_expect_not(has_dead(&session, &me), "it is buried");
    change_tables(&session,
        "INSERT INTO ~.ticket (run_id, due_at, epoch, attempt, node_id, is_async)"
        " SELECT node_id, now(), 1, 1, node_id, false FROM ~.node WHERE name = 'other'");
    cr_expect(has_dead(&session, &me), "a run of its is left");
    hl_pg_session_close(&session);
    fixture_fini(&f);
}
