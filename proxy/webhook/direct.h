/* direct.h - a body that is sent as a webhook without the store: one attempt, as a delivery's is made, signed and
 * guarded. For alerts that the store cannot take, and for tests of a receiver. */
#ifndef HL_WEBHOOK_DIRECT_H
#define HL_WEBHOOK_DIRECT_H

#include "base/err.h"
#include "base/id.h"
#include "base/str.h"
#include "loop/mailbox.h"
#include "loop/slot.h"
#include "store/record.h"

struct hl_courier;
struct hl_docket;
struct hl_parcel;
struct hl_transfer_result;

enum { HL_DIRECT = 1024 }; /* beside enum hl_store_op; HL_NEWS is the next */

/* Posted to the sender, and back when the attempt has ended. The asker's all the time, who leaves it alone meanwhile. */
struct hl_direct {
    struct hl_msg msg;
    struct hl_mailbox *reply_to;
    struct hl_slot_name from; /* the asker's object; not touched here */
    struct hl_id run_id;      /* what webhook-id says */
    struct hl_str url, body;  /* the body is JSON */
    struct hl_str secret;     /* that it is signed with; empty: the operator's */
    /* reply */
    bool is_delivered;
    /* false: there was no attempt, for the process ends or has no memory; what follows is empty */
    bool was_tried;
    uint16_t http_status;                 /* 0: no response */
    int64_t started_ms, ended_ms;         /* wall */
    char error[HL_ATTEMPT_ERROR_MAX + 1]; /* empty: the status says it all */
    struct hl_attempt_report *report;     /* the asker's, who frees it; may be NULL */
};

/* One of its own, with copies of the strings. NULL: out of memory. */
struct hl_direct *hl_direct_new(
    const struct hl_id *run_id, struct hl_str url, struct hl_str secret, struct hl_str body);
/* Such a one, which nobody has: wipes it, and frees its report. NULL-safe. */
void hl_direct_free(struct hl_direct *d);

/* For the sender: it comes; it has waited for its look-up's turn, without its body; it ends, and whoever asked is told. */
void hl_direct_take(struct hl_direct *d, struct hl_docket *k, struct hl_courier *c);
void hl_direct_begin(struct hl_parcel *p, struct hl_docket *k, struct hl_courier *c);
/* `result`: of its attempt, whose report it takes; NULL: it is given up. */
void hl_direct_end(struct hl_parcel *p, struct hl_docket *k, struct hl_courier *c,
    const struct hl_transfer_result *result);
/* There was no attempt. */
void hl_direct_give_up(struct hl_direct *d);

#endif
