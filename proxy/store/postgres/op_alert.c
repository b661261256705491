/* op_alert.c - an alert is told: one statement keeps what is known of alerts, and begins its delivery. */
#include "base/clock.h"
#include "store/accept.h"
#include "store/alert.h"
#include "store/claim.h"
#include "store/gauges.h"
#include "store/key.h"
#include "store/postgres/op.h"
#include "store/postgres/param.h"
#include "store/postgres/thread.h"

static const struct hl_tell_alert *alert_of(const struct hl_pg_op *op)
{
    return (const struct hl_tell_alert *)op->m;
}

static void bind_url(struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_accept *a)
{
    struct hl_buf sealed = {0};
    enum hl_err err = hl_seal(&s->sealer, "run.url", &a->run_id, a->webhook_url, &sealed);
    if (err)
        p->err = err;
    hl_pg_add_str(p, HL_PG_P_URL, hl_buf_str(&sealed));
    hl_buf_fini(&sealed);
}

static void bind_run(struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_tell_alert *t)
{
    const struct hl_accept *a = t->run;
    const struct hl_body *body = &t->end->outcome.body;
    struct hl_id delivery_id = hl_id_next(&s->ids, hl_clock_wall_ms());
    hl_pg_add_id(p, HL_PG_P_RUN_ID, &a->run_id);
    hl_pg_add_id(p, HL_PG_P_DELIVERY_ID, &delivery_id);
    hl_pg_add_str(p, HL_PG_P_PROJECT, a->project);
    hl_pg_add_str(p, HL_PG_P_APP, a->app);
    hl_pg_add_int(p, HL_PG_P_CREATED_MS, a->created_ms);
    hl_pg_add_str(p, HL_PG_P_METHOD, a->method);
    hl_pg_add_str(p, HL_PG_P_PATH, a->path);
    hl_pg_add_int(p, HL_PG_P_LANE, (int64_t)hl_key_lane(&s->keys.key, a->webhook_url));
    bind_url(s, p, a);
    hl_pg_add_str(
        p, HL_PG_P_BODY_SHA256, (struct hl_str){(const char *)body->digest, sizeof(body->digest)});
    hl_pg_add_str(p, HL_PG_P_BODY_BYTES, (struct hl_str){body->bytes, body->size});
}

/* It tells nothing. */
static void bind_no_run(struct hl_pg_params *p)
{
    static const unsigned nulls[] = {HL_PG_P_RUN_ID, HL_PG_P_DELIVERY_ID, HL_PG_P_PROJECT,
        HL_PG_P_APP, HL_PG_P_CREATED_MS, HL_PG_P_METHOD, HL_PG_P_PATH, HL_PG_P_LANE, HL_PG_P_URL,
        HL_PG_P_BODY_SHA256, HL_PG_P_BODY_BYTES};
    for (size_t i = 0; i < HL_ARRAY_LEN(nulls); i++)
        hl_pg_add_null(p, nulls[i]);
}

static void bind_alert(struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_pg_op *op)
{
    const struct hl_tell_alert *t = alert_of(op);
    hl_pg_add_str(p, HL_PG_P_FORMER, hl_buf_str(&t->former));
    hl_pg_add_str(p, HL_PG_P_VALUE, hl_buf_str(&t->value));
    hl_pg_add_id(p, HL_PG_P_ME, &s->member.id);
    hl_pg_add_int(p, HL_PG_P_DELIVERY_ATTEMPTS, s->webhook_attempts);
    if (t->run)
        bind_run(s, p, t);
    else
        bind_no_run(p);
}

static void note_alert(struct hl_pg_store *s, struct hl_pg_op *op)
{
    if (op->rc != HL_OK || !alert_of(op)->run)
        return;
    hl_counter_add(&s->gauges.pending_deliveries, 1);
    s->dispatch.leases_more = true;
    hl_pg_notify_work(s);
}

const struct hl_pg_operation hl_pg_op_alert = {
    .query = HL_PG_DO_ALERT_TELL, .is_single = true, .bind = bind_alert, .note = note_alert};
