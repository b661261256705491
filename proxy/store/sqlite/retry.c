/* retry.c - see retry.h. A run that waits for its next attempt has no row in `turn`: claims never see it.
 * Not here: what becomes of it when that is due (due.c). */
#include "store/sqlite/retry.h"

#include "store/attempt.h"
#include "store/claim.h"
#include "store/driver.h"
#include "store/sqlite/database.h"
#include "store/sqlite/running_run.h"
#include "store/sqlite/turn.h"

enum hl_err hl_retry_note(
    struct hl_database *db, const struct hl_id *run_id, const struct hl_attempt_entry *ended)
{
    char room[HL_ATTEMPT_ENTRY_MAX];
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_RUN_NOTE);
    hl_sql_bind_id(args, HL_SQL_P_RUN_ID, run_id);
    hl_sql_bind_text(args, HL_SQL_P_ENTRY, hl_attempt_entry_write(ended, room));
    return hl_database_run(db, HL_SQL_RUN_NOTE);
}

enum hl_err hl_retry_put_off(
    struct hl_database *db, const struct hl_stored_run *run, const struct hl_release *r)
{
    const struct hl_id *run_id = &r->claimed->run_id;
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_RUN_REQUEUE);
    hl_sql_bind_id(args, HL_SQL_P_RUN_ID, run_id);
    enum hl_err err = hl_database_run(db, HL_SQL_RUN_REQUEUE);
    if (!err)
        err = hl_retry_note(db, run_id, &r->ended);
    if (err)
        return err;
    args = hl_database_bind(db, HL_SQL_RETRY_ADD);
    hl_sql_bind_int(args, HL_SQL_P_NUMBER, run->number);
    hl_sql_bind_int(args, HL_SQL_P_DUE_MS, r->due_ms);
    hl_sql_bind_id(args, HL_SQL_P_RUN_ID, run_id);
    hl_backlog_put_off(db->base.backlog, &run->place, r->due_ms);
    return hl_database_run(db, HL_SQL_RETRY_ADD);
}

enum hl_err hl_retry_drop(
    struct hl_database *db, const struct hl_stored_run *run, bool *was_waiting)
{
    struct hl_sql_row row;
    *was_waiting = false;
    if (db->base.backlog->now.waiting_runs == 0)
        return HL_OK;
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_RETRY_END);
    hl_sql_bind_int(args, HL_SQL_P_NUMBER, run->number);
    enum hl_err err = hl_database_row(db, HL_SQL_RETRY_END, &row);
    if (err)
        return err == HL_ERR_NOT_FOUND ? HL_OK : err;
    hl_database_done(db, HL_SQL_RETRY_END);
    hl_backlog_call_back(db->base.backlog, &run->place);
    *was_waiting = true;
    return HL_OK;
}

enum hl_err hl_retry_load(struct hl_database *db)
{
    struct hl_sql_row row;
    enum hl_err err;
    while (!(err = hl_database_row(db, HL_SQL_RETRY_EACH, &row))) {
        int64_t due_ms = hl_sql_int(&row);
        struct hl_queue_place place = hl_turn_read(&row);
        hl_backlog_put_off(db->base.backlog, &place, due_ms);
    }
    return err == HL_ERR_NOT_FOUND ? HL_OK : err;
}
