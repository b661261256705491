/* courier.c - from a parcel in SIGNING to the end of its attempt.
 *
 * Owns: the curl multi handle and the easy handles. Thread: the sender's.
 * Promise: libcurl's sockets wait at most one slice of hashing for their turn.
 * Not here: what follows from an attempt's end, when the next one is (sender.c). */
#include "webhook/courier.h"

#include <stdio.h>

#include "base/assert.h"
#include "base/crash_point.h"

static enum hl_err set_up(
    struct hl_courier *c, const struct hl_config *config, char *why, size_t why_len);

enum hl_err hl_courier_init(struct hl_courier *c, const struct hl_config *config,
    struct hl_docket *docket, const char *data_dir, char *why, size_t why_len)
{
    *c = (struct hl_courier){.docket = docket, .data_dir = data_dir, .trust.fd = -1};
    hl_list_init(&c->idle);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    return set_up(c, config, why, why_len);
}

static enum hl_err set_up(
    struct hl_courier *c, const struct hl_config *config, char *why, size_t why_len)
{
    if (hl_webhook_names_init(&c->names, config->service_name) != HL_OK) {
        snprintf(why, why_len,
            "HOOKLINE_SERVICE_NAME: allowed are 1 to %d characters of a field name",
            HL_SERVICE_NAME_MAX);
        return HL_ERR_INVALID;
    }
    enum hl_err err = hl_trust_init(&c->trust, config->webhook_ca_file, why, why_len);
    if (err != HL_OK)
        return err;
    c->settings = (struct hl_transfer_settings){
        .ca_file = c->trust.file,
        .timeout_ms = config->webhook_timeout_ms,
        .https_only = config->webhook_https_only,
        .allow = &config->webhook_allow,
    };
    c->multi = curl_multi_init();
    if (!c->multi) {
        snprintf(why, why_len, "the webhook sender cannot start: out of memory");
        return HL_ERR_NOMEM;
    }
    /* Kept connections: as many idle ones as can be busy. */
    curl_multi_setopt(c->multi, CURLMOPT_MAXCONNECTS, (long)config->webhook_concurrency * 2);
    curl_multi_setopt(c->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
    return HL_OK;
}

static void sign(struct hl_courier *c, struct hl_parcel *p);
static void end_unsent(struct hl_courier *c, struct hl_parcel *p, enum hl_err err);

void hl_courier_begin(struct hl_courier *c, struct hl_parcel *p, uint32_t n)
{
    enum hl_err err = hl_parcel_begin(p, n, c->data_dir);
    if (err == HL_OK)
        sign(c, p);
    else
        end_unsent(c, p, err);
}

static enum hl_err hand_over(struct hl_courier *c, struct hl_parcel *p);

static void sign(struct hl_courier *c, struct hl_parcel *p)
{
    bool is_done;
    enum hl_err err = hl_parcel_sign(p, &c->names, &is_done);
    if (err == HL_OK && is_done)
        err = hand_over(c, p);
    if (err != HL_OK)
        end_unsent(c, p, err);
}

static enum hl_err hand_over(struct hl_courier *c, struct hl_parcel *p)
{
    struct hl_list *node = hl_list_pop_front(&c->idle);
    p->transfer =
        node ? HL_CONTAINER_OF(node, struct hl_transfer, node) : hl_transfer_new(&c->settings);
    if (!p->transfer)
        return HL_ERR_NOMEM;
    p->transfer->owner = p;
    enum hl_err err = hl_parcel_prepare(p);
    HL_CRASH_POINT(WEBHOOK_READY);
    if (err == HL_OK && curl_multi_add_handle(c->multi, p->transfer->easy) != CURLM_OK)
        err = HL_ERR_NOMEM;
    if (err != HL_OK) {
        hl_courier_cut(c, p);
        return err;
    }
    hl_docket_move(c->docket, p, HL_PARCEL_SENDING);
    return HL_OK;
}

void hl_courier_cut(struct hl_courier *c, struct hl_parcel *p)
{
    if (!p->transfer)
        return;
    if (p->state == HL_PARCEL_SENDING)
        curl_multi_remove_handle(c->multi, p->transfer->easy);
    hl_list_push_front(&c->idle, &p->transfer->node);
    p->transfer = NULL;
}

/* The attempt cannot be sent at all. Lack of memory passes, a body that is not there does not. */
static const char *unsent_text(enum hl_err err)
{
    switch (err) {
    case HL_ERR_NOMEM:
        return "out_of_memory";
    case HL_ERR_NOT_FOUND:
        return "body_unreadable: the kept response is missing";
    case HL_ERR_CORRUPT:
        return "body_unreadable: the kept response is damaged";
    case HL_ERR_INVALID:
    case HL_ERR_TOO_LARGE:
        return "bad_record: the delivery's URL, secret or fields cannot be sent";
    default:
        return "body_unreadable: the kept response cannot be read";
    }
}

static void end_unsent(struct hl_courier *c, struct hl_parcel *p, enum hl_err err)
{
    struct hl_transfer_result result = {.is_permanent = err != HL_ERR_NOMEM};
    snprintf(result.error, sizeof result.error, "%s", unsent_text(err));
    c->on_end(c->self, p, &result);
}

static void take_finished(struct hl_courier *c);
static void sign_some(struct hl_courier *c);

void hl_courier_turn(struct hl_courier *c)
{
    int running;
    curl_multi_perform(c->multi, &running);
    take_finished(c);
    sign_some(c);
}

static void take_finished(struct hl_courier *c)
{
    CURLMsg *msg;
    int left;
    while ((msg = curl_multi_info_read(c->multi, &left))) {
        CURLcode code = msg->data.result;
        struct hl_transfer *t = NULL;
        struct hl_transfer_result result;
        curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, (char **)&t);
        hl_transfer_read_result(t, code, &result);
        struct hl_parcel *p = t->owner;
        hl_courier_cut(c, p);
        c->on_end(c->self, p, &result);
    }
}

/* One slice for the body whose turn it is; small ones are never unfinished. */
static void sign_some(struct hl_courier *c)
{
    struct hl_list *list = &c->docket->lists[HL_PARCEL_SIGNING];
    struct hl_list *node = hl_list_pop_front(list);
    if (!node)
        return;
    hl_list_push_back(list, node);
    sign(c, HL_CONTAINER_OF(node, struct hl_parcel, node));
}

void hl_courier_fini(struct hl_courier *c)
{
    for (struct hl_list *node; (node = hl_list_pop_front(&c->idle));)
        hl_transfer_free(HL_CONTAINER_OF(node, struct hl_transfer, node));
    curl_multi_cleanup(c->multi);
    hl_trust_fini(&c->trust);
    curl_global_cleanup();
}
