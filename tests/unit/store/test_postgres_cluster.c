/* test_postgres_cluster.c - what the tests on PostgreSQL stand on. */
#include <criterion/criterion.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>

#include "postgres_cluster.h"

static int count(PGconn *connection, const char *sql)
{
    PGresult *result = PQexec(connection, sql);
    cr_assert(PQresultStatus(result) == PGRES_TUPLES_OK, "%s", PQerrorMessage(connection));
    int n = atoi(PQgetvalue(result, 0, 0));
    PQclear(result);
    return n;
}

Test(postgres_cluster, dropped_schema_is_gone_with_what_was_in_it_and_another_stays)
{
    char dropped[POSTGRES_SCHEMA_SIZE], kept[POSTGRES_SCHEMA_SIZE], sql[256];
    PGconn *connection = PQconnectdb(postgres_url());
    postgres_schema_draw(dropped);
    postgres_schema_draw(kept);
    snprintf(sql, sizeof(sql),
        "CREATE SCHEMA %s CREATE TABLE t (n int); CREATE SCHEMA %s; SELECT 1", dropped, kept);
    cr_assert_eq(count(connection, sql), 1);

    postgres_schema_drop(dropped);
    snprintf(sql, sizeof(sql), "SELECT count(*) FROM pg_namespace WHERE nspname IN ('%s', '%s')",
        dropped, kept);
    cr_assert_eq(count(connection, sql), 1);

    postgres_schema_drop(kept);
    cr_assert_eq(count(connection, sql), 0);
    PQfinish(connection);
}

/* With the table that each schema of the store's has, and a row. Returns its connection. */
static PGconn *make_schema(char name[POSTGRES_SCHEMA_SIZE], char shape[POSTGRES_SHAPE_SIZE])
{
    char sql[300];
    PGconn *connection = PQconnectdb(postgres_url());
    postgres_schema_draw(name);
    snprintf(sql, sizeof(sql),
        "CREATE SCHEMA %s CREATE TABLE meta (k text, v bytea) CREATE TABLE t (n int);"
        " INSERT INTO %s.t VALUES (1) RETURNING n",
        name, name);
    cr_assert_eq(count(connection, sql), 1);
    postgres_schema_measure(name, shape);
    return connection;
}

Test(postgres_cluster, schema_that_is_cleaned_has_its_tables_without_a_row)
{
    char name[POSTGRES_SCHEMA_SIZE], shape[POSTGRES_SHAPE_SIZE], sql[256];
    PGconn *connection = make_schema(name, shape);
    cr_assert(postgres_schema_clean(name, shape));
    snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s.t", name);
    cr_assert_eq(count(connection, sql), 0);
    PQfinish(connection);
}

Test(postgres_cluster, schema_whose_tables_were_changed_is_dropped)
{
    char name[POSTGRES_SCHEMA_SIZE], shape[POSTGRES_SHAPE_SIZE], sql[256];
    PGconn *connection = make_schema(name, shape);
    snprintf(sql, sizeof(sql), "ALTER TABLE %s.t ADD COLUMN m int; SELECT 1", name);
    cr_assert_eq(count(connection, sql), 1);
    cr_assert_not(postgres_schema_clean(name, shape));
    snprintf(sql, sizeof(sql), "SELECT count(*) FROM pg_namespace WHERE nspname = '%s'", name);
    cr_assert_eq(count(connection, sql), 0);
    PQfinish(connection);
}
