/* mode.c - asynchronous or not, webhook or none, and whether what was asked for can be done.
 * Thread: any; no allocation.
 * Not here: which path is a run at all (route/plan.c). */
#include "route/mode.h"

#include <stdio.h>

#include "base/compiler.h"
#include "base/priority.h"
#include "base/str.h"
#include "config/choice.h"
#include "config/config.h"
#include "config/secret.h"
#include "config/value.h"
#include "http/byte.h"
#include "http/edit.h"
#include "http/field.h"
#include "http/head.h"
#include "http/prefer.h"
#include "http/refusal.h"
#include "http/url.h"
#include "net/guard.h"
#include "route/plan.h"

/* ---- hookline's own parameters in a query ---- */

bool hl_hookline_params_find(struct hl_str query, struct hl_hookline_params *out)
{
    struct hl_param param;
    *out = (struct hl_hookline_params){0};
    while (hl_query_next(&query, &param)) {
        if (hl_param_is(&param, HL_STR("async"))) {
            if (out->has_async)
                return false;
            out->has_async = true;
            out->async = param;
        } else if (hl_param_is(&param, HL_STR("webhookEndpoint"))) {
            if (out->has_webhook)
                return false;
            out->has_webhook = true;
            out->webhook = param;
        }
    }
    return true;
}

size_t hl_hookline_params_cut(
    struct hl_str query, const struct hl_hookline_params *found, char *out)
{
    struct hl_param param;
    size_t n = 0;
    bool is_first = true;
    while (hl_query_next(&query, &param)) {
        bool is_own = (found->has_async && param.raw.p == found->async.raw.p) ||
                      (found->has_webhook && param.raw.p == found->webhook.raw.p);
        if (is_own)
            continue;
        if (!is_first)
            out[n++] = '&';
        if (param.raw.n > 0)
            memcpy(out + n, param.raw.p, param.raw.n);
        n += param.raw.n;
        is_first = false;
    }
    return n;
}

/* ---- the fields X-Run-* ---- */

/* Longer than anything that is waited for; times to come stay far from overflow. */
#define LONGEST_MS (365ull * 24 * 60 * 60 * 1000)

#define MANY_DIGITS   "9999999999"
#define MANY_ATTEMPTS 1000

/* "90" are seconds; else as settings have it. Too many digits are a long time, and no fault. */
static bool parse_time(struct hl_str text, uint64_t *ms)
{
    struct hl_str number = {text.p, 0}, unit;
    while (number.n < text.n && hl_byte_is(text.p[number.n], HL_BYTE_DIGIT))
        number.n++;
    unit = number.n < text.n ? (struct hl_str){text.p + number.n, text.n - number.n} : HL_STR("s");
    for (; number.n > 1 && number.p[0] == '0'; number.n--)
        number.p++;
    if (number.n >= sizeof(MANY_DIGITS))
        number = HL_STR(MANY_DIGITS);

    char whole[sizeof(MANY_DIGITS) + 2];
    if (number.n == 0 || number.n + unit.n > sizeof(whole))
        return false;
    memcpy(whole, number.p, number.n);
    memcpy(whole + number.n, unit.p, unit.n);
    if (!hl_value_parse_duration((struct hl_str){whole, number.n + unit.n}, ms))
        return false;
    if (*ms > LONGEST_MS)
        *ms = LONGEST_MS;
    return *ms > 0;
}

/* The one field of that name. False: there are several. */
static bool find_one(const struct hl_head *head, struct hl_str name, const struct hl_field **found)
{
    *found = NULL;
    for (size_t i = (size_t)head->first[HL_FIELD_X_RUN]; i < head->field_count; i++) {
        const struct hl_field *field = &head->fields[i];
        if (field->id != HL_FIELD_X_RUN || !hl_str_eq_nocase(field->name, name))
            continue;
        if (*found)
            return false;
        *found = field;
    }
    return true;
}

/* A time above zero. `*ms` stays where there is none. */
static enum hl_refusal_cause read_time(
    const struct hl_head *head, struct hl_str name, uint64_t *ms, enum hl_refusal_cause fault)
{
    const struct hl_field *field;
    bool is_good = find_one(head, name, &field) && (!field || parse_time(field->value, ms));
    return is_good ? HL_REFUSAL_NONE : fault;
}

static bool read_priority(const struct hl_head *head, struct hl_plan *plan)
{
    const struct hl_field *field;
    if (!find_one(head, HL_STR("x-run-priority"), &field))
        return false;
    plan->terms.asks_priority = field != NULL;
    return !field || hl_priority_parse(field->value, &plan->terms.priority);
}

/* More than anybody sets counts as that. */
static bool parse_attempts(struct hl_str text, uint32_t *attempts)
{
    uint32_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (!hl_byte_is(text.p[i], HL_BYTE_DIGIT))
            return false;
        n = n < MANY_ATTEMPTS ? n * 10 + (uint32_t)(text.p[i] - '0') : n;
    }
    *attempts = n;
    return n > 0;
}

static bool read_attempts(const struct hl_head *head, uint32_t *attempts)
{
    const struct hl_field *field;
    return find_one(head, HL_STR("x-run-attempts"), &field) &&
           (!field || parse_attempts(field->value, attempts));
}

/* Only asked for where somebody may be asked what is his: without tokens whoever knows a run's id reads its
 * stream. */
static enum hl_refusal_cause read_keep(
    struct hl_plan *plan, const struct hl_head *head, const struct hl_config *config)
{
    const struct hl_field *field;
    bool is_true = false;
    if (!find_one(head, HL_STR("x-run-keep"), &field))
        return HL_REFUSAL_RUN_KEEP_FORM;
    if (field) {
        is_true = hl_str_eq_nocase(field->value, HL_STR("true"));
        if (!is_true && !hl_str_eq_nocase(field->value, HL_STR("false")))
            return HL_REFUSAL_RUN_KEEP_FORM;
    }
    if (plan->is_async || plan->is_websocket)
        return HL_REFUSAL_NONE;
    if (is_true && config->stream_keep == HL_STREAM_KEEP_OFF)
        return HL_REFUSAL_RUN_KEEP_OFF;
    if (is_true && config->stream_keep == HL_STREAM_KEEP_ASK && config->auth == HL_AUTH_NONE)
        return HL_REFUSAL_RUN_KEEP_TOKEN;
    plan->terms.asks_keep = is_true;
    if (field)
        plan->terms.keeps_stream = is_true;
    return HL_REFUSAL_NONE;
}

/* 0 is no limit. */
static uint64_t stricter(uint64_t a, uint64_t b)
{
    return a > 0 && (b == 0 || a < b) ? a : b;
}

/* Sets the plan's terms but `wait_ms` from the fields and the settings, for what `plan->is_async` says (contract 7).
 * A field that is there twice, is no time or number above zero, or no class, is refused by name; more time than a
 * setting allows counts as that. NONE, or what is wrong. */
static enum hl_refusal_cause read_run_fields(
    struct hl_plan *plan, const struct hl_head *head, const struct hl_config *config)
{
    enum hl_refusal_cause fault = HL_REFUSAL_NONE;
    plan->terms.timeout_ms = 0;
    plan->terms.priority = HL_PRIORITY_NORMAL;
    plan->terms.asks_priority = false;
    plan->terms.max_attempts = 0;
    plan->terms.start_timeout_ms = plan->is_async ? config->queue_timeout_ms : 0;
    plan->terms.asks_keep = false;
    plan->terms.keeps_stream = config->stream_keep == HL_STREAM_KEEP_ALL && !plan->is_async &&
                               !plan->is_websocket && head->method_id != HL_METHOD_HEAD;
    if (head->first[HL_FIELD_X_RUN] >= 0) {
        fault = read_time(
            head, HL_STR("x-run-timeout"), &plan->terms.timeout_ms, HL_REFUSAL_RUN_TIMEOUT_FORM);
        if (!fault)
            fault = read_time(head, HL_STR("x-run-start-timeout"), &plan->terms.start_timeout_ms,
                HL_REFUSAL_RUN_START_TIMEOUT_FORM);
        if (!fault && !read_priority(head, plan))
            fault = HL_REFUSAL_RUN_PRIORITY_FORM;
        if (!fault && !read_attempts(head, &plan->terms.max_attempts))
            fault = HL_REFUSAL_RUN_ATTEMPTS_FORM;
        if (!fault)
            fault = read_keep(plan, head, config);
    }
    if (!plan->is_async)
        plan->terms.timeout_ms = stricter(plan->terms.timeout_ms, config->sync_timeout_ms);
    return fault;
}

/* ---- X-Run-Tag ---- */

#define TOLD_MAX 48 /* of a tag that is none */

/* Of one that is empty its number is said. */
static struct hl_refusal refuse_tag(
    enum hl_tag_fault fault, struct hl_str bad, size_t number, struct hl_plan_scratch *scratch)
{
    static const enum hl_refusal_cause causes[] = {[HL_TAG_EMPTY] = HL_REFUSAL_RUN_TAG_EMPTY,
        [HL_TAG_NO_VALUE] = HL_REFUSAL_RUN_TAG_FORM,
        [HL_TAG_BAD_NAME] = HL_REFUSAL_RUN_TAG_NAME,
        [HL_TAG_BAD_VALUE] = HL_REFUSAL_RUN_TAG_VALUE,
        [HL_TAG_TWICE] = HL_REFUSAL_RUN_TAG_TWICE,
        [HL_TAG_TOO_MANY] = HL_REFUSAL_RUN_TAG_COUNT};
    char told[TOLD_MAX + 1];
    size_t n = bad.n < TOLD_MAX ? bad.n : TOLD_MAX;
    for (size_t i = 0; i < n; i++)
        told[i] = bad.p[i] >= ' ' && bad.p[i] <= '~' ? bad.p[i] : '?';
    told[n] = '\0';
    if (fault == HL_TAG_EMPTY)
        snprintf(told, sizeof(told), "%zu", number);
    return hl_refusal_say(scratch->detail, sizeof(scratch->detail), causes[fault], told, NULL);
}

bool hl_mode_read_tags(struct hl_plan *plan, const struct hl_head *head,
    struct hl_plan_scratch *scratch, struct hl_refusal *why)
{
    struct hl_tag_list list = {.text = scratch->tags};
    for (size_t i = (size_t)head->first[HL_FIELD_X_RUN]; i < head->field_count; i++) {
        const struct hl_field *field = &head->fields[i];
        struct hl_str bad;
        if (field->id != HL_FIELD_X_RUN || !hl_str_eq_nocase(field->name, HL_STR("x-run-tag")))
            continue;
        enum hl_tag_fault fault = hl_tags_add(&list, field->value, &bad);
        if (fault) {
            *why = refuse_tag(fault, bad, list.count + 1, scratch);
            return false;
        }
    }
    plan->tags = (struct hl_str){list.text, list.n};
    return true;
}

/* ---- what the caller asks of a run ---- */

#define MAX_KEY 255

/* Each returns what is wrong, or NONE. */
static enum hl_refusal_cause read_async(struct hl_plan *plan, const struct hl_head *head,
    const struct hl_hookline_params *params, const struct hl_config *config);
static enum hl_refusal_cause read_webhook(struct hl_plan *plan, const struct hl_param *param,
    const struct hl_config *config, char *url_space);
static enum hl_refusal_cause read_secret(struct hl_plan *plan, const struct hl_head *head);
static enum hl_refusal_cause read_idempotency_key(struct hl_plan *plan, const struct hl_head *head);
static enum hl_refusal_cause queue_call(
    struct hl_plan *plan, const struct hl_head *head, const struct hl_config *config);

enum hl_refusal_cause hl_mode_read(struct hl_plan *plan, const struct hl_head *head,
    const struct hl_hookline_params *params, const struct hl_config *config,
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
    if (!fault)
        fault = read_run_fields(plan, head, config);
    return !fault && config->role == HL_REPLICA_FRONT ? queue_call(plan, head, config) : fault;
}

/* A front's calls are runs of the queue, all of them, with what was asked of a synchronous one. */
static enum hl_refusal_cause queue_call(
    struct hl_plan *plan, const struct hl_head *head, const struct hl_config *config)
{
    if (plan->is_websocket)
        return HL_REFUSAL_FRONT_UPGRADE;
    if (plan->is_async)
        return HL_REFUSAL_NONE;
    plan->is_async = plan->terms.has_caller = true;
    plan->terms.wait_ms = config->front_timeout_ms;
    return read_idempotency_key(plan, head);
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
    const struct hl_hookline_params *params, const struct hl_config *config)
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

bool hl_webhook_url_parse(struct hl_str text, struct hl_url *url)
{
    return text.n <= HL_WEBHOOK_URL_MAX && hl_url_parse(text, url) && url->port != 0;
}

enum hl_refusal_cause hl_webhook_url_judge(struct hl_str text, const struct hl_config *config)
{
    struct hl_url url;
    struct hl_ip ip;
    if (!hl_webhook_url_parse(text, &url))
        return HL_REFUSAL_WEBHOOK_FORM;
    if (url.has_userinfo)
        return HL_REFUSAL_WEBHOOK_CREDENTIALS;
    if (config->webhook_https_only && !url.is_https)
        return HL_REFUSAL_WEBHOOK_PLAIN;
    if (hl_guard_parse_host(url.host, url.is_bracketed, &ip) &&
        hl_guard_is_blocked(&ip, &config->webhook_allow))
        return HL_REFUSAL_WEBHOOK_ADDRESS;
    return HL_REFUSAL_NONE;
}

static enum hl_refusal_cause read_webhook(struct hl_plan *plan, const struct hl_param *param,
    const struct hl_config *config, char *url_space)
{
    ptrdiff_t n = hl_query_decode(param->value, url_space, HL_WEBHOOK_URL_MAX);
    struct hl_str text = {url_space, n < 0 ? 0 : (size_t)n};
    url_space[text.n] = '\0';
    if (n < 0)
        return HL_REFUSAL_WEBHOOK_FORM;
    enum hl_refusal_cause cause = hl_webhook_url_judge(text, config);
    if (cause == HL_REFUSAL_NONE)
        plan->webhook_url = text;
    return cause;
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
