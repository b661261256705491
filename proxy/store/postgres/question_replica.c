/* question_replica.c - who shares the store. `hookline store status` shows the same rows (status.c). */
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

static enum hl_err read_row(struct hl_pg_store *s, struct hl_store_msg *m, struct hl_pg_row *from)
{
    struct hl_replica_row *row = HL_LISTING_ADD((struct hl_list_replicas *)m);
    (void)s;
    if (!row)
        return HL_OK;
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
    return HL_OK;
}

const struct hl_pg_question hl_pg_list_replicas = {
    .bind = bind_list_replicas, .read_row = read_row};
