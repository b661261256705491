/* watch.h - the watch over destinations: what attempts here, other replicas and earlier processes have found out of
 * them, and who is told when one begins to fail or answers again. The sender's thread owns it. */
#ifndef HL_WEBHOOK_WATCH_H
#define HL_WEBHOOK_WATCH_H

#include "base/metric.h"
#include "webhook/health.h"
#include "webhook/recall.h"

struct hl_leased;
struct hl_mailbox;
struct hl_parcel;
struct hl_shares;
struct hl_transfer_result;

struct hl_watch {
    struct hl_healths healths;
    struct hl_recalls recalls;

    /* Set by the sender; borrowed. */
    struct hl_mailbox *news;  /* NULL: nobody wants any */
    struct hl_shares *shares; /* it may be another's turn when a destination's health has changed */
    struct hl_counter *failing; /* how many fail */
};

void hl_watch_init(struct hl_watch *w, struct hl_store *store, struct hl_mailbox *replies);
void hl_watch_fini(struct hl_watch *w);

/* An attempt has ended, which is not a direct one: writes into its outcome what is to be kept of the destination. That
 * something of ours cannot be sent says nothing of it. */
void hl_watch_judge(
    struct hl_watch *w, struct hl_parcel *p, const struct hl_transfer_result *result);
/* The store has an attempt's outcome, and what it says of the destination. */
void hl_watch_confirm(struct hl_watch *w, const struct hl_parcel *p);
/* What others have found out, or an earlier process; not what the store has not been told yet. */
void hl_watch_learn(struct hl_watch *w, const struct hl_leased *leased);
/* What an earlier process has seen: `reply` is a LIST_DELIVERIES, and taken. */
void hl_watch_recall(struct hl_watch *w, struct hl_msg *reply);

#endif
