/* replica.c - a replica's name and its address: the rule, and the defaults. Any thread; no state. */
#include "config/replica.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "net/address.h"

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
    const struct hl_listen_list *listen, char out[HL_REPLICA_URL_MAX + 1])
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
        snprintf(out, HL_REPLICA_URL_MAX + 1, hl_ip_is_v4(&ip) ? "http://%s:%u" : "http://[%s]:%u",
            text, port_of(address));
    }
}
