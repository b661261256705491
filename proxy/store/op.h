/* op.h - what every message to and from the store begins with. The messages themselves: accept.h, claim.h,
 * lease.h, notice.h, question.h, account.h, alert.h, job.h; how they travel: store.h. */
#ifndef HL_STORE_OP_H
#define HL_STORE_OP_H

#include "base/err.h"
#include "loop/mailbox.h"
#include "loop/slot.h"

/* Message types. Requests first: their struct begins with struct hl_store_msg. */
enum hl_store_op {
    HL_STORE_ACCEPT = 1,   /* struct hl_accept: a run is queued */
    HL_STORE_RECORD,       /* struct hl_accept: a synchronous run with a webhook has begun */
    HL_STORE_CREDIT,       /* struct hl_credit: a worker can take n more runs. No reply */
    HL_STORE_FINISH,       /* struct hl_finish */
    HL_STORE_RELEASE,      /* struct hl_release: a claimed run was not started after all */
    HL_STORE_WITHDRAW,     /* struct hl_store_msg: no CLAIMED follows the reply; a worker stops */
    HL_STORE_LEASE_CREDIT, /* struct hl_credit: the sender can take n more deliveries. No reply */
    HL_STORE_ATTEMPT,      /* struct hl_attempt: attempt n > 1; send only after the reply */
    HL_STORE_OUTCOME,      /* struct hl_attempt_outcome */
    HL_STORE_CANCEL,       /* struct hl_run_ref */
    HL_STORE_REDELIVER,    /* struct hl_redeliver */
    HL_STORE_RESEND,       /* struct hl_resend */
    HL_STORE_GET_RUN,      /* struct hl_get_run (question.h) */
    HL_STORE_LIST_RUNS,    /* struct hl_list_runs (question.h) */
    HL_STORE_GET_DELIVERY, /* struct hl_get_delivery (question.h) */
    HL_STORE_LIST_DELIVERIES,   /* struct hl_list_deliveries (question.h) */
    HL_STORE_LIST_APPS,         /* struct hl_list_apps (question.h) */
    HL_STORE_LIST_DESTINATIONS, /* struct hl_list_destinations (question.h) */
    HL_STORE_ADD_ACCOUNT,       /* struct hl_add_account (account.h) */
    HL_STORE_REVOKE_ACCOUNT,    /* struct hl_revoke_account (account.h) */
    HL_STORE_TOUCH_ACCOUNTS,    /* struct hl_touch_accounts (account.h) */
    HL_STORE_LIST_REPLICAS,     /* struct hl_list_replicas (question.h), only where it is shared */
    HL_STORE_LIST_ACCOUNTS,     /* struct hl_list_accounts (account.h) */
    HL_STORE_KEEP_KEY,          /* struct hl_keep_key */
    HL_STORE_WATCH_ACCOUNTS,    /* struct hl_watch_accounts (account.h), only where it is shared */
    HL_STORE_LIST_KEYS,         /* struct hl_list_keys (account.h), only where it is shared */
    HL_STORE_WATCH,             /* struct hl_watch: answered when the run has ended */
    HL_STORE_UNWATCH,           /* struct hl_watch: the WATCH from the same asker is answered now */
    HL_STORE_LIMIT_ACCOUNT,     /* struct hl_limit_account (account.h) */
    HL_STORE_KEEP_STREAM,       /* struct hl_keep_stream, only where it is shared */
    HL_STORE_SAY_PROGRESS,      /* struct hl_say_progress, only where it is shared */
    HL_STORE_TALLY,             /* struct hl_told_tally: synchronous calls that have ended */
    HL_STORE_OVERVIEW,          /* struct hl_overview (question.h) */
    HL_STORE_LIST_ERRORS,       /* struct hl_list_errors (question.h) */
    HL_STORE_AUDIT,             /* struct hl_store_msg: its row of audit.h is written */
    HL_STORE_LIST_AUDIT,        /* struct hl_list_audit (audit.h) */
    HL_STORE_GET_SETTINGS,      /* struct hl_get_settings (audit.h) */
    HL_STORE_KEEP_SETTINGS,     /* struct hl_keep_settings (audit.h) */
    HL_STORE_GET_ALERTS,        /* struct hl_get_alerts (alert.h) */
    HL_STORE_TELL_ALERT,        /* struct hl_tell_alert (alert.h) */
    HL_STORE_ADD_JOB,           /* struct hl_add_job (job.h) */
    HL_STORE_KEEP_JOB,          /* struct hl_keep_job (job.h) */
    HL_STORE_STOP_JOB,          /* struct hl_stop_job (job.h) */
    HL_STORE_LIST_JOBS,         /* struct hl_list_jobs (job.h) */
    HL_STORE_LIST_JOB_PIECES,   /* struct hl_list_job_pieces (job.h) */
    HL_STORE_BORROW, /* `ask` of a struct hl_quota, only where it is shared. No reply: a bell (lender.h) */
    HL_STORE_HOLD, /* its `permits_call`, likewise */

    HL_STORE_CLAIMED = 64, /* struct hl_claimed, to a worker that gave credit */
    HL_STORE_CANCEL_RUN,   /* struct hl_cancel_run, to the worker that has the run */
    HL_STORE_LEASED,       /* struct hl_leased, to the sender */
    HL_STORE_CREDIT_BACK,  /* struct hl_credit, to a worker: unused credit, see hl_credit.returns */
    HL_STORE_LEFT,         /* the store's own, of its struct hl_quota_bell (quota.h) */
    HL_STORE_WORK, /* struct hl_msg, to a worker without credit: runs are queued, see there */
};

struct hl_store_msg {
    struct hl_msg msg; /* type: enum hl_store_op */
    enum hl_err rc;    /* set on the reply */
    struct hl_mailbox *reply_to;
    struct hl_slot_name from; /* the asker's object; not touched by the store */
    /* The asker's: what is written of the change with it, if it is OK and changes anything (audit.h). NULL: nothing. */
    struct hl_audit *audit;
};

#endif
