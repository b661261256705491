/* claim.h - runs on their way through a worker: handed out to it, ended or given back by it, cancelled,
 * waited for. Messages as store.h has them. */
#ifndef HL_STORE_CLAIM_H
#define HL_STORE_CLAIM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/id.h"
#include "base/run_terms.h"
#include "base/str.h"
#include "store/attempt.h"
#include "store/op.h"
#include "store/record.h"

struct hl_quota; /* quota.h */

/* CREDIT, LEASE_CREDIT: adds to what the store may push to `m.reply_to`. No reply; the store frees
 * it. CREDIT with n = 0 only makes the worker known: it gets WORK. LEASE_CREDIT with n = 0
 * withdraws all that was given, as does an ABANDONED outcome: the sender stops.
 *
 * WORK is sent once to each known worker that has no credit while runs are queued, and again only
 * after its next CREDIT: a worker that cannot use it at once gives credit when it can. */
struct hl_credit {
    struct hl_store_msg m;
    uint32_t n;
    /* CREDIT: it holds slots of the app; once nothing is queued, what was not used comes back as
     * CREDIT_BACK, in one message. Else it stands. */
    bool returns;
    /* With n = 1: a run of class `wish` is wanted; any other, when there is none. */
    bool has_wish;
    enum hl_priority wish;
    /* The asker's, or NULL: goes up by one for each run that is claimed for it, before that is not queued any more. */
    _Atomic uint32_t *claims;
};

/* The app was not called: the run waits again, its attempt is not counted, its epoch grows (so that
 * its old claim is void). Or it is a retry: the attempt has ended as `ended` says and counts, and the run
 * waits until it is due. Reply: OK, or STALE. */
struct hl_release {
    struct hl_store_msg m;
    struct hl_claimed *claimed; /* which the message is a part of, with the body that came */
    bool is_retry;
    int64_t due_ms; /* steady time */
    struct hl_attempt_entry ended;
};

/* A run for a worker: `running` is on disk. */
struct hl_claimed {
    struct hl_msg msg;
    struct hl_quota
        *quota;        /* where it has a place, which whoever takes the run leaves; NULL: none */
    bool has_no_place; /* a caller took it meanwhile: the run is to be given back */
    struct hl_id run_id;
    uint32_t epoch;
    uint32_t attempt; /* from 1 */
    bool has_webhook;
    bool is_cancelled; /* by its worker's word: before it began */
    bool is_fresh;     /* its body is as it was accepted, and was not read from anywhere since */
    int64_t created_ms;
    struct hl_run_terms terms; /* as accepted: what counts inside the app */
    int64_t first_ms;          /* when its first attempt began, or this one; by the steady clock */
    int64_t waits_ms;          /* when its last attempt ended; 0: this is the first */
    int64_t start_by_ms;       /* steady time, in case it is released; 0: any, or its store knows */
    uint64_t events;           /* the last ordinal that the events of earlier attempts have used */
    struct hl_str project, app;
    struct hl_str head; /* as accepted */
    struct hl_str tags; /* likewise */
    struct hl_body body;
    struct hl_release release;
};
void hl_claimed_free(struct hl_claimed *c);
void hl_claimed_leave(struct hl_claimed *c); /* its place, if it has one */
/* The message lies in the claim, and takes it: that an acknowledged run goes back needs no memory. */
struct hl_release *hl_release_new(struct hl_claimed *claimed);
void hl_release_free(struct hl_release *r);

/* State, kept response and delivery (if the run has a webhook) in one commit. Reply: OK, or STALE
 * (the run is final already or has another epoch: nothing changed), NOT_FOUND (never recorded), or
 * an error after which nothing changed and the asker may post it again (not after UNAVAILABLE: the
 * store closes). A full volume and a failing store are waited for, not reported.
 * The body's file is removed by the asker unless hl_store_keeps_file. */
struct hl_finish {
    struct hl_store_msg m;
    struct hl_id run_id;
    uint32_t epoch;            /* RECORDed runs: 1 */
    struct hl_outcome outcome; /* body owned by the message */
    /* For the overview: inside the app, of its last attempt; before that. As RECORD or CLAIM counted them. */
    int64_t run_us, queued_us;
    struct hl_buf log; /* what is kept of the log about it; owned by the message; may be empty */
    bool has_caller;   /* at a front: he is told at once */
    /* The head of the app's answer, for him; likewise. */
    struct hl_buf answer_head;
};
void hl_finish_free(struct hl_finish *f);

/* CANCEL. Reply OK: a queued run is final now (its webhook goes out), a running one's worker has
 * been told; CONFLICT: finished already; NOT_FOUND: also when the project or app is another's
 * (empty: any). */
struct hl_run_ref {
    struct hl_store_msg m;
    struct hl_id run_id;
    char project[HL_STORE_NAME_MAX + 1], app[HL_STORE_NAME_MAX + 1];
    /* The asker's, for the worker; in the reply NULL: it is on its way. NULL: the store finds memory
     * for one, or nobody is told. */
    struct hl_cancel_run *order;
    bool was_wished; /* reply: it was to be cancelled already */
};
struct hl_cancel_run {
    struct hl_msg msg;
    struct hl_id run_id;
};

/* WATCH comes back when a run ends after it: who may have come too late asks for the run behind it. OK:
 * look now; CANCELLED: it was withdrawn; UNAVAILABLE: the store closes. On PostgreSQL the ends that other
 * replicas make are seen within half a second. UNWATCH comes back at once. */
struct hl_watch {
    struct hl_store_msg m;
    struct hl_id run_id;
    /* it comes back too when the head of an answer that goes on is there (KEEP_STREAM) */
    bool wants_head;
    struct hl_watch *next; /* the store's */
};

#endif
