/* recall.h - how the last attempts at a destination ended before this process made one, asked of the store at the
 * first that has no answer: a destination is found to fail over a restart, too. The sender's thread owns it. */
#ifndef HL_WEBHOOK_RECALL_H
#define HL_WEBHOOK_RECALL_H

#include "store/destination.h"
#include "store/record.h"

struct hl_mailbox;
struct hl_msg;
struct hl_parcel;
struct hl_store;

/* So many are asked for at once; of further destinations nothing is recalled. */
#define HL_RECALLS_MAX 64

struct hl_recalls {
    struct hl_store *store;
    struct hl_mailbox *replies;
    uint32_t asked; /* and not answered */
};

/* What is recalled: the last attempts, `n` in a row, had no answer. */
struct hl_silence {
    uint64_t lane;
    uint32_t n;
    int64_t since_ms; /* n > 0: when the first of them began, wall */
    char to[HL_DESTINATION_MAX];
    char error[HL_ATTEMPT_ERROR_MAX + 1]; /* of the last that ended */
};

/* Both are borrowed. */
void hl_recalls_init(struct hl_recalls *all, struct hl_store *store, struct hl_mailbox *replies);
/* Of the destination of `p`, whose attempt under way has ended: of what ended before that began. The newest HL_LIST_MAX
 * deliveries of its project are looked at. The reply is a LIST_DELIVERIES. */
void hl_recalls_ask(struct hl_recalls *all, const struct hl_parcel *p);
/* Takes the reply. */
void hl_recalls_take(struct hl_recalls *all, struct hl_msg *reply, struct hl_silence *out);
void hl_recall_free(struct hl_msg *reply);

#endif
