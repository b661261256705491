/* start_by.c - see start_by.h. A ticket has the time only while its run has never begun, so that the index
 * holds nothing else. */
#include "store/sqlite/start_by.h"

#include "base/clock.h"
#include "store/driver.h"
#include "store/sqlite/database.h"
#include "store/sqlite/run.h"
#include "store/sqlite/run_end.h"
#include "store/sqlite/running_run.h"
#include "store/sqlite/turn.h"

enum hl_err hl_start_by_put(struct hl_database *db, int64_t number, int64_t steady_ms)
{
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_TICKET_START_BY);
    hl_sql_bind_int(args, HL_SQL_P_NUMBER, number);
    hl_sql_bind_time(args, HL_SQL_P_START_BY_MS, steady_ms);
    hl_backlog_note_start_by(db->base.backlog, steady_ms);
    return hl_database_run(db, HL_SQL_TICKET_START_BY);
}

struct late {
    struct hl_id run_id;
    int64_t number, start_by_ms;
};

/* The one that is to start first; NOT_FOUND: none is to at a time. */
static enum hl_err find_first(struct hl_database *db, struct late *late)
{
    struct hl_sql_row row;
    hl_database_bind(db, HL_SQL_TICKET_LATE);
    enum hl_err err = hl_database_row(db, HL_SQL_TICKET_LATE, &row);
    if (err)
        return err;
    late->number = hl_sql_int(&row);
    hl_sql_id(&row, &late->run_id);
    late->start_by_ms = hl_sql_int(&row);
    hl_database_done(db, HL_SQL_TICKET_LATE);
    return HL_OK;
}

/* A ticket whose run is missing is left to who claims it. */
static enum hl_err end_late(struct hl_database *db, const struct late *late)
{
    struct hl_outcome outcome = {.state = HL_RUN_FAILURE,
        .reason = HL_REASON_EXPIRED,
        .finished_ms = hl_clock_wall_ms(),
        .encoding = HL_ENCODING_NONE};
    struct hl_stored_run run;
    enum hl_err err = hl_stored_run_find(db, &late->run_id, &run);
    if (err == HL_ERR_NOT_FOUND || (!err && run.state != HL_RUN_QUEUED))
        return hl_start_by_put(db, late->number, 0);
    if (!err)
        err = hl_run_end_add_at_once(db, &late->run_id, &run, &outcome);
    if (!err)
        err = hl_turn_drop(db, &run);
    db->base.backlog->now.expired_runs += !err;
    return err;
}

enum hl_err hl_start_by_expire(struct hl_driver *d, int64_t now_ms, unsigned max, int64_t *due_ms)
{
    struct hl_database *db = hl_database_of(d);
    struct late late;
    enum hl_err err = HL_OK;
    for (unsigned n = 0; !err; n++) {
        err = find_first(db, &late);
        *due_ms = err ? INT64_MAX : late.start_by_ms;
        if (err || late.start_by_ms > now_ms || n == max)
            break;
        err = end_late(db, &late);
    }
    return hl_database_end(db, err == HL_ERR_NOT_FOUND ? HL_OK : err);
}
