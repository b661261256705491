/* delivery.c - a run's webhook as the store keeps it: it is added, found, ended, made anew. The
 * store's thread, inside a transaction. What is done with one that is leased is lease.c's. */
#include "store/sqlite/delivery.h"

#include "base/buf.h"
#include "base/log.h"
#include "store/backlog.h"
#include "store/driver.h"
#include "store/lease.h"
#include "store/secret.h"
#include "store/sqlite/database.h"
#include "store/sqlite/new_delivery.h"
#include "store/sqlite/running_run.h"

enum hl_err hl_stored_delivery_end(
    struct hl_database *db, const struct hl_id *id, enum hl_delivery_state state, int64_t now_ms)
{
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_DELIVERY_END);
    hl_sql_bind_id(args, HL_SQL_P_DELIVERY_ID, id);
    hl_sql_bind_int(args, HL_SQL_P_STATE, state);
    hl_sql_bind_int(args, HL_SQL_P_NOW_MS, now_ms);
    hl_shed_note_delivery_end(db);
    return hl_database_run(db, HL_SQL_DELIVERY_END);
}

/* Where to: NOT_FOUND when nobody knows any more. */
static enum hl_err ask_lane(struct hl_database *db, const struct hl_id *run_id, uint64_t *lane)
{
    struct hl_sql_row row;
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_WEBHOOK_LANE);
    hl_sql_bind_id(args, HL_SQL_P_RUN_ID, run_id);
    enum hl_err err = hl_database_row(db, HL_SQL_WEBHOOK_LANE, &row);
    *lane = err ? 0 : (uint64_t)hl_sql_int(&row);
    if (!err)
        hl_database_done(db, HL_SQL_WEBHOOK_LANE);
    return err;
}

/* One whose destination is missing is a dead letter from the beginning. */
enum hl_err hl_stored_delivery_add(struct hl_database *db, const struct hl_id *run_id,
    const struct hl_stored_run *run, const struct hl_outcome *outcome)
{
    uint64_t lane = run->lane;
    enum hl_err err = run->knows_lane ? HL_OK : ask_lane(db, run_id, &lane);
    bool is_lost = err == HL_ERR_NOT_FOUND;
    if (err && !is_lost)
        return err;
    struct hl_id id = hl_new_delivery_add(db, run_id, run->app_id, lane, outcome);
    if (!is_lost)
        return hl_lanes_add_expected(&db->base.backlog->lanes, lane);
    err = hl_new_delivery_write(db);
    if (err)
        return err;
    HL_LOG(ERROR, "store: a run's webhook is missing; it becomes a dead letter",
        HL_LOG_ID("run_id", run_id), HL_LOG_ID("delivery_id", &id));
    db->base.backlog->lanes.now.dead++;
    return hl_stored_delivery_end(db, &id, HL_DELIVERY_DEAD, outcome->finished_ms);
}

enum hl_err hl_stored_delivery_find(struct hl_database *db, const struct hl_id *id,
    const char *project, struct hl_stored_delivery *out)
{
    struct hl_sql_row row;
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_DELIVERY_FIND);
    hl_sql_bind_id(args, HL_SQL_P_DELIVERY_ID, id);
    enum hl_err err = hl_database_row(db, HL_SQL_DELIVERY_FIND, &row);
    if (err)
        return err;
    struct hl_str owner = hl_sql_str(&row);
    bool is_owner = !project || hl_str_eq(owner, hl_str_from(project));
    out->lane = (uint64_t)hl_sql_int(&row);
    out->state = (enum hl_delivery_state)hl_sql_int(&row);
    out->round = (uint32_t)hl_sql_int(&row);
    out->n = (uint32_t)hl_sql_int(&row);
    out->max_attempts = (uint32_t)hl_sql_int(&row);
    out->is_leased = hl_sql_int(&row);
    out->due_ms = hl_sql_int(&row);
    hl_database_done(db, HL_SQL_DELIVERY_FIND);
    return is_owner ? HL_OK : HL_ERR_NOT_FOUND;
}

/* --- one without an id ---------------------------------------------------------------------- */

static enum hl_err count_buried(struct hl_database *db, uint64_t lane, bool is_leased)
{
    if (is_leased) {
        db->base.backlog->lanes.now.dead++;
        return HL_OK;
    }
    enum hl_err err = hl_lanes_lease(&db->base.backlog->lanes, lane);
    return err ? err : hl_lanes_end_leased(&db->base.backlog->lanes, lane, false, true);
}

/* A run has one delivery, unless somebody sent it elsewhere, too: its id will do for that. */
enum hl_err hl_stored_delivery_bury_nameless(struct hl_database *db, bool is_leased, int64_t now_ms)
{
    struct hl_sql_row row;
    (void)hl_database_bind(db, HL_SQL_ATTEMPT_DROP_NAMELESS);
    enum hl_err err = hl_database_run(db, HL_SQL_ATTEMPT_DROP_NAMELESS);
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_DELIVERY_RENAME);
    hl_sql_bind_int(args, HL_SQL_P_NOW_MS, now_ms);
    hl_sql_bind_int(args, HL_SQL_P_IS_LEASED, is_leased);
    bool is_any = false;
    while (!err && !(err = hl_database_row(db, HL_SQL_DELIVERY_RENAME, &row))) {
        struct hl_id run_id;
        uint64_t lane = (uint64_t)hl_sql_int(&row);
        is_any = true;
        if (!hl_sql_id(&row, &run_id))
            err = HL_ERR_CORRUPT;
        HL_LOG(ERROR,
            "store: a webhook's id cannot be read; it becomes a dead letter under its run's id",
            HL_LOG_ID("delivery_id", &run_id), HL_LOG_ID("run_id", &run_id));
        if (!err)
            err = count_buried(db, lane, is_leased);
    }
    hl_database_done(db, HL_SQL_DELIVERY_RENAME);
    if (err == HL_ERR_NOT_FOUND)
        return is_any ? HL_OK : HL_ERR_CORRUPT;
    return err;
}

/* --- redelivery ----------------------------------------------------------------------------- */

static enum hl_err renew(
    struct hl_database *db, const struct hl_id *id, uint64_t lane, int64_t now_ms)
{
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_DELIVERY_RENEW);
    hl_sql_bind_id(args, HL_SQL_P_DELIVERY_ID, id);
    hl_sql_bind_int(args, HL_SQL_P_MAX_ATTEMPTS, db->webhook_attempts);
    hl_sql_bind_int(args, HL_SQL_P_NOW_MS, now_ms);
    enum hl_err err = hl_database_run(db, HL_SQL_DELIVERY_RENEW);
    return err ? err : hl_lanes_add_pending(&db->base.backlog->lanes, lane);
}

static enum hl_err redeliver_one(struct hl_database *db, struct hl_redeliver *r, int64_t now_ms)
{
    struct hl_stored_delivery delivery;
    enum hl_err err =
        hl_stored_delivery_find(db, &r->delivery_id, r->project[0] ? r->project : NULL, &delivery);
    if (!err && delivery.state == HL_DELIVERY_PENDING)
        err = HL_ERR_CONFLICT;
    if (!err && r->round > 0 && delivery.round != r->round)
        err = HL_ERR_STALE;
    if (!err)
        err = renew(db, &r->delivery_id, delivery.lane, now_ms);
    if (!err)
        r->count = 1;
    return err;
}

/* The next one in that state of the project's apps, in the order of (app, id) from the mark on. */
static enum hl_err next_ended(struct hl_database *db, struct hl_redeliver *r, uint64_t *lane)
{
    struct hl_id since = hl_id_first_at(r->since_ms);
    struct hl_sql_row row;
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_DELIVERY_ENDED);
    hl_sql_bind_text(args, HL_SQL_P_PROJECT, hl_str_from(r->project));
    hl_sql_bind_int(args, HL_SQL_P_APP_ID, r->mark.app_id);
    hl_sql_bind_id(args, HL_SQL_P_AFTER, &r->mark.after);
    hl_sql_bind_int(args, HL_SQL_P_STATE, r->state);
    hl_sql_bind_id(args, HL_SQL_P_FROM, &since);
    enum hl_err err = hl_database_row(db, HL_SQL_DELIVERY_ENDED, &row);
    if (err)
        return err;
    r->mark.app_id = hl_sql_int(&row);
    hl_sql_id(&row, &r->mark.after);
    *lane = (uint64_t)hl_sql_int(&row);
    hl_database_done(db, HL_SQL_DELIVERY_ENDED);
    return HL_OK;
}

/* The mark only goes forward: what dies again meanwhile is not taken a second time. */
enum hl_err hl_stored_delivery_redeliver(
    struct hl_driver *d, struct hl_redeliver *r, unsigned max, int64_t now_ms, bool *is_done)
{
    struct hl_database *db = hl_database_of(d);
    *is_done = true;
    if (!hl_id_is_nil(&r->delivery_id))
        return hl_database_end(db, redeliver_one(db, r, now_ms));
    if (r->state == HL_DELIVERY_PENDING)
        return HL_ERR_INVALID;
    enum hl_err err = HL_OK;
    for (unsigned i = 0; i < max && !err; i++) {
        uint64_t lane;
        err = next_ended(db, r, &lane);
        if (!err)
            err = renew(db, &r->mark.after, lane, now_ms);
        r->count += !err;
    }
    *is_done = err == HL_ERR_NOT_FOUND;
    return hl_database_end(db, err == HL_ERR_NOT_FOUND ? HL_OK : err);
}

/* --- to another URL ------------------------------------------------------------------------- */

/* Sealed as the run's are, for that is what they are in place of. */
static enum hl_err seal_both(
    struct hl_database *db, const struct hl_resend *r, struct hl_buf *url, struct hl_buf *secret)
{
    enum hl_err err = hl_seal(&db->sealer, "webhook.url", &r->run_id, r->url, url);
    if (!err && r->secret.n > 0)
        err = hl_seal(&db->sealer, "webhook.secret", &r->run_id, r->secret, secret);
    return err;
}

static enum hl_err add_elsewhere(struct hl_database *db, const struct hl_resend *r, uint64_t lane,
    struct hl_str url, struct hl_str secret, int64_t now_ms)
{
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_DELIVERY_ADD_ELSEWHERE);
    hl_sql_bind_id(args, HL_SQL_P_DELIVERY_ID, &r->resent_as);
    hl_sql_bind_id(args, HL_SQL_P_FROM, &r->delivery_id);
    hl_sql_bind_id(args, HL_SQL_P_RUN_ID, &r->run_id);
    hl_sql_bind_int(args, HL_SQL_P_LANE, (int64_t)lane);
    hl_sql_bind_int(args, HL_SQL_P_MAX_ATTEMPTS, db->webhook_attempts);
    hl_sql_bind_int(args, HL_SQL_P_NOW_MS, now_ms);
    hl_sql_bind_blob(args, HL_SQL_P_URL, url);
    if (secret.n > 0)
        hl_sql_bind_blob(args, HL_SQL_P_SECRET, secret);
    else
        hl_sql_bind_null(args, HL_SQL_P_SECRET);
    enum hl_err err = hl_database_run(db, HL_SQL_DELIVERY_ADD_ELSEWHERE);
    return err ? err : hl_lanes_add_pending(&db->base.backlog->lanes, lane);
}

enum hl_err hl_stored_delivery_resend(
    struct hl_driver *d, const struct hl_resend *r, uint64_t lane, int64_t now_ms)
{
    struct hl_database *db = hl_database_of(d);
    struct hl_stored_delivery delivery;
    struct hl_buf url = {0}, secret = {0};
    enum hl_err err =
        hl_stored_delivery_find(db, &r->delivery_id, r->project[0] ? r->project : NULL, &delivery);
    if (!err)
        err = seal_both(db, r, &url, &secret);
    if (!err)
        err = add_elsewhere(db, r, lane, hl_buf_str(&url), hl_buf_str(&secret), now_ms);
    hl_buf_fini(&url);
    hl_buf_fini(&secret);
    return hl_database_end(db, err);
}
