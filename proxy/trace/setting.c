/* setting.c - OpenTelemetry's variables, read once, at start.
 * Owns: what struct hl_trace_setting points at.
 * Promise: no value of them keeps the process from starting; no value that may hold a secret is logged.
 * Not here: the settings of hookline itself (config/option.c). */
#include "trace/setting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "http/field.h"
#include "http/url.h"
#include "trace/otlp.h"

#define RESOURCE_MAX (16 * 1024)
#define VALUE_MAX    4096 /* of a header field, of an attribute */
#define TRACES_PATH  "v1/traces"

#define TIMEOUT_MS 10000
#define DELAY_MS   5000
#define QUEUE_MAX  2048
#define BATCH_MAX  512

/* An empty value counts as not set. */
static struct hl_str find(char *const *variables, const char *name)
{
    size_t n = strlen(name);
    for (; *variables; variables++)
        if (strncmp(*variables, name, n) == 0 && (*variables)[n] == '=')
            return hl_str_trim(hl_str_from(*variables + n + 1));
    return HL_STR("");
}

static void warn(const char *name, const char *why)
{
    HL_LOG(WARN, "a variable of OpenTelemetry's has no effect", HL_LOG_TEXT("variable", name),
        HL_LOG_TEXT("why", why));
}

/* The one for traces is before the one for all. `*name`: which it was. */
static struct hl_str find_either(
    char *const *variables, const char *of_traces, const char *of_all, const char **name)
{
    struct hl_str value = find(variables, of_traces);
    *name = value.n > 0 ? of_traces : of_all;
    return value.n > 0 ? value : find(variables, of_all);
}

/* ---- whether, and where to ---- */

static bool names_otlp(struct hl_str list)
{
    struct hl_str word;
    while (hl_str_next_element(&list, &word))
        if (hl_str_eq(word, HL_STR("otlp")))
            return true;
    return false;
}

static bool is_turned_off(char *const *variables)
{
    struct hl_str disabled = find(variables, "OTEL_SDK_DISABLED");
    struct hl_str exporter = find(variables, "OTEL_TRACES_EXPORTER");
    if (hl_str_eq_nocase(disabled, HL_STR("true")) || hl_str_eq(exporter, HL_STR("none")))
        return true;
    if (disabled.n > 0 && !hl_str_eq_nocase(disabled, HL_STR("false")))
        warn("OTEL_SDK_DISABLED", "it is neither true nor false");
    if (exporter.n > 0 && !names_otlp(exporter))
        warn("OTEL_TRACES_EXPORTER", "only otlp and none are known");
    return false;
}

/* A URL for all signals has the path of this one added; one for traces is taken as it is (OTLP exporter,
 * "Endpoint URLs for OTLP/HTTP"). Where it leads is the operator's choice: no address is refused. */
static enum hl_err read_endpoint(struct hl_trace_setting *setting, char *const *variables)
{
    static const char of_traces[] = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
    const char *name;
    struct hl_url url;
    struct hl_str value = find_either(variables, of_traces, "OTEL_EXPORTER_OTLP_ENDPOINT", &name);
    if (value.n == 0)
        return HL_OK;
    bool is_whole = name == of_traces;
    bool is_good = hl_url_parse(value, &url) && !url.has_userinfo && url.port != 0 &&
                   !memchr(value.p, '#', value.n) && (is_whole || !memchr(value.p, '?', value.n));
    if (!is_good) {
        HL_LOG(WARN, "traces are off: where to send them is not a URL like http://collector:4318",
            HL_LOG_TEXT("variable", name));
        return HL_OK;
    }
    bool has_slash = value.p[value.n - 1] == '/';
    if (asprintf(&setting->url, "%.*s%s%s", HL_STR_ARG(value), is_whole || has_slash ? "" : "/",
            is_whole ? "" : TRACES_PATH) < 0) {
        setting->url = NULL;
        return HL_ERR_NOMEM;
    }
    setting->is_on = true;
    return HL_OK;
}

static void judge_protocol(char *const *variables)
{
    const char *name;
    struct hl_str value = find_either(
        variables, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL", &name);
    if (value.n > 0 && !hl_str_eq(value, HL_STR("http/json")))
        HL_LOG(WARN, "traces are sent as http/json: no other protocol is known",
            HL_LOG_TEXT("variable", name));
}

/* ---- lists of key=value, both percent-encoded (W3C Baggage) ---- */

static int hex_value(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* False: a bad escape, a control byte, or too long. */
static bool decode(struct hl_str text, char out[VALUE_MAX], struct hl_str *value)
{
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++, n++) {
        char c = text.p[i];
        if (n == VALUE_MAX)
            return false;
        if (c == '%') {
            int high = i + 2 < text.n ? hex_value(text.p[i + 1]) : -1;
            int low = i + 2 < text.n ? hex_value(text.p[i + 2]) : -1;
            if (high < 0 || low < 0)
                return false;
            c = (char)(high << 4 | low);
            i += 2;
        }
        if ((unsigned char)c < ' ' || c == 0x7f)
            return false;
        out[n] = c;
    }
    *value = (struct hl_str){out, n};
    return true;
}

struct pair {
    struct hl_str key, value; /* in `key_room`, `value_room` */
    char key_room[VALUE_MAX], value_room[VALUE_MAX];
};

/* False at the end, or with `*is_bad` where it is no list. */
static bool next_pair(struct hl_str *list, struct pair *pair, bool *is_bad)
{
    struct hl_str element;
    if (!hl_str_next_element(list, &element))
        return false;
    const char *equals = memchr(element.p, '=', element.n);
    size_t n = equals ? (size_t)(equals - element.p) : 0;
    *is_bad = n == 0 ||
              !decode(hl_str_trim((struct hl_str){element.p, n}), pair->key_room, &pair->key) ||
              !decode(hl_str_trim((struct hl_str){equals + 1, element.n - n - 1}), pair->value_room,
                  &pair->value);
    return !*is_bad;
}

/* ---- header fields ---- */

/* Those that say what the request is are ours. */
static bool may_be_field(struct hl_str name)
{
    static const char *const ours[] = {"Content-Type", "Content-Length", "Content-Encoding",
        "Transfer-Encoding", "Host", "Connection", "Expect"};
    for (size_t i = 0; i < HL_ARRAY_LEN(ours); i++)
        if (hl_str_eq_nocase(name, hl_str_from(ours[i])))
            return false;
    return hl_str_is_token(name);
}

static enum hl_err add_line(struct hl_trace_setting *setting, const char *line)
{
    struct curl_slist *longer = curl_slist_append(setting->fields, line);
    if (!longer)
        return HL_ERR_NOMEM;
    setting->fields = longer;
    return HL_OK;
}

static enum hl_err add_field(
    struct hl_trace_setting *setting, struct hl_str name, struct hl_str value)
{
    char line[2 * VALUE_MAX + 4];
    /* libcurl's way of a field without a value */
    snprintf(line, sizeof(line), value.n > 0 ? "%.*s: %.*s" : "%.*s;", HL_STR_ARG(name),
        HL_STR_ARG(value));
    enum hl_err err = add_line(setting, line);
    explicit_bzero(line, sizeof(line));
    return err;
}

static enum hl_err read_fields(struct hl_trace_setting *setting, char *const *variables)
{
    const char *name;
    struct pair pair;
    bool is_bad = false;
    struct hl_str list = find_either(
        variables, "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS", &name);
    enum hl_err err = add_field(setting, HL_STR("Content-Type"), HL_STR("application/json"));
    if (!err)
        err = add_line(setting, "Expect:"); /* libcurl asks for no 100, which costs a round trip */
    while (!err && next_pair(&list, &pair, &is_bad)) {
        if (may_be_field(pair.key))
            err = add_field(setting, pair.key, pair.value);
        else
            warn(name, "it names a header field that is none, or not to be set");
    }
    if (is_bad)
        warn(name, "from some place on it is not a list of key=value");
    explicit_bzero(&pair, sizeof(pair));
    return err;
}

/* ---- the resource ---- */

static enum hl_err add_attribute(struct hl_buf *out, struct hl_str name, struct hl_str value)
{
    enum hl_err err = out->n > 0 ? hl_buf_append(out, ",", 1) : HL_OK;
    return err ? err : hl_otlp_add_text(out, name, value);
}

/* With one wrong all are left out, as OpenTelemetry has it. */
static enum hl_err add_attributes(
    struct hl_buf *out, struct hl_str list, struct hl_str *service, char service_room[VALUE_MAX])
{
    struct pair pair;
    bool is_bad = false;
    enum hl_err err = HL_OK;
    while (!err && next_pair(&list, &pair, &is_bad)) {
        if (!hl_str_eq(pair.key, HL_STR("service.name"))) {
            err = add_attribute(out, pair.key, pair.value);
        } else if (service->n == 0) {
            memcpy(service_room, pair.value.p, pair.value.n);
            *service = (struct hl_str){service_room, pair.value.n};
        }
    }
    return is_bad || err == HL_ERR_TOO_LARGE ? HL_ERR_INVALID : err;
}

/* HOOKLINE_OTEL_SERVICE_NAME, OTEL_SERVICE_NAME, service.name among the attributes. */
static enum hl_err read_resource(
    struct hl_trace_setting *setting, char *const *variables, struct hl_str service)
{
    char room[VALUE_MAX];
    struct hl_buf *out = &setting->resource;
    hl_buf_init(out, RESOURCE_MAX);
    if (service.n == 0)
        service = find(variables, "OTEL_SERVICE_NAME");
    struct hl_str listed = service;
    enum hl_err err =
        add_attributes(out, find(variables, "OTEL_RESOURCE_ATTRIBUTES"), &listed, room);
    if (err == HL_ERR_INVALID) {
        warn("OTEL_RESOURCE_ATTRIBUTES", "it is not a list of key=value, or too long");
        out->n = 0;
        listed = service;
        err = HL_OK;
    }
    if (!err)
        err =
            add_attribute(out, HL_STR("service.name"), listed.n > 0 ? listed : HL_STR("hookline"));
    if (err == HL_ERR_TOO_LARGE) {
        out->n = 0;
        err = add_attribute(out, HL_STR("service.name"), HL_STR("hookline"));
    }
    return err;
}

/* ---- numbers ---- */

static uint64_t read_number(char *const *variables, const char *name, uint64_t max, uint64_t usual)
{
    uint64_t n;
    struct hl_str value = find(variables, name);
    if (value.n == 0)
        return usual;
    if (hl_str_to_u64(value, &n) && n >= 1 && n <= max)
        return n;
    warn(name, "it is not a whole number in its range");
    return usual;
}

static uint64_t read_timeout(char *const *variables)
{
    const char *name;
    find_either(
        variables, "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT", &name);
    return read_number(variables, name, 3600 * 1000, TIMEOUT_MS);
}

static double read_share(char *const *variables)
{
    char text[32], *end = text;
    struct hl_str value = find(variables, "OTEL_TRACES_SAMPLER_ARG");
    if (value.n == 0)
        return 1;
    hl_str_put_cut(text, sizeof(text), value);
    double share = value.n < sizeof(text) ? strtod(text, &end) : 0;
    if (end == text || *end || !(share >= 0 && share <= 1)) {
        warn("OTEL_TRACES_SAMPLER_ARG", "it is not a number from 0 to 1");
        return 1;
    }
    return share;
}

static struct hl_sampler read_sampler(char *const *variables)
{
    static const struct {
        const char *name;
        struct hl_sampler is;
        bool has_share;
    } known[] = {
        {"parentbased_always_on", {true, 0}, false},
        {"parentbased_always_off", {true, HL_SAMPLER_NONE}, false},
        {"parentbased_traceidratio", {true, 0}, true},
        {"always_on", {false, 0}, false},
        {"always_off", {false, HL_SAMPLER_NONE}, false},
        {"traceidratio", {false, 0}, true},
    };
    struct hl_str value = find(variables, "OTEL_TRACES_SAMPLER");
    for (size_t i = 0; i < HL_ARRAY_LEN(known); i++) {
        if (!hl_str_eq(value, hl_str_from(known[i].name)))
            continue;
        struct hl_sampler sampler = known[i].is;
        if (known[i].has_share)
            sampler.least = hl_sampler_least(read_share(variables));
        return sampler;
    }
    if (value.n > 0)
        warn("OTEL_TRACES_SAMPLER", "it is none of the samplers that are known");
    return known[0].is;
}

enum hl_err hl_trace_setting_read(
    struct hl_trace_setting *setting, char *const *variables, struct hl_str service_name)
{
    *setting = (struct hl_trace_setting){.is_on = false};
    enum hl_err err = read_endpoint(setting, variables);
    if (err || !setting->is_on)
        return err;
    if (is_turned_off(variables)) {
        setting->is_on = false;
        return HL_OK;
    }
    judge_protocol(variables);
    setting->timeout_ms = read_timeout(variables);
    setting->delay_ms = read_number(variables, "OTEL_BSP_SCHEDULE_DELAY", 3600 * 1000, DELAY_MS);
    setting->queue_max =
        (uint32_t)read_number(variables, "OTEL_BSP_MAX_QUEUE_SIZE", 64 * 1024, QUEUE_MAX);
    setting->batch_max =
        (uint32_t)read_number(variables, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 4096, BATCH_MAX);
    if (setting->batch_max > setting->queue_max)
        setting->batch_max = setting->queue_max;
    setting->sampler = read_sampler(variables);
    err = read_fields(setting, variables);
    return err ? err : read_resource(setting, variables, service_name);
}

void hl_trace_setting_fini(struct hl_trace_setting *setting)
{
    for (struct curl_slist *field = setting->fields; field; field = field->next)
        explicit_bzero(field->data, strlen(field->data));
    curl_slist_free_all(setting->fields);
    hl_buf_fini(&setting->resource);
    free(setting->url);
    *setting = (struct hl_trace_setting){.is_on = false};
}
