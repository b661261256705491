/* queue.c - requests that wait for a transaction, in the order in which they came.
 *
 * Promise: each is answered once. What ends something waits for the server for as long as that takes,
 * in bounded memory (queue_memory.c);
 * an accept, which can be made again, does not: 2 s while it is not sent, whatever keeps it from that, or
 * was refused for something that passes, 30 s if nobody knows whether it was committed. Then it is taken
 * back when the server is there (uncertain_accept.c).
 * Not here: the transactions (flush.c). */
#include "store/postgres/thread.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/list.h"
#include "base/metric.h"
#include "base/str.h"
#include "loop/mailbox.h"
#include "store/accept.h"
#include "store/claim.h"
#include "store/gauges.h"
#include "store/lease.h"
#include "store/operation.h"
#include "store/postgres/bodies.h"
#include "store/postgres/op.h"

#define ACCEPT_WAIT_MS 2000
#define DOUBT_WAIT_MS  30000
#define LOOK_AGAIN_MS  250

static bool is_accept(const struct hl_store_msg *m)
{
    return m->msg.type == HL_STORE_ACCEPT;
}

/* --- taking --------------------------------------------------------------------------------- */

/* More is queued, or pending, than all replicas together may have, or its account has called too often. */
static bool is_beyond_limits(const struct hl_pg_store *s, const struct hl_accept *a)
{
    bool has_webhook = a->webhook_url.n > 0;
    return a->is_over || hl_store_gauges_places(&s->gauges) >= s->max_queued_runs ||
           (has_webhook && hl_counter_get(&s->gauges.pending_deliveries) >= s->max_pending);
}

/* Or one destination has as much of it as it may. */
static bool is_beyond(const struct hl_pg_store *s, struct hl_store_msg *m)
{
    struct hl_accept *a = (struct hl_accept *)m;
    if (!is_accept(m))
        return false;
    bool is = is_beyond_limits(s, a);
    a->is_over_destination = !is && hl_pg_is_destination_full(s, a->webhook_url);
    return is || a->is_over_destination;
}

/* Likewise of one that is to go elsewhere. */
static bool has_no_room(const struct hl_pg_store *s, struct hl_store_msg *m)
{
    struct hl_resend *r = (struct hl_resend *)m;
    if (m->msg.type != HL_STORE_RESEND)
        return false;
    bool is_full = hl_counter_get(&s->gauges.pending_deliveries) >= s->max_pending;
    r->is_over_destination = !is_full && hl_pg_is_destination_full(s, r->url);
    return is_full || r->is_over_destination;
}

/* What no transaction is needed for to be refused. One with a key may be a repetition. */
static enum hl_err check(const struct hl_store_msg *m, bool is_busy)
{
    if (is_busy && ((const struct hl_accept *)m)->idempotency_key.n == 0)
        return HL_ERR_BUSY;
    const struct hl_redeliver *r = (const struct hl_redeliver *)m;
    bool is_endless = m->msg.type == HL_STORE_REDELIVER && hl_id_is_nil(&r->delivery_id) &&
                      r->state == HL_DELIVERY_PENDING;
    return is_endless ? HL_ERR_INVALID : HL_OK;
}

/* One of many that are sent again; NULL: it is something else. */
static struct hl_redeliver *one_of_many(struct hl_store_msg *m)
{
    struct hl_redeliver *r = (struct hl_redeliver *)m;
    return m->msg.type == HL_STORE_REDELIVER && r->leaves_room ? r : NULL;
}

/* New webhooks are to have the room that is left, beside those that wait to be sent again. */
static bool is_crowded(struct hl_pg_store *s, struct hl_store_msg *m)
{
    struct hl_redeliver *r = one_of_many(m);
    uint64_t pending = hl_counter_get(&s->gauges.pending_deliveries) + s->n_renewing;
    if (r)
        r->has_more = hl_redeliver_room(r, s->max_pending, pending) == 0;
    return r && r->has_more;
}

static void expect(struct hl_pg_store *s, uint64_t due_ms)
{
    if (due_ms < s->queue_due_ms)
        s->queue_due_ms = due_ms;
}

static uint64_t due_of(const struct hl_pg_op *op)
{
    return op->posted_ms + (op->is_in_doubt ? DOUBT_WAIT_MS : ACCEPT_WAIT_MS);
}

static void enter(struct hl_pg_op *op)
{
    hl_list_push_back(&op->store->queue, &op->node);
    if (hl_operation_gives_up(op->m))
        expect(op->store, due_of(op));
}

void hl_pg_queue_put_back(struct hl_pg_store *s, struct hl_pg_op *op)
{
    hl_list_remove(&op->node);
    hl_list_push_front(&s->queue, &op->node);
    if (hl_operation_gives_up(op->m))
        expect(s, due_of(op));
}

static const struct hl_body *body_of(const struct hl_store_msg *m)
{
    static const struct hl_body none = {.where = HL_BODY_NONE};
    if (is_accept(m))
        return &((const struct hl_accept *)m)->body;
    return m->msg.type == HL_STORE_FINISH ? &((const struct hl_finish *)m)->outcome.body : &none;
}

/* What names a body is sent when that is in the database; an end whose file cannot be read, without it. */
static void on_body(void *self, enum hl_err rc)
{
    struct hl_pg_op *op = self;
    bool is_end = op->m->msg.type == HL_STORE_FINISH;
    if (rc == HL_ERR_IO && is_end)
        hl_pg_queue_memory_strip(op->store, op);
    if (rc && !(rc == HL_ERR_IO && is_end))
        hl_pg_queue_answer(op->store, op, rc);
    else
        enter(op);
}

static void stage(struct hl_pg_store *s, struct hl_pg_op *op)
{
    const struct hl_body *body = body_of(op->m);
    uint64_t wait_ms = is_accept(op->m) ? ACCEPT_WAIT_MS : 0;
    if (body->where == HL_BODY_FILE)
        hl_pg_bodies_put(s, body, wait_ms, on_body, op);
    else
        enter(op);
}

void hl_pg_queue_add(struct hl_pg_store *s, struct hl_store_msg *m)
{
    size_t weight = hl_operation_weigh(m);
    bool is_busy = is_beyond(s, m);
    enum hl_err refusal = has_no_room(s, m) ? HL_ERR_BUSY : check(m, is_busy);
    if (is_crowded(s, m)) {
        hl_pg_reply(s, m, weight, HL_OK);
        return;
    }
    struct hl_pg_op *op = refusal ? NULL : calloc(1, sizeof(*op));
    if (!op) {
        hl_pg_reply(s, m, weight, refusal ? refusal : HL_ERR_NOMEM);
        return;
    }
    hl_list_init(&op->node);
    op->store = s;
    op->m = m;
    op->how = hl_pg_operation_of(m);
    op->weight = weight;
    op->is_busy = is_busy;
    op->posted_ms = hl_clock_mono_ms();
    op->posted_ahead_ms = hl_clock_ahead_ms();
    s->n_renewing += one_of_many(m) != NULL;
    hl_pg_op_name_subject(op);
    if (m->msg.type == HL_STORE_REDELIVER)
        op->mark = ((const struct hl_redeliver *)m)->mark.after;
    if (!hl_operation_gives_up(op->m))
        hl_pg_queue_memory_enter(s, op);
    stage(s, op);
}

/* --- answering ------------------------------------------------------------------------------ */

void hl_pg_queue_answer(struct hl_pg_store *s, struct hl_pg_op *op, enum hl_err rc)
{
    hl_pg_queue_memory_leave(s, op);
    hl_pg_refusal_leave(s, op);
    s->n_renewing -= one_of_many(op->m) != NULL;
    hl_pg_reply(s, op->m, op->weight, rc);
    hl_leased_free(op->leased);
    hl_list_remove(&op->node);
    free(op);
}

/* One that was sent may have been accepted. */
static enum hl_err refusal_of(const struct hl_pg_op *op)
{
    return op->is_in_doubt && is_accept(op->m) ? HL_ERR_TIMEOUT : HL_ERR_UNAVAILABLE;
}

/* If it can be remembered that it has to be taken back; else it waits on. */
static void expire(struct hl_pg_store *s, struct hl_pg_op *op, uint64_t now_ms)
{
    enum hl_err rc = refusal_of(op);
    if (rc != HL_ERR_TIMEOUT || hl_pg_uncertain_keep(s, &op->subject))
        hl_pg_queue_answer(s, op, rc);
    else
        expect(s, now_ms + LOOK_AGAIN_MS);
}

/* It is walked through when the first of them is due. */
uint64_t hl_pg_queue_expire(struct hl_pg_store *s, uint64_t now_ms)
{
    hl_pg_uncertain_turn(s, now_ms);
    if (now_ms < s->queue_due_ms)
        return s->queue_due_ms;
    s->queue_due_ms = UINT64_MAX;
    HL_LIST_EACH_SAFE (node, &s->queue) {
        struct hl_pg_op *op = HL_CONTAINER_OF(node, struct hl_pg_op, node);
        if (!hl_operation_gives_up(op->m))
            continue;
        if (due_of(op) <= now_ms)
            expire(s, op, now_ms);
        else
            expect(s, due_of(op));
    }
    return s->queue_due_ms;
}

void hl_pg_queue_refuse_all(struct hl_pg_store *s)
{
    HL_LIST_EACH_SAFE (node, &s->queue) {
        struct hl_pg_op *op = HL_CONTAINER_OF(node, struct hl_pg_op, node);
        hl_pg_queue_answer(s, op, refusal_of(op));
    }
}

bool hl_pg_queue_is_empty(const struct hl_pg_store *s)
{
    return hl_list_is_empty(&s->queue) && s->bodies.n_puts == 0;
}
