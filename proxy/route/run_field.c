/* run_field.c - see run_field.h. Thread: any; no allocation. */
#include "route/run_field.h"

#include "base/priority.h"
#include "base/str.h"
#include "config/choice.h"
#include "config/config.h"
#include "config/value.h"
#include "http/byte.h"
#include "http/field.h"
#include "http/head.h"
#include "route/plan.h"

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

enum hl_refusal_cause hl_run_fields_read(
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
