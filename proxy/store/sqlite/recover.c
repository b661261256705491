/* recover.c - what the last process left behind. At open, before the store's thread starts. The
 * lock of the data directory proves that process dead, so that all it had claimed is released at
 * once: runs that were inside the app end as interrupted or go back to the queue, leased deliveries
 * go on with the next attempt, and what waits is counted. */
#include <malloc.h>
#include <stddef.h>

#include "base/clock.h"
#include "base/crash_point.h"
#include "base/log.h"
#include "store/attempt.h"
#include "store/driver.h"
#include "store/sqlite/database.h"
#include "store/sqlite/delivery.h"
#include "store/sqlite/retry.h"
#include "store/sqlite/run_end.h"
#include "store/sqlite/running_run.h"
#include "store/sqlite/turn.h"

/* --- runs ----------------------------------------------------------------------------------- */

static enum hl_err requeue(
    struct hl_database *db, const struct hl_id *run_id, const struct hl_stored_run *run)
{
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_RUN_REQUEUE);
    hl_sql_bind_id(args, HL_SQL_P_RUN_ID, run_id);
    enum hl_err err = hl_database_run(db, HL_SQL_RUN_REQUEUE);
    struct hl_attempt_entry interrupted = {.attempt = run->attempt,
        .started_ms = run->started_ms,
        .finished_ms = hl_clock_wall_ms(),
        .reason = HL_REASON_INTERRUPTED,
        .events = hl_left_stream_count(db, run_id, run->attempt, run->events)};
    if (interrupted.events == run->events)
        interrupted.events = 0; /* there were none */
    if (!err)
        err = hl_retry_note(db, run_id, &interrupted);
    return err ? err : hl_turn_put(db, run->number, &run->place);
}

static bool may_run_again(const struct hl_database *db, const struct hl_stored_run *run)
{
    uint32_t most = db->run_attempts;
    if (run->max_attempts > 0 && run->max_attempts < most)
        most = run->max_attempts;
    return db->retries_interrupted && run->attempt < most;
}

/* Contract 4: the app is never called twice for one call unless HOOKLINE_RUN_ATTEMPTS says so; a
 * synchronous run's caller has gone with the process. */
static enum hl_err release_run(
    struct hl_database *db, const struct hl_id *run_id, const struct hl_stored_run *run)
{
    if (run->has_request && !run->is_cancel_wished && may_run_again(db, run))
        return requeue(db, run_id, run);
    struct hl_outcome outcome = {.state = HL_RUN_FAILURE,
        .reason = HL_REASON_INTERRUPTED,
        .finished_ms = hl_clock_wall_ms(),
        .encoding = HL_ENCODING_NONE};
    if (run->is_cancel_wished)
        hl_outcome_cancel(&outcome);
    hl_left_stream_take(db, run_id, run->attempt > 0 ? run->attempt : 1, &outcome);
    enum hl_err err = hl_run_end_add_at_once(db, run_id, run, &outcome);
    hl_body_fini(&outcome.body);
    return err;
}

static enum hl_err release_runs(struct hl_database *db)
{
    struct hl_stored_run run = {0};
    struct hl_id run_id;
    uint64_t n = 0;
    enum hl_err err = HL_OK;
    while (!err) {
        struct hl_sql_row row;
        struct hl_sql_args *args = hl_database_bind(db, HL_SQL_RUN_ORPHANED);
        hl_sql_bind_int(args, HL_SQL_P_AFTER, run.number);
        err = hl_database_row(db, HL_SQL_RUN_ORPHANED, &row);
        if (err)
            break;
        run.number = hl_sql_int(&row);
        hl_sql_id(&row, &run_id);
        bool has_run = hl_sql_int(&row);
        run.app_id = hl_sql_int(&row);
        run.is_async = hl_sql_int(&row);
        run.has_webhook = hl_sql_int(&row);
        run.attempt = (uint32_t)hl_sql_int(&row);
        run.is_cancel_wished = hl_sql_int(&row);
        run.place = hl_turn_read(&row);
        run.started_ms = hl_sql_int(&row);
        run.max_attempts = (uint32_t)hl_sql_int(&row);
        run.has_file = hl_sql_id(&row, &run.file);
        run.file_size = (uint64_t)hl_sql_int(&row);
        run.has_request = hl_sql_int(&row);
        run.events = hl_attempt_log_events(hl_sql_str(&row));
        hl_database_done(db, HL_SQL_RUN_ORPHANED);
        err = has_run ? release_run(db, &run_id, &run) : HL_ERR_INVALID;
        if (err == HL_ERR_INVALID) { /* rows contradict each other */
            hl_run_end_forget(db);
            err = hl_run_end_drop_ticket(db, &run_id, &run);
        }
        HL_CRASH_POINT(RECOVER_RUN);
        n++;
    }
    if (n > 0)
        HL_LOG(WARN, "store: runs were interrupted when the previous process ended",
            HL_LOG_INT("runs", n));
    return err == HL_ERR_NOT_FOUND ? HL_OK : err;
}

/* Neither a request, an end nor a delivery names the run. It gets one of its own: what it has may
 * be none. */
static enum hl_err end_lost(
    struct hl_database *db, const struct hl_id *run_id, struct hl_stored_run *run)
{
    HL_LOG(ERROR, "store: a run has lost its request; it ends as interrupted",
        HL_LOG_ID("run_id", run_id));
    run->number = db->next_number++;
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_RUN_RENUMBER);
    hl_sql_bind_id(args, HL_SQL_P_RUN_ID, run_id);
    hl_sql_bind_int(args, HL_SQL_P_NUMBER, run->number);
    enum hl_err err = hl_database_run(db, HL_SQL_RUN_RENUMBER);
    return err ? err : release_run(db, run_id, run);
}

static enum hl_err end_lost_runs(struct hl_database *db)
{
    struct hl_id run_id = {0};
    enum hl_err err = HL_OK;
    while (!err) {
        struct hl_stored_run run = {0};
        struct hl_sql_row row;
        struct hl_sql_args *args = hl_database_bind(db, HL_SQL_RUN_LOST);
        hl_sql_bind_id(args, HL_SQL_P_AFTER, &run_id);
        err = hl_database_row(db, HL_SQL_RUN_LOST, &row);
        if (err)
            break;
        hl_sql_id(&row, &run_id);
        run.app_id = hl_sql_int(&row);
        run.is_async = hl_sql_int(&row);
        run.has_webhook = hl_sql_int(&row);
        run.is_cancel_wished = hl_sql_int(&row);
        hl_database_done(db, HL_SQL_RUN_LOST);
        err = end_lost(db, &run_id, &run);
    }
    return err == HL_ERR_NOT_FOUND ? HL_OK : err;
}

/* Each run has a request or an end. Counting tells whether all have: the walk over them is for a
 * store that was damaged. */
static enum hl_err look_for_lost_runs(struct hl_database *db)
{
    struct hl_sql_row row;
    enum hl_err err = hl_database_row(db, HL_SQL_RUN_LOST_ANY, &row);
    if (err)
        return err;
    bool differs = hl_sql_int(&row);
    hl_database_done(db, HL_SQL_RUN_LOST_ANY);
    return differs ? end_lost_runs(db) : HL_OK;
}

/* --- deliveries ----------------------------------------------------------------------------- */

struct orphan {
    int64_t app_id;
    struct hl_id id;
    uint32_t round, n, max_attempts;
};

static enum hl_err release_delivery(struct hl_database *db, const struct orphan *orphan)
{
    int64_t now_ms = hl_clock_wall_ms();
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_ATTEMPT_LOSE);
    hl_sql_bind_id(args, HL_SQL_P_DELIVERY_ID, &orphan->id);
    hl_sql_bind_int(args, HL_SQL_P_NOW_MS, now_ms);
    enum hl_err err = hl_database_run(db, HL_SQL_ATTEMPT_LOSE);
    if (err)
        return err;
    enum hl_sql how =
        orphan->n < orphan->max_attempts ? HL_SQL_DELIVERY_UNLEASE : HL_SQL_DELIVERY_END;
    args = hl_database_bind(db, how);
    hl_sql_bind_id(args, HL_SQL_P_DELIVERY_ID, &orphan->id);
    if (how == HL_SQL_DELIVERY_END) {
        hl_sql_bind_int(args, HL_SQL_P_STATE, HL_DELIVERY_DEAD);
        hl_sql_bind_int(args, HL_SQL_P_NOW_MS, now_ms);
        db->base.backlog->lanes.now.dead++;
    }
    return hl_database_run(db, how);
}

/* In the order of (app, id), each from the one before on: others that wait may be many. */
static enum hl_err release_deliveries(struct hl_database *db)
{
    struct orphan orphan = {0};
    enum hl_err err = HL_OK;
    while (!err) {
        struct hl_sql_row row;
        struct hl_sql_args *args = hl_database_bind(db, HL_SQL_DELIVERY_ORPHANED);
        hl_sql_bind_int(args, HL_SQL_P_APP_ID, orphan.app_id);
        hl_sql_bind_id(args, HL_SQL_P_AFTER, &orphan.id);
        err = hl_database_row(db, HL_SQL_DELIVERY_ORPHANED, &row);
        if (err)
            break;
        orphan.app_id = hl_sql_int(&row);
        bool is_intact = hl_sql_id(&row, &orphan.id);
        orphan.round = (uint32_t)hl_sql_int(&row);
        orphan.n = (uint32_t)hl_sql_int(&row);
        orphan.max_attempts = (uint32_t)hl_sql_int(&row);
        hl_database_done(db, HL_SQL_DELIVERY_ORPHANED);
        err = is_intact ? release_delivery(db, &orphan)
                        : hl_stored_delivery_bury_nameless(db, true, hl_clock_wall_ms());
        HL_CRASH_POINT(RECOVER_DELIVERY);
    }
    return err == HL_ERR_NOT_FOUND ? HL_OK : err;
}

/* --- counts --------------------------------------------------------------------------------- */

static enum hl_err number_runs(struct hl_database *db)
{
    struct hl_sql_row row;
    enum hl_err err = hl_database_row(db, HL_SQL_QUEUE_TOTALS, &row);
    if (err)
        return err;
    db->next_number = hl_sql_int(&row) + 1;
    db->base.backlog->expire_ms = 0;
    hl_database_done(db, HL_SQL_QUEUE_TOTALS);
    return HL_OK;
}

/* Each queued run stands in the queue, and nothing else does: none is running any more. */
static enum hl_err check_turns(struct hl_database *db)
{
    struct hl_sql_row row;
    enum hl_err err = hl_database_row(db, HL_SQL_QUEUE_TOTALS, &row);
    if (err)
        return err;
    hl_sql_int(&row);
    int64_t queued = hl_sql_int(&row), turns = hl_sql_int(&row);
    hl_database_done(db, HL_SQL_QUEUE_TOTALS);
    return queued == turns ? HL_OK : hl_turn_mend(db);
}

/* Lanes and how many there are of what `which` asks for. */
static enum hl_err count_lanes(struct hl_database *db, enum hl_sql which, size_t member)
{
    struct hl_sql_row row;
    enum hl_err err;
    while (!(err = hl_database_row(db, which, &row))) {
        struct hl_lane_counts n = {0};
        uint64_t lane = (uint64_t)hl_sql_int(&row);
        *(uint32_t *)((char *)&n + member) = (uint32_t)hl_sql_int(&row);
        err = hl_lanes_load(&db->base.backlog->lanes, lane, n);
        if (err)
            break;
    }
    hl_database_done(db, which);
    return err == HL_ERR_NOT_FOUND ? HL_OK : err;
}

static enum hl_err load_failing(struct hl_database *db)
{
    struct hl_sql_row row;
    struct hl_backlog *backlog = db->base.backlog;
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_FAILING_TRIM);
    hl_sql_bind_int(args, HL_SQL_P_BEFORE_MS, hl_clock_wall_ms() - db->retention_ms);
    enum hl_err err = hl_database_run(db, HL_SQL_FAILING_TRIM);
    hl_backlog_begin(backlog);
    while (!err && !(err = hl_database_row(db, HL_SQL_FAILING_EACH, &row))) {
        uint64_t lane = (uint64_t)hl_sql_int(&row);
        bool has_changed;
        struct hl_lane_standing standing = {HL_LANE_FAILING, hl_sql_int(&row)};
        err = hl_lanes_judge(&backlog->lanes, lane, standing, &has_changed);
    }
    hl_database_done(db, HL_SQL_FAILING_EACH);
    hl_backlog_commit(backlog);
    return err == HL_ERR_NOT_FOUND ? HL_OK : err;
}

static enum hl_err count_deliveries(struct hl_database *db)
{
    static const struct {
        enum hl_sql which;
        size_t member;
    } counts[] = {{HL_SQL_DELIVERY_LANES, offsetof(struct hl_lane_counts, pending)},
        {HL_SQL_DELIVERY_WAITING_LANES, offsetof(struct hl_lane_counts, waiting)},
        {HL_SQL_WEBHOOK_EXPECTED_LANES, offsetof(struct hl_lane_counts, accepted)}};
    enum hl_err err = load_failing(db);
    for (size_t i = 0; i < HL_ARRAY_LEN(counts) && !err; i++)
        err = count_lanes(db, counts[i].which, counts[i].member);
    db->base.backlog->lanes.recall_ms = 0; /* the first look says when it is */
    malloc_trim(0);                        /* a million that wait are sorted by their lanes */
    return err;
}

/* Releasing makes deliveries, which the backlog counts at once: it is begun afresh after it. */
enum hl_err hl_recover_all(struct hl_database *db)
{
    struct hl_driver *d = &db->base;
    struct hl_backlog *backlog = d->backlog;
    enum hl_err err = number_runs(db);
    if (err)
        return err;
    err = d->vt->begin(d);
    if (err)
        return err;
    hl_backlog_begin(backlog);
    if (db->run_attempts > 0)
        err = release_runs(db);
    if (!err && db->run_attempts > 0)
        err = look_for_lost_runs(db);
    if (!err && db->run_attempts > 0)
        err = check_turns(db);
    if (!err)
        err = release_deliveries(db);
    uint64_t dead = backlog->lanes.now.dead;
    hl_backlog_rollback(backlog);
    if (err) {
        d->vt->rollback(d);
        return err;
    }
    HL_CRASH_POINT(RECOVER_APPLIED);
    err = d->vt->commit(d);
    HL_CRASH_POINT(RECOVER_COMMITTED);
    if (!err)
        err = number_runs(db);
    if (!err)
        err = hl_turn_load(db);
    if (!err)
        err = hl_retry_load(db);
    if (!err)
        err = count_deliveries(db);
    backlog->lanes.now.dead = dead;
    return err;
}
