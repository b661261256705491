/* lease.h - deliveries on their way through the sender, and again. Messages as store.h has them. */
#ifndef HL_STORE_LEASE_H
#define HL_STORE_LEASE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/id.h"
#include "base/str.h"
#include "store/lane.h"
#include "store/op.h"
#include "store/record.h"

/* A delivery for the sender. Attempt `n` of `round` is on disk already: send at once. The lease
 * ends with a final OUTCOME, or one that puts the next attempt off. To a destination (lane: scheme, host,
 * port) the store leases no more at a time than there are free places just then, or
 * HOOKLINE_WEBHOOK_PER_HOST where that is set, round-robin over lanes. */
struct hl_leased {
    struct hl_msg msg;
    struct hl_id delivery_id, run_id;
    uint64_t lane;
    uint32_t round, n, max_attempts; /* n from 1 */
    bool is_async;                   /* so is the run: its result can be asked for */
    int64_t failing_since_ms;        /* of the lane, as it was noted last; 0: it is not */
    struct hl_str url, secret, traceparent, project, app; /* secret: the caller's */
    struct hl_str tags;                                   /* the run's; empty: none */
    struct hl_outcome outcome; /* INLINE body is here, FILE is opened by the sender */
};
void hl_leased_free(struct hl_leased *l); /* wipes secret and url */

/* Attempt n (> 1) will be sent: committed before the reply. Reply OK with the delivery, so that
 * nobody has to keep it between two attempts; STALE: the lease is gone, do not send. `is_again`:
 * attempt n (> 0) is on disk already and was not sent; nothing is committed. */
struct hl_attempt {
    struct hl_store_msg m;
    struct hl_id delivery_id;
    uint32_t round, n;
    bool is_parked; /* it has no place */
    bool is_again;
    struct hl_leased *leased; /* NULL; reply OK: the asker's */
};

/* The verdicts that the sender may give:
 *   OK         final: delivered
 *   RETRY      the lease stays: ATTEMPT comes after a delay. With puts_off it ends, and the delivery
 *              waits in the store until next_ms. DEAD at max_attempts
 *   DEAD       final: dead letter
 *   ABANDONED  the sender stops: the lease is given back, the delivery stays pending; with
 *              started_ms 0 attempt n was never sent and does not count */
struct hl_attempt_outcome {
    struct hl_store_msg m;
    struct hl_id delivery_id;
    uint32_t round, n;
    enum hl_attempt_verdict verdict;
    uint16_t http_status; /* 0: no response */
    int64_t started_ms, ended_ms;
    char error[HL_ATTEMPT_ERROR_MAX + 1]; /* "timeout", …; never a URL or secret */
    int64_t next_ms; /* RETRY: time of the steady clock before which the next attempt is not sent */
    bool puts_off;   /* RETRY */
    bool parks; /* RETRY, not puts_off: others may have its place at the destination from now on */
    bool is_parked;             /* it has no place; the reply OK says it anew */
    enum hl_lane_health health; /* of the destination, from now on; ABANDONED says nothing of it */
    int64_t failing_since_ms;   /* health FAILING: wall time, else 0 */
    /* owned by the message, which hl_attempt_outcome_fini frees; NULL: none */
    struct hl_attempt_report *report;
};

void hl_attempt_outcome_fini(struct hl_attempt_outcome *o);

/* REDELIVER: one (delivery_id; CONFLICT while it is pending; with leaves_room it is as it was where half of
 * HOOKLINE_MAX_PENDING_DELIVERIES are pending, and has_more says so) or, when that is nil, all of `project`
 * in `state` (DEAD or OK) that a list from `since_ms` on shows (question.h), as many as HL_REDELIVER_MAX and as
 * leave half of HOOKLINE_MAX_PENDING_DELIVERIES to new ones. A new round of attempts each; the history stays. */
#define HL_REDELIVER_MAX 5000
struct hl_redeliver {
    struct hl_store_msg m;
    struct hl_id delivery_id;
    char project[HL_STORE_NAME_MAX +
                 1];  /* the delivery's too, else NOT_FOUND; empty with a delivery_id: any */
    bool leaves_room; /* with a delivery_id: it is one of many */
    uint32_t round;   /* with a delivery_id: STALE where it is in another one; 0: any */
    enum hl_delivery_state state; /* with a nil delivery_id; PENDING is not possible: INVALID */
    int64_t since_ms;             /* by the time in the delivery's id */
    uint64_t count;               /* 0; reply: how many */
    struct hl_redeliver_mark {
        int64_t app_id;
        struct hl_id after;
    } mark; /* zero, or where an earlier one came to; reply: how far it has come */
    /* reply: there may be more behind the mark; one that leaves room: there is none for it */
    bool has_more;
};

/* How many more it may take where so many are pending. */
static inline uint64_t hl_redeliver_room(
    const struct hl_redeliver *r, uint64_t max_pending, uint64_t pending)
{
    uint64_t half = hl_lane_half(max_pending), room = pending < half ? half - pending : 0;
    return HL_REDELIVER_MAX - r->count < room ? HL_REDELIVER_MAX - r->count : room;
}

/* RESEND: what a delivery of `run_id` is sent from goes to another URL, too, as a new delivery, signed with `secret`, or
 * the operator's where that is empty. BUSY: as many wait as may, or (is_over_destination) as may for that destination.
 * NOT_FOUND: there is no such delivery. */
struct hl_resend {
    struct hl_store_msg m;
    struct hl_id delivery_id, run_id;    /* from which, and of which run that is */
    struct hl_id resent_as;              /* the new one */
    char project[HL_STORE_NAME_MAX + 1]; /* as hl_redeliver's */
    struct hl_str url, secret;           /* encrypted at rest */
    bool is_over_destination;            /* reply */
};

/* A copy of it and its strings. NULL: out of memory. */
struct hl_resend *hl_resend_new(const struct hl_resend *from);
void hl_resend_free(struct hl_resend *r); /* wipes both; NULL-safe */

#endif
