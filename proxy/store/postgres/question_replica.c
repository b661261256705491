/* question_replica.c - who shares the store. `hookline store status` shows the same rows (status.c). */
#include <stdlib.h>

#include "store/postgres/param.h"
#include "store/postgres/question.h"
#include "store/postgres/row.h"
#include "store/question.h"

static enum hl_pg_sql bind_list_replicas(
    const struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_store_msg *m)
{
    (void)s;
    (void)m;
    hl_pg_add_int(p, HL_PG_P_MAX, HL_LIST_MAX);
    return HL_PG_DO_ASK_REPLICAS;
}

static void read_row(struct hl_pg_row *from, struct hl_replica_row *row)
{
    hl_pg_id(from, &row->id);
    hl_str_put_cut(row->name, sizeof(row->name), hl_pg_str(from));
    hl_str_put_cut(row->role, sizeof(row->role), hl_pg_str(from));
    hl_str_put_cut(row->version, sizeof(row->version), hl_pg_str(from));
    hl_str_put_cut(row->state, sizeof(row->state), hl_pg_str(from));
    row->started_ms = hl_pg_int(from);
    row->age_ms = hl_pg_int(from);
    row->beat_age_ms = hl_pg_int(from);
    row->runs = (uint64_t)hl_pg_int(from);
    row->deliveries = (uint64_t)hl_pg_int(from);
}

static enum hl_err read_list_replicas(
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

const struct hl_pg_question hl_pg_list_replicas = {bind_list_replicas, read_list_replicas};
