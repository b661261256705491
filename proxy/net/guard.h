/* guard.h - which addresses a webhook may connect to (contract 5, "Address guard"). Pure tables and
 * tests; asked by route (literal addresses in a URL) and webhook/sender (the socket's address, at
 * each connect). */
#ifndef HL_NET_GUARD_H
#define HL_NET_GUARD_H

#include <stdbool.h>

struct hl_cidr_list;
struct hl_ip;
struct hl_str;

/* Loopback, link-local, private, shared, unique-local, multicast, broadcast, unspecified,
 * documentation, benchmarking and reserved ranges, 168.63.129.16, and IPv4-mapped, -compatible,
 * 6to4, NAT64 forms of them: true, unless in `allow`. */
bool hl_guard_is_blocked(const struct hl_ip *ip, const struct hl_cidr_list *allow);

/* Reads a URL's host as an address the way inet_aton and browsers do: 1 to 4 parts, decimal, octal
 * (0…), hex (0x…), one trailing dot; or, when `is_bracketed`, IPv6 with an optional zone. False: a
 * name. */
bool hl_guard_parse_host(struct hl_str host, bool is_bracketed, struct hl_ip *out);

#endif
