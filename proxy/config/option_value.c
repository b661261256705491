/* option_value.c - sets, frees, describes and shows one setting, by its type. Runs at start and in
 * `hookline config`. */
#include "config/option_value.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/buf.h"
#include "base/compiler.h"
#include "base/str.h"
#include "config/access.h"
#include "config/choice.h"
#include "config/config.h"
#include "config/endpoint.h"
#include "config/option.h"
#include "config/value.h"

static bool is_in_bounds(const struct hl_option *option, uint64_t v)
{
    return (v >= option->min && v <= option->max) || (v == 0 && option->has_zero);
}

static enum hl_err parse_number(const struct hl_option *option, struct hl_str text, void *field)
{
    uint64_t v;
    bool is_read = option->type == HL_OPTION_DURATION ? hl_value_parse_duration(text, &v)
                   : option->type == HL_OPTION_SIZE   ? hl_value_parse_size(text, &v)
                                                      : hl_str_to_u64(text, &v);
    if (!is_read || !is_in_bounds(option, v))
        return HL_ERR_INVALID;
    if (option->type == HL_OPTION_COUNT)
        *(uint32_t *)field = (uint32_t)v;
    else
        *(uint64_t *)field = v;
    return HL_OK;
}

static enum hl_err parse_word(const struct hl_option *option, struct hl_str text, void *field)
{
    for (int i = 0; option->words[i]; i++) {
        if (hl_str_eq_nocase(text, hl_str_from(option->words[i]))) {
            memcpy(field, &i, sizeof(i)); /* an enum is as wide as an int */
            return HL_OK;
        }
    }
    return HL_ERR_INVALID;
}

static enum hl_err parse_text(
    const struct hl_option *option, struct hl_str text, struct hl_str *field)
{
    if (text.n > 0 && option->is_valid && !option->is_valid(text))
        return HL_ERR_INVALID;
    char *copy = hl_str_dup(text);
    if (!copy)
        return HL_ERR_NOMEM;
    *field = (struct hl_str){copy, text.n};
    return HL_OK;
}

static enum hl_err parse_store_limit(struct hl_str text, struct hl_store_limit *field)
{
    *field = (struct hl_store_limit){0};
    if (hl_value_parse_percent(text, &field->percent))
        return HL_OK;
    if (hl_value_parse_size(text, &field->bytes) && field->bytes >= UINT64_C(1) << 20)
        return HL_OK;
    return HL_ERR_INVALID;
}

enum hl_err hl_option_parse(
    const struct hl_option *option, struct hl_str text, struct hl_config *config)
{
    void *field = (char *)config + option->offset;
    struct hl_str bad;
    switch (option->type) {
    case HL_OPTION_SWITCH:
        return hl_value_parse_switch(text, field) ? HL_OK : HL_ERR_INVALID;
    case HL_OPTION_COUNT:
    case HL_OPTION_DURATION:
    case HL_OPTION_SIZE:
        return parse_number(option, text, field);
    case HL_OPTION_WORD:
        return parse_word(option, text, field);
    case HL_OPTION_TEXT:
        return parse_text(option, text, field);
    case HL_OPTION_RANGES:
        return hl_cidr_list_parse(text, field, &bad);
    case HL_OPTION_ORIGINS:
        return hl_origin_list_parse(text, field);
    case HL_OPTION_LISTEN:
        return hl_listen_list_parse(text, field);
    case HL_OPTION_APP_URL:
        return hl_app_url_parse(text, field);
    case HL_OPTION_STORE_LIMIT:
        return parse_store_limit(text, field);
    }
    HL_ASSERT(!"an option of an unknown type");
    return HL_ERR_INVALID;
}

static void clear_text(const struct hl_option *option, struct hl_str *field)
{
    if (option->is_secret && field->n > 0)
        explicit_bzero((char *)field->p, field->n);
    free((char *)field->p);
    *field = (struct hl_str){0};
}

void hl_option_clear(const struct hl_option *option, struct hl_config *config)
{
    void *field = (char *)config + option->offset;
    switch (option->type) {
    case HL_OPTION_TEXT:
        clear_text(option, field);
        break;
    case HL_OPTION_RANGES:
        hl_cidr_list_fini(field);
        break;
    case HL_OPTION_ORIGINS:
        hl_origin_list_fini(field);
        break;
    case HL_OPTION_LISTEN:
        hl_listen_list_fini(field);
        break;
    case HL_OPTION_APP_URL:
        hl_app_url_fini(field);
        break;
    default:
        break;
    }
}

static enum hl_err describe_bounds(const struct hl_option *option, struct hl_buf *out)
{
    char least[HL_VALUE_TEXT], most[HL_VALUE_TEXT];
    const char *zero = option->has_zero ? "0 or " : "";
    if (option->type == HL_OPTION_COUNT)
        return hl_buf_printf(
            out, "%sa whole number from %" PRIu64 " to %" PRIu64, zero, option->min, option->max);
    if (option->type == HL_OPTION_DURATION) {
        hl_value_format_duration(option->min, least);
        hl_value_format_duration(option->max, most);
        return hl_buf_printf(
            out, "%sa duration from %s to %s, such as 500ms, 30s, 15m or 12h", zero, least, most);
    }
    hl_value_format_size(option->min, least);
    hl_value_format_size(option->max, most);
    return hl_buf_printf(
        out, "%sa size from %s to %s, such as 4096, 64KiB or 16MiB", zero, least, most);
}

static enum hl_err describe_words(const struct hl_option *option, struct hl_buf *out)
{
    enum hl_err err = HL_OK;
    for (int i = 0; option->words[i] && !err; i++) {
        const char *before = i == 0 ? "" : option->words[i + 1] ? ", " : " or ";
        err = hl_buf_printf(out, "%s%s", before, option->words[i]);
    }
    return err;
}

enum hl_err hl_option_describe(const struct hl_option *option, struct hl_buf *out)
{
    switch (option->type) {
    case HL_OPTION_SWITCH:
        return hl_buf_printf(out, "on or off");
    case HL_OPTION_COUNT:
    case HL_OPTION_DURATION:
    case HL_OPTION_SIZE:
        return describe_bounds(option, out);
    case HL_OPTION_WORD:
        return describe_words(option, out);
    case HL_OPTION_TEXT:
    case HL_OPTION_STORE_LIMIT:
        return hl_buf_printf(out, "%s", option->allowed);
    case HL_OPTION_RANGES:
        return hl_buf_printf(out, "addresses and ranges without host bits, separated by commas, "
                                  "such as 10.0.0.0/8,fd00::/8");
    case HL_OPTION_ORIGINS:
        return hl_buf_printf(out, "origins without a path, separated by commas, such as "
                                  "https://app.example or http://localhost:3000; or *");
    case HL_OPTION_LISTEN:
        return hl_buf_printf(out,
            "addresses with a port, separated by commas, such as 0.0.0.0:8080, [::]:8080 or "
            ":8080");
    case HL_OPTION_APP_URL:
        return hl_buf_printf(out, "http://host:port or https://host:port without a path, or unix: "
                                  "and a path of at most 107 bytes that begins with /");
    }
    HL_ASSERT(!"an option of an unknown type");
    return HL_ERR_INVALID;
}

static enum hl_err show_written(
    const struct hl_option *option, const struct hl_config *config, struct hl_buf *out)
{
    const char *text = config->sources[option - hl_options].text;
    return hl_value_append_readable(out, hl_str_from(text ? text : option->initial));
}

static enum hl_err show_secret(struct hl_str secret, struct hl_buf *out)
{
    return secret.n > 0 ? hl_buf_printf(out, "****") : HL_OK;
}

enum hl_err hl_option_show(
    const struct hl_option *option, const struct hl_config *config, struct hl_buf *out)
{
    const void *field = (const char *)config + option->offset;
    char text[HL_VALUE_TEXT];
    switch (option->type) {
    case HL_OPTION_SWITCH:
        return hl_buf_printf(out, "%s", *(const bool *)field ? "on" : "off");
    case HL_OPTION_COUNT:
        return hl_buf_printf(out, "%" PRIu32, *(const uint32_t *)field);
    case HL_OPTION_DURATION:
        hl_value_format_duration(*(const uint64_t *)field, text);
        return hl_buf_printf(out, "%s", text);
    case HL_OPTION_SIZE:
        hl_value_format_size(*(const uint64_t *)field, text);
        return hl_buf_printf(out, "%s", text);
    case HL_OPTION_WORD: {
        int word;
        memcpy(&word, field, sizeof(word));
        return hl_buf_printf(out, "%s", option->words[word]);
    }
    case HL_OPTION_TEXT:
        return option->is_secret ? show_secret(*(const struct hl_str *)field, out)
                                 : hl_value_append_readable(out, *(const struct hl_str *)field);
    default:
        return show_written(option, config, out);
    }
}

/* ---- a setting by its name, and which one a misspelled name may have meant ---- */

const struct hl_option *hl_option_find(struct hl_str name)
{
    for (size_t i = 0; i < hl_option_count; i++) {
        if (hl_str_eq(name, hl_str_from(hl_options[i].name)))
            return &hl_options[i];
    }
    return NULL;
}

struct guess {
    const struct hl_option *option;
    unsigned distance;
};

static void guess_by_letters(struct hl_str name, struct guess *best)
{
    for (size_t i = 0; i < hl_option_count; i++) {
        unsigned d = hl_distance(name, hl_str_from(hl_options[i].name));
        if (!best->option || d < best->distance)
            *best = (struct guess){&hl_options[i], d};
    }
}

/* Words of other programs' settings, and ours. */
static const struct {
    struct hl_str theirs, ours;
} meanings[] = {
#define ROW(theirs, ours)                                                                          \
    {                                                                                              \
        {theirs, sizeof(theirs) - 1},                                                              \
        {                                                                                          \
            ours, sizeof(ours) - 1                                                                 \
        }                                                                                          \
    }
    ROW("RETRIES", "ATTEMPTS"),
    ROW("MAX_RETRIES", "ATTEMPTS"),
    ROW("TRIES", "ATTEMPTS"),
    ROW("BACKOFF", "RETRY_DELAY"),
    ROW("PARALLELISM", "CONCURRENCY"),
    ROW("MAX_CONCURRENCY", "CONCURRENCY"),
    ROW("THREADS", "WORKERS"),
    ROW("PORT", "LISTEN"),
    ROW("BIND", "LISTEN"),
    ROW("ADDRESS", "LISTEN"),
    ROW("UPSTREAM", "APP_URL"),
    ROW("UPSTREAM_URL", "APP_URL"),
    ROW("BACKEND", "APP_URL"),
    ROW("BACKEND_URL", "APP_URL"),
    ROW("TARGET", "APP_URL"),
    ROW("CMD", "COMMAND"),
    ROW("COMMAND", "APP_COMMAND"),
    ROW("DATABASE_URL", "POSTGRES_URL"),
    ROW("DB_URL", "POSTGRES_URL"),
    ROW("PG_URL", "POSTGRES_URL"),
    ROW("TTL", "RETENTION"),
    ROW("ENCRYPTION_KEY", "KEY"),
    ROW("SECRET_KEY", "KEY"),
    ROW("PROJECT", "PROJECT_ID"),
    ROW("HOOK", "WEBHOOK"),
    ROW("WEBHOOKS", "WEBHOOK"),
    ROW("DEBUG", "LOG_LEVEL"),
#undef ROW
};

/* Where the words stand in the name, between underscores; its length: nowhere. */
static size_t find_words(struct hl_str name, struct hl_str words)
{
    for (size_t at = 0; at + words.n <= name.n; at++) {
        size_t end = at + words.n;
        bool begins = at == 0 || name.p[at - 1] == '_';
        if (begins && (end == name.n || name.p[end] == '_') &&
            memcmp(name.p + at, words.p, words.n) == 0)
            return at;
    }
    return name.n;
}

static void guess_by_meaning(
    struct hl_str name, struct hl_str theirs, struct hl_str ours, struct guess *best)
{
    char meant[2 * HL_DISTANCE_MAX];
    size_t at = find_words(name, theirs);
    if (at == name.n || name.n > HL_DISTANCE_MAX)
        return;
    struct hl_str rest = {name.p + at + theirs.n, name.n - at - theirs.n};
    memcpy(meant, name.p, at);
    memcpy(meant + at, ours.p, ours.n);
    memcpy(meant + at + ours.n, rest.p, rest.n);
    guess_by_letters((struct hl_str){meant, at + ours.n + rest.n}, best);
}

const struct hl_option *hl_nearest_option(struct hl_str name)
{
    struct guess best = {NULL, 0};
    for (size_t i = 0; i < HL_ARRAY_LEN(meanings); i++)
        guess_by_meaning(name, meanings[i].theirs, meanings[i].ours, &best);
    guess_by_letters(name, &best);
    HL_ASSERT(best.option);
    return best.option;
}
