/* address.c - IP addresses and ranges: text in and out, and the test whether a range has an
 * address.
 * Thread: any; no state.
 * Not here: which addresses are refused to webhooks (net/guard.c), sockets (net/listener.c). */
#include "net/address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/str.h"

static const uint8_t v4_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

static void set_v4(struct hl_ip *ip, const void *four_bytes)
{
    memcpy(ip->b, v4_prefix, sizeof v4_prefix);
    memcpy(ip->b + sizeof v4_prefix, four_bytes, 4);
}

bool hl_ip_is_v4(const struct hl_ip *ip)
{
    return memcmp(ip->b, v4_prefix, sizeof v4_prefix) == 0;
}

bool hl_ip_is_loopback(const struct hl_ip *ip)
{
    static const struct hl_ip v6 = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
    return (hl_ip_is_v4(ip) && ip->b[12] == 127) || memcmp(ip, &v6, sizeof(v6)) == 0;
}

bool hl_ip_from_sockaddr(const struct sockaddr *sa, struct hl_ip *out)
{
    if (sa->sa_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, sa, sizeof in);
        set_v4(out, &in.sin_addr);
        return true;
    }
    if (sa->sa_family == AF_INET6) {
        struct sockaddr_in6 in6;
        memcpy(&in6, sa, sizeof in6);
        memcpy(out->b, &in6.sin6_addr, sizeof out->b);
        return true;
    }
    return false;
}

bool hl_ip_parse(struct hl_str text, struct hl_ip *out)
{
    char z[HL_IP_TEXT];
    if (text.n == 0 || text.n >= sizeof z || memchr(text.p, '\0', text.n))
        return false;
    memcpy(z, text.p, text.n);
    z[text.n] = '\0';

    struct in_addr v4;
    if (inet_pton(AF_INET, z, &v4) == 1) {
        set_v4(out, &v4);
        return true;
    }
    return inet_pton(AF_INET6, z, out->b) == 1;
}

void hl_ip_format(const struct hl_ip *ip, char out[HL_IP_TEXT])
{
    const char *done = hl_ip_is_v4(ip)
                           ? inet_ntop(AF_INET, ip->b + sizeof v4_prefix, out, HL_IP_TEXT)
                           : inet_ntop(AF_INET6, ip->b, out, HL_IP_TEXT);
    HL_ASSERT(done);
}

struct sockaddr_storage hl_address_reach(const struct sockaddr_storage *listening)
{
    struct sockaddr_storage addr = *listening;
    struct sockaddr_in *in = (struct sockaddr_in *)&addr;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&addr;
    if (addr.ss_family == AF_INET && in->sin_addr.s_addr == htonl(INADDR_ANY))
        in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    else if (addr.ss_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr))
        in6->sin6_addr = in6addr_loopback;
    return addr;
}

void hl_address_write_host(const struct sockaddr_storage *addr, char out[HL_ADDRESS_HOST])
{
    const struct sockaddr_in *in = (const struct sockaddr_in *)addr;
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)addr;
    char text[INET6_ADDRSTRLEN] = "";
    bool is_six = addr->ss_family == AF_INET6;
    inet_ntop(addr->ss_family, is_six ? (const void *)&in6->sin6_addr : &in->sin_addr, text,
        sizeof(text));
    snprintf(out, HL_ADDRESS_HOST, is_six ? "[%s]" : "%s", text);
}

/* The first `bits` bits of a and b are the same. */
static bool has_prefix(const uint8_t a[16], const uint8_t b[16], unsigned bits)
{
    unsigned bytes = bits / 8, rest = bits % 8;
    if (memcmp(a, b, bytes) != 0)
        return false;
    return rest == 0 || ((a[bytes] ^ b[bytes]) >> (8 - rest)) == 0;
}

static bool are_host_bits_zero(const struct hl_cidr *cidr)
{
    for (unsigned bit = cidr->bits; bit < 128; bit++)
        if (cidr->base.b[bit / 8] & (0x80 >> bit % 8))
            return false;
    return true;
}

bool hl_cidr_parse(struct hl_str text, struct hl_cidr *out)
{
    const char *slash = text.n ? memchr(text.p, '/', text.n) : NULL;
    struct hl_str address = {text.p, slash ? (size_t)(slash - text.p) : text.n};
    if (!hl_ip_parse(address, &out->base))
        return false;

    /* A mapped address that was written as IPv6 counts its bits as IPv6. */
    bool is_dotted_quad = !memchr(address.p, ':', address.n);
    uint64_t bits = is_dotted_quad ? 32 : 128;
    if (slash) {
        struct hl_str digits = {slash + 1, text.n - address.n - 1};
        uint64_t most = bits;
        if (digits.n > 3 || !hl_str_to_u64(digits, &bits) || bits > most)
            return false;
    }
    out->bits = (uint8_t)(is_dotted_quad ? bits + 96 : bits);
    return are_host_bits_zero(out);
}

bool hl_cidr_has(const struct hl_cidr *cidr, const struct hl_ip *ip)
{
    return has_prefix(cidr->base.b, ip->b, cidr->bits);
}

enum hl_err hl_cidr_list_parse(struct hl_str text, struct hl_cidr_list *out, struct hl_str *bad)
{
    *out = (struct hl_cidr_list){0};
    *bad = (struct hl_str){0};

    size_t most = 1;
    for (size_t i = 0; i < text.n; i++)
        most += text.p[i] == ',';
    struct hl_cidr *items = malloc(most * sizeof *items);
    if (!items)
        return HL_ERR_NOMEM;

    struct hl_str element;
    size_t n = 0;
    while (hl_str_next_element(&text, &element)) {
        if (!hl_cidr_parse(element, &items[n])) {
            *bad = element;
            free(items);
            return HL_ERR_INVALID;
        }
        n++;
    }
    if (n == 0) {
        free(items);
        return HL_OK;
    }
    *out = (struct hl_cidr_list){items, n};
    return HL_OK;
}

void hl_cidr_list_fini(struct hl_cidr_list *list)
{
    free(list->items);
    *list = (struct hl_cidr_list){0};
}

bool hl_cidr_list_has(const struct hl_cidr_list *list, const struct hl_ip *ip)
{
    for (size_t i = 0; i < list->n; i++)
        if (hl_cidr_has(&list->items[i], ip))
            return true;
    return false;
}
