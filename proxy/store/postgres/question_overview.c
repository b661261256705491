/* question_overview.c - a span of time in numbers. One statement whose rows are of several kinds; a bounded number
 * of rows is read (overview.h). */
#include <stdlib.h>

#include "base/clock.h"
#include "store/destination.h"
#include "store/overview.h"
#include "store/postgres/param.h"
#include "store/postgres/thread.h"
#include "store/postgres/question.h"
#include "store/postgres/row.h"
#include "store/question.h"

#define LOOK_BACK_MS 3600000

/* The first column says the kind; these follow. */
enum kind { KIND_WHOLE, KIND_APP, KIND_POINT, KIND_FAILING, KIND_REPLICA };
enum column { TEXT_1 = 1, TEXT_2, TEXT_3, ID, BYTES_1, BYTES_2, NUMBERS };

static enum hl_pg_sql bind_overview(
    const struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_store_msg *m)
{
    const struct hl_overview *o = (const struct hl_overview *)m;
    int64_t first = hl_overview_first_minute(o);
    int64_t kept = (hl_clock_wall_ms() - (int64_t)s->retention_ms) / HL_TALLY_MINUTE_MS;
    hl_pg_add_str(p, HL_PG_P_PROJECT, hl_str_from(o->project));
    hl_pg_add_str(p, HL_PG_P_APP, hl_str_from(o->app));
    hl_pg_add_int(p, HL_PG_P_FIRST_MINUTE, first > kept ? first : kept);
    hl_pg_add_int(p, HL_PG_P_LAST_MINUTE, hl_overview_last_minute(o));
    hl_pg_add_int(
        p, HL_PG_P_FIRST_POINT, o->since_ms / o->step_ms * o->step_ms / HL_TALLY_MINUTE_MS);
    hl_pg_add_int(p, HL_PG_P_POINT_MINUTES, o->step_ms / HL_TALLY_MINUTE_MS);
    hl_pg_add_int(p, HL_PG_P_MAX_MINUTES, HL_OVERVIEW_LOOKS);
    hl_pg_add_int(p, HL_PG_P_MAX_COUNT, HL_OVERVIEW_COUNTED);
    hl_pg_add_int(p, HL_PG_P_WITH_DELIVERIES, o->with_deliveries);
    hl_pg_add_int(p, HL_PG_P_FAILING_LOOKS, HL_OVERVIEW_LANES);
    hl_pg_add_int(p, HL_PG_P_MAX_FAILING, HL_OVERVIEW_WORST);
    hl_pg_add_int(p, HL_PG_P_LOOKS, HL_DESTINATION_LOOKS);
    hl_pg_add_int(p, HL_PG_P_ATTEMPTS_SINCE_MS, hl_clock_wall_ms() - LOOK_BACK_MS);
    hl_pg_add_kept_since(s, p);
    hl_pg_add_int(p, HL_PG_P_MAX_REPLICAS, HL_LIST_MAX);
    return HL_PG_DO_ASK_OVERVIEW;
}

static void read_whole(struct hl_pg_row *from, struct hl_overview *o)
{
    from->column = NUMBERS;
    hl_overview_begins(o, hl_pg_int(from));
    int64_t looks = hl_pg_int(from), oldest = hl_pg_int(from);
    if (looks == HL_OVERVIEW_LOOKS) /* of this minute some may be missing */
        hl_overview_begins(o, (oldest + 1) * HL_TALLY_MINUTE_MS);
    o->queued = (uint64_t)hl_pg_int(from);
    o->running = (uint64_t)hl_pg_int(from);
    o->is_more_runs = hl_pg_int(from) == HL_OVERVIEW_COUNTED;
    o->pending = (uint64_t)hl_pg_int(from);
    o->is_more_pending = o->pending == HL_OVERVIEW_COUNTED;
    o->dead = (uint64_t)hl_pg_int(from);
    o->is_more_dead = o->dead == HL_OVERVIEW_COUNTED;
    o->n_failing_all = (uint64_t)hl_pg_int(from);
}

static uint64_t read_count(struct hl_pg_row *from)
{
    from->column = NUMBERS;
    uint32_t key = (uint32_t)hl_pg_int(from);
    return hl_tally_count(key, (uint64_t)hl_pg_int(from));
}

static void read_app(struct hl_pg_row *from, struct hl_overview *o)
{
    from->column = TEXT_1;
    struct hl_str project = hl_pg_str(from), app = hl_pg_str(from);
    hl_overview_add_app(o, project, app, read_count(from));
}

static void read_point(struct hl_pg_row *from, struct hl_overview *o)
{
    uint64_t count = read_count(from);
    int64_t point = hl_pg_int(from);
    hl_overview_add_point(o, (o->first_ms + point * o->step_ms) / HL_TALLY_MINUTE_MS, count);
}

static void read_failing(struct hl_pg_store *s, struct hl_pg_row *from, struct hl_overview *o)
{
    if (o->n_failing == HL_OVERVIEW_WORST)
        return;
    struct hl_overview_failing *failing = &o->failing[o->n_failing++];
    from->column = TEXT_1;
    hl_str_put_cut(failing->project, sizeof(failing->project), hl_pg_str(from));
    from->column = ID;
    hl_pg_read_destination(s, from, &failing->row);
}

static void read_replica(struct hl_pg_row *from, struct hl_overview *o)
{
    if (o->n_replicas == HL_LIST_MAX)
        return;
    struct hl_replica_row *row = &o->replicas[o->n_replicas++];
    from->column = TEXT_1;
    hl_str_put_cut(row->name, sizeof(row->name), hl_pg_str(from));
    hl_str_put_cut(row->version, sizeof(row->version), hl_pg_str(from));
    hl_str_put_cut(row->state, sizeof(row->state), hl_pg_str(from));
    hl_pg_id(from, &row->id);
    from->column = BYTES_1;
    hl_str_put_cut(row->role, sizeof(row->role), hl_pg_str(from));
    from->column = NUMBERS;
    row->started_ms = hl_pg_int(from);
    row->age_ms = hl_pg_int(from);
    row->beat_age_ms = hl_pg_int(from);
    row->runs = (uint64_t)hl_pg_int(from);
    row->deliveries = (uint64_t)hl_pg_int(from);
}

static void read_row(struct hl_pg_store *s, struct hl_pg_row *from, struct hl_overview *o)
{
    switch ((enum kind)hl_pg_int(from)) {
    case KIND_WHOLE:
        read_whole(from, o);
        break;
    case KIND_APP:
        read_app(from, o);
        break;
    case KIND_POINT:
        read_point(from, o);
        break;
    case KIND_FAILING:
        read_failing(s, from, o);
        break;
    case KIND_REPLICA:
        read_replica(from, o);
        break;
    }
}

static enum hl_err read_overview(
    struct hl_pg_store *s, struct hl_store_msg *m, const PGresult *result)
{
    struct hl_overview *o = (struct hl_overview *)m;
    enum hl_err err = hl_overview_begin(o);
    o->failing = calloc(HL_OVERVIEW_WORST, sizeof(*o->failing));
    o->replicas = calloc(HL_LIST_MAX, sizeof(*o->replicas));
    if (!err && (!o->failing || !o->replicas))
        err = HL_ERR_NOMEM;
    if (err)
        return err;
    hl_overview_begins(o, hl_clock_wall_ms() - (int64_t)s->retention_ms);
    for (int i = 0; i < PQntuples(result); i++) {
        struct hl_pg_row from = {.result = result, .row = i};
        read_row(s, &from, o);
    }
    return HL_OK;
}

const struct hl_pg_question hl_pg_overview = {.bind = bind_overview, .read = read_overview};
