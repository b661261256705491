/* admin_access.c - who may use the REST interface and the dashboard on the admin listener.
 * Thread: any; no state.
 * Not here: tokens (auth/), the answers (api/admin_answer.c). */
#include "config/admin_access.h"

/* ---- by address ---- */

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

bool hl_admin_access_hosts_are_valid(struct hl_str list)
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

bool hl_admin_access_serves_host(struct hl_str names, struct hl_str host)
{
    struct hl_ip ip;
    host = without_port(host);
    return hl_ip_parse(host, &ip) || hl_str_eq_nocase(host, HL_STR("localhost")) ||
           is_named(names, host);
}

/* ---- by page ---- */

static const struct hl_field *find(const struct hl_head *head, struct hl_str name)
{
    for (size_t i = 0; i < head->field_count; i++) {
        if (hl_str_eq_nocase(head->fields[i].name, name))
            return &head->fields[i];
    }
    return NULL;
}

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

bool hl_admin_access_is_cross_site(struct hl_str names, const struct hl_head *head)
{
    const struct hl_field *site = find(head, HL_STR("Sec-Fetch-Site"));
    const struct hl_field *origin = find(head, HL_STR("Origin"));
    if (site && !hl_str_eq(site->value, HL_STR("same-origin")) &&
        !hl_str_eq(site->value, HL_STR("none")))
        return true;
    return origin && !is_own_origin(names, origin->value, head->host);
}
