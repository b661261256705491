/* direct.c - see direct.h. Thread: the sender's. */
#include "webhook/direct.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "config/alert_setting.h"
#include "store/lease.h"
#include "store/message.h"
#include "webhook/courier.h"
#include "webhook/docket.h"
#include "webhook/transfer_result.h"

/* A copy behind what is there; where it goes on. */
static char *put(char *at, struct hl_str from, struct hl_str *to)
{
    *to = (struct hl_str){at, from.n};
    return from.n > 0 ? (char *)memcpy(at, from.p, from.n) + from.n : at;
}

struct hl_direct *hl_direct_new(
    const struct hl_id *run_id, struct hl_str url, struct hl_str secret, struct hl_str body)
{
    struct hl_direct *d = calloc(1, sizeof(*d) + url.n + secret.n + body.n);
    if (!d)
        return NULL;
    d->run_id = *run_id;
    char *at = put((char *)(d + 1), url, &d->url);
    at = put(at, secret, &d->secret);
    put(at, body, &d->body);
    return d;
}

void hl_direct_free(struct hl_direct *d)
{
    if (!d)
        return;
    free(d->report);
    explicit_bzero(d + 1, d->url.n + d->secret.n);
    free(d);
}

static void clear(struct hl_direct *d)
{
    d->is_delivered = d->was_tried = false;
    d->http_status = 0;
    d->started_ms = d->ended_ms = 0;
    d->error[0] = '\0';
    d->report = NULL;
}

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
        .secret = d->secret,
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
        hl_direct_give_up(d);
        return;
    }
    struct hl_parcel *p = hl_docket_add_direct(k, leased, d);
    if (p) {
        hl_courier_begin(c, p, p->n);
    } else {
        hl_leased_free(leased);
        hl_direct_give_up(d);
    }
}

void hl_direct_begin(struct hl_parcel *p, struct hl_docket *k, struct hl_courier *c)
{
    struct hl_leased *leased;
    if (lease(p->direct, &leased) != HL_OK) {
        hl_direct_end(p, k, c, NULL);
        return;
    }
    hl_parcel_renew(p, leased);
    hl_docket_move(k, p, HL_PARCEL_ASKING);
    hl_docket_move(k, p, HL_PARCEL_SIGNING);
    hl_courier_begin(c, p, p->n);
}

static void note_attempt(
    struct hl_direct *d, const struct hl_parcel *p, const struct hl_transfer_result *result)
{
    d->was_tried = true;
    d->is_delivered = result->http_status / 100 == 2;
    d->http_status = result->http_status;
    d->started_ms = p->started_ms;
    d->ended_ms = hl_clock_wall_ms();
    hl_str_put(d->error, sizeof(d->error), result->error);
    d->report = result->report;
}

void hl_direct_end(struct hl_parcel *p, struct hl_docket *k, struct hl_courier *c,
    const struct hl_transfer_result *result)
{
    struct hl_direct *direct = p->direct;
    clear(direct);
    if (result)
        note_attempt(direct, p, result);
    hl_courier_cut(c, p);
    hl_list_remove(&p->line);
    hl_docket_move(k, p, HL_PARCEL_RECORDING);
    hl_docket_drop(k, p);
    hl_mailbox_post(direct->reply_to, &direct->msg);
}

void hl_direct_give_up(struct hl_direct *d)
{
    clear(d);
    hl_mailbox_post(d->reply_to, &d->msg);
}
