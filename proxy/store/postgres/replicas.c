/* replicas.c - see replicas.h. `hookline store status` shows the same rows (status.c). */
#include "store/postgres/replicas.h"

#include <stdlib.h>

#include "store/question.h"

enum hl_pg_sql hl_pg_replicas_bind(
    const struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_store_msg *m)
{
    (void)s;
    (void)m;
    hl_pg_add_int(p, HL_LIST_MAX);
    return HL_PG_DO_ASK_REPLICAS;
}

static void read_row(struct hl_pg_row *from, struct hl_replica_row *row)
{
    hl_pg_id(from, &row->id);
    hl_str_put_cut(row->name, sizeof(row->name), hl_pg_str(from));
    hl_str_put_cut(row->version, sizeof(row->version), hl_pg_str(from));
    hl_str_put_cut(row->state, sizeof(row->state), hl_pg_str(from));
    row->started_ms = hl_pg_int(from);
    row->age_ms = hl_pg_int(from);
    row->beat_age_ms = hl_pg_int(from);
    row->runs = (uint64_t)hl_pg_int(from);
    row->deliveries = (uint64_t)hl_pg_int(from);
}

enum hl_err hl_pg_replicas_read(
    struct hl_pg_store *s, struct hl_store_msg *m, const PGresult *result)
{
    struct hl_list_replicas *l = (struct hl_list_replicas *)m;
    (void)s;
    l->rows = calloc(HL_LIST_MAX, sizeof(*l->rows));
    if (!l->rows)
        return HL_ERR_NOMEM;
    for (int i = 0; i < PQntuples(result) && l->count < HL_LIST_MAX; i++) {
        struct hl_pg_row row = {.result = result, .row = i};
        read_row(&row, &l->rows[l->count++]);
    }
    return HL_OK;
}
