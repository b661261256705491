/* answer_overview.c - OVERVIEW. The reader's thread, inside a transaction. However much there is, a bounded number of rows
 * is read (overview.h). */
#include <stdlib.h>

#include "store/destination.h"
#include "store/overview.h"
#include "store/question.h"
#include "store/sqlite/reading.h"

/* With ?1 and ?2: of which project and app; empty: any. */
static struct hl_sql_args *bind_scope(
    struct hl_reading *r, enum hl_ask which, const struct hl_overview *o)
{
    struct hl_sql_args *args = hl_reading_bind(r, which);
    hl_sql_bind_text(args, HL_ASK_P_PROJECT, hl_str_from(o->project));
    hl_sql_bind_text(args, HL_ASK_P_APP, hl_str_from(o->app));
    return args;
}

static enum hl_err ask_minutes(struct hl_reading *r, struct hl_overview *o)
{
    struct hl_sql_row row;
    int64_t looks = 0, minute = 0;
    enum hl_ask which = *o->app ? HL_ASK_APP_MINUTES : HL_ASK_MINUTES;
    struct hl_sql_args *args = bind_scope(r, which, o);
    hl_sql_bind_int(args, HL_ASK_P_FROM, hl_overview_first_minute(o));
    hl_sql_bind_int(args, HL_ASK_P_BEFORE, hl_overview_last_minute(o));
    hl_sql_bind_int(args, HL_ASK_P_MAX, HL_OVERVIEW_LOOKS);
    enum hl_err err;
    while (!(err = hl_reading_row(r, which, &row))) {
        struct hl_str project = hl_sql_str(&row), app = hl_sql_str(&row);
        minute = hl_sql_int(&row);
        hl_overview_add_row(o, project, app, minute, hl_sql_str(&row));
        looks++;
    }
    if (looks == HL_OVERVIEW_LOOKS) /* of this minute some may be missing */
        hl_overview_begins(o, (minute + 1) * HL_TALLY_MINUTE_MS);
    return err == HL_ERR_NOT_FOUND ? HL_OK : err;
}

static enum hl_err ask_since(struct hl_reading *r, struct hl_overview *o)
{
    struct hl_sql_row row;
    (void)hl_reading_bind(r, HL_ASK_COUNTED_SINCE);
    enum hl_err err = hl_reading_row(r, HL_ASK_COUNTED_SINCE, &row);
    if (err)
        return err == HL_ERR_NOT_FOUND ? HL_OK : err;
    hl_overview_begins(o, hl_sql_int(&row));
    hl_reading_done(r, HL_ASK_COUNTED_SINCE);
    return HL_OK;
}

static enum hl_err ask_runs(struct hl_reading *r, struct hl_overview *o)
{
    struct hl_sql_row row;
    struct hl_sql_args *args = bind_scope(r, HL_ASK_RUNS_NOW, o);
    hl_sql_bind_int(args, HL_ASK_P_MAX, HL_OVERVIEW_COUNTED);
    enum hl_err err = hl_reading_row(r, HL_ASK_RUNS_NOW, &row);
    if (err)
        return err;
    o->queued = (uint64_t)hl_sql_int(&row);
    o->running = (uint64_t)hl_sql_int(&row);
    o->is_more_runs = hl_sql_int(&row);
    hl_reading_done(r, HL_ASK_RUNS_NOW);
    return HL_OK;
}

static enum hl_err ask_deliveries(struct hl_reading *r, const struct hl_overview *o,
    enum hl_delivery_state state, uint64_t *n, bool *is_more)
{
    struct hl_sql_row row;
    struct hl_sql_args *args = bind_scope(r, HL_ASK_DELIVERIES_NOW, o);
    hl_sql_bind_int(args, HL_ASK_P_MAX, HL_OVERVIEW_COUNTED);
    hl_sql_bind_int(args, HL_ASK_P_STATE, state);
    enum hl_err err = hl_reading_row(r, HL_ASK_DELIVERIES_NOW, &row);
    if (err)
        return err;
    *n = (uint64_t)hl_sql_int(&row);
    *is_more = *n == HL_OVERVIEW_COUNTED;
    hl_reading_done(r, HL_ASK_DELIVERIES_NOW);
    return HL_OK;
}

static enum hl_err ask_failing(struct hl_reading *r, struct hl_overview *o)
{
    struct hl_sql_row row;
    o->failing = calloc(HL_OVERVIEW_WORST, sizeof(*o->failing));
    if (!o->failing)
        return HL_ERR_NOMEM;
    struct hl_sql_args *args = hl_reading_bind(r, HL_ASK_FAILING_LANES);
    hl_sql_bind_text(args, HL_ASK_P_PROJECT, hl_str_from(o->project));
    hl_sql_bind_int(args, HL_ASK_P_MAX, HL_OVERVIEW_LANES);
    enum hl_err err;
    while (!(err = hl_reading_row(r, HL_ASK_FAILING_LANES, &row))) {
        o->n_failing_all++;
        if (o->n_failing == HL_OVERVIEW_WORST)
            continue;
        struct hl_overview_failing *failing = &o->failing[o->n_failing++];
        failing->row.lane = (uint64_t)hl_sql_int(&row);
        hl_str_put_cut(failing->project, sizeof(failing->project), hl_sql_str(&row));
    }
    return err == HL_ERR_NOT_FOUND ? HL_OK : err;
}

static enum hl_err ask_worst(struct hl_reading *r, struct hl_overview *o)
{
    struct hl_destination_tally *tally = malloc(sizeof(*tally));
    enum hl_err err = tally ? HL_OK : HL_ERR_NOMEM;
    for (size_t i = 0; i < o->n_failing && !err; i++)
        err = hl_sqlite_answer_lane(
            r, o->failing[i].project, (int64_t)o->failing[i].row.lane, tally, &o->failing[i].row);
    free(tally);
    return err;
}

enum hl_err hl_sqlite_answer_overview(struct hl_reading *r, struct hl_store_msg *m)
{
    struct hl_overview *o = (struct hl_overview *)m;
    enum hl_err err = hl_overview_begin(o);
    if (!err)
        err = ask_minutes(r, o);
    if (!err)
        err = ask_since(r, o);
    if (!err)
        err = ask_runs(r, o);
    if (err || !o->with_deliveries)
        return err;
    err = ask_deliveries(r, o, HL_DELIVERY_PENDING, &o->pending, &o->is_more_pending);
    if (!err)
        err = ask_deliveries(r, o, HL_DELIVERY_DEAD, &o->dead, &o->is_more_dead);
    if (!err)
        err = ask_failing(r, o);
    return err ? err : ask_worst(r, o);
}
