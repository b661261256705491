/* own_hosts.c - whether a request was meant for this server, and sent by a page of its own.
 * Thread: any; no state. */
#include "config/own_hosts.h"

#include "base/str.h"
#include "http/field.h"
#include "http/head.h"
#include "net/address.h"

/* ---- by name ---- */

static bool is_host_name(struct hl_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i], lower = (char)(c | 0x20);
        if (!(lower >= 'a' && lower <= 'z') && !(c >= '0' && c <= '9') && !memchr("-._", c, 3))
            return false;
    }
    return text.n >= 1 && text.n <= 253;
}

bool hl_own_hosts_are_valid(struct hl_str list)
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

bool hl_own_hosts_have(struct hl_str names, struct hl_str host)
{
    struct hl_ip ip;
    host = without_port(host);
    return hl_ip_parse(host, &ip) || hl_str_eq_nocase(host, HL_STR("localhost")) ||
           is_named(names, host);
}

/* ---- by page ---- */

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
bool hl_own_hosts_is_cross_site(struct hl_str names, const struct hl_head *head)
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
