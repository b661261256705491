/* access.c - which requests were meant for this server and sent by a page that may, and which need no token.
 * Thread: any; no state; lists are made at the start.
 * Not here: where hookline's own routes are (route/plan.c), which come before public paths; tokens (auth/). */
#include "config/access.h"

#include <stdlib.h>

#include "base/compiler.h"
#include "base/str.h"
#include "config/choice.h"
#include "config/config.h"
#include "http/field.h"
#include "http/head.h"
#include "net/address.h"

/* ---- by the name that it came by ---- */

static bool is_host_name(struct hl_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i], lower = (char)(c | 0x20);
        if (!(lower >= 'a' && lower <= 'z') && !(c >= '0' && c <= '9') && !memchr("-._", c, 3))
            return false;
    }
    return text.n >= 1 && text.n <= 253;
}

bool hl_hookline_hosts_are_valid(struct hl_str list)
{
    struct hl_str name;
    while (hl_str_next_element(&list, &name)) {
        if (!is_host_name(name))
            return false;
    }
    return true;
}

/* Of "name:port" and "[address]:port". */
static struct hl_str without_port(struct hl_str host)
{
    const char *end = host.n > 0 && host.p[0] == '[' ? memchr(host.p, ']', host.n) : NULL;
    if (end)
        return (struct hl_str){host.p + 1, (size_t)(end - host.p) - 1};
    const char *colon = host.n > 0 ? memchr(host.p, ':', host.n) : NULL;
    return colon ? (struct hl_str){host.p, (size_t)(colon - host.p)} : host;
}

static bool is_named(struct hl_str list, struct hl_str host)
{
    struct hl_str name;
    while (hl_str_next_element(&list, &name)) {
        if (hl_str_eq_nocase(name, host))
            return true;
    }
    return false;
}

bool hl_hookline_hosts_have(struct hl_str names, struct hl_str host)
{
    struct hl_ip ip;
    host = without_port(host);
    return hl_ip_parse(host, &ip) || hl_str_eq_nocase(host, HL_STR("localhost")) ||
           is_named(names, host);
}

/* ---- by the page that sent it ---- */

/* The scheme is ours or, under one of the names, that of a proxy in front. */
static bool is_own_origin(struct hl_str names, struct hl_str origin, struct hl_str host)
{
    struct hl_str http = HL_STR("http://"), https = HL_STR("https://");
    struct hl_str scheme = http;
    if (hl_str_starts_with(origin, https) && is_named(names, without_port(host)))
        scheme = https;
    if (!hl_str_starts_with(origin, scheme))
        return false;
    origin.p += scheme.n;
    origin.n -= scheme.n;
    return hl_str_eq_nocase(origin, host);
}

/* The origin of a page: its URL up to the path. */
static struct hl_str origin_of(struct hl_str url)
{
    const char *host = url.n > 0 ? memmem(url.p, url.n, "://", 3) : NULL;
    size_t before = host ? (size_t)(host + 3 - url.p) : 0;
    const char *path = host ? memchr(host + 3, '/', url.n - before) : NULL;
    return path ? (struct hl_str){url.p, (size_t)(path - url.p)} : url;
}

static bool is_other_site(struct hl_str site)
{
    return !hl_str_eq(site, HL_STR("same-origin")) && !hl_str_eq(site, HL_STR("none"));
}

/* A browser sends Sec-Fetch-Site to https and to loopback addresses alone, and no Origin with what an image or
 * a link asks for: then there is the page's address at the most. */
bool hl_hookline_hosts_is_cross_site(struct hl_str names, const struct hl_head *head)
{
    const struct hl_field *site = hl_head_find(head, HL_STR("Sec-Fetch-Site"));
    const struct hl_field *origin = hl_head_field(head, HL_FIELD_ORIGIN);
    const struct hl_field *page = site ? NULL : hl_head_find(head, HL_STR("Referer"));
    if (site && is_other_site(site->value))
        return true;
    if (origin)
        return !is_own_origin(names, origin->value, head->host);
    return page && !is_own_origin(names, origin_of(page->value), head->host);
}

/* ---- lists of web origins (RFC 6454) ---- */

#define LONGEST_ORIGIN 255 /* it is written into every answer */
#define MOST_ORIGINS   64

static bool is_lower_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* The length of "scheme://", or 0. */
static size_t scheme_length(struct hl_str text)
{
    size_t n = 0;
    while (n < text.n && (is_lower_or_digit(text.p[n]) || memchr("+.-", text.p[n], 3)))
        n++;
    bool ends = text.n - n > 3 && memcmp(text.p + n, "://", 3) == 0;
    return n > 0 && ends && text.p[0] >= 'a' ? n + 3 : 0;
}

static bool is_origin(struct hl_str text)
{
    size_t n = scheme_length(text);
    if (n == 0 || text.n > LONGEST_ORIGIN)
        return false;
    for (size_t i = n; i < text.n; i++) {
        if (!is_lower_or_digit(text.p[i]) && !memchr("-._:[]", text.p[i], 6))
            return false;
    }
    return text.p[text.n - 1] != ':';
}

static bool ends_with(struct hl_str text, struct hl_str end)
{
    return text.n > end.n && memcmp(text.p + text.n - end.n, end.p, end.n) == 0;
}

/* Browsers leave the scheme's own port out. */
static struct hl_str without_own_port(struct hl_str text)
{
    if (hl_str_starts_with(text, HL_STR("https://")) && ends_with(text, HL_STR(":443")))
        text.n -= 4;
    else if (hl_str_starts_with(text, HL_STR("http://")) && ends_with(text, HL_STR(":80")))
        text.n -= 3;
    return text;
}

static enum hl_err add(struct hl_origin_list *list, struct hl_str text)
{
    bool is_any = hl_str_eq(text, HL_STR("*"));
    if (list->n == MOST_ORIGINS || (!is_any && !is_origin(text)))
        return HL_ERR_INVALID;
    text = without_own_port(text);
    char *copy = hl_str_dup(text);
    struct hl_str *items = realloc(list->items, (list->n + 1) * sizeof(*items));
    if (items)
        list->items = items;
    if (!copy || !items) {
        free(copy);
        return HL_ERR_NOMEM;
    }
    list->items[list->n++] = (struct hl_str){copy, text.n};
    list->has_any = list->has_any || is_any;
    return HL_OK;
}

enum hl_err hl_origin_list_parse(struct hl_str text, struct hl_origin_list *out)
{
    struct hl_str element;
    enum hl_err err = HL_OK;
    *out = (struct hl_origin_list){0};
    while (!err && hl_str_next_element(&text, &element))
        err = add(out, element);
    if (!err && out->has_any && out->n > 1)
        err = HL_ERR_INVALID;
    if (err)
        hl_origin_list_fini(out);
    return err;
}

void hl_origin_list_fini(struct hl_origin_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free((char *)list->items[i].p);
    free(list->items);
    *list = (struct hl_origin_list){0};
}

struct hl_str hl_origin_list_find(const struct hl_origin_list *list, struct hl_str origin)
{
    for (size_t i = 0; i < list->n; i++) {
        if (list->has_any || hl_str_eq(list->items[i], origin))
            return list->items[i];
    }
    return (struct hl_str){0};
}

/* ---- HOOKLINE_PUBLIC_PATHS: what is passed through to the app without a token ---- */

static bool has(struct hl_str text, const char *z)
{
    return memmem(text.p, text.n, z, strlen(z)) != NULL;
}

static bool is_dot_segment(const char *p, const char *end)
{
    return (end - p == 1 && p[0] == '.') || (end - p == 2 && p[0] == '.' && p[1] == '.');
}

static bool has_dot_segment(struct hl_str path)
{
    const char *end = path.p + path.n;
    for (const char *p = path.p; p < end; p++) {
        const char *next = memchr(p, '/', (size_t)(end - p));
        if (is_dot_segment(p, next ? next : end))
            return true;
        if (!next)
            break;
        p = next;
    }
    return false;
}

/* Servers decode, merge, resolve and cut (";jsessionid=1") paths each in its own way. */
static bool is_ambiguous(struct hl_str path)
{
    static const char *const signs[] = {
        "//", "\\", ";", "%2f", "%2F", "%5c", "%5C", "%2e", "%2E", "%00"};
    for (size_t i = 0; i < HL_ARRAY_LEN(signs); i++) {
        if (has(path, signs[i]))
            return true;
    }
    return has_dot_segment(path);
}

static bool ends_with_star(struct hl_str pattern)
{
    return pattern.n > 0 && pattern.p[pattern.n - 1] == '*';
}

/* Below hookline's own routes. "/v4x" is not, "/v4*" is. */
static bool is_own(struct hl_str pattern)
{
    static const char *const roots[] = {"/v4", "/v2/projects", "/_hookline"};
    for (size_t i = 0; i < HL_ARRAY_LEN(roots); i++) {
        struct hl_str root = hl_str_from(roots[i]);
        if (hl_str_starts_with(pattern, root) &&
            (pattern.n == root.n || memchr("/*", pattern.p[root.n], 2)))
            return true;
    }
    return false;
}

static bool is_pattern(struct hl_str pattern)
{
    struct hl_str fixed = pattern;
    if (pattern.p[0] != '/' || is_own(pattern))
        return false;
    if (ends_with_star(pattern))
        fixed.n--;
    for (size_t i = 0; i < fixed.n; i++) {
        if (fixed.p[i] <= ' ' || fixed.p[i] > '~' || memchr("*?#", fixed.p[i], 3))
            return false;
    }
    return !is_ambiguous(fixed);
}

bool hl_public_paths_are_valid(struct hl_str list)
{
    struct hl_str pattern;
    while (hl_str_next_element(&list, &pattern)) {
        if (!is_pattern(pattern))
            return false;
    }
    return true;
}

static bool matches(struct hl_str pattern, struct hl_str path)
{
    if (!ends_with_star(pattern))
        return hl_str_eq(pattern, path);
    pattern.n--;
    return hl_str_starts_with(path, pattern);
}

bool hl_public_paths_have(struct hl_str list, struct hl_str path)
{
    struct hl_str pattern;
    while (hl_str_next_element(&list, &pattern)) {
        if (matches(pattern, path))
            return !is_ambiguous(path);
    }
    return false;
}

/* ---- the admin listener without a token ---- */

static bool is_loopback(const struct hl_listen_address *address)
{
    struct hl_ip ip;
    return hl_ip_from_sockaddr((const struct sockaddr *)&address->addr, &ip) &&
           hl_ip_is_loopback(&ip);
}

bool hl_admin_access_is_open(
    const struct hl_config *config, const struct hl_listen_address *address)
{
    if (config->admin_auth != HL_ADMIN_AUTH_AUTO)
        return config->admin_auth == HL_ADMIN_AUTH_NONE;
    return config->auth == HL_AUTH_NONE && is_loopback(address);
}

bool hl_admin_access_asks_token(const struct hl_config *config)
{
    for (size_t i = 0; i < config->admin_listen.n; i++) {
        if (!hl_admin_access_is_open(config, &config->admin_listen.items[i]))
            return true;
    }
    return false;
}
