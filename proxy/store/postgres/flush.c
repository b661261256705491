/* flush.c - requests become transactions: what came while the last ones were under way is the next one,
 * in which operations of a kind are one statement.
 *
 * Promise: an operation is answered once, after the commit; two on the same run, delivery or key are
 * never under way together, so that each sees what the one before it did. What was sent when the
 * connection went may have been committed: it is sent again, and the statements say the same as the
 * first time.
 * Not here: what waits, and for how long (queue.c). */
#include "store/postgres/thread.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/id_map.h"
#include "base/list.h"
#include "base/metric.h"
#include "store/gauges.h"
#include "store/lease.h"
#include "store/operation.h"
#include "store/postgres/bodies.h"
#include "store/postgres/diary.h"
#include "store/postgres/link.h"
#include "store/postgres/run_map.h"
#include "store/postgres/op.h"
#include "store/postgres/param.h"
#include "store/postgres/row.h"

#define PAUSE_MS    250
#define SINGLES_MAX 8 /* statements for one operation, in a flush */

/* In a transaction what begins comes first. */
static const struct hl_pg_operation *const order[] = {&hl_pg_op_add, &hl_pg_op_cancel,
    &hl_pg_op_keep_stream, &hl_pg_op_say_progress, &hl_pg_op_release, &hl_pg_op_finish,
    &hl_pg_op_outcome, &hl_pg_op_attempt, &hl_pg_op_redeliver_one, &hl_pg_op_redeliver_many,
    &hl_pg_op_resend, &hl_pg_op_account_add, &hl_pg_op_account_revoke, &hl_pg_op_account_limit,
    &hl_pg_op_account_touch, &hl_pg_op_audit, &hl_pg_op_settings_keep, &hl_pg_op_key_keep,
    &hl_pg_op_tally, &hl_pg_op_alert, &hl_pg_op_job_add, &hl_pg_op_job_keep, &hl_pg_op_job_stop};

/* --- filling -------------------------------------------------------------------------------- */

/* There is room for it in the transaction. */
static bool has_place(const struct hl_pg_flush *f, const struct hl_pg_op *op)
{
    return f->n_ops == 0 || (f->n_ops < HL_PG_FLUSH_OPS && !f->is_alone && !op->is_alone &&
                                f->weight + op->weight <= HL_PG_FLUSH_WEIGHT);
}

static void take(struct hl_pg_store *s, struct hl_pg_flush *f, struct hl_pg_op *op)
{
    op->is_held = false;
    hl_pg_op_set_busy(s, op);
    hl_list_remove(&op->node);
    hl_list_push_back(&f->ops, &op->node);
    f->weight += op->weight;
    f->n_ops++;
    f->is_alone = op->is_alone;
}

static void fill(struct hl_pg_store *s, struct hl_pg_flush *f, uint64_t now_ms)
{
    size_t singles = 0;
    if (hl_id_map_reserve(&s->busy, 2 * HL_PG_FLUSH_OPS) != HL_OK ||
        hl_pg_run_map_reserve(&s->runs, HL_PG_FLUSHES * (HL_PG_FLUSH_OPS + HL_PG_HAND_OUT)) !=
            HL_OK)
        return;
    hl_pg_refusal_choose(s, now_ms);
    HL_LIST_EACH_SAFE (node, &s->queue) {
        struct hl_pg_op *op = HL_CONTAINER_OF(node, struct hl_pg_op, node);
        bool waits;
        if (hl_pg_refusal_waits(s, op, now_ms, &waits) != HL_OK)
            break;
        if (waits)
            continue;
        if (!has_place(f, op))
            break;
        if (hl_pg_op_is_busy(s, op) || (op->how->is_single && singles == SINGLES_MAX))
            continue;
        singles += op->how->is_single;
        take(s, f, op);
    }
}

static void add_part(struct hl_pg_store *s, struct hl_pg_flush *f, struct hl_pg_op **ops, size_t n)
{
    const struct hl_pg_operation *how = ops[0]->how;
    hl_pg_params_clear(&s->params);
    hl_pg_op_bind(s, ops, n);
    if (f->flight.n < HL_PG_FLIGHT_MAX)
        f->parts[f->flight.n] = (struct hl_pg_part){ops, n};
    hl_pg_link_add(&s->writer, &f->flight, how->query, &s->params);
    if (how == &hl_pg_op_add && hl_pg_audit_bind_accepted(s, ops, n))
        hl_pg_link_add(&s->writer, &f->flight, HL_PG_DO_AUDIT_ACCEPTED, &s->params);
}

static void add_parts(struct hl_pg_store *s, struct hl_pg_flush *f)
{
    size_t n = 0;
    for (size_t k = 0; k < HL_ARRAY_LEN(order); k++) {
        size_t from = n;
        HL_LIST_EACH_SAFE (node, &f->ops) {
            struct hl_pg_op *op = HL_CONTAINER_OF(node, struct hl_pg_op, node);
            if (op->how == order[k])
                f->sorted[n++] = op;
        }
        for (size_t step; from < n; from += step) {
            step = order[k]->is_single ? 1 : n - from;
            add_part(s, f, &f->sorted[from], step);
        }
    }
    HL_ASSERT(n == f->n_ops);
}

/* --- after the end -------------------------------------------------------------------------- */

static enum hl_err err_of(const struct hl_pg_op *op, int64_t code)
{
    static const enum hl_err errs[] = {[HL_PG_DONE] = HL_OK,
        [HL_PG_EXISTS] = HL_ERR_EXISTS,
        [HL_PG_CONFLICT] = HL_ERR_CONFLICT,
        [HL_PG_STALE] = HL_ERR_STALE,
        [HL_PG_NOT_FOUND] = HL_ERR_NOT_FOUND,
        [HL_PG_AGAIN] = HL_OK,
        [HL_PG_BUSY] = HL_ERR_BUSY};
    if (code == HL_PG_BEFORE)
        return op->is_in_doubt ? HL_OK : op->how->repeated;
    return code >= 0 && code < (int64_t)HL_ARRAY_LEN(errs) ? errs[code] : HL_ERR_IO;
}

static void read_part(struct hl_pg_store *s, const struct hl_pg_part *part, const PGresult *result)
{
    for (size_t i = 0; i < part->n; i++)
        part->ops[i]->rc = HL_ERR_STALE;
    for (int i = 0; i < PQntuples(result); i++) {
        struct hl_pg_row row = {.result = result, .row = i};
        size_t ord = (size_t)hl_pg_int(&row);
        HL_ASSERT(ord >= 1 && ord <= part->n);
        struct hl_pg_op *op = part->ops[ord - 1];
        int64_t code = hl_pg_int(&row);
        op->rc = err_of(op, code);
        op->asks_again = code == HL_PG_AGAIN;
        if (op->how->read)
            op->how->read(s, op, &row);
    }
}

/* Back to where it came from: the head of the queue, in order. */
static void queue_again(
    struct hl_pg_store *s, struct hl_pg_flush *f, bool is_in_doubt, bool is_alone)
{
    while (!hl_list_is_empty(&f->ops)) {
        struct hl_pg_op *op = HL_CONTAINER_OF(f->ops.prev, struct hl_pg_op, node);
        hl_pg_op_clear_busy(s, op);
        hl_pg_refusal_forget(s, op);
        op->is_in_doubt |= is_in_doubt;
        op->is_alone |= is_alone;
        hl_pg_queue_put_back(s, op);
    }
}

/* Whether the reply must wait for a file. */
static bool lacks_file(const struct hl_pg_store *s, struct hl_pg_op *op)
{
    struct hl_leased *leased = op->leased;
    return op->rc == HL_OK && leased && leased->outcome.body.where == HL_BODY_FILE &&
           !hl_pg_bodies_find(s, &leased->delivery_id, &leased->outcome.body);
}

static void finish_op(struct hl_pg_store *s, struct hl_pg_op *op);

static void on_file(void *self, enum hl_err rc)
{
    struct hl_pg_op *op = self;
    op->rc = rc == HL_ERR_CANCELLED ? HL_ERR_UNAVAILABLE : rc;
    finish_op(op->store, op);
}

static void end_op(struct hl_pg_store *s, struct hl_pg_op *op)
{
    if (lacks_file(s, op)) {
        hl_list_remove(&op->node);
        hl_pg_bodies_get(s, &op->leased->outcome.body, &op->leased->delivery_id, on_file, op);
    } else {
        finish_op(s, op);
    }
}

static void finish_op(struct hl_pg_store *s, struct hl_pg_op *op)
{
    hl_pg_op_clear_busy(s, op);
    if (!op->asks_again)
        hl_pg_diary_note(s, op);
    if (op->how->note && !op->asks_again)
        op->how->note(s, op);
    if (!op->asks_again && !(op->has_more && op->rc == HL_OK)) {
        hl_pg_queue_answer(s, op, op->rc);
        return;
    }
    op->posted_ms = op->has_more ? hl_clock_mono_ms() : op->posted_ms;
    op->asks_again = op->has_more = false;
    hl_pg_queue_put_back(s, op);
}

static void commit(struct hl_pg_store *s, struct hl_pg_flush *f)
{
    for (size_t i = 0; i < f->flight.n; i++)
        if (f->parts[i].n > 0)
            read_part(s, &f->parts[i], f->flight.results[i]);
    hl_counter_add(&s->gauges.commits, 1);
    hl_histogram_add(&s->gauges.commit_latency, (hl_clock_mono_ms() - f->flight.sent_ms) * 1000);
    HL_LIST_EACH_SAFE (node, &f->ops) {
        struct hl_pg_op *op = HL_CONTAINER_OF(node, struct hl_pg_op, node);
        hl_pg_refusal_pass(s, op);
        end_op(s, op);
    }
    hl_pg_dispatch_end(s, f);
}

/* What was in doubt before this refusal still is. */
static bool may_be_refused(const struct hl_pg_op *op)
{
    return !op->is_in_doubt && hl_operation_gives_up(op->m);
}

static void refuse(struct hl_pg_store *s, struct hl_pg_flush *f, enum hl_err why)
{
    HL_LIST_EACH_SAFE (node, &f->ops) {
        struct hl_pg_op *op = HL_CONTAINER_OF(node, struct hl_pg_op, node);
        if (!may_be_refused(op))
            continue;
        hl_pg_op_clear_busy(s, op);
        hl_pg_queue_answer(s, op, why);
    }
}

/* Who asked is told; what has ended is tried again. */
static void reject_alone(struct hl_pg_store *s, struct hl_pg_flush *f, uint64_t now_ms)
{
    struct hl_pg_op *op = HL_CONTAINER_OF(f->ops.next, struct hl_pg_op, node);
    if (may_be_refused(op)) {
        if (op->how == &hl_pg_op_add)
            hl_pg_empty_accept_want(s);
        refuse(s, f, HL_ERR_INVALID);
    } else {
        hl_pg_refusal_note(s, op, f->flight.sqlstate, now_ms);
    }
}

/* What broke it is found by trying each alone; what passes is tried again by all, for as long as they wait. Only a
 * full disk is not waited for by who can ask again. */
static void reject(struct hl_pg_store *s, struct hl_pg_flush *f)
{
    const struct hl_pg_flight *flight = &f->flight;
    bool has_passed = hl_pg_sqlstate_passes(flight->sqlstate) || flight->lacks_partition;
    uint64_t now_ms = hl_clock_mono_ms();
    hl_pg_complain(s, "store: PostgreSQL refused a transaction", flight);
    s->upkeep.lacks_partition |= flight->lacks_partition;
    s->pause_ms = has_passed || f->n_ops == 0 ? now_ms + PAUSE_MS : 0;
    if (flight->is_full)
        refuse(s, f, HL_ERR_FULL);
    else if (!has_passed && f->is_alone)
        reject_alone(s, f, now_ms);
    else if (!has_passed && f->n_ops == 0)
        hl_pg_dispatch_note_refusal(s, f);
    queue_again(s, f, false, !has_passed);
}

static void on_end(struct hl_pg_flight *flight, enum hl_pg_fate fate)
{
    struct hl_pg_flush *f = HL_CONTAINER_OF(flight, struct hl_pg_flush, flight);
    struct hl_pg_store *s = f->store;
    if (fate == HL_PG_COMMITTED) {
        commit(s, f);
    } else {
        hl_pg_dispatch_undo(s, f);
        if (fate == HL_PG_REJECTED)
            reject(s, f);
        else
            queue_again(s, f, true, false);
    }
    f->is_used = false;
}

/* --- sending -------------------------------------------------------------------------------- */

/* One that is not under way; NULL: as many are as may be. */
static struct hl_pg_flush *find_free(struct hl_pg_store *s)
{
    for (int i = 0; i < HL_PG_FLUSHES; i++)
        if (!s->flushes[i].is_used)
            return &s->flushes[i];
    return NULL;
}

/* Whether a transaction may be sent for nothing but handing out: only one at a time, so that a server which does not
 * answer finds room for what callers wait for. */
static bool may_serve(const struct hl_pg_store *s)
{
    bool may = false;
    for (int i = 0; i < HL_PG_FLUSHES; i++) {
        if (s->flushes[i].is_used && s->flushes[i].n_ops == 0)
            return false;
        may |= !s->flushes[i].is_used;
    }
    return may;
}

/* False: there was nothing to send, or it could not be sent. */
static bool send_one(struct hl_pg_store *s, struct hl_pg_flush *f, uint64_t now_ms)
{
    f->store = s;
    f->n_ops = f->weight = 0;
    f->claim_at = f->held_back_at = f->wake_at = f->lease_at = f->peek_at = -1;
    f->n_claims = f->n_leases = 0;
    f->is_alone = false;
    memset(f->parts, 0, sizeof(f->parts));
    hl_list_init(&f->ops);
    hl_pg_flight_init(&f->flight, on_end);
    fill(s, f, now_ms);
    add_parts(s, f);
    if (!f->is_alone && (f->n_ops > 0 || may_serve(s)))
        hl_pg_dispatch_begin(s, f, now_ms);
    if (f->flight.n == 0) {
        queue_again(s, f, false, false);
        return false;
    }
    f->is_used = hl_pg_link_end(&s->writer, &f->flight);
    if (f->is_used)
        return true;
    hl_pg_dispatch_undo(s, f);
    queue_again(s, f, false, false);
    return false;
}

void hl_pg_flush_turn(struct hl_pg_store *s, uint64_t now_ms)
{
    struct hl_pg_flush *f;
    if (!hl_pg_link_is_up(&s->writer) || !hl_pg_is_joined(s) || now_ms < s->pause_ms)
        return;
    while ((f = find_free(s)) && send_one(s, f, now_ms))
        continue;
}

uint64_t hl_pg_flush_due_ms(const struct hl_pg_store *s)
{
    return may_serve(s) ? hl_pg_dispatch_due_ms(s) : UINT64_MAX;
}

bool hl_pg_flush_is_idle(const struct hl_pg_store *s, bool with_refused)
{
    for (int i = 0; i < HL_PG_FLUSHES; i++)
        if (s->flushes[i].is_used)
            return false;
    return hl_pg_queue_is_empty(s) || (!with_refused && hl_pg_refusal_is_any(s));
}
