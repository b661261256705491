/* partition.c - see partition.h. The function that makes them is the schema's (schema.c), because the role
 * of a replica may own nothing. */
#include "store/postgres/partition.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/id.h"
#include "store/postgres/session.h"

#define HOUR_MS (3600 * INT64_C(1000))
#define DAY_MS  (24 * HOUR_MS)

int64_t hl_pg_partition_width_ms(int64_t retention_ms)
{
    int64_t width_ms = retention_ms / 4 < DAY_MS ? retention_ms / 4 : DAY_MS;
    return width_ms > HOUR_MS ? width_ms : HOUR_MS;
}

enum hl_err hl_pg_partitions_make(
    struct hl_pg_session *s, int64_t retention_ms, char *why, size_t why_len)
{
    char sql[80];
    enum hl_err err = HL_OK;
    snprintf(sql, sizeof(sql), "SELECT ~.make_partitions(%" PRId64 ")::integer",
        hl_pg_partition_width_ms(retention_ms));
    for (int64_t is_made = 1; is_made && !err;)
        err = hl_pg_session_ask_int(s, sql, &is_made, why, why_len);
    return err;
}

/* One with all that is before the first of each table; its name is free, because the one that reached back
 * to the beginning is gone. */
#define REACH_BACK                                                                                 \
    "DO $$ DECLARE kind text; part text; low text; BEGIN"                                          \
    " FOREACH kind IN ARRAY ARRAY['run', 'delivery', 'attempt', 'body', 'tag'] LOOP"               \
    " SELECT min(substring(bound FROM 'FROM \\(''([0-9a-f-]{36})''')) INTO low FROM"               \
    " (SELECT pg_get_expr(c.relpartbound, c.oid) AS bound FROM pg_inherits i JOIN pg_class c"      \
    " ON c.oid = i.inhrelid WHERE i.inhparent = ('~.' || kind)::regclass) AS b"                    \
    " HAVING bool_and(bound NOT LIKE '%MINVALUE%');"                                               \
    " CONTINUE WHEN low IS NULL OR low::uuid <= current_setting('hookline.oldest')::uuid;"         \
    " part := kind || '_000000000000';"                                                            \
    " EXECUTE format('CREATE TABLE ~.%I (LIKE ~.%I INCLUDING DEFAULTS INCLUDING STORAGE)',"        \
    " part, kind);"                                                                                \
    " EXECUTE format('ALTER TABLE ~.%I ATTACH PARTITION ~.%I FOR VALUES FROM (MINVALUE) TO (%L)'," \
    " kind, part, low); END LOOP; END $$"

/* Both in one transaction, as a command that a pooler keeps together. */
enum hl_err hl_pg_partitions_reach_back(
    struct hl_pg_session *s, const struct hl_id *oldest, char *why, size_t why_len)
{
    char id[HL_ID_TEXT];
    struct hl_buf sql = {0};
    hl_id_format(oldest, id);
    enum hl_err err = hl_buf_printf(&sql, "SET LOCAL hookline.oldest = '%.*s'; ", HL_ID_TEXT, id);
    if (!err)
        err = hl_buf_append(&sql, REACH_BACK, sizeof(REACH_BACK));
    if (!err)
        err = hl_pg_session_run(s, sql.p, why, why_len);
    hl_buf_fini(&sql);
    return err && strcmp(s->sqlstate, "42501") == 0 ? HL_ERR_DENIED : err;
}

enum hl_err hl_pg_partitions_end(
    struct hl_pg_session *s, int64_t *end_ms, char *why, size_t why_len)
{
    return hl_pg_session_ask_int(s,
        "SELECT convert_from(v, 'UTF8') FROM ~.meta WHERE k = 'partitions_until'", end_ms, why,
        why_len);
}
