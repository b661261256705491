/* batch.c - one transaction for many requests. The store's thread only.
 *
 * An operation that fails in an unforeseen way must not fail its neighbours. A savepoint around
 * each would copy every page it touches; instead the whole transaction is rolled back and the
 * operations run again one by one, which costs only when something did go wrong. That is why
 * nothing outside the driver and the backlog changes before the commit, and why what an operation
 * writes into its message is kept in struct hl_batch_op until then. */
#include "store/batch.h"

#include <stdlib.h>

#include "base/crash_point.h"
#include "base/log.h"
#include "store/backlog.h"
#include "store/change.h"
#include "store/claim.h"
#include "store/driver.h"
#include "store/message.h"
#include "store/operation.h"

/* Where a driver wants small transactions, the least of operations count too: each writes pages. */
static void bound(struct hl_batch *b, size_t most)
{
    b->max_weight = most > 0 && most < HL_BATCH_MAX_WEIGHT ? most : HL_BATCH_MAX_WEIGHT;
    b->max_ops = HL_BATCH_MAX_OPS * b->max_weight / HL_BATCH_MAX_WEIGHT;
    if (b->max_ops == 0)
        b->max_ops = 1;
}

void hl_batch_init(struct hl_batch *b, struct hl_driver *driver, struct hl_backlog *backlog)
{
    *b = (struct hl_batch){.driver = driver, .backlog = backlog};
    bound(b, driver->max_batch);
    hl_credit_book_init(&b->workers);
    hl_credit_book_init(&b->senders);
    hl_id_map_init(&b->live);
}

void hl_batch_fini(struct hl_batch *b)
{
    hl_credit_book_fini(&b->workers);
    hl_credit_book_fini(&b->senders);
    hl_id_map_fini(&b->live);
}

bool hl_batch_is_full(const struct hl_batch *b)
{
    return b->n_ops == b->max_ops || b->weight >= b->max_weight;
}

void hl_batch_add(struct hl_batch *b, struct hl_store_msg *m, size_t weight)
{
    struct hl_batch_op *op = &b->ops[b->n_ops++];
    *op = (struct hl_batch_op){.m = m, .weight = weight};
    if (hl_change_of(m)->keep)
        hl_change_of(m)->keep(op);
    b->weight += weight;
}

bool hl_batch_can_serve(const struct hl_batch *b)
{
    return (b->workers.total > 0 && hl_backlog_ready(b->backlog) > 0) ||
           (b->senders.total > 0 && hl_lanes_next(&b->backlog->lanes, b->senders.total));
}

/* --- the transaction ------------------------------------------------------------------------ */

static enum hl_err begin(struct hl_batch *b)
{
    if (b->has_begun)
        return HL_OK;
    enum hl_err err = b->driver->vt->begin(b->driver);
    if (err)
        return err;
    hl_backlog_begin(b->backlog);
    b->has_begun = true;
    HL_CRASH_POINT(BATCH_BEGUN);
    return HL_OK;
}

static void forget_pushes(struct hl_batch *b)
{
    while (b->n_pushes > 0) {
        struct hl_batch_push *push = &b->pushes[--b->n_pushes];
        hl_credit_put_back(push->book, push->note);
        hl_push_free(push->msg);
    }
    b->pushed_weight = 0;
}

static void roll_back(struct hl_batch *b)
{
    if (b->has_begun) {
        b->driver->vt->rollback(b->driver);
        hl_backlog_rollback(b->backlog);
    }
    b->has_begun = false;
    forget_pushes(b);
}

static enum hl_err commit(struct hl_batch *b, bool *has_committed)
{
    if (!b->has_begun)
        return HL_OK;
    b->has_begun = false;
    HL_CRASH_POINT(BATCH_APPLIED);
    enum hl_err err = b->driver->vt->commit(b->driver);
    if (err) {
        hl_backlog_rollback(b->backlog);
        forget_pushes(b);
        return err;
    }
    HL_CRASH_POINT(BATCH_COMMITTED);
    hl_backlog_commit(b->backlog);
    *has_committed = true;
    return HL_OK;
}

/* --- what runs ------------------------------------------------------------------------------ */

enum hl_err hl_batch_pick_running(const struct hl_batch *b, struct hl_list_runs *l)
{
    l->n_picked = 0;
    l->picked = malloc((b->live.n + 1) * sizeof(*l->picked));
    if (!l->picked)
        return HL_ERR_NOMEM;
    for (size_t i = 0; i < b->live.cap; i++)
        if (b->live.entries[i].value)
            l->picked[l->n_picked++] = b->live.entries[i].id;
    return HL_OK;
}

/* There is no change without it: what was done before it in this transaction goes, too. */
static enum hl_err write_audit(struct hl_batch *b, const struct hl_audit *audit)
{
    enum hl_err err = b->driver->vt->audit(b->driver, audit);
    if (err)
        b->driver->is_broken = true;
    return err;
}

static enum hl_err apply(struct hl_batch *b, struct hl_batch_op *op)
{
    const struct hl_change *change = hl_change_of(op->m);
    enum hl_err err = begin(b);
    if (err)
        return err;
    hl_change_restore(op);
    op->is_void = false;
    err = change->apply ? change->apply(b, op) : HL_ERR_INVALID;
    return err || !op->m->audit || op->is_void ? err : write_audit(b, op->m->audit);
}

/* --- handing out ---------------------------------------------------------------------------- */

static bool has_push_room(const struct hl_batch *b)
{
    return b->n_pushes < b->max_ops && b->pushed_weight < b->max_weight;
}

static void add_push(struct hl_batch *b, struct hl_credit_book *book, struct hl_credit_note note,
    struct hl_msg *msg, const struct hl_body *body)
{
    b->pushes[b->n_pushes++] = (struct hl_batch_push){msg, book, note};
    b->pushed_weight += body->where == HL_BODY_INLINE ? body->size : 0;
}

/* Whoever holds a slot of the app was told for which class; else it is decided here. */
static enum hl_err claim(
    struct hl_batch *b, const struct hl_credit_note *note, struct hl_claimed **out)
{
    struct hl_backlog_totals *now = &b->backlog->now;
    unsigned waiting = hl_backlog_waiting(b->backlog);
    bool is_wished = note->has_wish && (waiting & hl_priority_bit(note->wish));
    enum hl_priority class = is_wished ? note->wish : hl_priority_pick(now->rule, waiting);
    enum hl_err err = b->driver->vt->claim(b->driver, class, b->now_ms, out);
    if (!err && !is_wished)
        now->rule = hl_priority_note(now->rule, waiting, class);
    return err;
}

static enum hl_err serve_runs(struct hl_batch *b)
{
    struct hl_credit_note note;
    while (hl_backlog_ready(b->backlog) > 0 && has_push_room(b) &&
           hl_credit_take(&b->workers, &note)) {
        struct hl_claimed *claimed = NULL;
        enum hl_err err = begin(b);
        if (!err)
            err = claim(b, &note, &claimed);
        if (err)
            hl_credit_put_back(&b->workers, note);
        if (err && err != HL_ERR_STALE)
            return err;
        if (!err)
            add_push(b, &b->workers, note, &claimed->msg, &claimed->body);
    }
    return HL_OK;
}

static enum hl_err serve_deliveries(struct hl_batch *b)
{
    struct hl_credit_note note;
    struct hl_lane *lane;
    while ((lane = hl_lanes_next(&b->backlog->lanes, b->senders.total)) && has_push_room(b) &&
           hl_credit_take(&b->senders, &note)) {
        struct hl_leased *leased = NULL;
        enum hl_err err = begin(b);
        if (!err)
            err = b->driver->vt->lease(b->driver, lane->name, b->now_ms, &leased);
        if (err)
            hl_credit_put_back(&b->senders, note);
        if (err && err != HL_ERR_STALE)
            return err;
        if (!err)
            add_push(b, &b->senders, note, &leased->msg, &leased->outcome.body);
    }
    return HL_OK;
}

/* --- running -------------------------------------------------------------------------------- */

/* One transaction over the operations from `first` on that are not decided otherwise; on an error
 * nothing of it remains. */
static enum hl_err try_ops(
    struct hl_batch *b, size_t first, size_t n, bool serves, bool *has_committed)
{
    enum hl_err err = HL_OK;
    for (size_t i = first; i < first + n && !err; i++) {
        struct hl_batch_op *op = &b->ops[i];
        if (op->rc == HL_ERR_FULL)
            continue; /* refused already */
        op->rc = apply(b, op);
        if (!hl_driver_is_answer(op->rc) && (b->driver->is_broken || !b->has_begun))
            err = op->rc;
    }
    if (!err && serves) {
        err = serve_runs(b);
        if (!err)
            err = serve_deliveries(b);
        if (err && b->has_begun && !b->driver->is_broken) {
            HL_LOG(WARN, "store: dispatching runs was interrupted",
                HL_LOG_TEXT("why", hl_err_text(err)));
            b->short_of = err;
            err = HL_OK;
        }
    }
    if (err)
        roll_back(b);
    else
        err = commit(b, has_committed);
    return err;
}

static bool is_fatal(enum hl_err err)
{
    return err == HL_ERR_IO || err == HL_ERR_CORRUPT;
}

/* Before a transaction: there is no memory. */
static enum hl_err fail_all(struct hl_batch *b, enum hl_err err)
{
    for (size_t i = 0; i < b->n_ops; i++)
        b->ops[i].rc = err;
    return err;
}

/* What is as heavy as something that found no space would find none either. */
static bool must_wait(const struct hl_batch *b, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (b->ops[k].is_held && (b->ops[k].weight <= b->ops[i].weight ||
                                     hl_store_message_follows(b->ops[i].m, b->ops[k].m)))
            return true;
    return false;
}

static bool has_space(const struct hl_batch *b, size_t weight)
{
    const struct hl_driver_vt *vt = b->driver->vt;
    return !vt->has_space || vt->has_space(b->driver, weight);
}

static enum hl_err try_one(struct hl_batch *b, size_t i, bool *has_committed)
{
    if (!has_space(b, b->ops[i].weight))
        return HL_ERR_FULL;
    return try_ops(b, i, 1, false, has_committed);
}

/* One transaction each, and the log is moved in between: so they need next to no space, where all at
 * once would need as much as they have to say. What finds none is held, the others go on. `*n`: so
 * many were tried. */
static enum hl_err run_in_turn(struct hl_batch *b, size_t *n, bool has_reserve, bool *has_committed)
{
    const struct hl_driver_vt *vt = b->driver->vt;
    for (*n = 0; *n < b->n_ops; ++*n) {
        struct hl_batch_op *op = &b->ops[*n];
        if (op->rc == HL_ERR_FULL)
            continue; /* refused already */
        op->is_held = must_wait(b, *n);
        if (op->is_held)
            continue;
        enum hl_err err = try_one(b, *n, has_committed);
        if (err == HL_ERR_FULL && has_reserve && vt->release_reserve(b->driver))
            err = try_one(b, *n, has_committed);
        has_reserve = err != HL_ERR_FULL; /* it grows with what was written since */
        op->is_held = err == HL_ERR_FULL;
        if (op->is_held)
            op->rc = HL_OK;
        if (err && err != HL_ERR_FULL)
            return err;
        if (!err)
            vt->settle(b->driver, false);
    }
    return HL_OK;
}

/* A store that has failed may be gone for long: whoever can ask again does not wait for it. */
bool hl_batch_refuses(const struct hl_store_msg *m, enum hl_err why)
{
    return is_fatal(why) ? hl_operation_gives_up(m) || hl_operation_of(m)->is_question
                         : hl_operation_of(m)->may_be_refused;
}

/* From `first` on nothing can be written just now: what may be refused is, with `why`; the rest
 * waits. */
static enum hl_err put_off(struct hl_batch *b, size_t first, enum hl_err why)
{
    for (size_t i = first; i < b->n_ops; i++) {
        bool is_refused = hl_batch_refuses(b->ops[i].m, why);
        b->ops[i].rc = is_refused ? why : HL_OK;
        b->ops[i].is_held = !is_refused;
    }
    return why;
}

/* Nothing can be written just now: accepts are refused with `why`. On a full volume the rest may
 * use what was held in reserve, as may handing out; what still finds no space waits. */
static enum hl_err run_without_accepts(
    struct hl_batch *b, enum hl_err why, bool serves, bool *has_committed)
{
    size_t n = 0;
    bool has_rest = serves && hl_batch_can_serve(b);
    for (size_t i = 0; i < b->n_ops; i++) {
        bool is_refused = hl_batch_refuses(b->ops[i].m, why);
        b->ops[i].rc = is_refused ? why : HL_OK;
        has_rest |= !is_refused;
    }
    enum hl_err err = why;
    if (why == HL_ERR_FULL && has_rest &&
        (b->is_short || b->driver->vt->release_reserve(b->driver)))
        err = run_in_turn(b, &n, b->is_short, has_committed);
    if (is_fatal(err))
        return put_off(b, n, err);
    return err ? put_off(b, n, why) : why;
}

/* Something broke the transaction: one transaction each, so that only what broke it fails. */
static enum hl_err run_singly(struct hl_batch *b, bool *has_committed)
{
    for (size_t i = 0; i < b->n_ops; i++) {
        enum hl_err err = try_ops(b, i, 1, false, has_committed);
        if (is_fatal(err) || err == HL_ERR_FULL || err == HL_ERR_UNAVAILABLE)
            return put_off(b, i, err);
        if (err)
            b->ops[i].rc = err;
    }
    return HL_OK;
}

/* Runs that may have left room for others of their account. */
static bool has_ended_some(const struct hl_batch *b)
{
    bool has = false;
    for (size_t i = 0; i < b->n_ops && !has; i++)
        has = b->ops[i].m->msg.type == HL_STORE_FINISH || b->ops[i].m->msg.type == HL_STORE_RELEASE;
    return has;
}

enum hl_err hl_batch_run(struct hl_batch *b, bool serves, int64_t now_ms, bool *has_committed)
{
    if (has_ended_some(b))
        hl_quota_blocked_forget(&b->backlog->blocked);
    b->now_ms = now_ms;
    b->n_pushes = b->pushed_weight = 0;
    b->short_of = HL_OK;
    *has_committed = false;
    enum hl_err err = hl_id_map_reserve(&b->live, b->n_ops + HL_BATCH_MAX_PUSHES);
    if (err)
        return fail_all(b, err);

    err = HL_ERR_FULL;
    if (!b->is_short && has_space(b, b->weight))
        err = try_ops(b, 0, b->n_ops, serves, has_committed);
    if (err == HL_OK)
        return b->short_of;
    if (is_fatal(err))
        return put_off(b, 0, err);
    if (err == HL_ERR_FULL || err == HL_ERR_UNAVAILABLE)
        return run_without_accepts(b, err, serves, has_committed);
    enum hl_err singly = run_singly(b, has_committed);
    return singly ? singly : err;
}

/* --- after the commit ----------------------------------------------------------------------- */

void hl_batch_note(struct hl_batch *b)
{
    for (size_t i = 0; i < b->n_ops; i++)
        if (b->ops[i].rc == HL_OK && !b->ops[i].is_held && hl_change_of(b->ops[i].m)->note)
            hl_change_of(b->ops[i].m)->note(b, &b->ops[i]);
}

void hl_batch_count_claims(const struct hl_batch *b)
{
    for (size_t i = 0; i < b->n_pushes; i++)
        if (b->pushes[i].msg->type == HL_STORE_CLAIMED)
            hl_credit_count_claim(b->pushes[i].book, b->pushes[i].note);
}

void hl_batch_send_pushes(struct hl_batch *b)
{
    for (size_t i = 0; i < b->n_pushes; i++) {
        struct hl_batch_push *push = &b->pushes[i];
        struct hl_mailbox *box = push->book->accounts[push->note.account].box;
        if (push->msg->type == HL_STORE_CLAIMED)
            hl_id_map_put(&b->live, &((struct hl_claimed *)push->msg)->run_id, box);
        hl_mailbox_post(box, push->msg);
        hl_credit_spend(push->book, push->note);
    }
    b->n_pushes = 0;
}
