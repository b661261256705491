/* due_run.c - see due_run.h. A run that is due stands in the queue where it stood. */
#include "store/sqlite/due_run.h"

#include "store/driver.h"
#include "store/sqlite/database.h"
#include "store/sqlite/retry.h"
#include "store/sqlite/run.h"
#include "store/sqlite/running_run.h"
#include "store/sqlite/start_by.h"
#include "store/sqlite/turn.h"

struct due {
    int64_t number, due_ms;
    struct hl_id run_id;
};

static enum hl_err find_first(struct hl_database *db, struct due *due)
{
    struct hl_sql_row row;
    hl_database_bind(db, HL_SQL_RETRY_DUE);
    enum hl_err err = hl_database_row(db, HL_SQL_RETRY_DUE, &row);
    if (err)
        return err;
    due->number = hl_sql_int(&row);
    hl_sql_id(&row, &due->run_id);
    due->due_ms = hl_sql_int(&row);
    hl_database_done(db, HL_SQL_RETRY_DUE);
    return HL_OK;
}

/* One whose run is missing, or has ended, only leaves. */
static enum hl_err call_back(struct hl_database *db, const struct due *due)
{
    struct hl_stored_run run;
    bool was_waiting;
    enum hl_err err = hl_stored_run_find(db, &due->run_id, &run);
    bool is_gone = err == HL_ERR_NOT_FOUND || (!err && run.state != HL_RUN_QUEUED);
    if (is_gone)
        run = (struct hl_stored_run){.number = due->number};
    if (!err || is_gone)
        err = hl_retry_drop(db, &run, &was_waiting);
    if (err || is_gone)
        return err;
    hl_backlog_queue_again(db->base.backlog, &run.place);
    return hl_turn_put(db, run.number, &run.place);
}

enum hl_err hl_due_run_expire(struct hl_driver *d, int64_t now_ms, unsigned max, int64_t *due_ms)
{
    struct hl_database *db = hl_database_of(d);
    struct due due = {.due_ms = INT64_MAX};
    enum hl_err err = hl_start_by_expire(d, now_ms, max, due_ms);
    for (unsigned n = 0; !err; n++) {
        err = find_first(db, &due);
        if (err || due.due_ms > now_ms || n == max)
            break;
        err = call_back(db, &due);
    }
    if (!err && due.due_ms < *due_ms)
        *due_ms = due.due_ms;
    return hl_database_end(db, err == HL_ERR_NOT_FOUND ? HL_OK : err);
}

/* --- deliveries ----------------------------------------------------------------------------- */

static enum hl_err next_due(struct hl_database *db, int64_t *due_ms)
{
    struct hl_sql_row row;
    *due_ms = INT64_MAX;
    enum hl_err err = hl_database_row(db, HL_SQL_DELIVERY_NEXT_DUE, &row);
    if (err)
        return err == HL_ERR_NOT_FOUND ? HL_OK : err;
    *due_ms = hl_sql_int(&row);
    hl_database_done(db, HL_SQL_DELIVERY_NEXT_DUE);
    return HL_OK;
}

enum hl_err hl_due_run_recall(struct hl_driver *d, int64_t now_ms, unsigned max, int64_t *due_ms)
{
    struct hl_database *db = hl_database_of(d);
    struct hl_sql_row row;
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_DELIVERY_RECALL);
    hl_sql_bind_int(args, HL_SQL_P_NOW_MS, now_ms);
    hl_sql_bind_int(args, HL_SQL_P_MAX, max);
    enum hl_err err;
    while (!(err = hl_database_row(db, HL_SQL_DELIVERY_RECALL, &row))) {
        err = hl_lanes_recall(&d->backlog->lanes, (uint64_t)hl_sql_int(&row));
        if (err)
            break;
    }
    hl_database_done(db, HL_SQL_DELIVERY_RECALL);
    if (err == HL_ERR_NOT_FOUND)
        err = next_due(db, due_ms);
    return hl_database_end(db, err);
}
