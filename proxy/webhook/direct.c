/* direct.c - see direct.h. Thread: the sender's. */
#include "webhook/direct.h"

#include "config/alert_setting.h"
#include "store/lease.h"
#include "store/message.h"
#include "webhook/courier.h"
#include "webhook/docket.h"

/* What the sender would have been leased. */
static enum hl_err lease(const struct hl_direct *d, struct hl_leased **out)
{
    struct hl_leased leased = {
        .delivery_id = d->run_id,
        .run_id = d->run_id,
        .round = 1,
        .n = 1,
        .max_attempts = 1,
        .url = d->url,
        .app = HL_STR(HL_ALERT_APP),
        .outcome = {.state = HL_RUN_SUCCESS,
            .encoding = HL_ENCODING_JSON,
            .body = {.where = HL_BODY_INLINE, .size = d->body.n}},
    };
    hl_digest_short(d->body, leased.outcome.body.digest);
    return hl_leased_new(&leased, d->body, out);
}

void hl_direct_take(struct hl_direct *d, struct hl_docket *k, struct hl_courier *c)
{
    struct hl_leased *leased;
    if (lease(d, &leased) != HL_OK) {
        hl_direct_reply(d, false);
        return;
    }
    struct hl_parcel *p = hl_docket_add_direct(k, leased, d);
    if (p) {
        hl_courier_begin(c, p, p->n);
    } else {
        hl_leased_free(leased);
        hl_direct_reply(d, false);
    }
}

void hl_direct_begin(struct hl_parcel *p, struct hl_docket *k, struct hl_courier *c)
{
    struct hl_leased *leased;
    if (lease(p->direct, &leased) != HL_OK) {
        hl_direct_end(p, k, c, false);
        return;
    }
    hl_parcel_renew(p, leased);
    hl_docket_move(k, p, HL_PARCEL_ASKING);
    hl_docket_move(k, p, HL_PARCEL_SIGNING);
    hl_courier_begin(c, p, p->n);
}

void hl_direct_end(
    struct hl_parcel *p, struct hl_docket *k, struct hl_courier *c, bool is_delivered)
{
    struct hl_direct *direct = p->direct;
    hl_courier_cut(c, p);
    hl_list_remove(&p->line);
    hl_docket_move(k, p, HL_PARCEL_RECORDING);
    hl_docket_drop(k, p);
    hl_direct_reply(direct, is_delivered);
}

void hl_direct_reply(struct hl_direct *d, bool is_delivered)
{
    d->is_delivered = is_delivered;
    hl_mailbox_post(d->reply_to, &d->msg);
}
