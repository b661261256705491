/* courier.c - from a parcel in SIGNING to the end of its attempt.
 *
 *   SIGNING ─┬─▶ SENDING ──▶ end       a first attempt may go over a kept connection; where there is
 *            │     ▲  ▼                none, libcurl wants addresses
 *            └─▶ RESOLVING             any other looks its name up first
 *                  │ ▲
 *                  ▼ └── …               64 look-ups of its registered suffix are under way: it waits
 *               UNRESOLVED               without a place or a body, and begins anew then (sender.c)
 *
 * Owns: the curl multi handle, the easy handles and the look-ups. Thread: the sender's.
 * Promise: sockets wait at most one slice of hashing for their turn.
 * Not here: what follows from an attempt's end, when the next one is (sender.c). */
#include "webhook/courier.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/crash_point.h"
#include "base/random.h"
#include "config/config.h"
#include "dns/suffix.h"
#include "http/url.h"
#include "net/guard.h"
#include "webhook/docket.h"
#include "webhook/transfer_result.h"

/* The verdict stands with the head of the answer. The rest is waited for this long, because a
 * connection whose answer was read whole can be used again. */
#define LINGER_MS 1000
/* A receiver that has answered already, and takes nothing of the request for this long, wants no more of it. */
#define STALL_MS 5000

static enum hl_err set_up(
    struct hl_courier *c, const struct hl_config *config, char *why, size_t why_len);
static void on_addresses(void *self, struct hl_lookup *lookup);

/* NULL: no secret. */
static const struct hl_signature *take_secret(struct hl_signature *key, struct hl_str secret)
{
    if (secret.n == 0)
        return NULL;
    enum hl_err err = hl_signature_init(key, secret);
    HL_ASSERT(err == HL_OK); /* the settings were checked at start */
    return key;
}

#define AUTHORITIES "HOOKLINE_WEBHOOK_CA_FILE"

enum hl_err hl_courier_init(struct hl_courier *c, const struct hl_config *config,
    struct hl_docket *docket, const char *data_dir, char *why, size_t why_len)
{
    *c = (struct hl_courier){.docket = docket, .authorities = config->webhook_ca_file};
    hl_trust_none(&c->trust);
    c->parcels = (struct hl_parcel_settings){
        .data_dir = data_dir,
        .payload = {.is_thin = config->webhook_payload == HL_WEBHOOK_PAYLOAD_THIN,
            .max_body = config->webhook_max_body,
            .public_url = config->public_url},
        .key = take_secret(&c->key, config->webhook_secret),
        .previous_key = take_secret(&c->previous_key, config->webhook_previous_secret),
    };
    hl_list_init(&c->idle);
    hl_list_init(&c->answered);
    hl_resolver_init(&c->resolver);
    c->resolver.on_end = on_addresses;
    c->resolver.self = c;
    hl_key_limit_init(&c->lookups, HL_LOOKUPS_PER_SUFFIX);
    hl_random_fill(c->suffix_key, sizeof c->suffix_key);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    return set_up(c, config, why, why_len);
}

static enum hl_err set_up_egress(
    struct hl_courier *c, const struct hl_config *config, char *why, size_t why_len);

static enum hl_err set_up(
    struct hl_courier *c, const struct hl_config *config, char *why, size_t why_len)
{
    if (hl_webhook_names_init(&c->parcels.names, config->service_name) != HL_OK) {
        snprintf(why, why_len,
            "HOOKLINE_SERVICE_NAME: allowed are 1 to %d characters of a field name",
            HL_SERVICE_NAME_MAX);
        return HL_ERR_INVALID;
    }
    enum hl_err err = hl_trust_init(&c->trust, AUTHORITIES, config->webhook_ca_file, why, why_len);
    if (err == HL_OK)
        err = set_up_egress(c, config, why, why_len);
    if (err != HL_OK)
        return err;
    c->settings = (struct hl_transfer_settings){
        .ca_file = c->trust.file,
        .timeout_ms = config->webhook_timeout_ms,
        .https_only = config->webhook_https_only,
        .allow = &config->webhook_allow,
        .proxy = c->proxy.text,
        .answered = &c->answered,
    };
    c->multi = curl_multi_init();
    if (!c->multi) {
        snprintf(why, why_len, "the webhook sender cannot start: out of memory");
        return HL_ERR_NOMEM;
    }
    /* libcurl goes on without the descriptors that wake it: it would sleep through its end, and deliveries. */
    if (curl_multi_wakeup(c->multi) != CURLM_OK) {
        snprintf(why, why_len, "the webhook sender cannot start: too many open files");
        return HL_ERR_EXHAUSTED;
    }
    /* Kept connections: as many idle ones as can be busy. */
    curl_multi_setopt(c->multi, CURLMOPT_MAXCONNECTS, (long)config->webhook_concurrency * 2);
    curl_multi_setopt(c->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
    return HL_OK;
}

static enum hl_err set_up_egress(
    struct hl_courier *c, const struct hl_config *config, char *why, size_t why_len)
{
    c->proxy_resolves = config->webhook_proxy_resolve == HL_PROXY_RESOLVE_PROXY;
    enum hl_err err = hl_proxy_init(&c->proxy, config->webhook_proxy);
    if (err != HL_OK) {
        snprintf(why, why_len, "HOOKLINE_WEBHOOK_PROXY: it cannot be used: %s", hl_err_text(err));
        return err;
    }
    return hl_identity_init(&c->identity, config, why, why_len);
}

static void sign(struct hl_courier *c, struct hl_parcel *p);
static void end_unsent(struct hl_courier *c, struct hl_parcel *p, enum hl_err err);

void hl_courier_begin(struct hl_courier *c, struct hl_parcel *p, uint32_t n)
{
    enum hl_err err = hl_parcel_begin(p, n, &c->parcels);
    if (err == HL_OK)
        sign(c, p);
    else
        end_unsent(c, p, err);
}

static enum hl_err hand_over(struct hl_courier *c, struct hl_parcel *p);

static void sign(struct hl_courier *c, struct hl_parcel *p)
{
    bool is_done;
    bool is_trusted = hl_identity_trusts(&c->identity, p->leased->url);
    enum hl_err err =
        hl_parcel_sign(p, &c->parcels.names, is_trusted ? c->identity.fields : NULL, &is_done);
    if (err == HL_OK && is_done)
        err = hand_over(c, p);
    if (err != HL_OK)
        end_unsent(c, p, err);
}

/* The pair in use, for those who may see it. */
static enum hl_err show_certificate(struct hl_courier *c, struct hl_parcel *p)
{
    struct hl_certificate *certificate = &c->identity.certificate;
    if (!certificate->cert_file)
        return HL_OK;
    bool is_trusted = hl_identity_trusts(&c->identity, p->leased->url);
    if (is_trusted)
        hl_certificate_refresh(certificate);
    return hl_certificate_show(is_trusted ? certificate : NULL, p->transfer->easy);
}

static enum hl_err look_up(struct hl_courier *c, struct hl_parcel *p);
static enum hl_err ask_by_name(struct hl_courier *c, struct hl_parcel *p);
static enum hl_err send_off(struct hl_courier *c, struct hl_parcel *p);

static enum hl_err hand_over(struct hl_courier *c, struct hl_parcel *p)
{
    hl_trust_look(&c->trust, AUTHORITIES, c->authorities); /* what has begun keeps those it had */
    c->settings.ca_file = c->trust.file;
    struct hl_list *node = hl_list_pop_front(&c->idle);
    p->transfer =
        node ? HL_CONTAINER_OF(node, struct hl_transfer, node) : hl_transfer_new(&c->settings);
    if (!p->transfer)
        return HL_ERR_NOMEM;
    p->transfer->owner = p;
    enum hl_err err = hl_parcel_prepare(p);
    HL_CRASH_POINT(WEBHOOK_READY);
    if (err == HL_OK)
        err = show_certificate(c, p);
    if (err != HL_OK)
        return err;
    if (c->proxy.text && c->proxy_resolves)
        return ask_by_name(c, p);
    return p->n > 1 || p->may_look_up || c->proxy.text ? look_up(c, p) : send_off(c, p);
}

static enum hl_err send_off(struct hl_courier *c, struct hl_parcel *p)
{
    if (curl_multi_add_handle(c->multi, p->transfer->easy) != CURLM_OK)
        return HL_ERR_NOMEM;
    hl_docket_move(c->docket, p, HL_PARCEL_SENDING);
    return HL_OK;
}

/* What the attempt has left of HOOKLINE_WEBHOOK_TIMEOUT. */
static uint64_t left_ms(const struct hl_courier *c, const struct hl_parcel *p)
{
    uint64_t gone = (hl_clock_mono_us() - p->started_us) / 1000;
    return gone < c->settings.timeout_ms ? c->settings.timeout_ms - gone : 1;
}

static void end_blocked(struct hl_courier *c, struct hl_parcel *p)
{
    struct hl_transfer_result result;
    hl_transfer_result_read(p->transfer, CURLE_OK, &result);
    hl_courier_cut(c, p);
    c->on_end(c->self, p, &result);
}

static enum hl_err ask_by_name(struct hl_courier *c, struct hl_parcel *p)
{
    struct hl_url url;
    if (!hl_url_parse(p->leased->url, &url))
        return HL_ERR_INVALID;
    if (hl_transfer_ask_for_name(p->transfer, &url))
        return send_off(c, p);
    end_blocked(c, p);
    return HL_OK;
}

static enum hl_err send_to(struct hl_courier *c, struct hl_parcel *p, const struct hl_url *url,
    const struct hl_ip *addresses, size_t n)
{
    if (c->proxy.text) {
        if (hl_transfer_ask_for_address(p->transfer, url, addresses, n, p->n))
            return send_off(c, p);
        end_blocked(c, p);
        return HL_OK;
    }
    enum hl_err err =
        hl_transfer_set_addresses(p->transfer, url->port, addresses, n, left_ms(c, p));
    return err == HL_OK ? send_off(c, p) : err;
}

static bool may_look_up(struct hl_courier *c, struct hl_parcel *p, struct hl_str host);
static void put_off(struct hl_courier *c, struct hl_parcel *p);

/* A host that is an address needs no look-up. */
static enum hl_err look_up(struct hl_courier *c, struct hl_parcel *p)
{
    struct hl_url url;
    struct hl_ip ip;
    struct hl_lookup *lookup = &p->transfer->lookup;
    hl_docket_move(c->docket, p, HL_PARCEL_RESOLVING);
    if (!hl_url_parse(p->leased->url, &url))
        return HL_ERR_INVALID;
    if (hl_guard_parse_host(url.host, url.is_bracketed, &ip))
        return send_to(c, p, &url, &ip, 1);
    if (url.is_bracketed)
        return HL_ERR_INVALID;
    if (!may_look_up(c, p, url.host)) {
        put_off(c, p);
        return HL_OK;
    }
    lookup->owner = p;
    p->transfer->lookup_us = hl_clock_mono_us();
    return hl_resolver_begin(&c->resolver, lookup, url.host, left_ms(c, p));
}

/* If not, it is in the line. */
static bool may_look_up(struct hl_courier *c, struct hl_parcel *p, struct hl_str host)
{
    char room[HL_SUFFIX_MAX + 1];
    if (p->may_look_up)
        return true;
    p->suffix = hl_siphash(c->suffix_key, hl_suffix_of(host, room));
    p->may_look_up = hl_key_limit_enter(&c->lookups, p->suffix, &p->line);
    return p->may_look_up;
}

static void put_off(struct hl_courier *c, struct hl_parcel *p)
{
    hl_courier_cut(c, p);
    hl_docket_move(c->docket, p, HL_PARCEL_UNRESOLVED);
    hl_parcel_strip(p);
    p->is_unsent = true;
}

static void end_look_up(struct hl_courier *c, struct hl_parcel *p)
{
    if (!p->may_look_up)
        return;
    p->may_look_up = false;
    struct hl_list *line = hl_key_limit_leave(&c->lookups, p->suffix);
    if (!line)
        return;
    struct hl_parcel *next = HL_CONTAINER_OF(line, struct hl_parcel, line);
    next->may_look_up = true;
    hl_docket_move(c->docket, next, HL_PARCEL_DUE);
}

/* The proxy's own: exempt from the guard, and never in line with receivers. */
static enum hl_err send_to_proxy(
    struct hl_courier *c, struct hl_parcel *p, const struct hl_ip *addresses, size_t n)
{
    enum hl_err err =
        hl_transfer_set_addresses(p->transfer, c->proxy.url.port, addresses, n, left_ms(c, p));
    return err == HL_OK ? send_off(c, p) : err;
}

static enum hl_err look_up_proxy(struct hl_courier *c, struct hl_parcel *p)
{
    const struct hl_url *url = &c->proxy.url;
    struct hl_lookup *lookup = &p->transfer->lookup;
    struct hl_ip ip;
    hl_docket_move(c->docket, p, HL_PARCEL_RESOLVING);
    if (hl_guard_parse_host(url->host, url->is_bracketed, &ip))
        return send_to_proxy(c, p, &ip, 1);
    lookup->owner = p;
    return hl_resolver_begin(&c->resolver, lookup, url->host, left_ms(c, p));
}

static void on_addresses(void *self, struct hl_lookup *lookup)
{
    struct hl_courier *c = self;
    struct hl_parcel *p = lookup->owner;
    struct hl_transfer_result result;
    struct hl_url url;
    bool is_proxys = p->transfer->wants_addresses;
    if (!is_proxys || !c->proxy.text)
        p->transfer->name_us = (int32_t)(hl_clock_mono_us() - p->transfer->lookup_us);
    end_look_up(c, p);
    if (lookup->why) {
        hl_transfer_result_unresolved(
            p->transfer, is_proxys && c->proxy.text, lookup->why, &result);
        hl_courier_cut(c, p);
        c->on_end(c->self, p, &result);
        return;
    }
    bool is_url = hl_url_parse(p->leased->url, &url);
    enum hl_err err = is_proxys && c->proxy.text ? send_to_proxy(c, p, lookup->addresses, lookup->n)
                      : is_url                   ? send_to(c, p, &url, lookup->addresses, lookup->n)
                                                 : HL_ERR_INVALID;
    if (err != HL_OK)
        end_unsent(c, p, err);
}

void hl_courier_cut(struct hl_courier *c, struct hl_parcel *p)
{
    end_look_up(c, p);
    if (!p->transfer)
        return;
    hl_resolver_cut(&p->transfer->lookup);
    if (p->state == HL_PARCEL_SENDING)
        curl_multi_remove_handle(c->multi, p->transfer->easy);
    hl_list_remove(&p->transfer->node);
    hl_list_push_front(&c->idle, &p->transfer->node);
    p->transfer = NULL;
}

static void end_unsent(struct hl_courier *c, struct hl_parcel *p, enum hl_err err)
{
    struct hl_transfer_result result;
    hl_transfer_result_unsent(err, &result);
    hl_courier_cut(c, p);
    c->on_end(c->self, p, &result);
}

static void take_finished(struct hl_courier *c);
static void cut_answered(struct hl_courier *c);
static void sign_some(struct hl_courier *c);

void hl_courier_turn(struct hl_courier *c)
{
    int running;
    hl_resolver_turn(&c->resolver);
    curl_multi_perform(c->multi, &running);
    take_finished(c);
    cut_answered(c);
    sign_some(c);
}

static void finish(struct hl_courier *c, struct hl_transfer *t, CURLcode code);

static void look_up_after_all(struct hl_courier *c, struct hl_parcel *p)
{
    curl_multi_remove_handle(c->multi, p->transfer->easy);
    enum hl_err err = c->proxy.text ? look_up_proxy(c, p) : look_up(c, p);
    if (err != HL_OK)
        end_unsent(c, p, err);
}

static void take_finished(struct hl_courier *c)
{
    CURLMsg *msg;
    int left;
    while ((msg = curl_multi_info_read(c->multi, &left))) {
        struct hl_transfer *t = NULL;
        CURLcode code = msg->data.result;
        curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, (char **)&t);
        if (t->wants_addresses)
            look_up_after_all(c, t->owner);
        else
            finish(c, t, code);
    }
}

static void finish(struct hl_courier *c, struct hl_transfer *t, CURLcode code)
{
    struct hl_transfer_result result;
    struct hl_parcel *p = t->owner;
    hl_transfer_result_read(t, code, &result);
    hl_courier_cut(c, p);
    c->on_end(c->self, p, &result);
}

/* A receiver that answers early may still want the rest of the request, if that is no refusal (RFC 9112 9.5). */
static bool wants_more(struct hl_transfer *t, uint64_t now)
{
    uint64_t sent = hl_transfer_sent(t);
    if (sent > t->sent) {
        t->sent = sent;
        t->moved_ms = now;
    }
    return sent < t->size && hl_transfer_status(t) < 300 && now < t->moved_ms + STALL_MS;
}

static void cut_answered(struct hl_courier *c)
{
    uint64_t now = hl_clock_mono_ms();
    HL_LIST_EACH_SAFE (node, &c->answered) {
        struct hl_transfer *t = HL_CONTAINER_OF(node, struct hl_transfer, node);
        if (now < t->answered_ms + LINGER_MS)
            return;
        if (!wants_more(t, now)) {
            finish(c, t, CURLE_OPERATION_TIMEDOUT);
            continue;
        }
        t->answered_ms = now;
        hl_list_remove(&t->node);
        hl_list_push_back(&c->answered, &t->node);
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

void hl_courier_wait(struct hl_courier *c, uint64_t ms)
{
    uint64_t now = hl_clock_mono_ms(), wait = hl_resolver_wait_ms(&c->resolver, now);
    ms = wait < ms ? wait : ms;
    if (!hl_list_is_empty(&c->answered)) {
        uint64_t at =
            HL_CONTAINER_OF(c->answered.next, struct hl_transfer, node)->answered_ms + LINGER_MS;
        wait = at > now ? at - now : 0;
        ms = wait < ms ? wait : ms;
    }
    hl_resolver_collect(&c->resolver);
    curl_multi_poll(c->multi, c->resolver.fds, c->resolver.n, (int)ms, NULL);
}

void hl_courier_fini(struct hl_courier *c)
{
    for (struct hl_list *node; (node = hl_list_pop_front(&c->idle));)
        hl_transfer_free(HL_CONTAINER_OF(node, struct hl_transfer, node));
    curl_multi_cleanup(c->multi);
    if (c->parcels.key)
        hl_signature_fini(&c->key);
    if (c->parcels.previous_key)
        hl_signature_fini(&c->previous_key);
    hl_resolver_fini(&c->resolver);
    hl_key_limit_fini(&c->lookups);
    hl_trust_fini(&c->trust);
    hl_identity_fini(&c->identity);
    hl_proxy_fini(&c->proxy);
    curl_global_cleanup();
}
