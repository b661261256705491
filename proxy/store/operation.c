/* operation.c - see operation.h. */
#include "store/operation.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/id_map.h"
#include "store/accept.h"
#include "store/alert.h"
#include "store/account.h"
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

/* --- runs ----------------------------------------------------------------------------------- */

static size_t weigh_accept(const struct hl_store_msg *m)
{
    return hl_accept_weight((const struct hl_accept *)m);
}

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

static size_t weigh_finish(const struct hl_store_msg *m)
{
    return hl_finish_weight((const struct hl_finish *)m);
}

static size_t weigh_keep_stream(const struct hl_store_msg *m)
{
    const struct hl_keep_stream *part = (const struct hl_keep_stream *)m;
    return sizeof(*part) + part->bytes.n + part->answer_head.n;
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

static size_t weigh_tally(const struct hl_store_msg *m)
{
    const struct hl_told_tally *t = (const struct hl_told_tally *)m;
    size_t weight = sizeof(*t);
    for (size_t i = 0; i < t->n; i++)
        weight += sizeof(t->minutes[i]) + t->minutes[i].tally.n * sizeof(uint64_t);
    return weight;
}

static enum hl_err tally(struct hl_batch *b, struct hl_batch_op *op)
{
    return b->driver->vt->tally(b->driver, (const struct hl_told_tally *)op->m);
}

/* --- deliveries ----------------------------------------------------------------------------- */

static void clear_attempt(struct hl_store_msg *m)
{
    hl_attempt_drop((struct hl_attempt *)m);
}

static enum hl_err attempt(struct hl_batch *b, struct hl_batch_op *op)
{
    clear_attempt(op->m); /* an earlier try's */
    return b->driver->vt->attempt(b->driver, (struct hl_attempt *)op->m, b->now_ms);
}

static size_t weigh_outcome(const struct hl_store_msg *m)
{
    const struct hl_attempt_outcome *o = (const struct hl_attempt_outcome *)m;
    return sizeof(*o) + (o->report ? sizeof(*o->report) : 0);
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

static size_t weigh_resend(const struct hl_store_msg *m)
{
    const struct hl_resend *r = (const struct hl_resend *)m;
    return sizeof(*r) + r->url.n + r->secret.n;
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

/* --- accounts and keys ---------------------------------------------------------------------- */

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

static size_t weigh_settings(const struct hl_store_msg *m)
{
    const struct hl_keep_settings *k = (const struct hl_keep_settings *)m;
    return sizeof(*k) + k->former.n + k->value.n;
}

static enum hl_err keep_settings(struct hl_batch *b, struct hl_batch_op *op)
{
    const struct hl_keep_settings *k = (const struct hl_keep_settings *)op->m;
    return b->driver->vt->keep_text(
        b->driver, "settings", hl_buf_str(&k->former), hl_buf_str(&k->value));
}

/* --- alerts --------------------------------------------------------------------------------- */

static size_t weigh_alert(const struct hl_store_msg *m)
{
    const struct hl_tell_alert *t = (const struct hl_tell_alert *)m;
    size_t weight = sizeof(*t) + t->former.n + t->value.n;
    return t->run ? weight + hl_accept_weight(t->run) + hl_finish_weight(t->end) : weight;
}

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

/* --- jobs ----------------------------------------------------------------------------------- */

static size_t weigh_add_job(const struct hl_store_msg *m)
{
    const struct hl_add_job *a = (const struct hl_add_job *)m;
    return sizeof(*a) + a->plan.n + a->progress.n;
}

static enum hl_err add_job(struct hl_batch *b, struct hl_batch_op *op)
{
    return b->driver->vt->add_job(b->driver, (const struct hl_add_job *)op->m);
}

static size_t weigh_keep_job(const struct hl_store_msg *m)
{
    const struct hl_keep_job *k = (const struct hl_keep_job *)m;
    size_t weight = sizeof(*k) + k->progress.n;
    for (size_t i = 0; i < k->n_pieces; i++)
        weight += k->pieces[i].items.n;
    return weight;
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

/* --- questions ------------------------------------------------------------------------------ */

static void clear_get_run(struct hl_store_msg *m)
{
    hl_get_run_fini((struct hl_get_run *)m);
}

static void clear_picked(struct hl_store_msg *m)
{
    struct hl_list_runs *l = (struct hl_list_runs *)m;
    free(l->picked);
    l->picked = NULL;
    l->n_picked = 0;
}

static void clear_get_delivery(struct hl_store_msg *m)
{
    hl_get_delivery_fini((struct hl_get_delivery *)m);
}

static void clear_overview(struct hl_store_msg *m)
{
    hl_overview_fini((struct hl_overview *)m);
}

static void clear_get_settings(struct hl_store_msg *m)
{
    hl_get_settings_fini((struct hl_get_settings *)m);
}

static void clear_get_alerts(struct hl_store_msg *m)
{
    hl_get_alerts_fini((struct hl_get_alerts *)m);
}

static void fini_run(void *row)
{
    hl_run_row_fini(row);
}

static void fini_delivery(void *row)
{
    hl_delivery_row_fini(row);
}

static void fini_audit(void *row)
{
    free(*(struct hl_audit **)row);
}

static void fini_job(void *row)
{
    hl_buf_fini(&((struct hl_job *)row)->plan);
    hl_buf_fini(&((struct hl_job *)row)->progress);
}

static void fini_job_piece(void *row)
{
    hl_buf_fini(&((struct hl_job_piece *)row)->items);
}

/* --- rows ----------------------------------------------------------------------------------- */

static const struct hl_operation none;

/* A list, of so many rows; or of as many as its `limit` asks for. */
#define LIST_OF(list, n)                                                                           \
    .is_question = true, .listing_at = offsetof(list, listing),                                    \
    .row_size = sizeof(*((list *)NULL)->rows), .rows_max = (n)
#define LIST(list) LIST_OF(list, 0), .limit_at = offsetof(list, limit)

static const struct hl_operation operations[] = {
    [HL_STORE_ACCEPT] = {.brings_work = true,
        .may_be_refused = true,
        .gives_up = true,
        .weigh = weigh_accept,
        .apply = accept_run,
        .fill = fill_accept},
    /* Its run is inside the app already: it does not give up. */
    [HL_STORE_RECORD] = {.brings_work = true,
        .may_be_refused = true,
        .weigh = weigh_accept,
        .apply = record,
        .note = note_record},
    [HL_STORE_FINISH] = {.weigh = weigh_finish,
        .keep = keep_finish,
        .restore = restore_finish,
        .apply = finish,
        .note = note_finish},
    [HL_STORE_RELEASE] = {.apply = release, .note = note_release},
    [HL_STORE_CANCEL] = {.gives_up = true, .apply = cancel, .note = note_cancel},

    [HL_STORE_ATTEMPT] = {.apply = attempt, .clear = clear_attempt},
    [HL_STORE_OUTCOME] = {.weigh = weigh_outcome, .apply = outcome, .fill = fill_outcome},
    [HL_STORE_REDELIVER] = {.gives_up = true,
        .keep = keep_redeliver,
        .restore = restore_redeliver,
        .apply = redeliver},
    [HL_STORE_RESEND] = {.gives_up = true,
        .may_be_refused = true,
        .weigh = weigh_resend,
        .apply = resend},

    [HL_STORE_GET_RUN] = {.is_question = true, .clear = clear_get_run},
    [HL_STORE_LIST_RUNS] = {LIST(struct hl_list_runs), .fini_row = fini_run, .clear = clear_picked},
    [HL_STORE_GET_DELIVERY] = {.is_question = true, .clear = clear_get_delivery},
    [HL_STORE_LIST_DELIVERIES] = {LIST(struct hl_list_deliveries), .fini_row = fini_delivery},
    [HL_STORE_LIST_DESTINATIONS] = {LIST(struct hl_list_destinations)},
    [HL_STORE_LIST_APPS] = {LIST_OF(struct hl_list_apps, HL_LIST_MAX)},
    [HL_STORE_LIST_REPLICAS] = {LIST_OF(struct hl_list_replicas, HL_LIST_MAX)},
    [HL_STORE_LIST_ACCOUNTS] = {LIST(struct hl_list_accounts)},
    [HL_STORE_LIST_AUDIT] = {LIST(struct hl_list_audit), .fini_row = fini_audit},
    [HL_STORE_OVERVIEW] = {.is_question = true, .clear = clear_overview},
    [HL_STORE_LIST_ERRORS] = {LIST_OF(struct hl_list_errors, HL_ERRORS_MAX)},
    [HL_STORE_LIST_KEYS] = {.is_question = true},

    [HL_STORE_ADD_ACCOUNT] = {.gives_up = true, .may_be_refused = true, .apply = add_account},
    [HL_STORE_REVOKE_ACCOUNT] = {.gives_up = true,
        .apply = revoke_account,
        .fill = fill_revoke_account},
    [HL_STORE_LIMIT_ACCOUNT] = {.gives_up = true, .apply = limit_account},
    [HL_STORE_GET_SETTINGS] = {.is_question = true, .clear = clear_get_settings},
    [HL_STORE_KEEP_SETTINGS] = {.gives_up = true,
        .may_be_refused = true,
        .weigh = weigh_settings,
        .apply = keep_settings},
    [HL_STORE_GET_ALERTS] = {.is_question = true, .clear = clear_get_alerts},
    [HL_STORE_TELL_ALERT] = {.gives_up = true,
        .may_be_refused = true,
        .weigh = weigh_alert,
        .apply = tell_alert},
    [HL_STORE_ADD_JOB] = {.gives_up = true,
        .may_be_refused = true,
        .weigh = weigh_add_job,
        .apply = add_job},
    [HL_STORE_KEEP_JOB] = {.gives_up = true,
        .may_be_refused = true,
        .weigh = weigh_keep_job,
        .apply = keep_job,
        .fill = fill_keep_job},
    [HL_STORE_STOP_JOB] = {.gives_up = true, .apply = stop_job, .fill = fill_stop_job},
    [HL_STORE_LIST_JOBS] = {LIST(struct hl_list_jobs),
        .one_at = offsetof(struct hl_list_jobs, job_id), .fini_row = fini_job},
    [HL_STORE_LIST_JOB_PIECES] = {LIST(struct hl_list_job_pieces), .fini_row = fini_job_piece},
    [HL_STORE_AUDIT] = {.gives_up = true, .apply = audit},
    [HL_STORE_TOUCH_ACCOUNTS] = {.gives_up = true, .may_be_refused = true, .apply = touch_accounts},
    [HL_STORE_KEEP_KEY] = {.gives_up = true, .may_be_refused = true, .apply = keep_key},
    [HL_STORE_KEEP_STREAM] = {.gives_up = true, .may_be_refused = true, .weigh = weigh_keep_stream},
    [HL_STORE_SAY_PROGRESS] = {.gives_up = true, .may_be_refused = true},
    [HL_STORE_TALLY] = {.gives_up = true,
        .may_be_refused = true,
        .weigh = weigh_tally,
        .apply = tally},
};

const struct hl_operation *hl_operation_of(const struct hl_store_msg *m)
{
    return m->msg.type < HL_ARRAY_LEN(operations) ? &operations[m->msg.type] : &none;
}

void hl_operation_restore(struct hl_batch_op *op)
{
    if (hl_operation_of(op->m)->restore)
        hl_operation_of(op->m)->restore(op);
}

bool hl_operation_gives_up(const struct hl_store_msg *m)
{
    return hl_operation_of(m)->gives_up;
}

size_t hl_operation_weigh(const struct hl_store_msg *m)
{
    const struct hl_operation *operation = hl_operation_of(m);
    return operation->weigh ? operation->weigh(m) : sizeof(struct hl_attempt_outcome);
}

static uint32_t *limit_of(struct hl_store_msg *m)
{
    size_t at = hl_operation_of(m)->limit_at;
    return at ? (uint32_t *)(void *)((char *)m + at) : NULL;
}

static struct hl_listing *listing_of(struct hl_store_msg *m)
{
    size_t at = hl_operation_of(m)->listing_at;
    return at ? (struct hl_listing *)(void *)((char *)m + at) : NULL;
}

void hl_operation_prepare(struct hl_store_msg *m)
{
    uint32_t *limit = limit_of(m);
    if (limit)
        *limit = *limit < 1 ? 1 : *limit < HL_LIST_MAX ? *limit : HL_LIST_MAX;
}

enum hl_err hl_operation_open_listing(struct hl_store_msg *m)
{
    const struct hl_operation *operation = hl_operation_of(m);
    struct hl_listing *listing = listing_of(m);
    *listing = (struct hl_listing){.room = limit_of(m) ? *limit_of(m) : operation->rows_max};
    listing->rows = calloc(listing->room, operation->row_size);
    return listing->rows ? HL_OK : HL_ERR_NOMEM;
}

static void free_listing(const struct hl_operation *operation, struct hl_listing *listing)
{
    for (size_t i = 0; operation->fini_row && listing->rows && i < listing->count; i++)
        operation->fini_row((char *)listing->rows + i * operation->row_size);
    free(listing->rows);
    listing->rows = NULL;
    listing->count = 0;
}

enum hl_err hl_operation_close_listing(struct hl_store_msg *m)
{
    size_t at = hl_operation_of(m)->one_at;
    bool is_one = at && !hl_id_is_nil((const struct hl_id *)(void *)((char *)m + at));
    if (listing_of(m)->count > 0)
        return HL_OK;
    free_listing(hl_operation_of(m), listing_of(m));
    return is_one ? HL_ERR_NOT_FOUND : HL_OK;
}

void hl_operation_clear(struct hl_store_msg *m)
{
    const struct hl_operation *operation = hl_operation_of(m);
    if (listing_of(m))
        free_listing(operation, listing_of(m));
    if (operation->clear)
        operation->clear(m);
}

void hl_operation_end(struct hl_store_msg *m, enum hl_err rc)
{
    bool says_more = m->msg.type == HL_STORE_GET_RUN && rc == HL_ERR_CORRUPT;
    m->rc = rc;
    if (rc && !says_more)
        hl_operation_clear(m);
}
