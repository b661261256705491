/* order.c - RFC 6724: an address that can be reached before one that cannot, then what fits its source.
 * Thread: any. Not here: trying them (libcurl, RFC 8305). */
#include "dns/order.h"

#include <string.h>
#include <unistd.h>

#include "base/assert.h"

#define ANY_PORT 9 /* discard: nothing is sent */

struct policy {
    uint8_t base[16], bits, precedence, label;
};

/* RFC 6724 2.1. IPv4 addresses are below ::ffff:0:0/96 here as there. */
static const struct policy policies[] = {
    {{[15] = 1}, 128, 50, 0},                /* ::1 */
    {{[10] = 0xff, [11] = 0xff}, 96, 35, 4}, /* IPv4 */
    {{0}, 96, 1, 3},                         /* ::/96 */
    {{0x20, 0x01}, 32, 5, 5},                /* Teredo */
    {{0x20, 0x02}, 16, 30, 2},               /* 6to4 */
    {{0x3f, 0xfe}, 16, 1, 12},               /* 6bone */
    {{0xfe, 0xc0}, 10, 1, 11},               /* site-local */
    {{0xfc}, 7, 3, 13},                      /* ULA */
    {{0}, 0, 40, 1},
};

static unsigned common_bits(const uint8_t *a, const uint8_t *b)
{
    for (unsigned i = 0; i < 128; i++)
        if ((a[i / 8] ^ b[i / 8]) & (0x80 >> i % 8))
            return i;
    return 128;
}

static const struct policy *policy_of(const struct hl_ip *ip)
{
    const struct policy *p = policies;
    while (common_bits(p->base, ip->b) < p->bits)
        p++;
    return p;
}

enum scope { SCOPE_LINK = 2, SCOPE_SITE = 5, SCOPE_GLOBAL = 14 };

/* RFC 6724 3.1, 3.2. */
static unsigned scope_of(const struct hl_ip *ip)
{
    if (hl_ip_is_v4(ip))
        return ip->b[12] == 127 || (ip->b[12] == 169 && ip->b[13] == 254) ? SCOPE_LINK
                                                                          : SCOPE_GLOBAL;
    if (ip->b[0] == 0xff)
        return ip->b[1] & 15;
    if (hl_ip_is_loopback(ip) || (ip->b[0] == 0xfe && (ip->b[1] & 0xc0) == 0x80))
        return SCOPE_LINK;
    return ip->b[0] == 0xfe && (ip->b[1] & 0xc0) == 0xc0 ? SCOPE_SITE : SCOPE_GLOBAL;
}

/* Greater than 0: `a` is first. */
static int compare(const struct hl_route *a, const struct hl_route *b)
{
    if (a->has_source != b->has_source) /* rule 1 */
        return a->has_source ? 1 : -1;
    const struct policy *to_a = policy_of(&a->to), *to_b = policy_of(&b->to);
    if (a->has_source) {
        int fits_a = scope_of(&a->to) == scope_of(&a->from);
        int fits_b = scope_of(&b->to) == scope_of(&b->from);
        if (fits_a != fits_b) /* rule 2 */
            return fits_a - fits_b;
        fits_a = policy_of(&a->from)->label == to_a->label;
        fits_b = policy_of(&b->from)->label == to_b->label;
        if (fits_a != fits_b) /* rule 5 */
            return fits_a - fits_b;
    }
    if (to_a->precedence != to_b->precedence) /* rule 6 */
        return (int)to_a->precedence - (int)to_b->precedence;
    if (scope_of(&a->to) != scope_of(&b->to)) /* rule 8 */
        return (int)scope_of(&b->to) - (int)scope_of(&a->to);
    if (!a->has_source || hl_ip_is_v4(&a->to) || hl_ip_is_v4(&b->to))
        return 0;
    /* rule 9; of IPv4 it would undo the turns in which a name server lists its addresses */
    return (int)common_bits(a->to.b, a->from.b) - (int)common_bits(b->to.b, b->from.b);
}

void hl_order_routes(struct hl_route *routes, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct hl_route one = routes[i];
        size_t k = i;
        for (; k > 0 && compare(&one, &routes[k - 1]) > 0; k--)
            routes[k] = routes[k - 1];
        routes[k] = one;
    }
}

static socklen_t write_sockaddr(const struct hl_ip *ip, struct sockaddr_storage *out)
{
    *out = (struct sockaddr_storage){.ss_family = hl_ip_is_v4(ip) ? AF_INET : AF_INET6};
    if (hl_ip_is_v4(ip)) {
        struct sockaddr_in *in = (struct sockaddr_in *)out;
        in->sin_port = htons(ANY_PORT);
        memcpy(&in->sin_addr, ip->b + 12, 4);
        return sizeof(*in);
    }
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)out;
    in6->sin6_port = htons(ANY_PORT);
    memcpy(&in6->sin6_addr, ip->b, 16);
    return sizeof(*in6);
}

static void find_source(struct hl_route *route)
{
    struct sockaddr_storage address;
    socklen_t n = write_sockaddr(&route->to, &address);
    int fd = socket(address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    route->has_source = fd >= 0 && connect(fd, (struct sockaddr *)&address, n) == 0;
    n = sizeof(address);
    if (route->has_source)
        route->has_source = getsockname(fd, (struct sockaddr *)&address, &n) == 0 &&
                            hl_ip_from_sockaddr((struct sockaddr *)&address, &route->from);
    if (fd >= 0)
        close(fd);
}

void hl_order_addresses(struct hl_ip *addresses, size_t n)
{
    struct hl_route routes[HL_ORDER_MAX];
    HL_ASSERT(n <= HL_ORDER_MAX);
    if (n < 2)
        return;
    for (size_t i = 0; i < n; i++) {
        routes[i] = (struct hl_route){.to = addresses[i]};
        find_source(&routes[i]);
    }
    hl_order_routes(routes, n);
    for (size_t i = 0; i < n; i++)
        addresses[i] = routes[i].to;
}
