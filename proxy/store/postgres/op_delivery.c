/* op_delivery.c - attempts of deliveries, their outcomes, and deliveries that are made anew. */
#include "base/buf.h"
#include "base/clock.h"
#include "base/metric.h"
#include "store/gauges.h"
#include "store/key.h"
#include "store/lease.h"
#include "store/message.h"
#include "store/postgres/bodies.h"
#include "store/postgres/thread.h"
#include "store/postgres/op.h"
#include "store/postgres/param.h"
#include "store/postgres/places.h"
#include "store/postgres/row.h"
#include "store/secret.h"

/* Redeliveries are cut into pieces, so that a hundred thousand of them hold nobody up. */
#define REDELIVER_STEP 128

/* --- attempts ------------------------------------------------------------------------------- */

static const struct hl_attempt *attempt_of(const struct hl_pg_op *op)
{
    return (const struct hl_attempt *)op->m;
}

static void add_attempt(struct hl_pg_store *s, struct hl_pg_columns *c, struct hl_pg_op *op)
{
    const struct hl_attempt *a = attempt_of(op);
    (void)s;
    hl_pg_columns_id(c, HL_PG_P_DELIVERY_ID, &a->delivery_id);
    hl_pg_columns_int(c, HL_PG_P_ROUND, a->round);
    hl_pg_columns_int(c, HL_PG_P_N, a->n);
    hl_pg_columns_int(c, HL_PG_P_IS_AGAIN, a->is_again);
}

static void bind_attempt(struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_pg_op *op)
{
    (void)op;
    hl_pg_add_id(p, HL_PG_P_ME, &s->member.id);
    hl_pg_add_int(p, HL_PG_P_NOW_MS, hl_clock_wall_ms());
}

static void read_attempt(struct hl_pg_store *s, struct hl_pg_op *op, struct hl_pg_row *row)
{
    if (op->rc != HL_OK)
        return;
    hl_leased_free(op->leased);
    op->leased = NULL;
    op->rc = hl_pg_read_leased(s, row, &op->leased);
}

static void note_attempt(struct hl_pg_store *s, struct hl_pg_op *op)
{
    struct hl_attempt *a = (struct hl_attempt *)op->m;
    if (op->rc == HL_OK)
        hl_pg_places_go_on(&s->places, (struct hl_pg_lease){a->delivery_id, a->round, a->n});
    hl_attempt_drop(a);
    a->leased = op->leased;
    op->leased = NULL;
}

const struct hl_pg_operation hl_pg_op_attempt = {.query = HL_PG_DO_ATTEMPT,
    .subject_at = offsetof(struct hl_attempt, delivery_id),
    .add_row = add_attempt,
    .bind = bind_attempt,
    .read = read_attempt,
    .note = note_attempt};

/* --- outcomes ------------------------------------------------------------------------------- */

static const struct hl_attempt_outcome *outcome_of(const struct hl_pg_op *op)
{
    return (const struct hl_attempt_outcome *)op->m;
}

static bool puts_off(const struct hl_attempt_outcome *o)
{
    return o->verdict == HL_ATTEMPT_RETRY && o->puts_off;
}

static void add_text(struct hl_pg_columns *c, unsigned param, struct hl_str text)
{
    hl_pg_columns_bytes_if(c, param, text.n > 0, text);
}

/* `r` may be NULL: most attempts have none. */
static void add_report(struct hl_pg_columns *c, const struct hl_attempt_report *r)
{
    static const struct hl_attempt_report none;
    bool is_there = r;
    if (!r)
        r = &none;
    hl_pg_columns_int_if(c, HL_PG_P_NAME_US, is_there, r->name_us);
    hl_pg_columns_int_if(c, HL_PG_P_CONNECT_US, is_there, r->connect_us);
    hl_pg_columns_int_if(c, HL_PG_P_TLS_US, is_there, r->tls_us);
    hl_pg_columns_int_if(c, HL_PG_P_FIRST_BYTE_US, is_there, r->first_byte_us);
    add_text(c, HL_PG_P_ADDRESS, hl_str_from(r->address));
    add_text(c, HL_PG_P_CONTENT_TYPE, hl_str_from(r->content_type));
    add_text(c, HL_PG_P_BODY, (struct hl_str){r->body, r->body_n});
    hl_pg_columns_int_if(c, HL_PG_P_SENT_SIZE, r->sent_size > 0, (int64_t)r->sent_size);
    hl_pg_columns_int_if(c, HL_PG_P_RETRY_AFTER_S, r->retry_after_s > 0, r->retry_after_s);
}

static void add_outcome(struct hl_pg_store *s, struct hl_pg_columns *c, struct hl_pg_op *op)
{
    const struct hl_attempt_outcome *o = outcome_of(op);
    (void)s;
    hl_pg_columns_id(c, HL_PG_P_DELIVERY_ID, &o->delivery_id);
    hl_pg_columns_int(c, HL_PG_P_ROUND, o->round);
    hl_pg_columns_int(c, HL_PG_P_N, o->n);
    hl_pg_columns_int(c, HL_PG_P_VERDICT, o->verdict);
    hl_pg_columns_int(c, HL_PG_P_HTTP_STATUS, o->http_status);
    hl_pg_columns_int(c, HL_PG_P_STARTED_MS, o->started_ms);
    hl_pg_columns_int(c, HL_PG_P_ENDED_MS, o->ended_ms);
    hl_pg_columns_bytes(c, HL_PG_P_ERROR, hl_str_from(o->error));
    hl_pg_columns_int(c, HL_PG_P_NEXT_MS, o->next_ms);
    hl_pg_columns_int(c, HL_PG_P_PUTS_OFF, puts_off(o));
    hl_pg_columns_int(c, HL_PG_P_HEALTH, o->health);
    hl_pg_columns_int(c, HL_PG_P_SINCE_MS, o->failing_since_ms);
    add_report(c, o->report);
}

/* What was put off is looked for when it is due. */
static void wake_by(struct hl_pg_store *s, int64_t wall_ms)
{
    int64_t left_ms = wall_ms - hl_clock_wall_ms();
    uint64_t due_ms = hl_clock_mono_ms() + (left_ms > 0 ? (uint64_t)left_ms : 0);
    if (due_ms < s->dispatch.wake_ms)
        s->dispatch.wake_ms = due_ms;
}

static void note_outcome(struct hl_pg_store *s, struct hl_pg_op *op)
{
    struct hl_attempt_outcome *o = (struct hl_attempt_outcome *)op->m;
    bool is_pending = op->rc == HL_OK && op->number == HL_DELIVERY_PENDING;
    bool goes_on = is_pending && o->verdict != HL_ATTEMPT_ABANDONED && !puts_off(o);
    struct hl_pg_lease lease = {o->delivery_id, o->round, o->n};
    if (is_pending && puts_off(o))
        wake_by(s, o->next_ms);
    if (o->verdict != HL_ATTEMPT_ABANDONED)
        hl_pg_places_judge(&s->places, lease, o->health);
    if (op->number != HL_DELIVERY_PENDING)
        hl_pg_full_note_end(s, hl_pg_places_lane(&s->places, lease));
    if (goes_on && o->parks && !o->is_parked)
        o->is_parked = hl_pg_places_park(&s->places, lease);
    if (!goes_on && hl_pg_places_leave(&s->places, lease))
        hl_pg_bodies_drop(s, &o->delivery_id);
    /* It may have been counted by another replica, and here only with the next count. */
    if (op->number != HL_DELIVERY_PENDING && hl_counter_get(&s->gauges.pending_deliveries) > 0)
        hl_counter_sub(&s->gauges.pending_deliveries, 1);
    if (op->number == HL_DELIVERY_DEAD)
        hl_counter_add(&s->gauges.dead_letters, 1);
    s->dispatch.leases_more = true;
    if (o->verdict == HL_ATTEMPT_ABANDONED)
        hl_pg_notify_all(s);
}

const struct hl_pg_operation hl_pg_op_outcome = {.query = HL_PG_DO_OUTCOME,
    .repeated = HL_ERR_STALE,
    .subject_at = offsetof(struct hl_attempt_outcome, delivery_id),
    .add_row = add_outcome,
    .bind = hl_pg_bind_me,
    .read = hl_pg_read_number, /* the state that is final, or 0 */
    .note = note_outcome};

/* --- redelivery ----------------------------------------------------------------------------- */

static const struct hl_redeliver *redeliver_of(const struct hl_pg_op *op)
{
    return (const struct hl_redeliver *)op->m;
}

static void bind_one(struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_pg_op *op)
{
    hl_pg_add_id(p, HL_PG_P_DELIVERY_ID, &redeliver_of(op)->delivery_id);
    hl_pg_add_str(p, HL_PG_P_PROJECT, hl_str_from(redeliver_of(op)->project));
    hl_pg_add_int(p, HL_PG_P_ROUND, redeliver_of(op)->round);
    hl_pg_add_int(p, HL_PG_P_DELIVERY_ATTEMPTS, s->webhook_attempts);
    hl_pg_add_kept_since(s, p);
}

/* As far as is known. */
static uint64_t left_of(const struct hl_pg_store *s, const struct hl_redeliver *r)
{
    return hl_redeliver_room(r, s->max_pending, hl_counter_get(&s->gauges.pending_deliveries));
}

static void bind_many(struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_pg_op *op)
{
    const struct hl_redeliver *r = redeliver_of(op);
    struct hl_id since = hl_id_first_at(r->since_ms);
    hl_pg_add_str(p, HL_PG_P_PROJECT, hl_str_from(r->project));
    hl_pg_add_int(p, HL_PG_P_STATE, r->state);
    hl_pg_add_id(p, HL_PG_P_FROM, &since);
    hl_pg_add_id(p, HL_PG_P_AFTER, &r->mark.after);
    uint64_t left = left_of(s, r);
    hl_pg_add_int(p, HL_PG_P_MAX, left < REDELIVER_STEP ? (int64_t)left : REDELIVER_STEP);
    hl_pg_add_int(p, HL_PG_P_DELIVERY_ATTEMPTS, s->webhook_attempts);
    hl_pg_add_kept_since(s, p);
}

static void read_redeliver(struct hl_pg_store *s, struct hl_pg_op *op, struct hl_pg_row *row)
{
    (void)s;
    op->number = hl_pg_int(row);
    op->has_more = hl_pg_int(row);
    hl_pg_id(row, &op->mark);
}

static void note_redeliver(struct hl_pg_store *s, struct hl_pg_op *op)
{
    struct hl_redeliver *r = (struct hl_redeliver *)op->m;
    if (op->rc != HL_OK)
        return;
    r->count += (uint64_t)op->number;
    hl_counter_add(&s->gauges.pending_deliveries, (uint64_t)op->number);
    if (!hl_id_is_nil(&op->mark))
        r->mark.after = op->mark;
    r->has_more = op->has_more;
    op->has_more &= left_of(s, r) > 0;
    s->dispatch.leases_more = true;
    hl_pg_notify_work(s);
}

const struct hl_pg_operation hl_pg_op_redeliver_one = {.query = HL_PG_DO_REDELIVER,
    .is_single = true,
    .is_audited = true,
    .repeated = HL_ERR_CONFLICT,
    .bind = bind_one,
    .read = read_redeliver,
    .note = note_redeliver};

const struct hl_pg_operation hl_pg_op_redeliver_many = {.query = HL_PG_DO_REDELIVER_MANY,
    .is_single = true,
    .is_audited = true,
    .bind = bind_many,
    .read = read_redeliver,
    .note = note_redeliver};

/* --- to another URL ------------------------------------------------------------------------- */

static const struct hl_resend *resend_of(const struct hl_pg_op *op)
{
    return (const struct hl_resend *)op->m;
}

/* Sealed as the run's are, for that is what they are in place of. Empty: null. */
static void bind_sealed(struct hl_pg_store *s, struct hl_pg_params *p, unsigned param,
    const char *place, const struct hl_id *run_id, struct hl_str plain)
{
    struct hl_buf sealed = {0};
    enum hl_err err = plain.n > 0 ? hl_seal(&s->sealer, place, run_id, plain, &sealed) : HL_OK;
    if (err)
        p->err = err;
    if (sealed.n > 0)
        hl_pg_add_str(p, param, hl_buf_str(&sealed));
    else
        hl_pg_add_null(p, param);
    hl_buf_fini(&sealed);
}

static void bind_resend(struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_pg_op *op)
{
    const struct hl_resend *r = resend_of(op);
    hl_pg_add_id(p, HL_PG_P_FROM, &r->delivery_id);
    hl_pg_add_id(p, HL_PG_P_RUN_ID, &r->run_id);
    hl_pg_add_id(p, HL_PG_P_DELIVERY_ID, &r->resent_as);
    hl_pg_add_str(p, HL_PG_P_PROJECT, hl_str_from(r->project));
    hl_pg_add_int(p, HL_PG_P_LANE, (int64_t)hl_key_lane(&s->keys.key, r->url));
    hl_pg_add_int(p, HL_PG_P_DELIVERY_ATTEMPTS, s->webhook_attempts);
    bind_sealed(s, p, HL_PG_P_URL, "run.url", &r->run_id, r->url);
    bind_sealed(s, p, HL_PG_P_SECRET, "run.secret", &r->run_id, r->secret);
    hl_pg_add_kept_since(s, p);
}

static void note_resend(struct hl_pg_store *s, struct hl_pg_op *op)
{
    if (op->rc != HL_OK)
        return;
    hl_pg_full_note_url(s, resend_of(op)->url);
    hl_counter_add(&s->gauges.pending_deliveries, 1);
    s->dispatch.leases_more = true;
    hl_pg_notify_work(s);
}

const struct hl_pg_operation hl_pg_op_resend = {.query = HL_PG_DO_RESEND,
    .is_single = true,
    .is_audited = true,
    .bind = bind_resend,
    .note = note_resend};
