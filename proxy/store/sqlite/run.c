/* run.c - how runs begin and end. The store's thread, inside a transaction. The rows of a new run
 * are new_run.c's; what lies between beginning and end is claim.c's. */
#include "store/sqlite/run.h"

#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/crash_point.h"
#include "store/accept.h"
#include "store/body_file.h"
#include "store/claim.h"
#include "store/data_dir.h"
#include "store/driver.h"
#include "store/sqlite/database.h"
#include "store/sqlite/new_run.h"
#include "store/sqlite/retry.h"
#include "store/sqlite/run_end.h"
#include "store/sqlite/running_run.h"
#include "store/sqlite/turn.h"

/* --- accept and record ---------------------------------------------------------------------- */

/* EXISTS, CONFLICT, or OK: the key is free. An expired one is. */
static enum hl_err check_key(
    struct hl_database *db, int64_t app_id, const struct hl_accept *a, struct hl_id *existing)
{
    struct hl_sql_row row;
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_IDEM_FIND);
    hl_sql_bind_int(args, HL_SQL_P_APP_ID, app_id);
    hl_sql_bind_blob(args, HL_SQL_P_SUBJECT, a->subject);
    hl_sql_bind_blob(args, HL_SQL_P_KEY, a->idempotency_key);
    enum hl_err err = hl_database_row(db, HL_SQL_IDEM_FIND, &row);
    if (err)
        return err == HL_ERR_NOT_FOUND ? HL_OK : err;
    hl_sql_id(&row, existing);
    struct hl_str fingerprint = hl_sql_str(&row);
    bool is_same = fingerprint.n == sizeof(a->fingerprint) &&
                   memcmp(fingerprint.p, a->fingerprint, fingerprint.n) == 0;
    bool is_expired = hl_sql_int(&row) <= a->created_ms;
    hl_database_done(db, HL_SQL_IDEM_FIND);
    if (is_expired)
        return HL_OK;
    return is_same ? HL_ERR_EXISTS : HL_ERR_CONFLICT;
}

static enum hl_err put_key(struct hl_database *db, int64_t app_id, const struct hl_accept *a)
{
    if (a->idempotency_key.n == 0)
        return HL_OK;
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_IDEM_PUT);
    hl_sql_bind_int(args, HL_SQL_P_APP_ID, app_id);
    hl_sql_bind_blob(args, HL_SQL_P_SUBJECT, a->subject);
    hl_sql_bind_blob(args, HL_SQL_P_KEY, a->idempotency_key);
    hl_sql_bind_id(args, HL_SQL_P_RUN_ID, &a->run_id);
    hl_sql_bind_blob(args, HL_SQL_P_FINGERPRINT,
        (struct hl_str){(const char *)a->fingerprint, sizeof(a->fingerprint)});
    hl_sql_bind_int(args, HL_SQL_P_EXPIRES_MS, a->created_ms + db->idem_ms);
    return hl_database_run(db, HL_SQL_IDEM_PUT);
}

/* The key's row is written at once: the next accept of the same batch must find it. */
static enum hl_err add(struct hl_database *db, const struct hl_accept *a)
{
    int64_t app_id;
    enum hl_err err = hl_app_find_id(db, a->project, a->app, true, &app_id);
    if (!err)
        err = put_key(db, app_id, a);
    return err ? err : hl_new_run_add(db, app_id, a);
}

/* What is linked and then not accepted is removed by who asked. */
static enum hl_err own_file(struct hl_database *db, struct hl_accept *a)
{
    struct hl_id own = hl_id_next(&db->ids, hl_clock_wall_ms());
    enum hl_err err = hl_body_file_link(db->dir.path, &a->body.file, &own);
    if (err)
        return err == HL_ERR_NOT_FOUND ? err : hl_database_end(db, err);
    a->body.file = own;
    a->borrows_file = false;
    return HL_OK;
}

enum hl_err hl_stored_run_accept(struct hl_driver *d, struct hl_accept *a, struct hl_id *existing)
{
    struct hl_database *db = hl_database_of(d);
    if (a->idempotency_key.n > 0) {
        int64_t app_id;
        enum hl_err err = hl_app_find_id(db, a->project, a->app, false, &app_id);
        if (!err)
            err = check_key(db, app_id, a, existing);
        if (err && err != HL_ERR_NOT_FOUND)
            return hl_database_end(db, err);
    }
    enum hl_err err = hl_backlog_admits(d->backlog, a, &db->key);
    if (!err && a->borrows_file)
        err = own_file(db, a);
    if (err)
        return err;
    err = add(db, a);
    HL_CRASH_POINT(ACCEPT_APPLIED);
    return hl_database_end(db, err);
}

enum hl_err hl_stored_run_record(struct hl_driver *d, struct hl_accept *a)
{
    struct hl_database *db = hl_database_of(d);
    enum hl_err err = add(db, a);
    HL_CRASH_POINT(RECORD_APPLIED);
    return hl_database_end(db, err);
}

/* --- the end of a run ----------------------------------------------------------------------- */

enum hl_err hl_stored_run_find(
    struct hl_database *db, const struct hl_id *run_id, struct hl_stored_run *run)
{
    struct hl_sql_row row;
    enum hl_err err = hl_run_end_write(db);
    if (err)
        return err;
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_RUN_FIND);
    hl_sql_bind_id(args, HL_SQL_P_RUN_ID, run_id);
    err = hl_database_row(db, HL_SQL_RUN_FIND, &row);
    if (err)
        return err;
    *run = (struct hl_stored_run){.app_id = hl_sql_int(&row)};
    run->state = (enum hl_run_state)hl_sql_int(&row);
    run->epoch = (uint32_t)hl_sql_int(&row);
    run->is_async = hl_sql_int(&row);
    run->has_webhook = hl_sql_int(&row);
    run->number = hl_sql_int(&row);
    run->is_cancel_wished = hl_sql_int(&row);
    run->place = hl_turn_read(&row);
    run->has_ticket = hl_sql_int(&row);
    run->has_file = hl_sql_id(&row, &run->file);
    run->file_size = (uint64_t)hl_sql_int(&row);
    run->has_request = hl_sql_int(&row);
    hl_database_done(db, HL_SQL_RUN_FIND);
    return HL_OK;
}

/* It stands on the run's row. */
static enum hl_err add_log(struct hl_database *db, const struct hl_id *run_id, struct hl_str lines)
{
    enum hl_err err = hl_run_end_write(db);
    if (err)
        return err;
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_RUN_LOG_ADD);
    hl_sql_bind_id(args, HL_SQL_P_RUN_ID, run_id);
    hl_sql_bind_blob(args, HL_SQL_P_LINES, lines);
    return hl_database_run(db, HL_SQL_RUN_LOG_ADD);
}

enum hl_err hl_stored_run_finish(struct hl_driver *d, struct hl_finish *f)
{
    struct hl_database *db = hl_database_of(d);
    struct hl_stored_run run;
    enum hl_err err = HL_OK;
    if (!hl_running_run_find(db, &f->run_id, f->epoch, &run)) {
        err = hl_new_run_write(db); /* it may be one of them, and is remembered then */
        if (!err && !hl_running_run_find(db, &f->run_id, f->epoch, &run))
            err = hl_stored_run_find(db, &f->run_id, &run);
    }
    if (!err && (run.state != HL_RUN_RUNNING || run.epoch != f->epoch))
        err = HL_ERR_STALE;
    if (!err && run.is_cancel_wished)
        hl_outcome_cancel(&f->outcome);
    if (!err)
        err = hl_run_end_add(db, &f->run_id, &run, &f->outcome, f);
    if (!err && f->log.n > 0)
        err = add_log(db, &f->run_id, hl_buf_str(&f->log));
    HL_CRASH_POINT(FINISH_APPLIED);
    return hl_database_end(db, err);
}

/* Is it the app that was named? */
static enum hl_err check_app(struct hl_database *db, int64_t app_id, const struct hl_run_ref *ref)
{
    struct hl_sql_row row;
    if (!ref->project[0] && !ref->app[0])
        return HL_OK;
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_APP_NAMES);
    hl_sql_bind_int(args, HL_SQL_P_APP_ID, app_id);
    enum hl_err err = hl_database_row(db, HL_SQL_APP_NAMES, &row);
    if (err)
        return err;
    struct hl_str project = hl_sql_str(&row), app = hl_sql_str(&row);
    bool fits = (!ref->project[0] || hl_str_eq(project, hl_str_from(ref->project))) &&
                (!ref->app[0] || hl_str_eq(app, hl_str_from(ref->app)));
    hl_database_done(db, HL_SQL_APP_NAMES);
    return fits ? HL_OK : HL_ERR_NOT_FOUND;
}

/* Or what else a queued run waits for. */
static enum hl_err leave_queue(struct hl_database *db, const struct hl_stored_run *run)
{
    bool was_waiting;
    enum hl_err err = hl_retry_drop(db, run, &was_waiting);
    return err || was_waiting ? err : hl_turn_drop(db, run);
}

enum hl_err hl_stored_run_cancel(
    struct hl_driver *d, struct hl_run_ref *ref, int64_t now_ms, bool *is_running)
{
    struct hl_database *db = hl_database_of(d);
    const struct hl_id *run_id = &ref->run_id;
    struct hl_stored_run run;
    *is_running = false;
    enum hl_err err = hl_stored_run_find(db, run_id, &run);
    if (!err)
        err = check_app(db, run.app_id, ref);
    if (err)
        return hl_database_end(db, err);
    if (hl_run_state_is_final(run.state))
        return HL_ERR_CONFLICT;
    if (run.state == HL_RUN_RUNNING) {
        *is_running = true;
        ref->was_wished = run.is_cancel_wished;
        hl_running_run_drop(db, run_id); /* its end looks at the row, which knows of the wish */
        struct hl_sql_args *args = hl_database_bind(db, HL_SQL_RUN_WISH_CANCEL);
        hl_sql_bind_id(args, HL_SQL_P_RUN_ID, run_id);
        return hl_database_end(db, hl_database_run(db, HL_SQL_RUN_WISH_CANCEL));
    }
    struct hl_outcome outcome = {
        .state = HL_RUN_CANCELLED, .finished_ms = now_ms, .encoding = HL_ENCODING_NONE};
    err = hl_run_end_add_at_once(db, run_id, &run, &outcome);
    if (!err && run.has_ticket)
        err = leave_queue(db, &run);
    return hl_database_end(db, err);
}
