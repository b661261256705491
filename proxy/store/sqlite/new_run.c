/* new_run.c - runs that were accepted or recorded in this transaction. Their rows are written when it
 * ends, or before somebody looks for one of them: a run that is handed out in the transaction that
 * accepts it is written once, as begun, and its request is not read back. Nor is that written if the
 * run may be attempted once and no requests are kept: only a release could ask for it, and brings it
 * along. The store's thread, inside a transaction. */
#include "store/sqlite/new_run.h"

#include "base/clock.h"
#include "base/heap.h"
#include "store/accept.h"
#include "store/claim.h"
#include "store/driver.h"
#include "store/key.h"
#include "store/lease.h"
#include "store/message.h"
#include "store/secret.h"
#include "store/sqlite/database.h"
#include "store/sqlite/running_run.h"
#include "store/sqlite/tag.h"
#include "store/sqlite/turn.h"

static bool is_async(const struct hl_accept *a)
{
    return a->m.msg.type == HL_STORE_ACCEPT;
}

static int64_t start_by_ms(const struct hl_accept *a)
{
    return a->terms.start_timeout_ms > 0
               ? a->created_ms + hl_clock_lead_ms() + (int64_t)a->terms.start_timeout_ms
               : 0;
}

static void queue(struct hl_database *db, struct hl_new_run *run)
{
    run->place.subject = hl_key_subject(&db->key, run->accept->identity);
    hl_backlog_queue(db->base.backlog, &run->place);
    hl_heap_add(
        &db->new_turns[run->place.class], &run->in_turn, run->place.turn, (uint64_t)run->number);
    db->n_new_queued++;
}

enum hl_err hl_new_run_add(struct hl_database *db, int64_t app_id, const struct hl_accept *a)
{
    enum hl_err err = db->n_new_runs == HL_NEW_RUNS_MAX ? hl_new_run_write(db) : HL_OK;
    if (!err)
        err = hl_heap_reserve(&db->new_turns[a->terms.priority]);
    if (err)
        return err;
    struct hl_new_run *run = &db->new_runs[db->n_new_runs++];
    *run = (struct hl_new_run){
        .accept = a,
        .app_id = app_id,
        .number = db->next_number++,
        .has_begun = !is_async(a),
        .started_ms = a->created_ms,
        .place = {.class = a->terms.priority},
    };
    if (is_async(a))
        queue(db, run);
    hl_backlog_note_start_by(db->base.backlog, start_by_ms(a));
    hl_database_keep_file(db, &a->body);
    return HL_OK;
}

/* --- handing out ---------------------------------------------------------------------------- */

bool hl_new_run_is_queue(const struct hl_database *db)
{
    return db->n_new_queued > 0 && db->base.backlog->blocked.n == 0 &&
           db->n_new_queued == db->base.backlog->now.queued_runs;
}

static enum hl_err make_claimed(const struct hl_accept *a, struct hl_claimed **out)
{
    struct hl_claimed claimed = {
        .run_id = a->run_id,
        .epoch = 1,
        .attempt = 1,
        .has_webhook = a->webhook_url.n > 0,
        .is_fresh = true,
        .created_ms = a->created_ms,
        .terms = a->terms,
        .first_ms = hl_clock_steady_ms(),
        .start_by_ms = start_by_ms(a),
        .project = a->project,
        .app = a->app,
        .head = a->head,
        .tags = a->tags,
        .body = a->body,
    };
    return hl_claimed_new(&claimed, (struct hl_str){a->body.bytes, a->body.size}, out);
}

enum hl_err hl_new_run_claim(
    struct hl_database *db, enum hl_priority class, int64_t now_ms, struct hl_claimed **out)
{
    struct hl_heap_node *first = hl_heap_first(&db->new_turns[class]);
    struct hl_new_run *run = HL_CONTAINER_OF(first, struct hl_new_run, in_turn);
    struct hl_quota *quota;
    enum hl_err err = hl_backlog_may_start(db->base.backlog, &db->key, &run->place, &quota);
    if (err)
        return err;
    err = make_claimed(run->accept, out);
    if (err && quota)
        hl_quota_leave(quota);
    if (err)
        return err;
    (*out)->quota = quota;
    run->has_begun = true;
    run->started_ms = now_ms;
    db->n_new_queued--;
    hl_heap_remove(&db->new_turns[class], &run->in_turn);
    hl_backlog_start(db->base.backlog, &run->place);
    return HL_OK;
}

/* --- rows ----------------------------------------------------------------------------------- */

static void bind_webhook(
    struct hl_sql_args *args, const struct hl_new_run *run, const struct hl_sealed_run *sealed)
{
    const struct hl_accept *a = run->accept;
    if (a->webhook_url.n == 0) {
        hl_sql_bind_null(args, HL_SQL_P_LANE);
        hl_sql_bind_null(args, HL_SQL_P_URL);
        hl_sql_bind_null(args, HL_SQL_P_SECRET);
        hl_sql_bind_null(args, HL_SQL_P_TRACEPARENT);
        return;
    }
    hl_sql_bind_int(args, HL_SQL_P_LANE, (int64_t)run->lane);
    hl_sql_bind_blob(args, HL_SQL_P_URL, hl_buf_str(&sealed->url));
    if (a->webhook_secret.n > 0)
        hl_sql_bind_blob(args, HL_SQL_P_SECRET, hl_buf_str(&sealed->secret));
    else
        hl_sql_bind_null(args, HL_SQL_P_SECRET);
    hl_sql_bind_text(args, HL_SQL_P_TRACEPARENT, a->traceparent);
}

static void bind_run(
    struct hl_sql_args *args, const struct hl_new_run *run, const struct hl_sealed_run *sealed)
{
    const struct hl_accept *a = run->accept;
    hl_sql_bind_id(args, HL_SQL_P_RUN_ID, &a->run_id);
    hl_sql_bind_int(args, HL_SQL_P_APP_ID, run->app_id);
    hl_sql_bind_int(args, HL_SQL_P_HAS_BEGUN, run->has_begun);
    hl_sql_bind_int(args, HL_SQL_P_IS_ASYNC, is_async(a));
    hl_sql_bind_int(args, HL_SQL_P_HAS_WEBHOOK, a->webhook_url.n > 0);
    if (run->has_begun)
        hl_sql_bind_int(args, HL_SQL_P_STARTED_MS, run->started_ms);
    else
        hl_sql_bind_null(args, HL_SQL_P_STARTED_MS);
    hl_sql_bind_int(args, HL_SQL_P_NUMBER, run->number);
    if (is_async(a))
        hl_sql_bind_int(args, HL_SQL_P_REQUEST_SIZE, (int64_t)a->body.size);
    else
        hl_sql_bind_null(args, HL_SQL_P_REQUEST_SIZE);
    hl_sql_bind_int(args, HL_SQL_P_TURN, run->place.turn);
    hl_sql_bind_int(args, HL_SQL_P_SUBJECT, (int64_t)run->place.subject);
    hl_sql_bind_time(args, HL_SQL_P_MAX_ATTEMPTS, a->terms.max_attempts);
    hl_sql_bind_columns(args, HL_SQL_P_CREATED_MS, &hl_accept_row_columns, a);
    bind_webhook(args, run, sealed);
}

static bool needs_head(const struct hl_database *db, const struct hl_new_run *run)
{
    return is_async(run->accept) && (!run->has_begun || hl_database_keeps_request(db));
}

static void bind_ticket(struct hl_sql_args *args, const struct hl_database *db,
    const struct hl_new_run *run, const struct hl_sealed_run *sealed)
{
    static const struct hl_body none = {.where = HL_BODY_NONE};
    const struct hl_accept *a = run->accept;
    bool keeps = needs_head(db, run);
    hl_sql_bind_int(args, HL_SQL_P_NUMBER, run->number);
    hl_sql_bind_id(args, HL_SQL_P_RUN_ID, &a->run_id);
    hl_sql_bind_int(args, HL_SQL_P_IS_ASYNC, is_async(a));
    if (keeps)
        hl_sql_bind_blob(args, HL_SQL_P_HEAD, hl_buf_str(&sealed->head));
    else
        hl_sql_bind_null(args, HL_SQL_P_HEAD);
    hl_sql_bind_time(args, HL_SQL_P_TIMEOUT_MS, (int64_t)a->terms.timeout_ms);
    hl_sql_bind_time(args, HL_SQL_P_START_BY_MS, run->has_begun ? 0 : start_by_ms(a));
    hl_sql_bind_body(args, keeps || a->body.where == HL_BODY_FILE ? &a->body : &none);
}

static enum hl_err seal(
    struct hl_database *db, const struct hl_new_run *run, struct hl_sealed_run *sealed)
{
    const struct hl_accept *a = run->accept;
    enum hl_err err = HL_OK;
    if (needs_head(db, run))
        err = hl_seal(&db->sealer, "ticket.head", &a->run_id, a->head, &sealed->head);
    if (!err && a->webhook_url.n > 0)
        err = hl_seal(&db->sealer, "webhook.url", &a->run_id, a->webhook_url, &sealed->url);
    if (!err && a->webhook_secret.n > 0)
        err =
            hl_seal(&db->sealer, "webhook.secret", &a->run_id, a->webhook_secret, &sealed->secret);
    return err;
}

/* As many as one statement adds. */
static enum hl_err write_some(struct hl_database *db, struct hl_new_run *run, size_t n)
{
    enum hl_err err = HL_OK;
    for (size_t i = 0; i < n && !err; i++) {
        if (run[i].accept->webhook_url.n > 0)
            run[i].lane = hl_key_lane(&db->key, run[i].accept->webhook_url);
        err = seal(db, &run[i], &db->sealed[i]);
    }
    if (err)
        return err;
    enum hl_sql add_run = hl_database_many(HL_SQL_RUN_ADD, n);
    struct hl_sql_args *args = hl_database_bind(db, add_run);
    for (size_t i = 0; i < n; i++)
        bind_run(hl_sql_args_row(args, i), &run[i], &db->sealed[i]);
    err = hl_database_run(db, add_run);
    if (err)
        return err;
    enum hl_sql add_ticket = hl_database_many(HL_SQL_TICKET_ADD, n);
    args = hl_database_bind(db, add_ticket);
    for (size_t i = 0; i < n; i++)
        bind_ticket(hl_sql_args_row(args, i), db, &run[i], &db->sealed[i]);
    err = hl_database_run(db, add_ticket);
    for (size_t i = 0; i < n && !err; i++)
        if (run[i].accept->tags.n > 0)
            err =
                hl_stored_tags_add(db, run[i].app_id, run[i].accept->tags, &run[i].accept->run_id);
    return err;
}

/* What its delivery will be sent from; without memory it is read from rows. */
static void keep_webhook(struct hl_database *db, const struct hl_new_run *run)
{
    const struct hl_accept *a = run->accept;
    struct hl_leased leased = {.run_id = a->run_id,
        .lane = run->lane,
        .round = 1,
        .n = 1,
        .max_attempts = db->webhook_attempts,
        .is_async = is_async(a),
        .url = a->webhook_url,
        .secret = a->webhook_secret,
        .traceparent = a->traceparent,
        .project = a->project,
        .app = a->app,
        .tags = a->tags};
    struct hl_leased *webhook;
    if (hl_leased_new(&leased, (struct hl_str){NULL, 0}, &webhook) == HL_OK)
        hl_known_webhook_put(&db->webhooks, webhook);
}

static void remember(struct hl_database *db, const struct hl_new_run *run)
{
    const struct hl_accept *a = run->accept;
    bool has_file = a->body.where == HL_BODY_FILE;
    hl_running_run_add(db, &a->run_id,
        &(struct hl_stored_run){
            .app_id = run->app_id,
            .number = run->number,
            .state = HL_RUN_RUNNING,
            .epoch = 1,
            .attempt = 1,
            .is_async = is_async(a),
            .has_webhook = a->webhook_url.n > 0,
            .knows_lane = a->webhook_url.n > 0,
            .lane = run->lane,
            .has_request = needs_head(db, run),
            .has_file = has_file,
            .file = a->body.file,
            .file_size = has_file ? a->body.size : 0,
        });
    if (a->webhook_url.n > 0)
        keep_webhook(db, run);
}

/* Without memory it is read from rows. */
static void keep_claim(struct hl_database *db, const struct hl_new_run *run)
{
    struct hl_claimed *claimed;
    if (hl_waiting_run_fits(&db->waiting, run->number, run->accept) &&
        make_claimed(run->accept, &claimed) == HL_OK)
        hl_waiting_run_put(&db->waiting, run->number, run->app_id, claimed);
}

/* Those that have not begun. */
static enum hl_err wait_in_queue(struct hl_database *db)
{
    struct hl_turn turns[HL_NEW_RUNS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < db->n_new_runs; i++) {
        const struct hl_new_run *run = &db->new_runs[i];
        if (run->has_begun)
            continue;
        keep_claim(db, run);
        turns[n++] = (struct hl_turn){run->number, run->place};
    }
    return hl_turn_put_many(db, turns, n);
}

void hl_new_run_forget(struct hl_database *db)
{
    db->n_new_runs = db->n_new_queued = 0;
    for (int i = 0; i < HL_PRIORITIES; i++)
        db->new_turns[i].n = 0;
}

enum hl_err hl_new_run_write(struct hl_database *db)
{
    enum hl_err err = HL_OK;
    for (size_t i = 0, many; i < db->n_new_runs && !err; i += many) {
        many = hl_sql_many(db->n_new_runs - i);
        err = write_some(db, &db->new_runs[i], many);
    }
    for (size_t i = 0; i < db->n_new_runs && !err; i++) {
        if (db->new_runs[i].accept->webhook_url.n > 0)
            err = hl_lanes_expect(&db->base.backlog->lanes, db->new_runs[i].lane);
        if (!err && db->new_runs[i].has_begun)
            remember(db, &db->new_runs[i]);
    }
    if (!err)
        err = wait_in_queue(db);
    if (!err)
        hl_new_run_forget(db);
    return err;
}
