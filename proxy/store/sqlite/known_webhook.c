/* known_webhook.c - see known_webhook.h. */
#include "store/sqlite/known_webhook.h"

#include <stddef.h>

#include "store/lease.h"

static struct hl_leased **place_of(struct hl_known_webhooks *known, const struct hl_id *run_id)
{
    return &known->places[hl_id_place(run_id, HL_KNOWN_WEBHOOKS_MAX)];
}

void hl_known_webhook_fini(struct hl_known_webhooks *known)
{
    for (size_t i = 0; i < HL_KNOWN_WEBHOOKS_MAX; i++)
        hl_leased_free(known->places[i]);
}

void hl_known_webhook_put(struct hl_known_webhooks *known, struct hl_leased *webhook)
{
    struct hl_leased **place = place_of(known, &webhook->run_id);
    hl_leased_free(*place);
    *place = webhook;
}

struct hl_leased *hl_known_webhook_take(struct hl_known_webhooks *known, const struct hl_id *run_id)
{
    struct hl_leased **place = place_of(known, run_id), *webhook = *place;
    if (!webhook || !hl_id_eq(&webhook->run_id, run_id))
        return NULL;
    *place = NULL;
    return webhook;
}
