/* postgres_url.c - takes libpq's connection strings apart as libpq does (its conninfo_parse,
 * conninfo_uri_parse_options), for hosts and sslmode alone. Any thread.
 * Promise: what is in a host's place and could be a part of a password is refused.
 * Not here: whether libpq likes the other values. */
#include "config/postgres_url.h"

#include <ctype.h>
#include <stdlib.h>

#include "http/byte.h"
#include "net/address.h"

/* What is looked at, in the order of `keywords`. */
enum { HOST, HOSTADDR, SSLMODE, SERVICE, PASSWORD, KEYWORD_COUNT };

static const struct {
    const char *name;
    const char *variable; /* libpq's default; NULL: none that matters here */
} keywords[KEYWORD_COUNT] = {
    [HOST] = {"host", "PGHOST"},
    [HOSTADDR] = {"hostaddr", "PGHOSTADDR"},
    [SSLMODE] = {"sslmode", "PGSSLMODE"},
    [SERVICE] = {"service", "PGSERVICE"},
    [PASSWORD] = {"password", NULL},
};

struct values {
    struct hl_str of[KEYWORD_COUNT]; /* p is NULL: not said */
};

/* ---- one keyword ---- */

static bool is_keyword(struct hl_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] != '_' && !(text.p[i] >= 'a' && text.p[i] <= 'z'))
            return false;
    }
    return text.n > 0;
}

static bool is_port_list(struct hl_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (!hl_byte_is(text.p[i], HL_BYTE_DIGIT) && text.p[i] != ',')
            return false;
    }
    return true;
}

/* The last one of a name counts. */
static bool put(struct values *values, struct hl_str keyword, struct hl_str value)
{
    if (hl_str_eq(keyword, HL_STR("requiressl"))) {
        keyword = HL_STR("sslmode");
        value = value.n > 0 && value.p[0] == '1' ? HL_STR("require") : HL_STR("prefer");
    }
    for (int i = 0; i < KEYWORD_COUNT; i++) {
        if (hl_str_eq(keyword, hl_str_from(keywords[i].name)))
            values->of[i] = value;
    }
    return is_keyword(keyword) && (!hl_str_eq(keyword, HL_STR("port")) || is_port_list(value));
}

/* ---- keywords: name = 'value' ... ---- */

static bool is_blank(char c)
{
    return isspace((unsigned char)c) != 0;
}

static char *skip_blanks(char *p)
{
    while (is_blank(*p))
        p++;
    return p;
}

/* A backslash takes the next byte as it is, in quotes and without. */
static bool take_value(char **rest, struct hl_str *value)
{
    bool is_quoted = **rest == '\'';
    char *from = *rest + is_quoted, *to = from;
    value->p = to;
    for (; *from && (is_quoted ? *from != '\'' : !is_blank(*from)); from++) {
        if (*from == '\\' && !*++from)
            break;
        *to++ = *from;
    }
    value->n = (size_t)(to - value->p);
    *rest = *from ? from + 1 : from;
    return !is_quoted || *from;
}

static bool read_keywords(struct values *values, char *p)
{
    p = skip_blanks(p);
    do {
        struct hl_str value, keyword = {p, strcspn(p, "= \t\n\v\f\r")};
        p = skip_blanks(p + keyword.n);
        if (*p != '=')
            return false;
        p = skip_blanks(p + 1);
        if (!take_value(&p, &value) || !put(values, keyword, value))
            return false;
        p = skip_blanks(p);
    } while (*p);
    return true;
}

/* ---- URI: //user:password@host:port,host:port/database?keyword=value&... ---- */

/* Where it stands. False: a "%" that begins no byte, or 0. */
static bool decode(struct hl_str *text)
{
    char *to = (char *)text->p;
    for (size_t i = 0; i < text->n; i++, to++) {
        *to = text->p[i];
        if (*to != '%')
            continue;
        int high = i + 2 < text->n ? hl_byte_hex(text->p[i + 1]) : -1;
        int low = high >= 0 ? hl_byte_hex(text->p[i + 2]) : -1;
        if (low < 0 || high + low == 0)
            return false;
        *to = (char)(high << 4 | low);
        i += 2;
    }
    text->n = (size_t)(to - text->p);
    return true;
}

static bool take_user(struct values *values, char **rest)
{
    struct hl_str user = {*rest, strcspn(*rest, "@/")}, password;
    if (user.p[user.n] != '@')
        return true;
    *rest += user.n + 1;
    const char *colon = memchr(user.p, ':', user.n);
    password = colon ? (struct hl_str){colon + 1, user.n - (size_t)(colon + 1 - user.p)}
                     : (struct hl_str){0};
    if (colon)
        user.n = (size_t)(colon - user.p);
    if (!decode(&user) || !decode(&password))
        return false;
    values->of[PASSWORD] = password;
    return true;
}

/* Moves the host up to `*to`, without brackets, and passes over its port. */
static bool take_uri_host(char **rest, char **to)
{
    char *p = *rest;
    bool is_bracketed = *p == '[';
    p += is_bracketed;
    size_t n = strcspn(p, is_bracketed ? "]" : ":/?,");
    memmove(*to, p, n);
    *to += n;
    p += n;
    if (is_bracketed && (n == 0 || *p++ != ']'))
        return false;
    if (*p == ':')
        p += 1 + strspn(p + 1, "0123456789");
    *rest = p;
    return !*p || strchr("/?,", *p);
}

static bool take_uri_hosts(struct values *values, char **rest)
{
    char *p = *rest, *to = p;
    struct hl_str hosts = {.p = p};
    while (take_uri_host(&p, &to)) {
        if (*p == ',') {
            *to++ = *p++;
            continue;
        }
        hosts.n = (size_t)(to - hosts.p);
        *rest = p;
        if (hosts.n > 0)
            values->of[HOST] = hosts;
        return hosts.n == 0 || decode(&values->of[HOST]);
    }
    return false;
}

/* A bare "@" in it comes of a password with a bare "/". */
static bool skip_database(char **rest)
{
    if (**rest != '/')
        return true;
    struct hl_str name = {*rest + 1, strcspn(*rest + 1, "?")};
    *rest += 1 + name.n;
    return !memchr(name.p, '@', name.n) && decode(&name);
}

static bool put_parameter(struct values *values, struct hl_str pair)
{
    const char *equals = memchr(pair.p, '=', pair.n);
    if (!equals)
        return false;
    struct hl_str keyword = {pair.p, (size_t)(equals - pair.p)};
    struct hl_str value = {equals + 1, pair.n - keyword.n - 1};
    if (memchr(value.p, '=', value.n) || !decode(&keyword) || !decode(&value))
        return false;
    if (hl_str_eq(keyword, HL_STR("ssl")) && hl_str_eq(value, HL_STR("true")))
        return put(values, HL_STR("sslmode"), HL_STR("require"));
    return put(values, keyword, value);
}

static bool read_uri(struct values *values, char *p)
{
    if (!take_user(values, &p) || !take_uri_hosts(values, &p) || !skip_database(&p))
        return false;
    for (p += *p == '?'; *p;) {
        struct hl_str pair = {p, strcspn(p, "&")};
        p += pair.n;
        p += *p == '&';
        if (!put_parameter(values, pair))
            return false;
    }
    return true;
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

/* A service's file comes before the environment, and may say anything. */
static void look_up_defaults(struct values *values, char *(*look_up)(const char *name))
{
    static const int order[] = {SERVICE, HOST, HOSTADDR, SSLMODE};
    for (size_t i = 0; i < HL_ARRAY_LEN(order) && values->of[SERVICE].n == 0; i++) {
        struct hl_str *value = &values->of[order[i]];
        if (!value->p)
            *value = hl_str_from(look_up(keywords[order[i]].variable));
    }
}

/* Behind the scheme; NULL: it is the other form. */
static char *skip_scheme(char *text)
{
    static const char *const schemes[] = {"postgresql://", "postgres://"};
    for (size_t i = 0; i < HL_ARRAY_LEN(schemes); i++) {
        size_t n = strlen(schemes[i]);
        if (strncmp(text, schemes[i], n) == 0)
            return text + n;
    }
    return NULL;
}

enum hl_err hl_postgres_url_parse(
    struct hl_postgres_url *url, struct hl_str text, char *(*look_up)(const char *name))
{
    struct values values = {0};
    *url = (struct hl_postgres_url){0};
    if (text.n == 0 || memchr(text.p, '\0', text.n))
        return HL_ERR_INVALID;
    url->space = hl_str_dup(text);
    if (!url->space)
        return HL_ERR_NOMEM;
    char *uri = skip_scheme(url->space);
    enum hl_err err = HL_ERR_INVALID;
    if (uri ? read_uri(&values, uri) : read_keywords(&values, url->space)) {
        if (look_up)
            look_up_defaults(&values, look_up);
        err = set_hosts(url, values.of[HOST], values.of[HOSTADDR]);
    }
    url->sslmode = values.of[SSLMODE];
    url->has_password = values.of[PASSWORD].n > 0;
    url->has_service = values.of[SERVICE].n > 0;
    if (err)
        hl_postgres_url_fini(url);
    return err;
}

void hl_postgres_url_fini(struct hl_postgres_url *url)
{
    if (url->space)
        explicit_bzero(url->space, strlen(url->space));
    free(url->space);
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
