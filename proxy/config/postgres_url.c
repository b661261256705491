/* postgres_url.c - what libpq's own reader of connection strings (PQconninfoParse) says of hosts and
 * sslmode. Any thread.
 * Promise: what is in a host's place and could be a part of a password is refused. */
#include "config/postgres_url.h"

#include <stdlib.h>

#include "http/byte.h"
#include "net/address.h"

/* ---- what was said ---- */

/* Of an option; p is NULL: nothing. */
static struct hl_str value_of(const struct hl_postgres_url *url, const char *keyword)
{
    for (const PQconninfoOption *option = url->options; option->keyword; option++) {
        if (strcmp(option->keyword, keyword) == 0)
            return option->val ? hl_str_from(option->val) : (struct hl_str){0};
    }
    return (struct hl_str){0};
}

static bool is_anything_said(const struct hl_postgres_url *url)
{
    const PQconninfoOption *option = url->options;
    while (option->keyword && !option->val)
        option++;
    return option->keyword != NULL;
}

static bool is_port_list(struct hl_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (!hl_byte_is(text.p[i], HL_BYTE_DIGIT) && text.p[i] != ',')
            return false;
    }
    return true;
}

/* Behind the scheme of a URI; NULL: it is the other form. */
static const char *skip_scheme(const char *text)
{
    static const char *const schemes[] = {"postgresql://", "postgres://"};
    for (size_t i = 0; i < HL_ARRAY_LEN(schemes); i++) {
        size_t n = strlen(schemes[i]);
        if (strncmp(text, schemes[i], n) == 0)
            return text + n;
    }
    return NULL;
}

/* A bare "@" in the place of a URI's database comes of a password with a bare "/". */
static bool has_at_sign_in_database(const char *uri)
{
    size_t user = strcspn(uri, "@/");
    if (uri[user] == '@')
        uri += user + 1;
    uri += strcspn(uri, "/?");
    return *uri == '/' && memchr(uri, '@', strcspn(uri, "?"));
}

/* ---- hosts ---- */

static bool is_socket(struct hl_str host)
{
    return host.n > 0 && (host.p[0] == '/' || host.p[0] == '@');
}

/* Without the zone of a link-local one. */
static bool is_address(struct hl_str host, struct hl_ip *ip)
{
    const char *zone = memchr(host.p, '%', host.n);
    return hl_ip_parse((struct hl_str){host.p, zone ? (size_t)(zone - host.p) : host.n}, ip);
}

static bool is_name(struct hl_str host)
{
    for (size_t i = 0; i < host.n; i++) {
        char c = host.p[i], lower = (char)(c | 0x20);
        if (!(lower >= 'a' && lower <= 'z') && !hl_byte_is(c, HL_BYTE_DIGIT) && !strchr("-._", c))
            return false;
    }
    return true;
}

static bool is_host(struct hl_str host)
{
    struct hl_ip ip;
    if (is_socket(host))
        return !memchr(host.p + 1, '@', host.n - 1);
    return host.n == 0 || is_name(host) || is_address(host, &ip);
}

static size_t count_elements(struct hl_str list)
{
    size_t n = list.n > 0;
    for (size_t i = 0; i < list.n; i++)
        n += list.p[i] == ',';
    return n;
}

/* Empty ones stand for themselves: the lists go in step. */
static struct hl_str take_element(struct hl_str *list)
{
    const char *comma = list->n > 0 ? memchr(list->p, ',', list->n) : NULL;
    struct hl_str element = {list->p, comma ? (size_t)(comma - list->p) : list->n};
    size_t used = element.n + (comma != NULL);
    *list = (struct hl_str){used > 0 ? list->p + used : list->p, list->n - used};
    return element;
}

static enum hl_err set_hosts(
    struct hl_postgres_url *url, struct hl_str names, struct hl_str addresses)
{
    size_t n = count_elements(names), addressed = count_elements(addresses);
    if (n > 0 && addressed > 0 && n != addressed)
        return HL_ERR_INVALID;
    n = n > 0 ? n : addressed > 0 ? addressed : 1;
    url->hosts = calloc(n, sizeof(*url->hosts));
    if (!url->hosts)
        return HL_ERR_NOMEM;
    for (; url->host_count < n; url->host_count++) {
        struct hl_postgres_host *host = &url->hosts[url->host_count];
        host->name = take_element(&names);
        host->address = take_element(&addresses);
        if (!is_host(host->name) || !is_host(host->address))
            return HL_ERR_INVALID;
    }
    return HL_OK;
}

/* ---- the whole ---- */

/* Its message is not shown: it may quote a password. */
static enum hl_err read_options(struct hl_postgres_url *url, const char *text)
{
    char *message = NULL;
    url->options = PQconninfoParse(text, &message);
    enum hl_err err = url->options ? HL_OK : message ? HL_ERR_INVALID : HL_ERR_NOMEM;
    if (message)
        explicit_bzero(message, strlen(message));
    PQfreemem(message);
    return err;
}

static struct hl_str value_or_default(const struct hl_postgres_url *url, const char *keyword,
    const char *variable, char *(*look_up)(const char *name))
{
    struct hl_str value = value_of(url, keyword);
    return !value.p && look_up ? hl_str_from(look_up(variable)) : value;
}

/* A service's file comes before the environment, and may say anything. */
static enum hl_err read_values(struct hl_postgres_url *url, char *(*look_up)(const char *name))
{
    url->has_password = value_of(url, "password").n > 0;
    url->has_service = value_or_default(url, "service", "PGSERVICE", look_up).n > 0;
    if (url->has_service)
        look_up = NULL;
    url->sslmode = value_or_default(url, "sslmode", "PGSSLMODE", look_up);
    return set_hosts(url, value_or_default(url, "host", "PGHOST", look_up),
        value_or_default(url, "hostaddr", "PGHOSTADDR", look_up));
}

static enum hl_err parse(
    struct hl_postgres_url *url, const char *text, char *(*look_up)(const char *name))
{
    const char *uri = skip_scheme(text);
    enum hl_err err = read_options(url, text);
    if (err)
        return err;
    if (uri ? has_at_sign_in_database(uri) : !is_anything_said(url))
        return HL_ERR_INVALID;
    return is_port_list(value_of(url, "port")) ? read_values(url, look_up) : HL_ERR_INVALID;
}

enum hl_err hl_postgres_url_parse(
    struct hl_postgres_url *url, struct hl_str text, char *(*look_up)(const char *name))
{
    *url = (struct hl_postgres_url){0};
    if (text.n == 0 || memchr(text.p, '\0', text.n))
        return HL_ERR_INVALID;
    char *copy = hl_str_dup(text);
    if (!copy)
        return HL_ERR_NOMEM;
    enum hl_err err = parse(url, copy, look_up);
    if (err)
        hl_postgres_url_fini(url);
    explicit_bzero(copy, text.n);
    free(copy);
    return err;
}

void hl_postgres_url_fini(struct hl_postgres_url *url)
{
    for (const PQconninfoOption *option = url->options; option && option->keyword; option++) {
        if (option->val)
            explicit_bzero(option->val, strlen(option->val));
    }
    PQconninfoFree(url->options);
    free(url->hosts);
    *url = (struct hl_postgres_url){0};
}

static bool is_here(struct hl_str host)
{
    struct hl_ip ip;
    if (host.n == 0 || is_socket(host) || hl_str_eq_nocase(host, HL_STR("localhost")))
        return true;
    return is_address(host, &ip) && hl_ip_is_loopback(&ip);
}

bool hl_postgres_url_is_exposed(
    const struct hl_postgres_url *url, const struct hl_postgres_host *host)
{
    if (hl_str_eq(url->sslmode, HL_STR("verify-full")) || (url->has_service && url->sslmode.n == 0))
        return false;
    return !is_here(host->address.n > 0 ? host->address : host->name);
}

bool hl_postgres_url_is_valid(struct hl_str text)
{
    struct hl_postgres_url url;
    for (size_t i = 0; i < text.n; i++) {
        if ((unsigned char)text.p[i] < ' ' || text.p[i] == 0x7f)
            return false;
    }
    if (text.n > HL_POSTGRES_URL_MAX)
        return false;
    enum hl_err err = hl_postgres_url_parse(&url, text, NULL);
    if (!err)
        hl_postgres_url_fini(&url);
    return err != HL_ERR_INVALID;
}
