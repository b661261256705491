/* order.h - in which order a name's addresses are tried. */
#ifndef HL_DNS_ORDER_H
#define HL_DNS_ORDER_H

#include "net/address.h"

#define HL_ORDER_MAX 64

/* An address and the one that this machine would send from; `has_source` false: it has no way there. */
struct hl_route {
    struct hl_ip to, from;
    bool has_source;
};

/* Sorts by RFC 6724 6, but for what only the kernel knows (rules 3, 4 and 7). Stable. */
void hl_order_routes(struct hl_route *routes, size_t n);

/* Sorts up to HL_ORDER_MAX addresses; asks the kernel for the sources, by sockets that send nothing. */
void hl_order_addresses(struct hl_ip *addresses, size_t n);

#endif
