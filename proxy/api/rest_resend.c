/* rest_resend.c - what was sent goes to another URL, too: a new delivery of the same run.
 * Thread: control.
 * Promise: it is judged as a call's webhook is, counts for the same limits, and is signed with the secret that comes with
 * it or the operator's, never with the caller's.
 * Not here: again to where it went (rest_redelivery.c). */
#include "api/rest_handler.h"

#include "api/audit.h"
#include "api/json.h"
#include "base/clock.h"
#include "config/secret.h"
#include "route/mode.h"
#include "store/destination.h"
#include "store/lease.h"
#include "store/question.h"

/* ---- where to ---- */

/* As it is said of a member, and not of a parameter. */
static enum hl_refusal_cause of_member(enum hl_refusal_cause cause)
{
    switch (cause) {
    case HL_REFUSAL_NONE:
        return cause;
    case HL_REFUSAL_WEBHOOK_CREDENTIALS:
        return HL_REFUSAL_RESEND_CREDENTIALS;
    case HL_REFUSAL_WEBHOOK_PLAIN:
        return HL_REFUSAL_RESEND_PLAIN;
    case HL_REFUSAL_WEBHOOK_ADDRESS:
        return HL_REFUSAL_RESEND_ADDRESS;
    default:
        return HL_REFUSAL_RESEND_URL;
    }
}

bool hl_rest_read_webhook(
    struct hl_rest_call *call, const json_t *body, struct hl_str *url, struct hl_str *secret)
{
    const json_t *key = json_object_get(body, "secret");
    *url = hl_json_str(json_object_get(body, "url"));
    *secret = hl_json_str(key);
    enum hl_refusal_cause cause =
        of_member(hl_webhook_url_judge(*url, hl_rest_get_parts(call)->config));
    if (cause == HL_REFUSAL_NONE && key && !hl_webhook_secret_is_valid(*secret))
        cause = HL_REFUSAL_RESEND_SECRET;
    if (cause != HL_REFUSAL_NONE)
        hl_rest_refuse(call, cause);
    return cause == HL_REFUSAL_NONE;
}

json_t *hl_rest_destination_of(struct hl_str url)
{
    char destination[HL_DESTINATION_MAX];
    size_t n = hl_destination_write(destination, url);
    return hl_json_text_or_null((struct hl_str){destination, n});
}

/* ---- a new delivery ---- */

static void find(struct hl_rest_call *call);
static void post(struct hl_rest_call *call);
static void say(struct hl_rest_call *call);

static bool has_members(const json_t *body)
{
    size_t n = json_object_get(body, "secret") ? 2 : 1;
    return json_object_get(body, "url") && json_object_size(body) == n;
}

/* The body is read twice: what is wrong with it is said before anything is asked. */
void hl_rest_resend(struct hl_rest_call *call)
{
    json_t *body = hl_json_read_object(call->body);
    struct hl_str url, secret;
    bool is_good = body && has_members(body);
    if (!body)
        hl_rest_refuse(call, hl_json_no_object());
    else if (!is_good)
        hl_rest_refuse(call, HL_REFUSAL_RESEND_MEMBERS);
    else
        is_good = hl_rest_read_webhook(call, body, &url, &secret);
    json_decref(body);
    if (is_good)
        hl_rest_with_audit(call, HL_REST_AUDITED_DELIVERY, find);
}

static void find(struct hl_rest_call *call)
{
    if (hl_rest_ask_delivery(call, &call->id))
        hl_rest_then(call, post);
    else
        hl_rest_refuse_memory(call);
}

/* NULL: out of memory. */
static struct hl_resend *make(
    struct hl_rest_call *call, const struct hl_get_delivery *g, const json_t *body)
{
    struct hl_resend from = {.delivery_id = call->id,
        .run_id = g->delivery.run_id,
        .resent_as = hl_id_next(&call->all->ids, hl_clock_wall_ms()),
        .url = hl_json_str(json_object_get(body, "url")),
        .secret = hl_json_str(json_object_get(body, "secret"))};
    hl_str_put(from.project, sizeof(from.project), call->project);
    struct hl_resend *r = body ? hl_resend_new(&from) : NULL;
    if (!r)
        return NULL;
    r->m.audit = hl_rest_audit(call, HL_AUDIT_DELIVERY_RESENT,
        hl_audit_target_json("delivery", &r->delivery_id, HL_STR("")),
        HL_JSON_OBJECT({"delivery_id", hl_json_id(&r->resent_as)},
            {"destination", hl_rest_destination_of(r->url)}));
    if (r->m.audit)
        return r;
    hl_resend_free(r);
    return NULL;
}

static void post(struct hl_rest_call *call)
{
    const struct hl_get_delivery *g = (const struct hl_get_delivery *)call->answers[0];
    if (g->m.rc != HL_OK) {
        hl_rest_refuse_store(call, g->m.rc, "delivery");
        return;
    }
    json_t *body = hl_json_read_object(call->body);
    struct hl_resend *r = make(call, g, body);
    json_decref(body);
    hl_rest_drop_answers(call);
    if (!r) {
        hl_rest_refuse_memory(call);
        return;
    }
    hl_rest_ask_store(call, HL_STORE_RESEND, &r->m);
    hl_rest_then(call, say);
}

static void say(struct hl_rest_call *call)
{
    const struct hl_resend *r = (const struct hl_resend *)call->answers[0];
    if (r->m.rc == HL_ERR_BUSY)
        hl_rest_refuse(call,
            r->is_over_destination ? HL_REFUSAL_DESTINATION_FULL : HL_REFUSAL_DELIVERIES_FULL);
    else if (r->m.rc != HL_OK)
        hl_rest_refuse_store(call, r->m.rc, "delivery");
    else
        hl_rest_end_json(call, 202,
            HL_JSON_OBJECT({"delivery_id", hl_json_id(&r->resent_as)},
                {"resent_from", hl_json_id(&r->delivery_id)},
                {"state", json_string(hl_delivery_state_text(HL_DELIVERY_PENDING))}));
}
