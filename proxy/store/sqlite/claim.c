/* claim.c - a queued run becomes running, or goes back to the queue. The store's thread, inside a
 * transaction. */
#include "store/sqlite/claim.h"

#include "base/clock.h"
#include "base/crash_point.h"
#include "base/log.h"
#include "store/attempt.h"
#include "store/claim.h"
#include "store/driver.h"
#include "store/message.h"
#include "store/secret.h"
#include "store/sqlite/database.h"
#include "store/sqlite/new_run.h"
#include "store/sqlite/retry.h"
#include "store/sqlite/run.h"
#include "store/sqlite/run_end.h"
#include "store/sqlite/running_run.h"
#include "store/sqlite/turn.h"
#include "store/sqlite/waiting_run.h"

static void note_claim(struct hl_stored_run *run, const struct hl_claimed *claimed)
{
    run->epoch = claimed->epoch;
    run->attempt = claimed->attempt;
    run->has_webhook = claimed->has_webhook;
    run->has_request = claimed->head.n > 0;
    run->has_file = claimed->body.where == HL_BODY_FILE;
    run->file = claimed->body.file;
    run->file_size = claimed->body.size;
}

static enum hl_err read_columns(struct hl_sql_row *row, struct hl_stored_run *run,
    struct hl_claimed *claimed, struct hl_str *bytes)
{
    bool has_begun = hl_sql_int(row);
    hl_sql_id(row, &claimed->run_id);
    bool has_run = hl_sql_int(row), has_app = hl_sql_int(row);
    run->app_id = hl_sql_int(row);
    struct hl_str attempt_log = hl_sql_str(row);
    claimed->first_ms = hl_attempt_log_first_ms(attempt_log, hl_clock_steady_ms());
    claimed->events = hl_attempt_log_events(attempt_log);
    claimed->waits_ms = hl_attempt_log_last_ms(attempt_log);
    claimed->start_by_ms = hl_sql_int(row);
    hl_sql_columns(row, &hl_claimed_columns, claimed);
    hl_sql_body(row, &claimed->body, bytes);
    claimed->epoch++;
    claimed->attempt++;
    note_claim(run, claimed);
    if (has_begun)
        return HL_ERR_CONFLICT;
    if (!has_run)
        return HL_ERR_NOT_FOUND;
    bool is_whole = has_app && run->has_request && claimed->body.where <= HL_BODY_FILE;
    return is_whole ? HL_OK : HL_ERR_CORRUPT;
}

/* What its rows say. NOT_FOUND, CONFLICT, CORRUPT: it cannot be handed out, see pass_over. The transaction is broken where they
 * cannot be read just now. */
static enum hl_err read_claim(
    struct hl_database *db, struct hl_stored_run *run, struct hl_id *id, struct hl_claimed **out)
{
    struct hl_claimed claimed = {.first_ms = 0};
    struct hl_sql_row row;
    struct hl_str bytes;
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_TICKET_CLAIM);
    hl_sql_bind_int(args, HL_SQL_P_NUMBER, run->number);
    enum hl_err err = hl_database_row(db, HL_SQL_TICKET_CLAIM, &row);
    if (err)
        return hl_database_end(db, err);
    err = read_columns(&row, run, &claimed, &bytes);
    *id = claimed.run_id;
    struct hl_claimed *c = NULL;
    if (!err)
        err = hl_claimed_new(&claimed, bytes, &c);
    if (!err)
        err = hl_unseal_copy(&db->sealer, "ticket.head", id, claimed.head, &c->head);
    hl_database_done(db, HL_SQL_TICKET_CLAIM);
    if (err)
        hl_claimed_free(c);
    else
        *out = c;
    return err;
}

/* A request that cannot be opened (the key or a row was tampered with, or is missing) must not block
 * the queue. */
static enum hl_err end_unreadable(struct hl_database *db, const struct hl_id *run_id,
    const struct hl_stored_run *run, int64_t now_ms)
{
    HL_LOG(ERROR, "store: a queued run's request cannot be read; the run has failed",
        HL_LOG_ID("run_id", run_id));
    struct hl_outcome outcome = {.state = HL_RUN_FAILURE,
        .reason = HL_REASON_INTERRUPTED,
        .finished_ms = now_ms,
        .encoding = HL_ENCODING_NONE};
    enum hl_err err = hl_run_end_add_at_once(db, run_id, run, &outcome);
    return err ? err : HL_ERR_STALE;
}

/* Somebody has removed rows: what is not there is not waited for. */
static enum hl_err forget_missing(struct hl_database *db, enum hl_priority class)
{
    HL_LOG(ERROR, "store: queued runs are missing",
        HL_LOG_INT("runs", db->base.backlog->now.queued[class]));
    hl_backlog_forget_class(db->base.backlog, class);
    return HL_ERR_STALE;
}

static enum hl_err begin(struct hl_database *db, const struct hl_id *run_id,
    const struct hl_stored_run *run, int64_t now_ms, int64_t start_by_ms)
{
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_RUN_CLAIM);
    hl_sql_bind_id(args, HL_SQL_P_RUN_ID, run_id);
    hl_sql_bind_int(args, HL_SQL_P_NOW_MS, now_ms);
    enum hl_err err = hl_database_run(db, HL_SQL_RUN_CLAIM);
    if (!err && start_by_ms > 0)
        err = hl_due_start_by(db, run->number, 0);
    if (!err)
        hl_running_run_add(db, run_id, run);
    return err;
}

/* What stands in the queue cannot be handed out. STALE: it does not stand there any more. */
static enum hl_err pass_over(struct hl_database *db, const struct hl_id *run_id,
    const struct hl_stored_run *run, int64_t now_ms, enum hl_err why)
{
    if (why == HL_ERR_CONFLICT) /* it has begun: only the row of its turn was left */
        return HL_ERR_STALE;
    if (why != HL_ERR_NOT_FOUND)
        return end_unreadable(db, run_id, run, now_ms);
    enum hl_err err = hl_run_end_drop_ticket(db, run_id, run);
    return err ? err : HL_ERR_STALE;
}

static enum hl_err ask_quota(
    struct hl_database *db, const struct hl_queue_place *place, struct hl_claimed *claimed)
{
    return hl_backlog_may_start(db->base.backlog, &db->key, place, &claimed->quota);
}

/* As it was remembered, or as its rows say. */
static enum hl_err find_claim(
    struct hl_database *db, struct hl_stored_run *run, struct hl_id *id, struct hl_claimed **out)
{
    struct hl_claimed *known = hl_waiting_run_take(&db->waiting, run->number, &run->app_id);
    if (!known)
        return read_claim(db, run, id, out);
    known->first_ms = hl_clock_steady_ms();
    note_claim(run, known);
    *id = known->run_id;
    *out = known;
    return HL_OK;
}

/* The one that has rows and the turn. NOMEM: nothing was changed. */
static enum hl_err claim_stored(
    struct hl_database *db, enum hl_priority class, int64_t now_ms, struct hl_claimed **out)
{
    struct hl_turn turn;
    struct hl_id run_id = {.b = {0}};
    enum hl_err err = hl_turn_next(db, class, &turn);
    if (err == HL_ERR_NOT_FOUND)
        return forget_missing(db, class);
    if (err)
        return hl_database_end(db, err);
    struct hl_stored_run run = {
        .number = turn.number, .state = HL_RUN_RUNNING, .is_async = true, .place = turn.place};
    err = find_claim(db, &run, &run_id, out);
    if (err == HL_ERR_NOMEM || db->base.is_broken)
        return err;
    if (!err)
        err = ask_quota(db, &run.place, *out);
    if (err == HL_ERR_STALE || err == HL_ERR_NOMEM) {
        hl_claimed_free(*out);
        *out = NULL;
        return err;
    }

    err = err ? pass_over(db, &run_id, &run, now_ms, err)
              : begin(db, &run_id, &run, now_ms, (*out)->start_by_ms);
    if (!err || err == HL_ERR_STALE) {
        enum hl_err ended = hl_turn_start(db, &run);
        err = ended ? ended : err;
    }
    if (err && err != HL_ERR_STALE) {
        hl_claimed_free(*out);
        *out = NULL;
    }
    return hl_database_end(db, err);
}

enum hl_err hl_claim_take(
    struct hl_driver *d, enum hl_priority class, int64_t now_ms, struct hl_claimed **out)
{
    struct hl_database *db = hl_database_of(d);
    enum hl_err err;
    if (hl_new_run_is_queue(db)) {
        err = hl_new_run_claim(db, class, now_ms, out);
    } else {
        err = hl_new_run_write(db);
        err = err ? hl_database_end(db, err) : claim_stored(db, class, now_ms, out);
    }
    HL_CRASH_POINT(CLAIM_APPLIED);
    return err;
}

/* A run that had begun has no request in its ticket. */
static enum hl_err fill_ticket(struct hl_database *db, int64_t number, const struct hl_claimed *c)
{
    struct hl_buf *head = &db->sealed[0].head;
    enum hl_err err = hl_seal(&db->sealer, "ticket.head", &c->run_id, c->head, head);
    if (err)
        return err;
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_TICKET_FILL);
    hl_sql_bind_int(args, HL_SQL_P_NUMBER, number);
    hl_sql_bind_blob(args, HL_SQL_P_HEAD, hl_buf_str(head));
    hl_sql_bind_body(args, &c->body);
    return hl_database_run(db, HL_SQL_TICKET_FILL);
}

static enum hl_err queue_again(
    struct hl_database *db, const struct hl_stored_run *run, const struct hl_claimed *claimed)
{
    enum hl_err err = hl_database_keeps_request(db) ? HL_OK : fill_ticket(db, run->number, claimed);
    if (!err && claimed->start_by_ms > 0)
        err = hl_due_start_by(db, run->number, claimed->start_by_ms);
    if (err)
        return err;
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_RUN_RELEASE);
    hl_sql_bind_id(args, HL_SQL_P_RUN_ID, &claimed->run_id);
    err = hl_database_run(db, HL_SQL_RUN_RELEASE);
    if (err)
        return err;
    hl_backlog_queue_again(db->base.backlog, &run->place);
    return hl_turn_put(db, run->number, &run->place);
}

enum hl_err hl_claim_release(struct hl_driver *d, struct hl_release *r, int64_t now_ms)
{
    struct hl_database *db = hl_database_of(d);
    const struct hl_id *run_id = &r->claimed->run_id;
    struct hl_stored_run run;
    hl_running_run_drop(db, run_id);
    enum hl_err err = hl_stored_run_find(db, run_id, &run);
    bool is_purged = err == HL_ERR_NOT_FOUND;
    if (is_purged || (!err && (run.state != HL_RUN_RUNNING || run.epoch != r->claimed->epoch)))
        err = HL_ERR_STALE;
    if (err)
        return hl_database_end(db, err);
    struct hl_outcome cancelled = {
        .state = HL_RUN_CANCELLED, .finished_ms = now_ms, .encoding = HL_ENCODING_NONE};
    if (run.is_cancel_wished)
        err = hl_run_end_add_at_once(db, run_id, &run, &cancelled);
    else if (run.has_ticket && r->is_retry)
        err = hl_retry_put_off(db, &run, r);
    else if (run.has_ticket)
        err = queue_again(db, &run, r->claimed);
    else
        err = end_unreadable(db, run_id, &run, now_ms);
    if (err == HL_ERR_STALE) /* as end_unreadable says that it is done */
        err = HL_OK;
    HL_CRASH_POINT(RELEASE_APPLIED);
    return hl_database_end(db, err);
}
