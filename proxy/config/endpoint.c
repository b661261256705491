/* endpoint.c - texts as socket addresses; whether they can be listened on; a replica's name and address. Runs at
 * start.
 * Not here: listening (net/listener.c), and who owns the listeners (api/admin.c, worker/listening.c). */
#include "config/endpoint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "config/choice.h"
#include "config/config.h"
#include "http/url.h"
#include "net/address.h"
#include "net/listener.h"

/* ---- addresses ---- */

static bool split_port(struct hl_str text, struct hl_str *host, uint16_t *port)
{
    uint64_t number;
    const char *colon = text.n > 0 ? memrchr(text.p, ':', text.n) : NULL;
    if (!colon)
        return false;
    *host = (struct hl_str){text.p, (size_t)(colon - text.p)};
    if (!hl_str_to_u64((struct hl_str){colon + 1, text.n - host->n - 1}, &number) || number > 65535)
        return false;
    *port = (uint16_t)number;
    return true;
}

static bool fill_v4(struct hl_listen_address *out, const char *host, uint16_t port)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
    if (inet_pton(AF_INET, host, &in.sin_addr) != 1)
        return false;
    memcpy(&out->addr, &in, sizeof(in));
    out->addr_len = sizeof(in);
    return true;
}

static bool fill_v6(struct hl_listen_address *out, const char *host, uint16_t port)
{
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    if (inet_pton(AF_INET6, host, &in6.sin6_addr) != 1)
        return false;
    memcpy(&out->addr, &in6, sizeof(in6));
    out->addr_len = sizeof(in6);
    return true;
}

/* What people are used to from elsewhere: ":8080" is all of IPv4, "localhost" no matter of DNS. */
static struct hl_str host_meant(struct hl_str host)
{
    if (host.n == 0)
        return HL_STR("0.0.0.0");
    return hl_str_eq_nocase(host, HL_STR("localhost")) ? HL_STR("127.0.0.1") : host;
}

static char *listen_text(struct hl_str host, bool is_v6, uint16_t port)
{
    struct hl_buf text;
    hl_buf_init(&text, 0);
    const char *format = is_v6 ? "[%.*s]:%u" : "%.*s:%u";
    char *out = NULL;
    if (hl_buf_printf(&text, format, HL_STR_ARG(host), (unsigned)port) == HL_OK)
        out = hl_str_dup(hl_buf_str(&text));
    hl_buf_fini(&text);
    return out;
}

static enum hl_err parse_listen(struct hl_str text, struct hl_listen_address *out)
{
    struct hl_str host;
    uint16_t port;
    char literal[INET6_ADDRSTRLEN];
    if (!split_port(text, &host, &port))
        return HL_ERR_INVALID;
    host = host_meant(host);
    bool is_v6 = host.n >= 2 && host.p[0] == '[' && host.p[host.n - 1] == ']';
    if (is_v6)
        host = (struct hl_str){host.p + 1, host.n - 2};
    if (host.n >= sizeof(literal) || memchr(host.p, '\0', host.n))
        return HL_ERR_INVALID;
    memcpy(literal, host.p, host.n);
    literal[host.n] = '\0';
    if (!(is_v6 ? fill_v6(out, literal, port) : fill_v4(out, literal, port)))
        return HL_ERR_INVALID;
    out->text = listen_text(host, is_v6, port);
    return out->text ? HL_OK : HL_ERR_NOMEM;
}

static enum hl_err append_listen(struct hl_listen_list *list, struct hl_str text)
{
    struct hl_listen_address address = {0};
    enum hl_err err = parse_listen(text, &address);
    if (err)
        return err;
    struct hl_listen_address *items = realloc(list->items, (list->n + 1) * sizeof(*items));
    if (!items) {
        free(address.text);
        return HL_ERR_NOMEM;
    }
    items[list->n++] = address;
    list->items = items;
    return HL_OK;
}

enum hl_err hl_listen_list_parse(struct hl_str text, struct hl_listen_list *out)
{
    struct hl_str element;
    enum hl_err err = HL_OK;
    *out = (struct hl_listen_list){0};
    while (!err && hl_str_next_element(&text, &element))
        err = append_listen(out, element);
    if (!err && out->n == 0)
        err = HL_ERR_INVALID;
    if (err)
        hl_listen_list_fini(out);
    return err;
}

void hl_listen_list_fini(struct hl_listen_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->items[i].text);
    free(list->items);
    *list = (struct hl_listen_list){0};
}

static enum hl_err parse_unix(struct hl_str path, struct hl_app_url *out)
{
    struct sockaddr_un un;
    if (path.n == 0 || path.p[0] != '/' || path.n >= sizeof(un.sun_path))
        return HL_ERR_INVALID;
    out->is_unix = true;
    out->path = hl_str_dup(path);
    return out->path ? HL_OK : HL_ERR_NOMEM;
}

static enum hl_err parse_tcp(struct hl_str text, struct hl_app_url *out)
{
    struct hl_authority authority;
    if (text.n > 0 && text.p[text.n - 1] == '/')
        text.n--;
    if (!hl_authority_parse(text, &authority) || (authority.has_port && authority.port == 0))
        return HL_ERR_INVALID;
    out->port = authority.has_port ? authority.port : out->is_tls ? 443 : 80;
    out->host = hl_str_dup(authority.host);
    return out->host ? HL_OK : HL_ERR_NOMEM;
}

static enum hl_err parse_tls(struct hl_str text, struct hl_app_url *out)
{
    out->is_tls = true;
    return parse_tcp(text, out);
}

enum hl_err hl_app_url_parse(struct hl_str text, struct hl_app_url *out)
{
    static const struct {
        struct hl_str prefix;
        enum hl_err (*parse)(struct hl_str rest, struct hl_app_url *out);
    } schemes[] = {
        {{"http://", 7}, parse_tcp}, {{"https://", 8}, parse_tls}, {{"unix:", 5}, parse_unix}};
    *out = (struct hl_app_url){0};
    for (size_t i = 0; i < HL_ARRAY_LEN(schemes); i++) {
        size_t n = schemes[i].prefix.n;
        if (hl_str_starts_with(text, schemes[i].prefix))
            return schemes[i].parse((struct hl_str){text.p + n, text.n - n}, out);
    }
    return HL_ERR_INVALID;
}

void hl_app_url_fini(struct hl_app_url *url)
{
    free(url->host);
    free(url->path);
    *url = (struct hl_app_url){0};
}

enum hl_err hl_app_url_write_host(const struct hl_app_url *url, struct hl_buf *out)
{
    bool is_six = !url->is_unix && strchr(url->host, ':') != NULL;
    return hl_buf_printf(
        out, is_six ? "Host: [%s]\r\n" : "Host: %s\r\n", url->is_unix ? "localhost" : url->host);
}

/* ---- whether they can be listened on ---- */

static const char *advice(int err)
{
    switch (err) {
    case EADDRINUSE:
        return "free the port or choose another";
    case EADDRNOTAVAIL:
        return "choose an address that this machine has";
    case EACCES:
        return "choose a port of 1024 or above, or let hookline bind lower ones "
               "(CAP_NET_BIND_SERVICE)";
    default:
        return "choose another address";
    }
}

/* `held`: where the open sockets go, -1 for one that is not; NULL: each is closed again at once. */
static enum hl_err hold_all(const char *name, const struct hl_listen_list *list, int *held,
    struct hl_buf *taken, struct hl_buf *problems)
{
    enum hl_err err = HL_OK;
    for (size_t i = 0; i < list->n && !err; i++) {
        const struct hl_listen_address *a = &list->items[i];
        int fd, rc = hl_listener_hold((const struct sockaddr *)&a->addr, &fd);
        if (rc != 0)
            err = hl_buf_printf(rc == EADDRINUSE ? taken : problems,
                "cannot listen on %s %s: %s; %s\n", name, a->text, strerror(rc), advice(rc));
        if (held)
            held[i] = fd;
        else if (fd >= 0)
            close(fd);
    }
    return err;
}

/* Said as that: "in use" would send people to look for another process. */
static enum hl_err say_shared(
    const struct hl_config *config, struct hl_buf *problems, bool *is_shared)
{
    const struct hl_listen_list *run = &config->listen, *admin = &config->admin_listen;
    for (size_t i = 0; i < run->n; i++) {
        for (size_t k = 0; k < admin->n; k++) {
            *is_shared = strcmp(run->items[i].text, admin->items[k].text) == 0 &&
                         strcmp(strrchr(run->items[i].text, ':'), ":0") != 0;
            if (*is_shared)
                return hl_buf_printf(problems,
                    "HOOKLINE_LISTEN and HOOKLINE_ADMIN_LISTEN are both %s; give each a port of "
                    "its "
                    "own\n",
                    run->items[i].text);
        }
    }
    return HL_OK;
}

/* Addresses of the run listener may overlap each other (SO_REUSEPORT); those of the admin listener
 * may overlap none. */
enum hl_err hl_ports_probe(
    const struct hl_config *config, struct hl_buf *taken, struct hl_buf *problems)
{
    size_t n = config->admin_listen.n;
    bool is_shared = false;
    enum hl_err err = say_shared(config, problems, &is_shared);
    if (err || is_shared)
        return err;
    int *held = malloc((n + 1) * sizeof(int));
    if (!held)
        return HL_ERR_NOMEM;
    for (size_t i = 0; i < n; i++)
        held[i] = -1;
    err = hold_all("HOOKLINE_ADMIN_LISTEN", &config->admin_listen, held, taken, problems);
    if (!err)
        err = hold_all("HOOKLINE_LISTEN", &config->listen, NULL, taken, problems);
    for (size_t i = 0; i < n; i++)
        if (held[i] >= 0)
            close(held[i]);
    free(held);
    return err;
}

/* ---- a replica: its name and its address ---- */

bool hl_replica_is_valid(struct hl_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] <= ' ' || text.p[i] > '~')
            return false;
    }
    return text.n >= 1 && text.n <= HL_REPLICA_MAX;
}

void hl_replica_by_host(char out[HL_REPLICA_MAX + 1])
{
    int rc = gethostname(out, HL_REPLICA_MAX + 1);
    out[HL_REPLICA_MAX] = '\0';
    if (rc != 0 || !hl_replica_is_valid(hl_str_from(out)))
        snprintf(out, HL_REPLICA_MAX + 1, "hookline");
}

static bool is_any(const struct hl_ip *ip)
{
    static const struct hl_ip any6;
    struct hl_ip any4;
    return memcmp(ip, &any6, sizeof(any6)) == 0 ||
           (hl_ip_parse(HL_STR("0.0.0.0"), &any4) && memcmp(ip, &any4, sizeof(any4)) == 0);
}

/* Others cannot reach it, or not without a zone. */
static bool is_local(const struct hl_ip *ip)
{
    bool is_link_local = ip->b[0] == 0xfe && (ip->b[1] & 0xc0) == 0x80;
    return hl_ip_is_loopback(ip) || is_link_local;
}

/* The machine's first one, of IPv4 if there is one. */
static bool find_own(bool wants_v4, struct hl_ip *out)
{
    struct ifaddrs *all;
    if (getifaddrs(&all) != 0)
        return false;
    bool is_found = false;
    for (const struct ifaddrs *one = all; one && !is_found; one = one->ifa_next)
        is_found = one->ifa_addr && (one->ifa_flags & IFF_UP) &&
                   hl_ip_from_sockaddr(one->ifa_addr, out) && !is_local(out) &&
                   hl_ip_is_v4(out) == wants_v4;
    freeifaddrs(all);
    return is_found;
}

static uint16_t port_of(const struct sockaddr_storage *address)
{
    return ntohs(address->ss_family == AF_INET ? ((const struct sockaddr_in *)address)->sin_port
                                               : ((const struct sockaddr_in6 *)address)->sin6_port);
}

void hl_replica_url_by_listener(
    const struct hl_listen_list *listen, bool is_tls, char out[HL_REPLICA_URL_MAX + 1])
{
    struct hl_ip ip;
    char text[HL_IP_TEXT];
    out[0] = '\0';
    for (size_t i = 0; i < listen->n && !*out; i++) {
        const struct sockaddr_storage *address = &listen->items[i].addr;
        bool is_known = port_of(address) > 0 &&
                        hl_ip_from_sockaddr((const struct sockaddr *)address, &ip) &&
                        (!is_any(&ip) || find_own(true, &ip) || find_own(false, &ip));
        if (!is_known)
            continue;
        hl_ip_format(&ip, text);
        snprintf(out, HL_REPLICA_URL_MAX + 1, hl_ip_is_v4(&ip) ? "%s://%s:%u" : "%s://[%s]:%u",
            is_tls ? "https" : "http", text, port_of(address));
    }
}
