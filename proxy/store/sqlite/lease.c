/* lease.c - what is done with a delivery that is leased: its attempts and their outcomes. The store's
 * thread, inside a transaction. An attempt is counted on its delivery's row before it is sent, and has a row of
 * its own with its outcome, so that a crash in between is seen: never more than max_attempts are sent in a round. */
#include "store/sqlite/lease.h"

#include "base/crash_point.h"
#include "base/log.h"
#include "store/attempt.h"
#include "store/backlog.h"
#include "store/driver.h"
#include "store/message.h"
#include "store/secret.h"
#include "store/sqlite/database.h"
#include "store/sqlite/delivery.h"
#include "store/sqlite/new_delivery.h"
#include "store/sqlite/run_end.h"

static enum hl_err read_delivery(
    struct hl_database *db, struct hl_sql_row *row, struct hl_id *id, struct hl_leased **out)
{
    struct hl_leased leased = {.n = 0};
    struct hl_str bytes;
    bool has_id = hl_sql_id(row, id), has_run = hl_sql_id(row, &leased.run_id);
    bool is_whole = hl_sql_int(row) && has_id && has_run;
    hl_sql_columns(row, &hl_leased_columns, &leased);
    leased.outcome.state = (enum hl_run_state)hl_sql_int(row);
    hl_sql_outcome(row, &leased.outcome, &bytes);
    leased.delivery_id = *id;
    leased.n++;
    if (leased.max_attempts == 0)
        leased.max_attempts = db->webhook_attempts;
    if (!is_whole || leased.url.n == 0)
        return HL_ERR_CORRUPT;
    leased.failing_since_ms = hl_lanes_failing_since(&db->base.backlog->lanes, leased.lane);
    const struct hl_id *run_id = &leased.run_id;
    struct hl_leased *l = NULL;
    enum hl_err err = hl_leased_new(&leased, bytes, &l);
    if (!err)
        err = hl_unseal_copy(&db->sealer, "webhook.url", run_id, leased.url, &l->url);
    if (!err)
        err = hl_unseal_copy(&db->sealer, "webhook.secret", run_id, leased.secret, &l->secret);
    if (err)
        hl_leased_free(l);
    else
        *out = l;
    return err;
}

static enum hl_err take_lease(
    struct hl_database *db, uint64_t lane, const struct hl_leased *l, int64_t now_ms)
{
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_DELIVERY_LEASE);
    hl_sql_bind_id(args, HL_SQL_P_DELIVERY_ID, &l->delivery_id);
    hl_sql_bind_int(args, HL_SQL_P_MAX_ATTEMPTS, l->max_attempts);
    hl_sql_bind_int(args, HL_SQL_P_NOW_MS, now_ms);
    enum hl_err err = hl_database_run(db, HL_SQL_DELIVERY_LEASE);
    return err ? err : hl_lanes_lease(&db->base.backlog->lanes, lane);
}

/* A delivery that cannot be opened (the key or a row was tampered with, or is missing) must not block
 * its lane. Of one that is leased. */
static enum hl_err bury_unreadable(
    struct hl_database *db, uint64_t lane, const struct hl_id *id, bool is_parked, int64_t now_ms)
{
    HL_LOG(ERROR, "store: a webhook's records cannot be read; it becomes a dead letter",
        HL_LOG_ID("delivery_id", id));
    enum hl_err err = hl_stored_delivery_end(db, id, HL_DELIVERY_DEAD, now_ms);
    if (!err)
        err = hl_lanes_end_leased(&db->base.backlog->lanes, lane, is_parked, true);
    return err ? err : HL_ERR_STALE;
}

/* The same of one that was to be leased. */
static enum hl_err bury_waiting(
    struct hl_database *db, uint64_t lane, const struct hl_id *id, int64_t now_ms)
{
    enum hl_err err = hl_lanes_lease(&db->base.backlog->lanes, lane);
    return err ? err : bury_unreadable(db, lane, id, false, now_ms);
}

/* Somebody has removed a row: what is not there is not waited for. */
static enum hl_err forget_missing(struct hl_database *db, uint64_t lane)
{
    HL_LOG(ERROR, "store: a pending delivery is missing");
    enum hl_err err = hl_lanes_lease(&db->base.backlog->lanes, lane);
    if (!err)
        err = hl_lanes_end_leased(&db->base.backlog->lanes, lane, false, false);
    return err ? err : HL_ERR_STALE;
}

/* STALE: there was one that cannot be sent. NOMEM: nothing was changed. */
static enum hl_err find_in_rows(
    struct hl_database *db, uint64_t lane, int64_t now_ms, struct hl_leased **out)
{
    struct hl_sql_row row;
    struct hl_id id;
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_DELIVERY_NEXT);
    hl_sql_bind_int(args, HL_SQL_P_LANE, (int64_t)lane);
    enum hl_err err = hl_database_row(db, HL_SQL_DELIVERY_NEXT, &row);
    if (err == HL_ERR_NOT_FOUND)
        return hl_database_end(db, forget_missing(db, lane));
    if (err)
        return hl_database_end(db, err);
    err = read_delivery(db, &row, &id, out);
    hl_database_done(db, HL_SQL_DELIVERY_NEXT);
    if (err == HL_OK || err == HL_ERR_NOMEM)
        return err;
    if (!hl_id_is_nil(&id))
        return hl_database_end(db, bury_waiting(db, lane, &id, now_ms));
    err = hl_stored_delivery_bury_nameless(db, false, now_ms);
    return hl_database_end(db, err ? err : HL_ERR_STALE);
}

enum hl_err hl_lease_take(
    struct hl_driver *d, uint64_t lane, int64_t now_ms, struct hl_leased **out)
{
    struct hl_database *db = hl_database_of(d);
    enum hl_err err = hl_new_delivery_lease(db, lane, now_ms, out);
    if (!err)
        HL_CRASH_POINT(LEASE_APPLIED);
    if (err != HL_ERR_NOT_FOUND)
        return err;
    err = hl_run_end_write(db);
    if (err)
        return hl_database_end(db, err);
    err = find_in_rows(db, lane, now_ms, out);
    if (err)
        return err;
    err = take_lease(db, lane, *out, now_ms);
    if (err) {
        hl_leased_free(*out);
        *out = NULL;
    }
    HL_CRASH_POINT(LEASE_APPLIED);
    return hl_database_end(db, err);
}

/* --- attempts and outcomes ------------------------------------------------------------------ */

static enum hl_err begin_attempt(
    struct hl_database *db, const struct hl_id *id, uint32_t n, int64_t now_ms)
{
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_DELIVERY_ATTEMPT);
    hl_sql_bind_id(args, HL_SQL_P_DELIVERY_ID, id);
    hl_sql_bind_int(args, HL_SQL_P_N, n);
    hl_sql_bind_int(args, HL_SQL_P_NOW_MS, now_ms);
    return hl_database_run(db, HL_SQL_DELIVERY_ATTEMPT);
}

/* As it was leased, once more. NOMEM: nothing was changed. */
static enum hl_err read_again(
    struct hl_database *db, struct hl_attempt *a, uint64_t lane, int64_t now_ms)
{
    struct hl_sql_row row;
    struct hl_id id;
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_DELIVERY_READ);
    hl_sql_bind_id(args, HL_SQL_P_DELIVERY_ID, &a->delivery_id);
    enum hl_err err = hl_database_row(db, HL_SQL_DELIVERY_READ, &row);
    if (err && err != HL_ERR_NOT_FOUND)
        return err;
    if (!err) {
        err = read_delivery(db, &row, &id, &a->leased);
        hl_database_done(db, HL_SQL_DELIVERY_READ);
        if (err == HL_OK || err == HL_ERR_NOMEM)
            return err;
    }
    return bury_unreadable(db, lane, &a->delivery_id, a->is_parked, now_ms);
}

enum hl_err hl_lease_attempt(struct hl_driver *d, struct hl_attempt *a, int64_t now_ms)
{
    struct hl_database *db = hl_database_of(d);
    struct hl_stored_delivery delivery;
    enum hl_err err = hl_stored_delivery_find(db, &a->delivery_id, NULL, &delivery);
    if (!err && (!delivery.is_leased || delivery.round != a->round ||
                    a->n != delivery.n + !a->is_again || a->n > delivery.max_attempts))
        err = HL_ERR_STALE;
    if (!err)
        err = read_again(db, a, delivery.lane, now_ms);
    if (err == HL_ERR_NOMEM)
        return err;
    if (!err && !a->is_again)
        err = begin_attempt(db, &a->delivery_id, a->n, now_ms);
    HL_CRASH_POINT(ATTEMPT_APPLIED);
    return hl_database_end(db, err);
}

static enum hl_err close_attempt(
    struct hl_database *db, const struct hl_attempt_outcome *o, bool is_last)
{
    char report[HL_REPORT_PACKED_MAX];
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_ATTEMPT_END);
    hl_sql_bind_id(args, HL_SQL_P_DELIVERY_ID, &o->delivery_id);
    hl_sql_bind_int(args, HL_SQL_P_ROUND, o->round);
    hl_sql_bind_int(args, HL_SQL_P_N, o->n);
    hl_sql_bind_int(args, HL_SQL_P_STARTED_MS, o->started_ms);
    hl_sql_bind_int(args, HL_SQL_P_ENDED_MS, o->ended_ms);
    hl_sql_bind_int(args, HL_SQL_P_VERDICT, hl_attempt_final_verdict(o->verdict, is_last));
    hl_sql_bind_int(args, HL_SQL_P_HTTP_STATUS, o->http_status);
    hl_sql_bind_text(args, HL_SQL_P_ERROR, hl_str_from(o->error));
    if (o->report)
        hl_sql_bind_blob(args, HL_SQL_P_REPORT, hl_attempt_report_pack(o->report, report));
    else
        hl_sql_bind_null(args, HL_SQL_P_REPORT);
    return hl_database_run(db, HL_SQL_ATTEMPT_END);
}

/* An attempt that was never begun does not count (store.h). */
static enum hl_err drop_attempt(struct hl_database *db, const struct hl_attempt_outcome *o)
{
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_DELIVERY_UNCOUNT);
    hl_sql_bind_id(args, HL_SQL_P_DELIVERY_ID, &o->delivery_id);
    return hl_database_run(db, HL_SQL_DELIVERY_UNCOUNT);
}

/* One that waited for its retry waits on until that is due. */
static enum hl_err give_back(struct hl_database *db, const struct hl_id *id,
    const struct hl_stored_delivery *delivery, bool is_parked)
{
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_DELIVERY_UNLEASE);
    hl_sql_bind_id(args, HL_SQL_P_DELIVERY_ID, id);
    enum hl_err err = hl_database_run(db, HL_SQL_DELIVERY_UNLEASE);
    if (err)
        return err;
    if (delivery->due_ms > 0)
        return hl_lanes_put_off(
            &db->base.backlog->lanes, delivery->lane, is_parked, delivery->due_ms);
    return hl_lanes_unlease(&db->base.backlog->lanes, delivery->lane, is_parked);
}

static enum hl_err wait_until(
    struct hl_database *db, const struct hl_attempt_outcome *o, bool is_leased)
{
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_DELIVERY_WAIT);
    hl_sql_bind_id(args, HL_SQL_P_DELIVERY_ID, &o->delivery_id);
    hl_sql_bind_int(args, HL_SQL_P_IS_LEASED, is_leased);
    hl_sql_bind_int(args, HL_SQL_P_DUE_MS, o->next_ms);
    return hl_database_run(db, HL_SQL_DELIVERY_WAIT);
}

static enum hl_err put_off(
    struct hl_database *db, const struct hl_attempt_outcome *o, uint64_t lane)
{
    enum hl_err err = wait_until(db, o, false);
    return err ? err : hl_lanes_put_off(&db->base.backlog->lanes, lane, o->is_parked, o->next_ms);
}

/* Where too many are parked, it keeps its place. */
static enum hl_err park(struct hl_database *db, uint64_t lane, bool *is_parked)
{
    enum hl_err err = hl_lanes_park(&db->base.backlog->lanes, lane);
    *is_parked = err == HL_OK;
    return err == HL_ERR_BUSY ? HL_OK : err;
}

/* A long wait is here. A short one is the sender's, who keeps the lease; after a crash it is known until when. */
static enum hl_err wait_for_retry(
    struct hl_database *db, const struct hl_attempt_outcome *o, uint64_t lane, bool *is_parked)
{
    if (o->puts_off)
        return put_off(db, o, lane);
    enum hl_err err = o->next_ms > 0 ? wait_until(db, o, true) : HL_OK;
    return !err && o->parks && !o->is_parked ? park(db, lane, is_parked) : err;
}

/* What the sender says of the destination; whether it fails is on disk. */
static enum hl_err judge(struct hl_database *db, uint64_t lane, const struct hl_attempt_outcome *o)
{
    struct hl_lane_standing standing = {o->health, o->failing_since_ms};
    bool has_changed;
    enum hl_err err = hl_lanes_judge(&db->base.backlog->lanes, lane, standing, &has_changed);
    if (err || !has_changed)
        return err;
    enum hl_sql which = standing.failing_since_ms > 0 ? HL_SQL_FAILING_ADD : HL_SQL_FAILING_DROP;
    struct hl_sql_args *args = hl_database_bind(db, which);
    hl_sql_bind_int(args, HL_SQL_P_LANE, (int64_t)lane);
    if (which == HL_SQL_FAILING_ADD)
        hl_sql_bind_int(args, HL_SQL_P_SINCE_MS, standing.failing_since_ms);
    return hl_database_run(db, which);
}

static enum hl_err settle(struct hl_database *db, const struct hl_attempt_outcome *o,
    const struct hl_stored_delivery *delivery, int64_t now_ms, bool *is_parked)
{
    bool is_never_sent = o->verdict == HL_ATTEMPT_ABANDONED && o->started_ms == 0;
    bool is_last = delivery->n >= delivery->max_attempts && !is_never_sent;
    enum hl_err err = is_never_sent ? drop_attempt(db, o) : close_attempt(db, o, is_last);
    if (!err && o->verdict != HL_ATTEMPT_ABANDONED)
        err = judge(db, delivery->lane, o);
    if (err)
        return err;
    if (o->verdict == HL_ATTEMPT_RETRY && !is_last)
        return wait_for_retry(db, o, delivery->lane, is_parked);
    if (o->verdict == HL_ATTEMPT_ABANDONED && !is_last)
        return give_back(db, &o->delivery_id, delivery, o->is_parked);

    bool is_ok = o->verdict == HL_ATTEMPT_OK;
    err = hl_stored_delivery_end(
        db, &o->delivery_id, is_ok ? HL_DELIVERY_OK : HL_DELIVERY_DEAD, now_ms);
    return err ? err
               : hl_lanes_end_leased(
                     &db->base.backlog->lanes, delivery->lane, o->is_parked, !is_ok);
}

enum hl_err hl_lease_outcome(
    struct hl_driver *d, const struct hl_attempt_outcome *o, int64_t now_ms, bool *is_parked)
{
    struct hl_database *db = hl_database_of(d);
    struct hl_stored_delivery delivery;
    enum hl_err err = hl_stored_delivery_find(db, &o->delivery_id, NULL, &delivery);
    if (!err && (!delivery.is_leased || delivery.round != o->round || delivery.n != o->n))
        err = HL_ERR_STALE;
    if (!err)
        err = settle(db, o, &delivery, now_ms, is_parked);
    HL_CRASH_POINT(OUTCOME_APPLIED);
    return hl_database_end(db, err);
}
