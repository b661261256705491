/* direct.h - a body that is sent as a webhook without the store: one attempt, as a delivery's is made, signed and
 * guarded. For alerts that the store cannot take. */
#ifndef HL_WEBHOOK_DIRECT_H
#define HL_WEBHOOK_DIRECT_H

#include "base/err.h"
#include "base/id.h"
#include "base/str.h"
#include "loop/mailbox.h"

struct hl_courier;
struct hl_docket;
struct hl_parcel;

enum { HL_DIRECT = 1024 }; /* beside enum hl_store_op; HL_NEWS is the next */

/* Posted to the sender, and back when the attempt has ended. The asker's all the time, who leaves it alone meanwhile. */
struct hl_direct {
    struct hl_msg msg;
    struct hl_mailbox *reply_to;
    struct hl_id run_id;     /* what webhook-id says */
    struct hl_str url, body; /* the body is JSON */
    bool is_delivered;       /* reply */
};

/* For the sender: it comes; it has waited for its look-up's turn, without its body; it ends, and whoever asked is told. */
void hl_direct_take(struct hl_direct *d, struct hl_docket *k, struct hl_courier *c);
void hl_direct_begin(struct hl_parcel *p, struct hl_docket *k, struct hl_courier *c);
void hl_direct_end(
    struct hl_parcel *p, struct hl_docket *k, struct hl_courier *c, bool is_delivered);
void hl_direct_reply(struct hl_direct *d, bool is_delivered);

#endif
