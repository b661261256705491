/* change.c - see change.h. */
#include "store/change.h"

#include "base/id_map.h"
#include "store/accept.h"
#include "store/account.h"
#include "store/alert.h"
#include "store/audit.h"
#include "store/backlog.h"
#include "store/batch.h"
#include "store/claim.h"
#include "store/driver.h"
#include "store/job.h"
#include "store/key.h"
#include "store/lanes.h"
#include "store/message.h"
#include "store/notice.h"

/* Redeliveries are cut into pieces, so that a hundred thousand of them hold nobody up. */
#define REDELIVER_STEP 128

/* --- runs --------------------------------------------------------------------------------- */

static enum hl_err accept_run(struct hl_batch *b, struct hl_batch_op *op)
{
    return b->driver->vt->accept(b->driver, (struct hl_accept *)op->m, &op->existing);
}

static void fill_accept(const struct hl_batch_op *op)
{
    if (op->rc == HL_ERR_EXISTS)
        ((struct hl_accept *)op->m)->run_id = op->existing;
}

static enum hl_err record(struct hl_batch *b, struct hl_batch_op *op)
{
    return b->driver->vt->record(b->driver, (struct hl_accept *)op->m);
}

static void note_record(struct hl_batch *b, const struct hl_batch_op *op)
{
    hl_id_map_put(&b->live, &((struct hl_accept *)op->m)->run_id, op->m->reply_to);
}

static void keep_finish(struct hl_batch_op *op)
{
    op->state = ((struct hl_finish *)op->m)->outcome.state;
    op->reason = ((struct hl_finish *)op->m)->outcome.reason;
    op->error = ((struct hl_finish *)op->m)->outcome.error[0];
}

/* A cancel that held in a transaction which was lost does not hold. */
static void restore_finish(struct hl_batch_op *op)
{
    ((struct hl_finish *)op->m)->outcome.state = op->state;
    ((struct hl_finish *)op->m)->outcome.reason = op->reason;
    ((struct hl_finish *)op->m)->outcome.error[0] = op->error;
}

static enum hl_err finish(struct hl_batch *b, struct hl_batch_op *op)
{
    return b->driver->vt->finish(b->driver, (struct hl_finish *)op->m);
}

static void note_finish(struct hl_batch *b, const struct hl_batch_op *op)
{
    hl_id_map_remove(&b->live, &((struct hl_finish *)op->m)->run_id);
}

static enum hl_err release(struct hl_batch *b, struct hl_batch_op *op)
{
    return b->driver->vt->release(b->driver, (struct hl_release *)op->m, b->now_ms);
}

static void note_release(struct hl_batch *b, const struct hl_batch_op *op)
{
    hl_id_map_remove(&b->live, &((struct hl_release *)op->m)->claimed->run_id);
}

static enum hl_err cancel(struct hl_batch *b, struct hl_batch_op *op)
{
    struct hl_run_ref *ref = (struct hl_run_ref *)op->m;
    ref->was_wished = false;
    enum hl_err err = b->driver->vt->cancel(b->driver, ref, b->now_ms, &op->is_running);
    op->is_void = ref->was_wished;
    return err;
}

/* Who has the run is told to cancel it. */
static void note_cancel(struct hl_batch *b, const struct hl_batch_op *op)
{
    struct hl_run_ref *ref = (struct hl_run_ref *)op->m;
    if (op->is_running)
        (void)!hl_cancel_run_push(
            hl_id_map_find(&b->live, &ref->run_id), &ref->run_id, &ref->order);
}

static enum hl_err tally(struct hl_batch *b, struct hl_batch_op *op)
{
    return b->driver->vt->tally(b->driver, (const struct hl_told_tally *)op->m);
}

/* --- deliveries --------------------------------------------------------------------------- */

static enum hl_err attempt(struct hl_batch *b, struct hl_batch_op *op)
{
    hl_attempt_drop((struct hl_attempt *)op->m); /* an earlier try's */
    return b->driver->vt->attempt(b->driver, (struct hl_attempt *)op->m, b->now_ms);
}

static enum hl_err outcome(struct hl_batch *b, struct hl_batch_op *op)
{
    const struct hl_attempt_outcome *o = (const struct hl_attempt_outcome *)op->m;
    op->is_parked = o->is_parked;
    return b->driver->vt->outcome(b->driver, o, b->now_ms, &op->is_parked);
}

static void fill_outcome(const struct hl_batch_op *op)
{
    if (op->rc == HL_OK)
        ((struct hl_attempt_outcome *)op->m)->is_parked = op->is_parked;
}

static void keep_redeliver(struct hl_batch_op *op)
{
    op->count = ((struct hl_redeliver *)op->m)->count;
    op->mark = ((struct hl_redeliver *)op->m)->mark;
}

static void restore_redeliver(struct hl_batch_op *op)
{
    ((struct hl_redeliver *)op->m)->count = op->count;
    ((struct hl_redeliver *)op->m)->mark = op->mark;
}

static enum hl_err redeliver(struct hl_batch *b, struct hl_batch_op *op)
{
    struct hl_redeliver *r = (struct hl_redeliver *)op->m;
    bool is_done = true;
    const struct hl_lanes *lanes = &b->driver->backlog->lanes;
    uint64_t left = hl_redeliver_room(r, lanes->max_pending, lanes->now.pending);
    if (r->leaves_room && left == 0) {
        r->has_more = op->is_void = true;
        return HL_OK;
    }
    unsigned step = left < REDELIVER_STEP ? (unsigned)left : REDELIVER_STEP;
    enum hl_err rc = b->driver->vt->redeliver(b->driver, r, step, b->now_ms, &is_done);
    r->has_more = !is_done;
    op->has_more = !is_done && left > step;
    op->is_void = r->count == 0;
    if (r->m.audit && hl_id_is_nil(&r->delivery_id))
        r->m.audit->count = (int64_t)r->count;
    return rc;
}

static enum hl_err resend(struct hl_batch *b, struct hl_batch_op *op)
{
    struct hl_resend *r = (struct hl_resend *)op->m;
    const struct hl_lanes *lanes = &b->driver->backlog->lanes;
    uint64_t lane = hl_key_lane(b->driver->lane_key, r->url);
    bool has_room = hl_lanes_have_room(lanes);
    r->is_over_destination = has_room && hl_lanes_has_its_share(lanes, lane);
    if (!has_room || r->is_over_destination)
        return HL_ERR_BUSY;
    return b->driver->vt->resend(b->driver, r, lane, b->now_ms);
}

/* --- accounts, keys and what is kept by name ---------------------------------------------- */

static enum hl_err add_account(struct hl_batch *b, struct hl_batch_op *op)
{
    return b->driver->vt->add_account(b->driver, &((struct hl_add_account *)op->m)->account);
}

static enum hl_err revoke_account(struct hl_batch *b, struct hl_batch_op *op)
{
    enum hl_err err = b->driver->vt->revoke_account(
        b->driver, (struct hl_revoke_account *)op->m, b->now_ms, &op->revoked_ms);
    op->is_void = op->revoked_ms != b->now_ms; /* it was so before */
    return err;
}

static void fill_revoke_account(const struct hl_batch_op *op)
{
    ((struct hl_revoke_account *)op->m)->revoked_ms = op->revoked_ms;
}

static enum hl_err limit_account(struct hl_batch *b, struct hl_batch_op *op)
{
    return b->driver->vt->limit_account(b->driver, (struct hl_limit_account *)op->m);
}

static enum hl_err touch_accounts(struct hl_batch *b, struct hl_batch_op *op)
{
    return b->driver->vt->touch_accounts(b->driver, (struct hl_touch_accounts *)op->m);
}

static enum hl_err keep_key(struct hl_batch *b, struct hl_batch_op *op)
{
    return b->driver->vt->keep_signing_key(b->driver, ((struct hl_keep_key *)op->m)->key);
}

static enum hl_err audit(struct hl_batch *b, struct hl_batch_op *op)
{
    (void)b;
    return op->m->audit ? HL_OK : HL_ERR_INVALID; /* which writes it (batch.c) */
}

static enum hl_err keep_settings(struct hl_batch *b, struct hl_batch_op *op)
{
    const struct hl_keep_settings *k = (const struct hl_keep_settings *)op->m;
    return b->driver->vt->keep_text(
        b->driver, "settings", hl_buf_str(&k->former), hl_buf_str(&k->value));
}

/* --- alerts ------------------------------------------------------------------------------- */

/* All of it or nothing. */
static enum hl_err tell_alert(struct hl_batch *b, struct hl_batch_op *op)
{
    const struct hl_tell_alert *t = (const struct hl_tell_alert *)op->m;
    const struct hl_driver_vt *vt = b->driver->vt;
    enum hl_err err =
        vt->keep_text(b->driver, "alerts", hl_buf_str(&t->former), hl_buf_str(&t->value));
    if (err || !t->run)
        return err;
    err = vt->record(b->driver, t->run);
    if (!err)
        err = vt->finish(b->driver, t->end);
    if (err)
        b->driver->is_broken = true;
    return err && hl_driver_is_answer(err) ? HL_ERR_INVALID : err;
}

/* --- jobs --------------------------------------------------------------------------------- */

static enum hl_err add_job(struct hl_batch *b, struct hl_batch_op *op)
{
    return b->driver->vt->add_job(b->driver, (const struct hl_add_job *)op->m);
}

static enum hl_err keep_job(struct hl_batch *b, struct hl_batch_op *op)
{
    return b->driver->vt->keep_job(b->driver, (const struct hl_keep_job *)op->m, &op->is_wished);
}

static void fill_keep_job(const struct hl_batch_op *op)
{
    ((struct hl_keep_job *)op->m)->is_stopping = op->rc == HL_OK && op->is_wished;
}

static enum hl_err stop_job(struct hl_batch *b, struct hl_batch_op *op)
{
    enum hl_err err =
        b->driver->vt->stop_job(b->driver, (const struct hl_stop_job *)op->m, &op->is_wished);
    op->is_void = op->is_wished;
    return err;
}

static void fill_stop_job(const struct hl_batch_op *op)
{
    ((struct hl_stop_job *)op->m)->was_wished = op->rc == HL_OK && op->is_wished;
}

/* --- rows --------------------------------------------------------------------------------- */

static const struct hl_change none;

static const struct hl_change changes[] = {
    [HL_STORE_ACCEPT] = {.apply = accept_run, .fill = fill_accept},
    [HL_STORE_RECORD] = {.apply = record, .note = note_record},
    [HL_STORE_FINISH] = {.keep = keep_finish,
        .restore = restore_finish,
        .apply = finish,
        .note = note_finish},
    [HL_STORE_RELEASE] = {.apply = release, .note = note_release},
    [HL_STORE_CANCEL] = {.apply = cancel, .note = note_cancel},
    [HL_STORE_ATTEMPT] = {.apply = attempt},
    [HL_STORE_OUTCOME] = {.apply = outcome, .fill = fill_outcome},
    [HL_STORE_REDELIVER] = {.keep = keep_redeliver,
        .restore = restore_redeliver,
        .apply = redeliver},
    [HL_STORE_RESEND] = {.apply = resend},
    [HL_STORE_ADD_ACCOUNT] = {.apply = add_account},
    [HL_STORE_REVOKE_ACCOUNT] = {.apply = revoke_account, .fill = fill_revoke_account},
    [HL_STORE_LIMIT_ACCOUNT] = {.apply = limit_account},
    [HL_STORE_KEEP_SETTINGS] = {.apply = keep_settings},
    [HL_STORE_TELL_ALERT] = {.apply = tell_alert},
    [HL_STORE_ADD_JOB] = {.apply = add_job},
    [HL_STORE_KEEP_JOB] = {.apply = keep_job, .fill = fill_keep_job},
    [HL_STORE_STOP_JOB] = {.apply = stop_job, .fill = fill_stop_job},
    [HL_STORE_AUDIT] = {.apply = audit},
    [HL_STORE_TOUCH_ACCOUNTS] = {.apply = touch_accounts},
    [HL_STORE_KEEP_KEY] = {.apply = keep_key},
    [HL_STORE_TALLY] = {.apply = tally},
};

const struct hl_change *hl_change_of(const struct hl_store_msg *m)
{
    return m->msg.type < HL_ARRAY_LEN(changes) ? &changes[m->msg.type] : &none;
}

void hl_change_restore(struct hl_batch_op *op)
{
    if (hl_change_of(op->m)->restore)
        hl_change_of(op->m)->restore(op);
}
