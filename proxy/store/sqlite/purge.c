/* purge.c - what time takes: runs past retention, kept streams, expired idempotency keys, accounts and counts, and apps
 * that nothing names any more. The store's thread; small steps, each a transaction of its own. Results are in the order in
 * which their runs came, so each pass begins with the oldest. A run with a pending delivery stays, body and all. How far a
 * pass has come is in db->now: a step that is rolled back has not been there.
 * Not here: what goes when the store is full (shed.c). */
#include "base/clock.h"
#include "base/crash_point.h"
#include "base/id.h"
#include "store/account.h"
#include "store/audit.h"
#include "store/body_file.h"
#include "store/driver.h"
#include "store/sqlite/database.h"
#include "store/sqlite/tag.h"

enum hl_err hl_result_next(
    struct hl_database *db, enum hl_sql which, int64_t after, struct hl_result *out)
{
    struct hl_sql_row row;
    struct hl_sql_args *args = hl_database_bind(db, which);
    if (which == HL_SQL_RESULT_AFTER)
        hl_sql_bind_int(args, HL_SQL_P_AFTER, after);
    enum hl_err err = hl_database_row(db, which, &row);
    if (err)
        return err;
    out->number = hl_sql_int(&row);
    hl_sql_id(&row, &out->run_id);
    out->finished_ms = hl_sql_int(&row);
    out->where = (enum hl_body_where)hl_sql_int(&row);
    hl_sql_id(&row, &out->file);
    out->size = (uint64_t)hl_sql_int(&row);
    out->has_request = hl_sql_int(&row);
    out->has_request_file = hl_sql_id(&row, &out->request_file);
    out->request_size = (uint64_t)hl_sql_int(&row);
    out->is_stream = hl_sql_int(&row);
    hl_database_done(db, which);
    return HL_OK;
}

/* Whether its delivery is pending, and until when it is kept: for the retention after the last of its end, its
 * delivery's end and a redelivery (contract 6). */
static enum hl_err ask_kept(
    struct hl_database *db, const struct hl_result *result, bool *pending, int64_t *until_ms)
{
    struct hl_sql_row row;
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_DELIVERY_LAST);
    hl_sql_bind_id(args, HL_SQL_P_RUN_ID, &result->run_id);
    hl_sql_bind_int(args, HL_SQL_P_STATE, HL_DELIVERY_PENDING);
    enum hl_err err = hl_database_row(db, HL_SQL_DELIVERY_LAST, &row);
    if (err)
        return err;
    *pending = hl_sql_int(&row);
    int64_t done_ms = hl_sql_int(&row);
    hl_database_done(db, HL_SQL_DELIVERY_LAST);
    *until_ms = (done_ms > result->finished_ms ? done_ms : result->finished_ms) + db->retention_ms;
    return HL_OK;
}

enum hl_err hl_result_drop_request(struct hl_database *db, const struct hl_result *result)
{
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_REQUEST_DROP);
    hl_sql_bind_int(args, HL_SQL_P_NUMBER, result->number);
    enum hl_err err = hl_database_run(db, HL_SQL_REQUEST_DROP);
    if (!err && result->has_request_file)
        hl_database_doom_file(db, &result->request_file, result->request_size);
    return err;
}

static bool is_long(enum hl_body_where where, uint64_t size)
{
    return where == HL_BODY_INLINE && size > HL_BODY_INLINE_MAX;
}

static void less(uint64_t *bytes, uint64_t size)
{
    *bytes -= size < *bytes ? size : *bytes;
}

static void forget_body(struct hl_database *db, const struct hl_result *result)
{
    if (result->is_stream)
        less(&db->now.stream_bytes, result->size);
    if (is_long(result->where, result->size))
        less(&db->now.long_bytes, result->size);
}

enum hl_err hl_result_strip(struct hl_database *db, const struct hl_result *result)
{
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_RESULT_STRIP);
    hl_sql_bind_int(args, HL_SQL_P_NUMBER, result->number);
    enum hl_err err = hl_database_run(db, HL_SQL_RESULT_STRIP);
    if (!err && result->where == HL_BODY_FILE)
        hl_database_doom_file(db, &result->file, result->size);
    forget_body(db, result);
    return err;
}

/* Its webhook, deliveries and attempts go with the run's row; what it was found by is named by its tags. */
static enum hl_err drop_run(struct hl_database *db, const struct hl_id *run_id)
{
    struct hl_sql_row row;
    char text[HL_TAGS_TEXT];
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_RUN_DROP);
    hl_sql_bind_id(args, HL_SQL_P_RUN_ID, run_id);
    enum hl_err err = hl_database_row(db, HL_SQL_RUN_DROP, &row);
    if (err)
        return err == HL_ERR_NOT_FOUND ? HL_OK : err;
    int64_t app_id = hl_sql_int(&row);
    struct hl_str tags = hl_sql_str(&row);
    if (tags.n > sizeof(text))
        tags.n = 0; /* damage */
    if (tags.n > 0)
        tags.p = memcpy(text, tags.p, tags.n);
    hl_database_done(db, HL_SQL_RUN_DROP);
    return hl_stored_tags_drop(db, app_id, tags, run_id);
}

enum hl_err hl_result_drop(struct hl_database *db, const struct hl_result *result)
{
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_RESULT_DROP);
    hl_sql_bind_int(args, HL_SQL_P_NUMBER, result->number);
    enum hl_err err = hl_database_run(db, HL_SQL_RESULT_DROP);
    if (!err && result->has_request)
        err = hl_result_drop_request(db, result);
    if (err)
        return err;
    err = drop_run(db, &result->run_id);
    if (!err && result->where == HL_BODY_FILE)
        hl_database_doom_file(db, &result->file, result->size);
    forget_body(db, result);
    db->now.wants_sweep = true;
    HL_CRASH_POINT(PURGE_APPLIED);
    return err;
}

/* The oldest of the two kinds that go with time: asked for, and due `keep_ms` after what it says. */
static enum hl_err next_due(
    struct hl_database *db, enum hl_sql which, int64_t keep_ms, int64_t *due_ms)
{
    struct hl_sql_row row;
    enum hl_err err = hl_database_row(db, which, &row);
    if (err)
        return err == HL_ERR_NOT_FOUND ? HL_OK : err;
    int64_t ms = hl_sql_int(&row) + keep_ms;
    hl_database_done(db, which);
    *due_ms = *due_ms < ms ? *due_ms : ms;
    return HL_OK;
}

/* Those that expire in one millisecond go together, be they a few more than `max`: to name each would
 * take a look at all keys of its app. */
static enum hl_err purge_keys(struct hl_database *db, int64_t now_ms, unsigned max, int64_t *due_ms)
{
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_IDEM_PURGE);
    hl_sql_bind_int(args, HL_SQL_P_UNTIL_MS, now_ms);
    hl_sql_bind_int(args, HL_SQL_P_MAX, max);
    enum hl_err err = hl_database_run(db, HL_SQL_IDEM_PURGE);
    return err ? err : next_due(db, HL_SQL_IDEM_OLDEST, 0, due_ms);
}

static enum hl_err purge_accounts(
    struct hl_database *db, int64_t now_ms, unsigned max, int64_t *due_ms)
{
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_ACCOUNT_PURGE);
    hl_sql_bind_int(args, HL_SQL_P_UNTIL_MS, now_ms - HL_ACCOUNT_KEEP_MS);
    hl_sql_bind_int(args, HL_SQL_P_MAX, max);
    enum hl_err err = hl_database_run(db, HL_SQL_ACCOUNT_PURGE);
    return err ? err : next_due(db, HL_SQL_ACCOUNT_OLDEST, HL_ACCOUNT_KEEP_MS, due_ms);
}

static enum hl_err purge_audit(
    struct hl_database *db, int64_t now_ms, unsigned max, int64_t *due_ms)
{
    int64_t keep_ms = hl_audit_keep_ms(db->retention_ms);
    struct hl_id before = hl_id_first_at(now_ms > keep_ms ? now_ms - keep_ms : 0), oldest;
    struct hl_sql_row row;
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_AUDIT_PURGE);
    hl_sql_bind_id(args, HL_SQL_P_BEFORE, &before);
    hl_sql_bind_int(args, HL_SQL_P_MAX, max);
    enum hl_err err = hl_database_run(db, HL_SQL_AUDIT_PURGE);
    if (!err)
        err = hl_database_row(db, HL_SQL_AUDIT_OLDEST, &row);
    if (err)
        return err == HL_ERR_NOT_FOUND ? HL_OK : err;
    hl_sql_id(&row, &oldest);
    hl_database_done(db, HL_SQL_AUDIT_OLDEST);
    int64_t over_ms = hl_id_time_ms(&oldest) + keep_ms;
    over_ms = over_ms > now_ms ? over_ms : now_ms + 1;
    *due_ms = *due_ms < over_ms ? *due_ms : over_ms;
    return HL_OK;
}

/* Those that have ended go as runs do; the pieces of one first. */
static enum hl_err purge_jobs(struct hl_database *db, int64_t now_ms, unsigned max, int64_t *due_ms)
{
    struct hl_sql_row row;
    struct hl_id job_id;
    enum hl_err err = hl_database_row(db, HL_SQL_JOB_OLDEST, &row);
    if (err)
        return err == HL_ERR_NOT_FOUND ? HL_OK : err;
    hl_sql_id(&row, &job_id);
    int64_t over_ms = hl_sql_int(&row) + db->retention_ms;
    hl_database_done(db, HL_SQL_JOB_OLDEST);
    *due_ms = *due_ms < over_ms ? *due_ms : over_ms;
    if (over_ms > now_ms)
        return HL_OK;
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_JOB_PIECE_PURGE);
    hl_sql_bind_id(args, HL_SQL_P_JOB_ID, &job_id);
    hl_sql_bind_int(args, HL_SQL_P_MAX, max);
    err = hl_database_run(db, HL_SQL_JOB_PIECE_PURGE);
    args = hl_database_bind(db, HL_SQL_JOB_PURGE);
    hl_sql_bind_id(args, HL_SQL_P_JOB_ID, &job_id);
    return err ? err : hl_database_run(db, HL_SQL_JOB_PURGE);
}

/* They go when all that they count may. */
static enum hl_err purge_tallies(
    struct hl_database *db, int64_t now_ms, unsigned max, int64_t *due_ms)
{
    struct hl_sql_row row;
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_TALLY_PURGE);
    hl_sql_bind_int(args, HL_SQL_P_BEFORE, (now_ms - db->retention_ms) / HL_TALLY_MINUTE_MS);
    hl_sql_bind_int(args, HL_SQL_P_MAX, max);
    enum hl_err err = hl_database_run(db, HL_SQL_TALLY_PURGE);
    db->now.wants_sweep |= !err && sqlite3_changes(db->db) > 0;
    if (!err)
        err = hl_database_row(db, HL_SQL_TALLY_OLDEST, &row);
    if (err)
        return err == HL_ERR_NOT_FOUND ? HL_OK : err;
    int64_t over_ms = (hl_sql_int(&row) + 1) * HL_TALLY_MINUTE_MS + db->retention_ms;
    hl_database_done(db, HL_SQL_TALLY_OLDEST);
    *due_ms = *due_ms < over_ms ? *due_ms : over_ms;
    return HL_OK;
}

/* A pass goes from the oldest run up to the first that began too late to be past retention: those
 * behind it began, and so ended, later still. It looks at all that began early and ended late, so
 * there is a pause after it: a 64th of the retention, by which a run may stay longer. */
static int64_t purge_pause_ms(const struct hl_database *db)
{
    int64_t ms = db->retention_ms / 64;
    return ms < HL_PURGE_LOOK_AGAIN_MS ? ms : HL_PURGE_LOOK_AGAIN_MS;
}

/* `*due_ms` is when the next step has something to do. */
static void end_pass(struct hl_database *db, int64_t now_ms, int64_t *due_ms)
{
    if (*due_ms > db->now.purge_again_ms)
        *due_ms = db->now.purge_again_ms;
    db->now.purge_ms = now_ms + purge_pause_ms(db);
    if (*due_ms < db->now.purge_ms)
        *due_ms = db->now.purge_ms;
    db->now.purged_result = 0;
    db->now.purge_again_ms = INT64_MAX;
}

static void pass_over(struct hl_database *db, const struct hl_result *result, int64_t again_ms)
{
    db->now.purged_result = result->number;
    if (db->now.purge_again_ms > again_ms)
        db->now.purge_again_ms = again_ms;
}

/* When it began; or ended, where the ids are ahead of a clock that was set back. */
static int64_t earliest_ms(const struct hl_result *result)
{
    int64_t begun_ms = hl_id_time_ms(&result->run_id);
    return begun_ms < result->finished_ms ? begun_ms : result->finished_ms;
}

/* What came and ended while the clock was ahead says nothing of what is behind it. */
static bool is_last_of_pass(
    const struct hl_database *db, const struct hl_result *result, int64_t now_ms)
{
    int64_t ms = earliest_ms(result);
    return ms <= now_ms && ms + db->retention_ms > now_ms;
}

static enum hl_err purge_runs(struct hl_database *db, int64_t now_ms, unsigned max, int64_t *due_ms)
{
    if (hl_purge_is_pause(db->now.purge_ms, purge_pause_ms(db), now_ms)) {
        *due_ms = db->now.purge_ms;
        return HL_OK;
    }
    for (unsigned i = 0; i < max; i++) {
        struct hl_result result;
        bool pending = false;
        enum hl_err err = hl_result_next(db, HL_SQL_RESULT_AFTER, db->now.purged_result, &result);
        if (err && err != HL_ERR_NOT_FOUND)
            return err;
        if (err || is_last_of_pass(db, &result, now_ms)) {
            if (!err)
                *due_ms = earliest_ms(&result) + db->retention_ms;
            end_pass(db, now_ms, due_ms);
            return HL_OK;
        }
        if (result.finished_ms + db->retention_ms > now_ms) {
            pass_over(db, &result, result.finished_ms + db->retention_ms);
            continue;
        }
        int64_t until_ms;
        err = ask_kept(db, &result, &pending, &until_ms);
        if (!err && (pending || until_ms > now_ms)) {
            pass_over(db, &result, pending ? now_ms + HL_PURGE_LOOK_AGAIN_MS : until_ms);
        } else if (!err) {
            err = hl_result_drop(db, &result);
            db->now.purged_runs++;
        }
        if (err)
            return err;
    }
    *due_ms = now_ms;
    return HL_OK;
}

/* Apps that nothing names any more go too: a pass at most each minute, in steps. */
static enum hl_err sweep_apps(struct hl_database *db, int64_t now_ms, unsigned max, int64_t *due_ms)
{
    if (!db->now.wants_sweep)
        return HL_OK;
    if (hl_purge_is_pause(db->now.sweep_ms, HL_PURGE_LOOK_AGAIN_MS, now_ms)) {
        *due_ms = *due_ms < db->now.sweep_ms ? *due_ms : db->now.sweep_ms;
        return HL_OK;
    }
    for (unsigned i = 0; i < max; i++) {
        struct hl_sql_row row;
        struct hl_sql_args *args = hl_database_bind(db, HL_SQL_APP_AFTER);
        hl_sql_bind_int(args, HL_SQL_P_AFTER, db->now.swept_app);
        enum hl_err err = hl_database_row(db, HL_SQL_APP_AFTER, &row);
        if (err) {
            db->now.swept_app = 0;
            db->now.wants_sweep = false;
            db->now.sweep_ms = now_ms + HL_PURGE_LOOK_AGAIN_MS;
            return err == HL_ERR_NOT_FOUND ? HL_OK : err;
        }
        db->now.swept_app = hl_sql_int(&row);
        bool is_named = hl_sql_int(&row);
        hl_database_done(db, HL_SQL_APP_AFTER);
        if (is_named)
            continue;
        args = hl_database_bind(db, HL_SQL_APP_DROP);
        hl_sql_bind_int(args, HL_SQL_P_APP_ID, db->now.swept_app);
        err = hl_database_run(db, HL_SQL_APP_DROP);
        db->app_id = 0;
        if (err)
            return err;
    }
    *due_ms = now_ms;
    return HL_OK;
}

/* ---- kept streams of synchronous calls: contract 14 ---- */

static bool are_streams_over(const struct hl_database *db)
{
    return db->now.stream_bytes + hl_driver_live_streams(&db->base) > db->max_stream_bytes;
}

/* The oldest that have ended lose their bodies: past their retention, or when all are more than they may. */
static enum hl_err purge_streams(
    struct hl_database *db, int64_t now_ms, unsigned max, int64_t *due_ms)
{
    for (unsigned i = 0; i < max; i++) {
        struct hl_result result;
        enum hl_err err = hl_result_next(db, HL_SQL_RESULT_OLDEST_STREAM, 0, &result);
        if (err)
            return err == HL_ERR_NOT_FOUND ? HL_OK : err;
        int64_t over_ms = result.finished_ms + db->stream_retention_ms;
        if (over_ms > now_ms && !are_streams_over(db)) {
            *due_ms = *due_ms < over_ms ? *due_ms : over_ms;
            return HL_OK;
        }
        err = hl_result_strip(db, &result);
        if (err)
            return err;
    }
    *due_ms = now_ms;
    return HL_OK;
}

enum hl_err hl_purge_load_streams(struct hl_database *db)
{
    struct hl_sql_row row;
    enum hl_err err = hl_database_row(db, HL_SQL_STREAM_BYTES, &row);
    if (err)
        return err;
    db->now.stream_bytes = (uint64_t)hl_sql_int(&row);
    hl_database_done(db, HL_SQL_STREAM_BYTES);
    return HL_OK;
}

void hl_purge_note_result(struct hl_database *db, const struct hl_body *body, bool is_stream)
{
    if (is_long(body->where, body->size))
        db->now.long_bytes += body->size;
    if (!is_stream)
        return;
    db->now.stream_bytes += body->size;
    db->base.wants_purge = db->base.wants_purge || are_streams_over(db);
}

enum hl_err hl_purge_step(struct hl_driver *d, int64_t now_ms, unsigned max, int64_t *due_ms)
{
    struct hl_database *db = hl_database_of(d);
    enum hl_err err = purge_runs(db, now_ms, max, due_ms);
    if (!err)
        err = purge_streams(db, now_ms, max, due_ms);
    if (!err)
        err = purge_keys(db, now_ms, max, due_ms);
    if (!err)
        err = purge_accounts(db, now_ms, max, due_ms);
    if (!err)
        err = purge_audit(db, now_ms, max, due_ms);
    if (!err)
        err = purge_jobs(db, now_ms, max, due_ms);
    if (!err)
        err = purge_tallies(db, now_ms, max, due_ms);
    if (!err && *due_ms > now_ms)
        err = sweep_apps(db, now_ms, max, due_ms);
    return hl_database_end(db, err);
}
