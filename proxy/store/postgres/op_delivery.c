/* op_delivery.c - attempts of deliveries, their outcomes, and deliveries that are made anew. */
#include "base/clock.h"
#include "base/metric.h"
#include "store/gauges.h"
#include "store/lease.h"
#include "store/message.h"
#include "store/postgres/bodies.h"
#include "store/postgres/crowd.h"
#include "store/postgres/notify.h"
#include "store/postgres/op.h"
#include "store/postgres/param.h"
#include "store/postgres/places.h"
#include "store/postgres/push.h"
#include "store/postgres/row.h"
#include "store/postgres/state.h"

/* Redeliveries are cut into pieces, so that a hundred thousand of them hold nobody up. */
#define REDELIVER_STEP 128

/* --- attempts ------------------------------------------------------------------------------- */

static const struct hl_attempt *attempt_of(const struct hl_pg_op *op)
{
    return (const struct hl_attempt *)op->m;
}

static void subject_of_attempt(struct hl_pg_op *op)
{
    op->subject = attempt_of(op)->delivery_id;
}

static void bind_attempt(
    struct hl_pg_store *s, struct hl_pg_params *p, struct hl_pg_op *const ops[], size_t n)
{
    hl_pg_add_id(p, HL_PG_P_ME, &s->member.id);
    HL_PG_EACH(
        p, HL_PG_P_DELIVERY_ID, HL_PG_ID, n, hl_pg_item_id(p, &attempt_of(ops[i])->delivery_id));
    HL_PG_EACH(p, HL_PG_P_ROUND, HL_PG_INT, n, hl_pg_item_int(p, attempt_of(ops[i])->round));
    HL_PG_EACH(p, HL_PG_P_N, HL_PG_INT, n, hl_pg_item_int(p, attempt_of(ops[i])->n));
    HL_PG_EACH(p, HL_PG_P_IS_AGAIN, HL_PG_INT, n, hl_pg_item_int(p, attempt_of(ops[i])->is_again));
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
    .subject = subject_of_attempt,
    .bind = bind_attempt,
    .read = read_attempt,
    .note = note_attempt};

/* --- outcomes ------------------------------------------------------------------------------- */

static const struct hl_attempt_outcome *outcome_of(const struct hl_pg_op *op)
{
    return (const struct hl_attempt_outcome *)op->m;
}

static void subject_of_outcome(struct hl_pg_op *op)
{
    op->subject = outcome_of(op)->delivery_id;
}

static void item_part(struct hl_pg_params *p, bool is_there, int32_t us)
{
    if (is_there)
        hl_pg_item_int(p, us);
    else
        hl_pg_item_null(p);
}

static void item_text(struct hl_pg_params *p, struct hl_str text)
{
    if (text.n > 0)
        hl_pg_item_str(p, text);
    else
        hl_pg_item_null(p);
}

static bool puts_off(const struct hl_attempt_outcome *o)
{
    return o->verdict == HL_ATTEMPT_RETRY && o->puts_off;
}

/* Of the deliveries whose attempts have one. */
static void bind_reports(struct hl_pg_params *p, struct hl_pg_op *const ops[], size_t n)
{
    static const struct hl_attempt_report none = {.name_us = -1};
    const struct hl_attempt_report *of[HL_PG_FLUSH_OPS];
    for (size_t i = 0; i < n; i++)
        of[i] = outcome_of(ops[i])->report ? outcome_of(ops[i])->report : &none;
    HL_PG_EACH(p, HL_PG_P_NAME_US, HL_PG_INT, n, item_part(p, of[i] != &none, of[i]->name_us));
    HL_PG_EACH(
        p, HL_PG_P_CONNECT_US, HL_PG_INT, n, item_part(p, of[i] != &none, of[i]->connect_us));
    HL_PG_EACH(p, HL_PG_P_TLS_US, HL_PG_INT, n, item_part(p, of[i] != &none, of[i]->tls_us));
    HL_PG_EACH(
        p, HL_PG_P_FIRST_BYTE_US, HL_PG_INT, n, item_part(p, of[i] != &none, of[i]->first_byte_us));
    HL_PG_EACH(p, HL_PG_P_ADDRESS, HL_PG_BYTES, n, item_text(p, hl_str_from(of[i]->address)));
    HL_PG_EACH(
        p, HL_PG_P_CONTENT_TYPE, HL_PG_BYTES, n, item_text(p, hl_str_from(of[i]->content_type)));
    HL_PG_EACH(
        p, HL_PG_P_BODY, HL_PG_BYTES, n, item_text(p, (struct hl_str){of[i]->body, of[i]->body_n}));
}

static void bind_outcome(
    struct hl_pg_store *s, struct hl_pg_params *p, struct hl_pg_op *const ops[], size_t n)
{
    hl_pg_add_id(p, HL_PG_P_ME, &s->member.id);
    HL_PG_EACH(
        p, HL_PG_P_DELIVERY_ID, HL_PG_ID, n, hl_pg_item_id(p, &outcome_of(ops[i])->delivery_id));
    HL_PG_EACH(p, HL_PG_P_ROUND, HL_PG_INT, n, hl_pg_item_int(p, outcome_of(ops[i])->round));
    HL_PG_EACH(p, HL_PG_P_N, HL_PG_INT, n, hl_pg_item_int(p, outcome_of(ops[i])->n));
    HL_PG_EACH(p, HL_PG_P_VERDICT, HL_PG_INT, n, hl_pg_item_int(p, outcome_of(ops[i])->verdict));
    HL_PG_EACH(
        p, HL_PG_P_HTTP_STATUS, HL_PG_INT, n, hl_pg_item_int(p, outcome_of(ops[i])->http_status));
    HL_PG_EACH(
        p, HL_PG_P_STARTED_MS, HL_PG_INT, n, hl_pg_item_int(p, outcome_of(ops[i])->started_ms));
    HL_PG_EACH(p, HL_PG_P_ENDED_MS, HL_PG_INT, n, hl_pg_item_int(p, outcome_of(ops[i])->ended_ms));
    HL_PG_EACH(p, HL_PG_P_ERROR, HL_PG_BYTES, n,
        hl_pg_item_str(p, hl_str_from(outcome_of(ops[i])->error)));
    HL_PG_EACH(p, HL_PG_P_NEXT_MS, HL_PG_INT, n, hl_pg_item_int(p, outcome_of(ops[i])->next_ms));
    HL_PG_EACH(p, HL_PG_P_PUTS_OFF, HL_PG_INT, n, hl_pg_item_int(p, puts_off(outcome_of(ops[i]))));
    HL_PG_EACH(p, HL_PG_P_HEALTH, HL_PG_INT, n, hl_pg_item_int(p, outcome_of(ops[i])->health));
    HL_PG_EACH(
        p, HL_PG_P_SINCE_MS, HL_PG_INT, n, hl_pg_item_int(p, outcome_of(ops[i])->failing_since_ms));
    bind_reports(p, ops, n);
}

static void read_outcome(struct hl_pg_store *s, struct hl_pg_op *op, struct hl_pg_row *row)
{
    (void)s;
    op->number = hl_pg_int(row); /* the state that is final, or 0 */
}

/* What was put off is looked for when it is due. */
static void wake_by(struct hl_pg_store *s, int64_t wall_ms)
{
    int64_t left_ms = wall_ms - hl_clock_wall_ms();
    uint64_t due_ms = hl_clock_mono_ms() + (left_ms > 0 ? (uint64_t)left_ms : 0);
    if (due_ms < s->wake_ms)
        s->wake_ms = due_ms;
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
        hl_pg_crowd_note_end(s, hl_pg_places_lane(&s->places, lease));
    if (goes_on && o->parks && !o->is_parked)
        o->is_parked = hl_pg_places_park(&s->places, lease);
    if (!goes_on && hl_pg_places_leave(&s->places, lease))
        hl_pg_bodies_drop(s, &o->delivery_id);
    /* It may have been counted by another replica, and here only with the next survey. */
    if (op->number != HL_DELIVERY_PENDING && hl_counter_get(&s->gauges.pending_deliveries) > 0)
        hl_counter_sub(&s->gauges.pending_deliveries, 1);
    if (op->number == HL_DELIVERY_DEAD)
        hl_counter_add(&s->gauges.dead_letters, 1);
    s->leases_more = true;
    if (o->verdict == HL_ATTEMPT_ABANDONED)
        hl_pg_notify_all(s);
}

const struct hl_pg_operation hl_pg_op_outcome = {.query = HL_PG_DO_OUTCOME,
    .repeated = HL_ERR_STALE,
    .subject = subject_of_outcome,
    .bind = bind_outcome,
    .read = read_outcome,
    .note = note_outcome};

/* --- redelivery ----------------------------------------------------------------------------- */

static const struct hl_redeliver *redeliver_of(const struct hl_pg_op *op)
{
    return (const struct hl_redeliver *)op->m;
}

static void bind_one(
    struct hl_pg_store *s, struct hl_pg_params *p, struct hl_pg_op *const ops[], size_t n)
{
    (void)n;
    hl_pg_add_id(p, HL_PG_P_DELIVERY_ID, &redeliver_of(ops[0])->delivery_id);
    hl_pg_add_str(p, HL_PG_P_PROJECT, hl_str_from(redeliver_of(ops[0])->project));
    hl_pg_add_int(p, HL_PG_P_DELIVERY_ATTEMPTS, s->webhook_attempts);
    hl_pg_add_kept_since(s, p);
}

/* As far as is known. */
static uint64_t left_of(const struct hl_pg_store *s, const struct hl_redeliver *r)
{
    return hl_redeliver_room(r, s->max_pending, hl_counter_get(&s->gauges.pending_deliveries));
}

static void bind_many(
    struct hl_pg_store *s, struct hl_pg_params *p, struct hl_pg_op *const ops[], size_t n)
{
    (void)n;
    const struct hl_redeliver *r = redeliver_of(ops[0]);
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
    s->leases_more = true;
    hl_pg_notify_work(s);
}

const struct hl_pg_operation hl_pg_op_redeliver_one = {.query = HL_PG_DO_REDELIVER,
    .is_single = true,
    .repeated = HL_ERR_CONFLICT,
    .bind = bind_one,
    .read = read_redeliver,
    .note = note_redeliver};

const struct hl_pg_operation hl_pg_op_redeliver_many = {.query = HL_PG_DO_REDELIVER_MANY,
    .is_single = true,
    .bind = bind_many,
    .read = read_redeliver,
    .note = note_redeliver};
