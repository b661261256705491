/* expect_target.c - where a request goes, by contract 2 alone: written for reading, not for
 * speed. */
#include "config/config.h"
#include "expect.h"
#include "strict_grammar.h"

static bool is_name_byte(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
}

/* 1 to 128 of A-Z a-z 0-9 . _ -, not . or .. */
static bool is_name(struct hl_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!is_name_byte(s.p[i]))
            return false;
    return s.n >= 1 && s.n <= 128 && !strict_same(s, HL_STR(".")) && !strict_same(s, HL_STR(".."));
}

/* Up to the next '/' or the end; `*path` then begins with that '/', or is empty. */
static struct hl_str next_segment(struct hl_str *path)
{
    size_t n = 1;
    while (n < path->n && path->p[n] != '/')
        n++;
    struct hl_str segment = {path->p + 1, n - 1};
    *path = (struct hl_str){path->p + n, path->n - n};
    return segment;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The name of a parameter, escapes decoded, equals `name`. */
static bool is_parameter(struct hl_str raw, const char *name)
{
    size_t i = 0;
    for (; *name; name++) {
        if (i >= raw.n)
            return false;
        int c = (unsigned char)raw.p[i++];
        if (c == '%') {
            int high = i + 1 < raw.n ? hex_value(raw.p[i]) : -1;
            int low = i + 1 < raw.n ? hex_value(raw.p[i + 1]) : -1;
            if (high < 0 || low < 0)
                return false;
            c = high * 16 + low;
            i += 2;
        }
        if (c != (unsigned char)*name)
            return false;
    }
    return i == raw.n || raw.p[i] == '=';
}

bool expect_parameter(struct hl_str query, const char *name, struct hl_str *value)
{
    const char *p = query.p, *end = p + query.n;
    while (p < end) {
        const char *from = p;
        while (p < end && *p != '&')
            p++;
        struct hl_str raw = {from, (size_t)(p - from)};
        if (is_parameter(raw, name)) {
            size_t n = 0;
            while (n < raw.n && raw.p[n] != '=')
                n++;
            *value = n < raw.n ? (struct hl_str){raw.p + n + 1, raw.n - n - 1} : HL_STR("");
            return true;
        }
        p++;
    }
    return false;
}

/* Appends "?query" without hookline's parameters. False: one of them is there twice. */
static bool append_query(char *out, size_t *n, struct hl_str query)
{
    size_t asyncs = 0, webhooks = 0, kept = 0, start = *n;
    const char *p = query.p, *end = p + query.n;
    for (;;) {
        const char *from = p;
        while (p < end && *p != '&')
            p++;
        struct hl_str raw = {from, (size_t)(p - from)};
        bool is_async = is_parameter(raw, "async"), is_hook = is_parameter(raw, "webhookEndpoint");
        asyncs += is_async;
        webhooks += is_hook;
        if (!is_async && !is_hook) {
            out[(*n)++] = kept++ == 0 ? '?' : '&';
            memcpy(out + *n, raw.p, raw.n);
            *n += raw.n;
        }
        if (p == end)
            break;
        p++;
    }
    if (asyncs + webhooks > 0 && *n == start + 1)
        *n = start; /* only "?" is left */
    return asyncs <= 1 && webhooks <= 1;
}

static enum expect_route map_run(struct hl_str method, struct hl_str path, struct hl_str query,
    bool has_query, const struct hl_config *config, char *out, struct hl_str *mapped)
{
    struct hl_str project, app;
    next_segment(&path);
    if (path.n == 0)
        return EXPECT_REFUSED;
    project = next_segment(&path);
    if (path.n == 0 || !is_name(project))
        return EXPECT_REFUSED;
    app = next_segment(&path);
    if (path.n == 0 || !is_name(app))
        return EXPECT_REFUSED;
    if (config->project_id.n > 0 && !strict_same(config->project_id, project))
        return EXPECT_REFUSED;
    if (config->app_name.n > 0 && !strict_same(config->app_name, app))
        return EXPECT_REFUSED;
    if (strict_same(path, HL_STR("/run"))) {
        if (!strict_same(method, HL_STR("POST")))
            return EXPECT_REFUSED;
        path = config->app_run_path;
    }
    size_t n = path.n;
    memcpy(out, path.p, path.n);
    if (has_query && !append_query(out, &n, query))
        return EXPECT_REFUSED;
    *mapped = (struct hl_str){out, n};
    return EXPECT_RUN;
}

static bool is_below(struct hl_str path, const char *prefix)
{
    size_t n = strlen(prefix);
    return path.n >= n && strict_same((struct hl_str){path.p, n}, hl_str_from(prefix)) &&
           (path.n == n || path.p[n] == '/');
}

/* From an absolute form: what stands behind the authority. */
static struct hl_str without_authority(struct hl_str target)
{
    const char *p = memmem(target.p, target.n, "://", 3), *end = target.p + target.n;
    for (p += 3; p < end && *p != '/' && *p != '?'; p++)
        ;
    return (struct hl_str){p, (size_t)(end - p)};
}

enum expect_route expect_target(struct hl_str method, struct hl_str target,
    const struct hl_config *config, char *out, struct hl_str *mapped)
{
    if (strict_same(method, HL_STR("CONNECT")) || strict_same(method, HL_STR("TRACE")))
        return EXPECT_REFUSED;
    bool is_asterisk = strict_same(target, HL_STR("*"));
    struct hl_str rest = is_asterisk || target.p[0] == '/' ? target : without_authority(target);
    if (rest.n == 0 && strict_same(method, HL_STR("OPTIONS"))) { /* RFC 9112 3.2.4 */
        rest = HL_STR("*");
        is_asterisk = true;
    }
    size_t path_n = 0;
    while (path_n < rest.n && rest.p[path_n] != '?')
        path_n++;
    struct hl_str path = path_n > 0 ? (struct hl_str){rest.p, path_n} : HL_STR("/");
    bool has_query = path_n < rest.n;
    struct hl_str query = {rest.p + path_n + has_query, rest.n - path_n - has_query};

    if (is_below(path, "/v4"))
        return map_run(method, path, query, has_query, config, out, mapped);
    if (strict_same(path, HL_STR("/v2/openapi.json")))
        return EXPECT_REFUSED; /* answered here */
    if (is_below(path, "/v2/projects") || is_below(path, "/_hookline") || !config->passthrough)
        return EXPECT_REFUSED;
    size_t n = path.n;
    memcpy(out, path.p, n);
    if (has_query && !is_asterisk) {
        out[n++] = '?';
        memcpy(out + n, query.p, query.n);
        n += query.n;
    }
    *mapped = (struct hl_str){out, n};
    return EXPECT_PASS;
}
