/* mode.c - asynchronous or not, webhook or none, and whether what was asked for can be done.
 * Thread: any; no allocation.
 * Not here: which path is a run at all (route/plan.c). */
#include "route/mode.h"

#include "http/byte.h"
#include "http/url.h"
#include "net/guard.h"
#include "route/prefer.h"

#define MAX_KEY 255

/* Each returns what is wrong, or NULL. */
static const char *read_async(
    struct hl_plan *plan, const struct hl_head *head, const struct hl_own_params *params);
static const char *read_webhook(struct hl_plan *plan, const struct hl_param *param,
    const struct hl_config *config, char *url_space);
static const char *read_secret(struct hl_plan *plan, const struct hl_head *head);
static const char *read_idempotency_key(struct hl_plan *plan, const struct hl_head *head);

const char *hl_mode_read(struct hl_plan *plan, const struct hl_head *head,
    const struct hl_own_params *params, const struct hl_config *config,
    struct hl_plan_scratch *scratch)
{
    const char *fault = read_async(plan, head, params);
    if (!fault && params->has_webhook && !plan->is_websocket) {
        fault = read_webhook(plan, &params->webhook, config, scratch->webhook_url);
        if (!fault)
            fault = read_secret(plan, head);
    }
    if (!fault && plan->is_async)
        fault = read_idempotency_key(plan, head);
    return fault;
}

/* 1 or 0; -1 for any other text. */
static int truth_of(const struct hl_param *param)
{
    char text[8];
    ptrdiff_t n = hl_query_decode(param->value, text, sizeof text);
    struct hl_str value = {text, n < 0 ? 0 : (size_t)n};
    if (hl_str_eq_nocase(value, HL_STR("true")) || hl_str_eq(value, HL_STR("1")))
        return 1;
    if (hl_str_eq_nocase(value, HL_STR("false")) || hl_str_eq(value, HL_STR("0")))
        return 0;
    return -1;
}

static const char *read_async(
    struct hl_plan *plan, const struct hl_head *head, const struct hl_own_params *params)
{
    if (params->has_async) {
        int truth = truth_of(&params->async);
        if (truth < 0)
            return "The parameter async is none of true, 1, false, 0.";
        if (truth && plan->is_websocket)
            return "A WebSocket cannot be asynchronous. Leave async away, or send a plain request.";
        plan->is_async = truth;
    }
    /* An upgrade is answered at once or not at all: the preference does not fit it, and may be
     * ignored (RFC 7240 2). */
    bool prefers = !plan->is_websocket && hl_prefers_async(head);
    if (!params->has_async)
        plan->is_async = prefers;
    plan->prefers_async = prefers && plan->is_async;
    return NULL;
}

static const char *read_webhook(struct hl_plan *plan, const struct hl_param *param,
    const struct hl_config *config, char *url_space)
{
    ptrdiff_t n = hl_query_decode(param->value, url_space, HL_WEBHOOK_URL_MAX);
    struct hl_str text = {url_space, n < 0 ? 0 : (size_t)n};
    struct hl_url url;
    struct hl_ip ip;
    url_space[text.n] = '\0';

    if (n < 0 || !hl_url_parse(text, &url) || url.port == 0)
        return "The parameter webhookEndpoint is not an absolute http or https URL of at most 2048 "
               "bytes, URL-encoded.";
    if (url.has_userinfo)
        return "The parameter webhookEndpoint has credentials in it. Authenticate the receiver's "
               "callers by signature: send X-Webhook-Secret.";
    if (config->webhook_https_only && !url.is_https)
        return "The parameter webhookEndpoint is not an https URL, and HOOKLINE_WEBHOOK_HTTPS_ONLY "
               "is on.";
    if (hl_guard_parse_host(url.host, url.is_bracketed, &ip) &&
        hl_guard_is_blocked(&ip, &config->webhook_allow))
        return "The parameter webhookEndpoint names an address that webhooks may not reach. The "
               "operator can allow it with HOOKLINE_WEBHOOK_ALLOW.";
    plan->webhook_url = text;
    return NULL;
}

/* Base64 of at least one byte, standard alphabet, with or without padding: what webhook/signature.c
 * can turn into a key. */
static const char *read_secret(struct hl_plan *plan, const struct hl_head *head)
{
    const struct hl_field *field = hl_head_field(head, HL_FIELD_X_WEBHOOK_SECRET);
    if (!field)
        return NULL;
    if (hl_head_field_count(head, HL_FIELD_X_WEBHOOK_SECRET) > 1 ||
        !hl_is_webhook_secret(field->value))
        return "X-Webhook-Secret is not one field of 1 to 1024 bytes, with padded base64 after "
               "whsec_.";
    plan->webhook_secret = field->value;
    return NULL;
}

static bool is_printable(struct hl_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < ' ' || s.p[i] > '~')
            return false;
    return true;
}

static const char *read_idempotency_key(struct hl_plan *plan, const struct hl_head *head)
{
    const struct hl_field *field = hl_head_field(head, HL_FIELD_IDEMPOTENCY_KEY);
    if (!field)
        return NULL;
    if (hl_head_field_count(head, HL_FIELD_IDEMPOTENCY_KEY) > 1 || field->value.n == 0 ||
        field->value.n > MAX_KEY || !is_printable(field->value))
        return "Idempotency-Key is not one field of 1 to 255 printable bytes.";
    plan->idempotency_key = field->value;
    return NULL;
}
