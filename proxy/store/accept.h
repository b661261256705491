/* accept.h - how a run comes into the store. Messages as store.h has them. */
#ifndef HL_STORE_ACCEPT_H
#define HL_STORE_ACCEPT_H

#include <stdbool.h>
#include <stdint.h>
#include "base/id.h"
#include "base/run_terms.h"
#include "base/str.h"
#include "config/choice.h"
#include "store/op.h"
#include "store/record.h"

/* ACCEPT, RECORD. One allocation holds the struct and its strings (hl_accept_new). On the reply:
 *   OK         run_id is queued (RECORD: running, epoch 1), on disk
 *   EXISTS     same idempotency key, same request: run_id is overwritten with the earlier run's
 *   CONFLICT   same key, other request
 *   BUSY       ACCEPT: HOOKLINE_MAX_QUEUED_RUNS is reached, or with a webhook
 *              HOOKLINE_MAX_PENDING_DELIVERIES, or its destination has half of those (contract 5). A RECORD
 *              is not refused for these: its run is inside the app already
 *   FULL       no space: nothing was kept
 *   TIMEOUT    ACCEPT: nobody knows whether it was kept. A run that was is withdrawn as soon as that is
 *              possible, unless it has begun
 *   UNAVAILABLE, IO, CORRUPT
 *              the store is failing
 *
 * Unless OK or TIMEOUT, no trace is left; then, and after TIMEOUT, the body's file is removed by the
 * asker (hl_store_keeps_file). After OK it is the store's: it goes when the run ends. */
struct hl_accept {
    struct hl_store_msg m;
    struct hl_id run_id;
    int64_t created_ms;
    struct hl_str project, app;
    struct hl_str method, target; /* upstream; for lists and records */
    struct hl_str path;           /* what lists show of the target; hl_accept_new says it */
    struct hl_str head;        /* ACCEPT: for the app, is_stored (http/edit.h); encrypted at rest */
    struct hl_str webhook_url; /* empty: none; encrypted at rest */
    struct hl_str webhook_secret;  /* the caller's; empty: none; encrypted at rest */
    struct hl_str traceparent;     /* goes along with the webhook */
    struct hl_str idempotency_key; /* ACCEPT; empty: none */
    struct hl_str subject;         /* token subject the key belongs to; empty with AUTH=none */
    struct hl_str identity;        /* whose run it is (auth/principal.h); empty likewise */
    struct hl_id rerun_of;         /* ACCEPT: its request is that run's; nil: none */
    struct hl_run_terms terms;     /* ACCEPT */
    struct hl_str tags;            /* base/tag.h; empty: none */
    uint32_t max_queued; /* ACCEPT: BUSY if the identity has that many queued runs; 0: any number */
    bool is_over;        /* ACCEPT: BUSY in any case; but one whose key is known is answered */
    bool is_over_queued; /* reply BUSY: for max_queued */
    /* reply BUSY: its destination has as many deliveries as one may have */
    bool is_over_destination;
    uint8_t fingerprint[32]; /* of the whole request, with idempotency_key */
    struct hl_body body;     /* ACCEPT: owned by the message */
    /* ACCEPT: the body's file is rerun_of's, and the store gives what is in it a name of its own; reply:
     * whether it is so still, and the asker removes nothing. NOT_FOUND: it is no longer there. */
    bool borrows_file;
};

/* Whether the request of an asynchronous run is kept that has ended so. */
static inline bool hl_keeps_request(enum hl_keep_requests keep, enum hl_run_state state)
{
    return keep == HL_KEEP_REQUESTS_ALL ||
           (keep == HL_KEEP_REQUESTS_FAILED && state != HL_RUN_SUCCESS);
}

/* Is the file of a request's body the store's after this reply? After IO or CORRUPT nobody knows
 * whether the next start will find the commit that names it: the sweep there removes it if not. */
static inline bool hl_store_keeps_file(enum hl_err rc)
{
    return rc == HL_OK || rc == HL_ERR_IO || rc == HL_ERR_CORRUPT;
}

/* What its row has of it. */
extern const struct hl_columns hl_accept_row_columns;

/* `tmpl`'s strings are copied, its body is taken (tmpl->body is emptied). NULL: out of memory. */
struct hl_accept *hl_accept_new(enum hl_store_op op, struct hl_accept *tmpl);
void hl_accept_free(struct hl_accept *a); /* NULL-safe; wipes the secret */

#endif
