/* rest_sent.c - what was sent: the request of a delivery, as each of its attempts made it.
 * Thread: control.
 * Promise: nothing that is secret is shown: no value of a query, of a field that may have one, of a signature's, no secret.
 * The body is made anew of what is kept of the run; where that or the settings are not what they were, it says so by the
 * number of bytes that went out.
 * Not here: what came back (rest_delivery.c), how it is sent (webhook/request.c, webhook/envelope.c). */
#include "api/rest_handler.h"

#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "config/config.h"
#include "config/webhook_setting.h"
#include "http/stored_head.h"
#include "http/url.h"
#include "run/service.h"
#include "store/lease.h"
#include "store/op.h"
#include "store/question.h"
#include "webhook/envelope.h"
#include "webhook/request.h"

/* Of the response; what is sent around it is short. */
#define SHOWN_MAX (256 * 1024)

static void ask_run(struct hl_rest_call *call);
static void show(struct hl_rest_call *call);

void hl_rest_show_sent(struct hl_rest_call *call)
{
    if (hl_rest_ask_delivery(call, &call->id))
        hl_rest_then(call, ask_run);
    else
        hl_rest_refuse_memory(call);
}

static void ask_run(struct hl_rest_call *call)
{
    const struct hl_get_delivery *d = (const struct hl_get_delivery *)call->answers[0];
    if (d->m.rc != HL_OK) {
        hl_rest_refuse_store(call, d->m.rc, "delivery");
        return;
    }
    struct hl_get_run *g = calloc(1, sizeof(*g));
    if (!g) {
        hl_rest_refuse_memory(call);
        return;
    }
    g->run_id = d->delivery.run_id;
    g->range_max = SHOWN_MAX;
    hl_str_put(g->project, sizeof(g->project), call->project);
    hl_rest_ask_store(call, HL_STORE_GET_RUN, &g->m);
    hl_rest_then(call, show);
}

/* ---- the fields of an attempt ---- */

struct sent {
    const struct hl_rest_call *call;
    const struct hl_config *config;
    const struct hl_get_delivery *of;
    const struct hl_get_run *run; /* NULL: it is not there */
    struct hl_webhook_names names;
    struct hl_url url;
    bool has_url, is_signed;
    json_t *fields; /* of the attempt under way */
    bool is_whole;
};

/* `value` is taken; null: it is secret, or not kept. */
static void add_field(struct sent *s, struct hl_str name, json_t *value)
{
    json_t *field = HL_JSON_OBJECT({"name", hl_json_text(name)}, {"value", value});
    s->is_whole = hl_json_push(s->fields, field) && s->is_whole;
}

static void add_text(struct sent *s, const char *name, const char *value)
{
    add_field(s, hl_str_from(name), json_string(value));
}

static struct hl_str without_colon(const char *name)
{
    return (struct hl_str){name, strlen(name) - 1};
}

static void add_host(struct sent *s)
{
    struct hl_buf host = {0};
    bool is_default = s->url.port == (s->url.is_https ? 443 : 80);
    const char *form = s->url.is_bracketed ? "[%.*s]" : "%.*s";
    enum hl_err err = hl_buf_printf(&host, form, HL_STR_ARG(s->url.host));
    if (!err && !is_default)
        err = hl_buf_printf(&host, ":%u", s->url.port);
    add_field(s, HL_STR("Host"), err ? NULL : hl_json_text(hl_buf_str(&host)));
    hl_buf_fini(&host);
}

/* An attempt of a trace has a span of its own, whose name is not kept. */
static void add_trace(struct sent *s)
{
    const struct hl_service *service = hl_rest_get_parts(s->call)->service;
    struct hl_str traceparent = hl_buf_str(&s->of->traceparent);
    bool is_known = !service || !service->tracer;
    if (traceparent.n > 0 || !is_known)
        add_field(s, HL_STR("traceparent"), is_known ? hl_json_text(traceparent) : json_null());
}

/* By when it was signed. The signatures are not kept. */
static void add_signature(struct sent *s, const struct hl_attempt_row *a, json_t *id)
{
    json_t *seconds = json_sprintf("%lld", (long long)(a->started_ms / 1000));
    add_field(s, without_colon(s->names.timestamp), json_incref(seconds));
    add_field(s, without_colon(s->names.signature), json_null());
    add_field(s, HL_STR("webhook-id"), json_incref(id));
    add_field(s, HL_STR("webhook-timestamp"), seconds);
    add_field(s, HL_STR("webhook-signature"), json_null());
}

/* The operator's own, for hosts that are trusted. */
static void add_own(struct sent *s)
{
    struct hl_str text = s->config->webhook_headers, line;
    bool is_trusted =
        s->has_url && s->config->webhook_trusted_hosts.n > 0 &&
        hl_host_list_has(s->config->webhook_trusted_hosts, s->url.host, s->url.is_bracketed);
    while (is_trusted && hl_webhook_field_next(&text, &line)) {
        const char *colon = memchr(line.p, ':', line.n);
        size_t n = colon ? (size_t)(colon - line.p) : line.n;
        struct hl_stored_field field = {.name = {line.p, n}};
        if (colon)
            field.value = hl_str_trim((struct hl_str){colon + 1, line.n - n - 1});
        bool is_harmless = hl_stored_field_is_harmless(&field);
        add_field(s, field.name, is_harmless ? hl_json_text(field.value) : json_null());
    }
}

/* As libcurl and webhook/request.c write them. */
static json_t *fields_json(struct sent *s, const struct hl_attempt_row *a)
{
    json_t *id = hl_json_id(&s->of->delivery.run_id);
    uint64_t size = a->report ? a->report->sent_size : 0;
    s->fields = json_array();
    s->is_whole = s->fields && id;
    if (s->has_url)
        add_host(s);
    add_text(s, "User-Agent", "hookline/" HL_VERSION);
    add_text(s, "Accept", "*/*");
    add_text(s, "Content-Type", "application/json");
    add_field(s, HL_STR("X-Request-Id"), json_incref(id));
    add_trace(s);
    if (s->is_signed)
        add_signature(s, a, id);
    add_own(s);
    if (size > 0)
        add_field(s, HL_STR("Content-Length"), json_sprintf("%llu", (unsigned long long)size));
    json_decref(id);
    if (s->is_whole)
        return s->fields;
    json_decref(s->fields);
    return NULL;
}

/* ---- the body ---- */

/* What the receiver got, or would get now: its size, and its beginning. */
struct body {
    uint64_t size; /* 0: it cannot be said */
    struct hl_buf text;
    bool is_whole;
    const char *why; /* it cannot be shown; NULL: it can */
};

static bool is_damaged(const struct hl_get_run *g)
{
    const struct hl_body *kept = &g->outcome.body;
    bool is_here = kept->where == HL_BODY_INLINE || kept->where == HL_BODY_FILE;
    struct hl_str first = hl_buf_str(&g->range);
    size_t wanted = kept->size < SHOWN_MAX ? (size_t)kept->size : SHOWN_MAX;
    if (!is_here)
        return false;
    return first.n < wanted || (first.n == kept->size && !hl_digest_fits(kept->digest, first));
}

static enum hl_err make_body(const struct sent *s, struct body *out)
{
    const struct hl_get_run *g = s->run;
    struct hl_envelope envelope;
    struct hl_payload payload = {.is_thin = s->config->webhook_payload == HL_WEBHOOK_PAYLOAD_THIN,
        .max_body = s->config->webhook_max_body,
        .public_url = s->config->public_url};
    struct hl_leased leased = {.run_id = g->run.run_id,
        .project = g->run.project,
        .app = g->run.app,
        .tags = g->run.tags,
        .outcome = g->outcome};
    enum hl_err err = hl_envelope_init(&envelope, &leased, "", &payload);
    if (err)
        return err;
    out->size = envelope.size;
    err = hl_envelope_preview(&envelope, hl_buf_str(&g->range), &out->text, &out->is_whole);
    hl_envelope_fini(&envelope);
    return err;
}

/* HL_ERR_NOMEM. */
static enum hl_err fill_body(const struct sent *s, struct body *out)
{
    if (!s->run || !hl_run_state_is_final(s->run->run.state))
        out->why = "run_gone";
    else if (is_damaged(s->run))
        out->why = "damaged";
    enum hl_err err = out->why ? HL_OK : make_body(s, out);
    if (err == HL_ERR_NOMEM)
        return err;
    if (err)
        out->why = "damaged";
    return HL_OK;
}

static json_t *body_json(const struct body *b)
{
    json_t *text = b->why ? json_null() : hl_json_text(hl_buf_str(&b->text));
    return HL_JSON_OBJECT({"bytes", hl_json_count_or_null(b->size > 0 ? (int64_t)b->size : -1)},
        {"text", text}, {"truncated", json_boolean(!b->why && !b->is_whole)},
        {"why_not", b->why ? json_string(b->why) : json_null()});
}

/* ---- the answer ---- */

/* Whether it is what went out then; null: nothing went out, or it is not known. */
static json_t *as_sent_json(const struct hl_attempt_row *a, const struct body *b)
{
    uint64_t size = a->report ? a->report->sent_size : 0;
    return size == 0 || b->size == 0 ? json_null() : json_boolean(size == b->size);
}

static json_t *attempts_json(struct sent *s, const struct body *b)
{
    const struct hl_delivery_row *d = &s->of->delivery;
    json_t *array = json_array();
    for (size_t i = 0; array && i < d->n_attempts; i++) {
        const struct hl_attempt_row *a = &d->attempts[i];
        json_t *one = HL_JSON_OBJECT({"round", json_integer(a->round)}, {"n", json_integer(a->n)},
            {"fields", fields_json(s, a)}, {"body_as_sent", as_sent_json(a, b)});
        if (!hl_json_push(array, one)) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static void show(struct hl_rest_call *call)
{
    const struct hl_get_run *g = (const struct hl_get_run *)call->answers[1];
    struct sent s = {.call = call,
        .config = hl_rest_get_parts(call)->config,
        .of = (const struct hl_get_delivery *)call->answers[0],
        .run = g->m.rc == HL_OK ? g : NULL};
    struct body body = {0};
    bool is_gone = g->m.rc == HL_ERR_NOT_FOUND || g->m.rc == HL_ERR_CORRUPT;
    if (g->m.rc != HL_OK && !is_gone) {
        hl_rest_refuse_store(call, g->m.rc, "run");
        return;
    }
    s.has_url = hl_url_parse(hl_buf_str(&s.of->webhook_url), &s.url);
    s.is_signed = s.of->webhook_secret.n > 0 || s.config->webhook_secret.n > 0;
    if (hl_webhook_names_init(&s.names, s.config->service_name) != HL_OK ||
        fill_body(&s, &body) != HL_OK) {
        hl_buf_fini(&body.text);
        hl_rest_refuse_memory(call);
        return;
    }
    json_t *json = HL_JSON_OBJECT({"delivery_id", hl_json_id(&s.of->delivery.delivery_id)},
        {"run_id", hl_json_id(&s.of->delivery.run_id)}, {"method", json_string("POST")},
        {"url", hl_rest_shown_url_json(call, hl_buf_str(&s.of->webhook_url))},
        {"signed", json_boolean(s.is_signed)}, {"attempts", attempts_json(&s, &body)},
        {"body", body_json(&body)});
    hl_buf_fini(&body.text);
    hl_rest_end_json(call, 200, json);
}
