/* new_delivery.c - deliveries that begin in this transaction. Their rows are written when it ends, or before one is looked for:
 * one that is leased in the transaction that makes it, as most are while their destination keeps up, is written once, as
 * leased, and nothing of it or its run is read back. The store's thread, inside a transaction. */
#include "store/sqlite/new_delivery.h"

#include "store/backlog.h"
#include "store/driver.h"
#include "store/lease.h"
#include "store/sqlite/database.h"

struct hl_id hl_new_delivery_add(struct hl_database *db, const struct hl_id *run_id, int64_t app_id,
    uint64_t lane, const struct hl_outcome *outcome)
{
    struct hl_new_delivery *d = &db->new_deliveries[db->n_new_deliveries++];
    *d = (struct hl_new_delivery){
        .id = hl_id_next(&db->ids, outcome->finished_ms),
        .run_id = *run_id,
        .app_id = app_id,
        .lane = lane,
        .created_ms = outcome->finished_ms,
        .webhook = hl_known_webhook_take(&db->webhooks, run_id),
        .outcome = outcome,
    };
    return d->id;
}

/* Those that have rows come first: the next is a new one if no other waits there. */
static struct hl_new_delivery *find_next(struct hl_database *db, uint64_t lane)
{
    struct hl_new_delivery *first = NULL;
    uint32_t n = 0;
    for (size_t i = db->n_new_deliveries; i-- > 0;) {
        struct hl_new_delivery *d = &db->new_deliveries[i];
        if (d->lane != lane || d->leased_ms > 0)
            continue;
        first = d;
        n++;
    }
    return n > 0 && n == hl_lanes_pending(&db->base.backlog->lanes, lane) ? first : NULL;
}

/* What it is sent from, with the outcome. NOMEM: nothing was changed. */
static enum hl_err fill(const struct hl_database *db, const struct hl_new_delivery *d)
{
    struct hl_leased *l = d->webhook;
    const struct hl_body *body = &d->outcome->body;
    l->delivery_id = d->id;
    l->failing_since_ms = hl_lanes_failing_since(&db->base.backlog->lanes, d->lane);
    l->outcome = *d->outcome;
    l->outcome.body.bytes = NULL;
    return hl_body_copy(&l->outcome.body, (struct hl_str){body->bytes, body->size});
}

enum hl_err hl_new_delivery_lease(
    struct hl_database *db, uint64_t lane, int64_t now_ms, struct hl_leased **out)
{
    struct hl_new_delivery *d = find_next(db, lane);
    if (!d || !d->webhook)
        return HL_ERR_NOT_FOUND;
    enum hl_err err = fill(db, d);
    if (!err)
        err = hl_lanes_lease(&db->base.backlog->lanes, lane);
    if (err) {
        hl_body_fini(&d->webhook->outcome.body);
        return err;
    }
    d->leased_ms = now_ms;
    *out = d->webhook;
    d->webhook = NULL;
    return HL_OK;
}

static void bind_row(
    struct hl_sql_args *args, const struct hl_database *db, const struct hl_new_delivery *d)
{
    hl_sql_bind_id(args, HL_SQL_P_DELIVERY_ID, &d->id);
    hl_sql_bind_id(args, HL_SQL_P_RUN_ID, &d->run_id);
    hl_sql_bind_int(args, HL_SQL_P_APP_ID, d->app_id);
    hl_sql_bind_int(args, HL_SQL_P_LANE, (int64_t)d->lane);
    hl_sql_bind_int(args, HL_SQL_P_N, d->leased_ms > 0);
    hl_sql_bind_int(args, HL_SQL_P_MAX_ATTEMPTS, db->webhook_attempts);
    hl_sql_bind_int(args, HL_SQL_P_IS_LEASED, d->leased_ms > 0);
    hl_sql_bind_int(args, HL_SQL_P_CREATED_MS, d->created_ms);
    hl_sql_bind_time(args, HL_SQL_P_ATTEMPT_MS, d->leased_ms);
}

enum hl_err hl_new_delivery_write(struct hl_database *db)
{
    enum hl_err err = HL_OK;
    for (size_t i = 0, many; i < db->n_new_deliveries && !err; i += many) {
        many = hl_sql_many(db->n_new_deliveries - i);
        enum hl_sql add = hl_database_many(HL_SQL_DELIVERY_ADD, many);
        struct hl_sql_args *args = hl_database_bind(db, add);
        for (size_t k = 0; k < many; k++)
            bind_row(hl_sql_args_row(args, k), db, &db->new_deliveries[i + k]);
        err = hl_database_run(db, add);
    }
    if (!err)
        hl_new_delivery_forget(db);
    return err;
}

void hl_new_delivery_forget(struct hl_database *db)
{
    for (size_t i = 0; i < db->n_new_deliveries; i++)
        hl_leased_free(db->new_deliveries[i].webhook);
    db->n_new_deliveries = 0;
}
