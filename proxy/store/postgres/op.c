/* op.c - which request is which row, and which two of them may not be under way at once. The rows are op_run.c's,
 * op_notice.c's, op_delivery.c's and op_account.c's. */
#include "store/postgres/op.h"

#include "loop/mailbox.h"
#include "store/intake.h"
#include "store/lease.h"
#include "store/op.h"
#include "store/operation.h"
#include "store/postgres/state.h"

const struct hl_pg_operation *hl_pg_operation_of(const struct hl_store_msg *m)
{
    switch (m->msg.type) {
    case HL_STORE_ACCEPT:
    case HL_STORE_RECORD:
        return &hl_pg_op_add;
    case HL_STORE_FINISH:
        return &hl_pg_op_finish;
    case HL_STORE_RELEASE:
        return &hl_pg_op_release;
    case HL_STORE_CANCEL:
        return &hl_pg_op_cancel;
    case HL_STORE_ATTEMPT:
        return &hl_pg_op_attempt;
    case HL_STORE_OUTCOME:
        return &hl_pg_op_outcome;
    case HL_STORE_REDELIVER:
        return hl_id_is_nil(&((const struct hl_redeliver *)m)->delivery_id)
                   ? &hl_pg_op_redeliver_many
                   : &hl_pg_op_redeliver_one;
    case HL_STORE_RESEND:
        return &hl_pg_op_resend;
    case HL_STORE_ADD_ACCOUNT:
        return &hl_pg_op_account_add;
    case HL_STORE_REVOKE_ACCOUNT:
        return &hl_pg_op_account_revoke;
    case HL_STORE_LIMIT_ACCOUNT:
        return &hl_pg_op_account_limit;
    case HL_STORE_KEEP_SETTINGS:
        return &hl_pg_op_settings_keep;
    case HL_STORE_TELL_ALERT:
        return &hl_pg_op_alert;
    case HL_STORE_ADD_JOB:
        return &hl_pg_op_job_add;
    case HL_STORE_KEEP_JOB:
        return &hl_pg_op_job_keep;
    case HL_STORE_STOP_JOB:
        return &hl_pg_op_job_stop;
    case HL_STORE_AUDIT:
        return m->audit ? &hl_pg_op_audit : NULL;
    case HL_STORE_TOUCH_ACCOUNTS:
        return &hl_pg_op_account_touch;
    case HL_STORE_KEEP_KEY:
        return &hl_pg_op_key_keep;
    case HL_STORE_KEEP_STREAM:
        return &hl_pg_op_keep_stream;
    case HL_STORE_SAY_PROGRESS:
        return &hl_pg_op_say_progress;
    case HL_STORE_TALLY:
        return &hl_pg_op_tally;
    default:
        return NULL;
    }
}

void hl_pg_op_name_subject(struct hl_pg_op *op)
{
    const char *m = (const char *)op->m;
    if (op->how->subject_at > 0)
        op->subject = *(const struct hl_id *)(const void *)(m + op->how->subject_at);
    if (op->how->subject)
        op->how->subject(op);
}

void hl_pg_op_bind(struct hl_pg_store *s, struct hl_pg_op *const ops[], size_t n)
{
    const struct hl_pg_operation *how = ops[0]->how;
    if (how->bind)
        how->bind(s, &s->params, ops[0]);
    if (how->is_audited)
        hl_pg_audit_bind(&s->params, ops[0]->m);
    if (!how->add_row)
        return;
    hl_pg_columns_clear(&s->columns);
    for (size_t i = 0; i < n; i++) {
        how->add_row(s, &s->columns, ops[i]);
        hl_pg_columns_end_row(&s->columns);
    }
    hl_pg_columns_bind(&s->columns, &s->params);
}

void hl_pg_reply(struct hl_pg_store *s, struct hl_store_msg *m, size_t weight, enum hl_err rc)
{
    hl_intake_leave(&s->intake, weight);
    hl_operation_end(m, rc);
    hl_mailbox_post(m->reply_to, &m->msg);
}

static bool is_others(
    const struct hl_pg_store *s, const struct hl_id *subject, const struct hl_pg_op *op)
{
    const struct hl_pg_op *who = hl_id_is_nil(subject) ? NULL : hl_id_map_find(&s->busy, subject);
    return who && who != op;
}

bool hl_pg_op_is_busy(const struct hl_pg_store *s, const struct hl_pg_op *op)
{
    return is_others(s, &op->subject, op) || is_others(s, &op->key, op);
}

void hl_pg_op_set_busy(struct hl_pg_store *s, struct hl_pg_op *op)
{
    if (!hl_id_is_nil(&op->subject))
        hl_id_map_put(&s->busy, &op->subject, op);
    if (!hl_id_is_nil(&op->key))
        hl_id_map_put(&s->busy, &op->key, op);
}

void hl_pg_op_clear_busy(struct hl_pg_store *s, struct hl_pg_op *op)
{
    if (!hl_id_is_nil(&op->subject))
        hl_id_map_remove(&s->busy, &op->subject);
    if (!hl_id_is_nil(&op->key))
        hl_id_map_remove(&s->busy, &op->key);
}
