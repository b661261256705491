/* run_end.c - how a run ends: its result is written, its ticket goes, its delivery begins. The rows of
 * finishes wait for the end of their transaction, as those of new runs do (new_run.c). The store's
 * thread, inside a transaction. */
#include "store/sqlite/run_end.h"

#include <stdlib.h>

#include "base/log.h"
#include "store/accept.h"
#include "store/backlog.h"
#include "store/driver.h"
#include "store/sqlite/database.h"
#include "store/sqlite/delivery.h"
#include "store/sqlite/new_delivery.h"
#include "store/sqlite/new_run.h"
#include "store/sqlite/running_run.h"
#include "store/sqlite/turn.h"

static void bind_result(struct hl_sql_args *args, const struct hl_run_end *ended)
{
    const struct hl_outcome *o = ended->outcome;
    hl_sql_bind_int(args, HL_SQL_P_NUMBER, ended->number);
    hl_sql_bind_id(args, HL_SQL_P_RUN_ID, ended->run_id);
    hl_sql_bind_int(args, HL_SQL_P_APP_ID, ended->app_id);
    hl_sql_bind_int(args, HL_SQL_P_IS_ASYNC, ended->is_async);
    hl_sql_bind_int(args, HL_SQL_P_STATE, o->state);
    hl_sql_bind_columns(args, HL_SQL_P_FINISHED_MS, &hl_outcome_columns, o);
    hl_sql_bind_int(args, HL_SQL_P_IS_STREAM, ended->is_stream);
    hl_sql_bind_body(args, &o->body);
}

static enum hl_err add_results(struct hl_database *db, const struct hl_run_end *ended, size_t n)
{
    enum hl_err err = HL_OK;
    for (size_t i = 0, many; i < n && !err; i += many) {
        many = hl_sql_many(n - i);
        enum hl_sql which = hl_database_many(HL_SQL_RESULT_ADD, many);
        struct hl_sql_args *args = hl_database_bind(db, which);
        for (size_t k = 0; k < many; k++)
            bind_result(hl_sql_args_row(args, k), &ended[i + k]);
        err = hl_database_run(db, which);
    }
    return err;
}

/* The ticket goes next. */
static enum hl_err keep_request(struct hl_database *db, int64_t number)
{
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_REQUEST_KEEP);
    hl_sql_bind_int(args, HL_SQL_P_NUMBER, number);
    return hl_database_run(db, HL_SQL_REQUEST_KEEP);
}

static bool keeps_request(
    const struct hl_database *db, const struct hl_stored_run *run, const struct hl_outcome *outcome)
{
    return run->is_async && run->has_request && hl_keeps_request(db->keep_requests, outcome->state);
}

/* A synchronous run is only stored for its webhook, or because its stream is kept. */
static bool is_stream(const struct hl_stored_run *run, const struct hl_outcome *outcome)
{
    const struct hl_body *body = &outcome->body;
    bool has_body = body->where == HL_BODY_INLINE || body->where == HL_BODY_FILE;
    return has_body && !run->is_async && !run->has_webhook;
}

static enum hl_err end_tickets(struct hl_database *db, int64_t first, int64_t last)
{
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_TICKETS_END);
    hl_sql_bind_int(args, HL_SQL_P_FIRST, first);
    hl_sql_bind_int(args, HL_SQL_P_LAST, last);
    return hl_database_run(db, HL_SQL_TICKETS_END);
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Runs that began together mostly end together: where their numbers follow each other, their tickets go at once. */
static enum hl_err end_all_tickets(struct hl_database *db)
{
    int64_t numbers[HL_RUN_ENDS_MAX];
    size_t n = db->n_run_ends;
    enum hl_err err = HL_OK;
    for (size_t i = 0; i < n; i++)
        numbers[i] = db->run_ends[i].number;
    qsort(numbers, n, sizeof(numbers[0]), compare);
    for (size_t first = 0, next; first < n && !err; first = next) {
        for (next = first + 1; next < n && numbers[next] == numbers[next - 1] + 1;)
            next++;
        err = end_tickets(db, numbers[first], numbers[next - 1]);
    }
    return err;
}

enum hl_err hl_run_end_add(struct hl_database *db, const struct hl_id *run_id,
    const struct hl_stored_run *run, const struct hl_outcome *outcome,
    const struct hl_finish *times)
{
    enum hl_err err = db->n_run_ends == HL_RUN_ENDS_MAX ? hl_run_end_write(db) : HL_OK;
    if (err)
        return err;
    db->run_ends[db->n_run_ends++] = (struct hl_run_end){
        .run_id = run_id,
        .outcome = outcome,
        .app_id = run->app_id,
        .number = run->number,
        .is_async = run->is_async,
        .keeps_request = keeps_request(db, run, outcome),
        .is_stream = is_stream(run, outcome),
    };
    err = hl_app_add_end(db, run, outcome, times);
    if (err)
        return err;
    hl_watchers_note_end(&db->base.backlog->watchers, run_id);
    hl_running_run_drop(db, run_id); /* looking for its rows may have written them only then */
    hl_database_keep_file(db, &outcome->body);
    hl_purge_note_result(db, &outcome->body, db->run_ends[db->n_run_ends - 1].is_stream);
    bool keeps = db->run_ends[db->n_run_ends - 1].keeps_request;
    hl_shed_note_late(db, run->number, keeps);
    if (run->has_file && !keeps)
        hl_database_doom_file(db, &run->file, run->file_size);
    return run->has_webhook ? hl_stored_delivery_add(db, run_id, run, outcome) : HL_OK;
}

enum hl_err hl_run_end_write(struct hl_database *db)
{
    enum hl_err err = hl_turn_write(db);
    if (!err)
        err = hl_new_run_write(db);
    if (!err)
        err = add_results(db, db->run_ends, db->n_run_ends);
    for (size_t i = 0; i < db->n_run_ends && !err; i++)
        if (db->run_ends[i].keeps_request)
            err = keep_request(db, db->run_ends[i].number);
    if (!err)
        err = end_all_tickets(db);
    if (!err)
        hl_run_end_forget(db);
    return err ? err : hl_new_delivery_write(db);
}

void hl_run_end_forget(struct hl_database *db)
{
    db->n_run_ends = 0;
}

enum hl_err hl_run_end_add_at_once(struct hl_database *db, const struct hl_id *run_id,
    const struct hl_stored_run *run, const struct hl_outcome *outcome)
{
    enum hl_err err = hl_run_end_add(db, run_id, run, outcome, NULL);
    return err ? err : hl_run_end_write(db);
}

enum hl_err hl_run_end_drop_ticket(
    struct hl_database *db, const struct hl_id *run_id, const struct hl_stored_run *run)
{
    HL_LOG(ERROR, "store: a run's record is missing or has ended; its request is dropped",
        HL_LOG_ID("run_id", run_id));
    if (run->has_file)
        hl_database_doom_file(db, &run->file, run->file_size);
    return end_tickets(db, run->number, run->number);
}
