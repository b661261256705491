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
