/* due.c - queued runs and deliveries whose time has come: runs that had to start by now expire (contract 7), runs whose
 * next attempt is due stand in the queue again, where they stood, and deliveries that are due wait no more. A ticket has a
 * time to start only while its run has never begun, so that the index holds nothing else. The store's thread, inside a
 * transaction. */
#include "base/clock.h"
#include "store/driver.h"
#include "store/sqlite/database.h"
#include "store/sqlite/retry.h"
#include "store/sqlite/run.h"
#include "store/sqlite/run_end.h"
#include "store/sqlite/running_run.h"
#include "store/sqlite/turn.h"

/* A run, and when its time comes. */
struct due {
    struct hl_id run_id;
    int64_t number, at_ms;
};

/* The one whose time comes first; NOT_FOUND: none has one. */
static enum hl_err find_due(struct hl_database *db, enum hl_sql which, struct due *due)
{
    struct hl_sql_row row;
    hl_database_bind(db, which);
    enum hl_err err = hl_database_row(db, which, &row);
    if (err)
        return err;
    due->number = hl_sql_int(&row);
    hl_sql_id(&row, &due->run_id);
    due->at_ms = hl_sql_int(&row);
    hl_database_done(db, which);
    return HL_OK;
}

/* --- queued runs that are late ---------------------------------------------------------------- */

enum hl_err hl_due_start_by(struct hl_database *db, int64_t number, int64_t steady_ms)
{
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_TICKET_START_BY);
    hl_sql_bind_int(args, HL_SQL_P_NUMBER, number);
    hl_sql_bind_time(args, HL_SQL_P_START_BY_MS, steady_ms);
    hl_backlog_note_start_by(db->base.backlog, steady_ms);
    return hl_database_run(db, HL_SQL_TICKET_START_BY);
}

/* A ticket whose run is missing is left to who claims it. */
static enum hl_err end_late(struct hl_database *db, const struct due *late)
{
    struct hl_outcome outcome = {.state = HL_RUN_FAILURE,
        .reason = HL_REASON_EXPIRED,
        .finished_ms = hl_clock_wall_ms(),
        .encoding = HL_ENCODING_NONE};
    struct hl_stored_run run;
    enum hl_err err = hl_stored_run_find(db, &late->run_id, &run);
    if (err == HL_ERR_NOT_FOUND || (!err && run.state != HL_RUN_QUEUED))
        return hl_due_start_by(db, late->number, 0);
    if (!err)
        err = hl_run_end_add_at_once(db, &late->run_id, &run, &outcome);
    if (!err)
        err = hl_turn_drop(db, &run);
    db->base.backlog->now.expired_runs += !err;
    return err;
}

static enum hl_err expire_late(
    struct hl_database *db, int64_t now_ms, unsigned max, int64_t *due_ms)
{
    struct due late;
    enum hl_err err = HL_OK;
    for (unsigned n = 0; !err; n++) {
        err = find_due(db, HL_SQL_TICKET_LATE, &late);
        *due_ms = err ? INT64_MAX : late.at_ms;
        if (err || late.at_ms > now_ms || n == max)
            break;
        err = end_late(db, &late);
    }
    return err == HL_ERR_NOT_FOUND ? HL_OK : err;
}

/* --- runs that wait for their next attempt ---------------------------------------------------- */

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

enum hl_err hl_due_expire(struct hl_driver *d, int64_t now_ms, unsigned max, int64_t *due_ms)
{
    struct hl_database *db = hl_database_of(d);
    struct due due = {.at_ms = INT64_MAX};
    enum hl_err err = expire_late(db, now_ms, max, due_ms);
    for (unsigned n = 0; !err; n++) {
        err = find_due(db, HL_SQL_RETRY_DUE, &due);
        if (err || due.at_ms > now_ms || n == max)
            break;
        err = call_back(db, &due);
    }
    if (!err && due.at_ms < *due_ms)
        *due_ms = due.at_ms;
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

enum hl_err hl_due_recall(struct hl_driver *d, int64_t now_ms, unsigned max, int64_t *due_ms)
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
