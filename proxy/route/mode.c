/* mode.c - asynchronous or not, webhook or none, and whether what was asked for can be done.
 * Thread: any; no allocation.
 * Not here: which path is a run at all (route/plan.c). */
#include "route/mode.h"

#include "config/config.h"
#include "config/webhook_secret.h"
#include "http/edit.h"
#include "http/url.h"
#include "net/guard.h"
#include "http/prefer.h"
#include "route/own_param.h"
#include "route/plan.h"
#include "route/run_field.h"

#define MAX_KEY 255

/* Each returns what is wrong, or NONE. */
static enum hl_refusal_cause read_async(struct hl_plan *plan, const struct hl_head *head,
    const struct hl_own_params *params, const struct hl_config *config);
static enum hl_refusal_cause read_webhook(struct hl_plan *plan, const struct hl_param *param,
    const struct hl_config *config, char *url_space);
static enum hl_refusal_cause read_secret(struct hl_plan *plan, const struct hl_head *head);
static enum hl_refusal_cause read_idempotency_key(struct hl_plan *plan, const struct hl_head *head);

enum hl_refusal_cause hl_mode_read(struct hl_plan *plan, const struct hl_head *head,
    const struct hl_own_params *params, const struct hl_config *config,
    struct hl_plan_scratch *scratch)
{
    enum hl_refusal_cause fault = read_async(plan, head, params, config);
    if (!fault && params->has_webhook && !plan->is_websocket) {
        fault = read_webhook(plan, &params->webhook, config, scratch->webhook_url);
        if (!fault)
            fault = read_secret(plan, head);
    }
    if (!fault && plan->is_async)
        fault = read_idempotency_key(plan, head);
    return fault ? fault : hl_run_fields_read(plan, head, config);
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

/* Of an event stream the caller is to have each event when it comes. */
static bool wants_stream(const struct hl_head *head)
{
    const struct hl_field *accept = hl_head_field(head, HL_FIELD_ACCEPT);
    struct hl_str list = accept ? accept->value : (struct hl_str){NULL, 0}, element;
    while (hl_str_next_element(&list, &element))
        if (hl_is_event_stream(element))
            return true;
    return false;
}

static enum hl_refusal_cause read_async(struct hl_plan *plan, const struct hl_head *head,
    const struct hl_own_params *params, const struct hl_config *config)
{
    if (params->has_async) {
        int truth = truth_of(&params->async);
        if (truth < 0)
            return HL_REFUSAL_ASYNC_FORM;
        if (truth && plan->is_websocket)
            return HL_REFUSAL_ASYNC_WEBSOCKET;
        plan->is_async = truth;
    }
    /* An upgrade is answered at once or not at all: the preference does not fit it, and may be
     * ignored (RFC 7240 2). */
    bool may = !plan->is_websocket && head->first[HL_FIELD_PREFER] >= 0;
    bool prefers = may && hl_prefers_async(head);
    bool waits = may && !params->has_async && !wants_stream(head) &&
                 hl_prefers_wait(head, config->max_wait_ms, &plan->terms.wait_ms);
    if (!params->has_async)
        plan->is_async = prefers || waits;
    plan->prefers_async = prefers && plan->is_async;
    return HL_REFUSAL_NONE;
}

static enum hl_refusal_cause read_webhook(struct hl_plan *plan, const struct hl_param *param,
    const struct hl_config *config, char *url_space)
{
    ptrdiff_t n = hl_query_decode(param->value, url_space, HL_WEBHOOK_URL_MAX);
    struct hl_str text = {url_space, n < 0 ? 0 : (size_t)n};
    struct hl_url url;
    struct hl_ip ip;
    url_space[text.n] = '\0';

    if (n < 0 || !hl_url_parse(text, &url) || url.port == 0)
        return HL_REFUSAL_WEBHOOK_FORM;
    if (url.has_userinfo)
        return HL_REFUSAL_WEBHOOK_CREDENTIALS;
    if (config->webhook_https_only && !url.is_https)
        return HL_REFUSAL_WEBHOOK_PLAIN;
    if (hl_guard_parse_host(url.host, url.is_bracketed, &ip) &&
        hl_guard_is_blocked(&ip, &config->webhook_allow))
        return HL_REFUSAL_WEBHOOK_ADDRESS;
    plan->webhook_url = text;
    return HL_REFUSAL_NONE;
}

/* Base64 of at least one byte, standard alphabet, with or without padding: what webhook/signature.c
 * can turn into a key. */
static enum hl_refusal_cause read_secret(struct hl_plan *plan, const struct hl_head *head)
{
    const struct hl_field *field = hl_head_field(head, HL_FIELD_X_WEBHOOK_SECRET);
    if (!field)
        return HL_REFUSAL_NONE;
    if (hl_head_field_count(head, HL_FIELD_X_WEBHOOK_SECRET) > 1 ||
        !hl_webhook_secret_is_valid(field->value))
        return HL_REFUSAL_SECRET_FORM;
    plan->webhook_secret = field->value;
    return HL_REFUSAL_NONE;
}

static bool is_printable(struct hl_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < ' ' || s.p[i] > '~')
            return false;
    return true;
}

static enum hl_refusal_cause read_idempotency_key(struct hl_plan *plan, const struct hl_head *head)
{
    const struct hl_field *field = hl_head_field(head, HL_FIELD_IDEMPOTENCY_KEY);
    if (!field)
        return HL_REFUSAL_NONE;
    if (hl_head_field_count(head, HL_FIELD_IDEMPOTENCY_KEY) > 1 || field->value.n == 0 ||
        field->value.n > MAX_KEY || !is_printable(field->value))
        return HL_REFUSAL_KEY_FORM;
    plan->idempotency_key = field->value;
    return HL_REFUSAL_NONE;
}
