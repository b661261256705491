/* question_destination.c - where a project's webhooks go, and what became of the last ones. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/str.h"
#include "store/destination.h"
#include "store/postgres/param.h"
#include "store/postgres/thread.h"
#include "store/postgres/question.h"
#include "store/postgres/row.h"
#include "store/question.h"

#define LOOK_BACK_MS 3600000

static enum hl_pg_sql bind_list(
    const struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_store_msg *m)
{
    const struct hl_list_destinations *l = (const struct hl_list_destinations *)m;
    hl_pg_add_str(p, HL_PG_P_PROJECT, hl_str_from(l->project));
    if (l->has_after)
        hl_pg_add_int(p, HL_PG_P_AFTER, (int64_t)l->after);
    else
        hl_pg_add_null(p, HL_PG_P_AFTER);
    hl_pg_add_int(p, HL_PG_P_MAX, (int64_t)l->limit + 1);
    hl_pg_add_int(p, HL_PG_P_LOOKS, HL_DESTINATION_LOOKS);
    hl_pg_add_int(p, HL_PG_P_ATTEMPTS_SINCE_MS, hl_clock_wall_ms() - LOOK_BACK_MS);
    hl_pg_add_kept_since(s, p);
    return HL_PG_DO_ASK_DESTINATIONS;
}

static void read_row(struct hl_pg_store *s, struct hl_pg_row *from, struct hl_destination_row *row)
{
    struct hl_id run_id;
    row->lane = (uint64_t)hl_pg_int(from);
    hl_pg_id(from, &run_id);
    struct hl_str written =
        hl_destination_unseal(&s->sealer, "run.url", &run_id, hl_pg_str(from), row->destination);
    row->destination[written.n] = '\0';
    row->pending = (uint64_t)hl_pg_int(from);
    row->dead = (uint64_t)hl_pg_int(from);
    row->oldest_ms = hl_pg_int(from);
    row->failing_since_ms = hl_pg_int(from);
    row->attempts = (uint64_t)hl_pg_int(from);
    row->ok = (uint64_t)hl_pg_int(from);
    row->p95_us = hl_pg_next_is_null(from) ? -1 : 0;
    row->p95_us += hl_pg_int(from);
    row->last_ms = hl_pg_int(from);
    row->last_status = (uint16_t)hl_pg_int(from);
    hl_str_put_cut(row->last_error, sizeof(row->last_error), hl_pg_str(from));
}

static enum hl_err read_list(struct hl_pg_store *s, struct hl_store_msg *m, const PGresult *result)
{
    struct hl_list_destinations *l = (struct hl_list_destinations *)m;
    size_t n = (size_t)PQntuples(result);
    l->has_more = n > l->limit;
    l->rows = calloc(l->limit, sizeof(*l->rows));
    if (!l->rows)
        return HL_ERR_NOMEM;
    for (size_t i = 0; i < n && i < l->limit; i++) {
        struct hl_pg_row from = {.result = result, .row = (int)i};
        read_row(s, &from, &l->rows[l->count++]);
    }
    return HL_OK;
}

const struct hl_pg_question hl_pg_list_destinations = {bind_list, read_list};
