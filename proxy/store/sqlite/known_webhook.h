/* known_webhook.h - what the webhooks of runs that began last will be sent from, as it came: a delivery that is leased as it
 * begins need not be read, and opened. The store's thread. */
#ifndef HL_STORE_SQLITE_KNOWN_WEBHOOK_H
#define HL_STORE_SQLITE_KNOWN_WEBHOOK_H

struct hl_id;
struct hl_leased;

#define HL_KNOWN_WEBHOOKS_MAX 1024

/* Each has its place by its run's id, and the next one there takes it, so that those which nobody asks for stay for a while
 * only. Rows are the truth, and no id is given twice: what was rolled back is not asked for. */
struct hl_known_webhooks {
    struct hl_leased *places[HL_KNOWN_WEBHOOKS_MAX];
};

void hl_known_webhook_fini(struct hl_known_webhooks *known);
/* Takes `webhook`, which has no delivery_id and no outcome yet. */
void hl_known_webhook_put(struct hl_known_webhooks *known, struct hl_leased *webhook);
/* The caller's, if it is known; else NULL. */
struct hl_leased *hl_known_webhook_take(
    struct hl_known_webhooks *known, const struct hl_id *run_id);

#endif
