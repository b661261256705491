/* rest_limit.c - an account's limits as JSON: numbers, a rate, a class; null where there is none. */
#include "api/rest_limit.h"

#include <string.h>

#include "base/priority.h"
#include "base/rate.h"
#include "base/str.h"
#include "store/limits.h"

static struct hl_str text_of(const json_t *value)
{
    return (struct hl_str){json_string_value(value), json_string_length(value)};
}

/* ---- shown ---- */

static json_t *number_json(uint32_t number)
{
    return number > 0 ? json_integer(number) : json_null();
}

static json_t *rate_json(struct hl_rate rate)
{
    char text[HL_RATE_TEXT];
    hl_rate_format(rate, text);
    return *text ? json_string(text) : json_null();
}

json_t *hl_rest_show_limits(json_t *account, const struct hl_limits *limits)
{
    json_t *values[HL_LIMIT_COUNT] = {
        [HL_LIMIT_MAX_RUNNING] = number_json(limits->max_running),
        [HL_LIMIT_MAX_QUEUED] = number_json(limits->max_queued),
        [HL_LIMIT_RATE] = rate_json(limits->rate),
        [HL_LIMIT_MAX_PRIORITY] = json_string(hl_priority_text(limits->max_priority)),
    };
    bool is_whole = account != NULL;
    for (int i = 0; i < HL_LIMIT_COUNT; i++) /* each is taken, whatever becomes of it */
        is_whole &=
            json_object_set_new_nocheck(account, hl_limit_text((enum hl_limit)i), values[i]) == 0;
    if (is_whole)
        return account;
    json_decref(account);
    return NULL;
}

/* ---- read ---- */

static enum hl_refusal_cause read_number(const json_t *value, uint32_t *out)
{
    *out = 0;
    if (json_is_null(value))
        return HL_REFUSAL_NONE;
    json_int_t number = json_integer_value(value); /* 0: it is none */
    if (number < 1 || number > HL_LIMIT_MAX)
        return HL_REFUSAL_LIMIT_NUMBER;
    *out = (uint32_t)number;
    return HL_REFUSAL_NONE;
}

static enum hl_refusal_cause read_rate(const json_t *value, struct hl_rate *out)
{
    *out = (struct hl_rate){0};
    if (json_is_null(value) || (json_is_string(value) && hl_rate_parse(text_of(value), out)))
        return HL_REFUSAL_NONE;
    return HL_REFUSAL_LIMIT_RATE;
}

static enum hl_refusal_cause read_priority(const json_t *value, enum hl_priority *out)
{
    *out = HL_LIMITS_NONE.max_priority;
    if (json_is_null(value) || (json_is_string(value) && hl_priority_parse(text_of(value), out)))
        return HL_REFUSAL_NONE;
    return HL_REFUSAL_LIMIT_PRIORITY;
}

static enum hl_refusal_cause read_limit(
    enum hl_limit limit, const json_t *value, struct hl_limits *to)
{
    switch (limit) {
    case HL_LIMIT_MAX_RUNNING:
        return read_number(value, &to->max_running);
    case HL_LIMIT_MAX_QUEUED:
        return read_number(value, &to->max_queued);
    case HL_LIMIT_RATE:
        return read_rate(value, &to->rate);
    default:
        return read_priority(value, &to->max_priority);
    }
}

enum hl_refusal_cause hl_rest_read_limits(
    const json_t *body, struct hl_limits_change *change, size_t *count, const char **name)
{
    *count = 0;
    *change = (struct hl_limits_change){.to = HL_LIMITS_NONE};
    for (int i = 0; i < HL_LIMIT_COUNT; i++) {
        *name = hl_limit_text((enum hl_limit)i);
        const json_t *value = json_object_get(body, *name);
        if (!value)
            continue;
        enum hl_refusal_cause why = read_limit((enum hl_limit)i, value, &change->to);
        if (why)
            return why;
        change->which |= 1u << i;
        ++*count;
    }
    return HL_REFUSAL_NONE;
}

const char *hl_rest_other_than_limit(const json_t *body)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)body, name, value)
    {
        bool is_limit = false;
        for (int i = 0; i < HL_LIMIT_COUNT; i++)
            is_limit |= strcmp(name, hl_limit_text((enum hl_limit)i)) == 0;
        if (!is_limit)
            return name;
    }
    return NULL;
}
