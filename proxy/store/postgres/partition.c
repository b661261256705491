/* partition.c - see partition.h. The function that makes them is the schema's (schema.c), because the role
 * of a replica may own nothing. */
#include "store/postgres/partition.h"

#include <inttypes.h>
#include <stdio.h>

#define HOUR_MS (3600 * INT64_C(1000))
#define DAY_MS  (24 * HOUR_MS)

int64_t hl_pg_partition_width_ms(int64_t retention_ms)
{
    int64_t width_ms = retention_ms / 4 < DAY_MS ? retention_ms / 4 : DAY_MS;
    return width_ms > HOUR_MS ? width_ms : HOUR_MS;
}

static enum hl_err make_next(
    struct hl_pg_session *s, int64_t width_ms, bool *is_made, char *why, size_t why_len)
{
    char sql[80];
    PGresult *result;
    snprintf(sql, sizeof(sql), "SELECT ~.make_partitions(%" PRId64 ")", width_ms);
    enum hl_err err = hl_pg_session_ask(s, sql, NULL, &result, why, why_len);
    *is_made = !err && PQgetvalue(result, 0, 0)[0] == 't';
    PQclear(result);
    return err;
}

enum hl_err hl_pg_partitions_make(
    struct hl_pg_session *s, int64_t retention_ms, char *why, size_t why_len)
{
    enum hl_err err = HL_OK;
    for (bool is_made = true; is_made && !err;)
        err = make_next(s, hl_pg_partition_width_ms(retention_ms), &is_made, why, why_len);
    return err;
}
