/* address.h - IP addresses and address ranges as values: parsing, matching, text. No sockets. */
#ifndef HL_NET_ADDRESS_H
#define HL_NET_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_str;

/* Both families in 16 bytes, network order; IPv4 as ::ffff:a.b.c.d, so that one range test serves
 * both. */
struct hl_ip {
    uint8_t b[16];
};

bool hl_ip_is_v4(const struct hl_ip *ip);
/* 127.0.0.0/8 and ::1. */
bool hl_ip_is_loopback(const struct hl_ip *ip);
/* False for families other than AF_INET and AF_INET6. */
bool hl_ip_from_sockaddr(const struct sockaddr *sa, struct hl_ip *out);
/* Standard text only: dotted quad, or RFC 4291 2.2; no zone, no brackets. */
bool hl_ip_parse(struct hl_str text, struct hl_ip *out);

#define HL_IP_TEXT 46
/* NUL-terminated; IPv4-mapped addresses as dotted quads. */
void hl_ip_format(const struct hl_ip *ip, char out[HL_IP_TEXT]);

/* Where what listens there is reached from this machine: what is bound to any address at the loopback
 * one. */
struct sockaddr_storage hl_address_reach(const struct sockaddr_storage *listening);
#define HL_ADDRESS_HOST 48
/* "127.0.0.1", "[::1]": the host as a URL has it. Of IPv4 or IPv6. */
void hl_address_write_host(const struct sockaddr_storage *addr, char out[HL_ADDRESS_HOST]);

struct hl_cidr {
    struct hl_ip base;
    uint8_t bits; /* 0 to 128, counted in the 16-byte form */
};

struct hl_cidr_list {
    struct hl_cidr *items; /* owned */
    size_t n;
};

/* "10.0.0.0/8", "fd00::/8", or a bare address. Host bits must be zero. */
bool hl_cidr_parse(struct hl_str text, struct hl_cidr *out);
bool hl_cidr_has(const struct hl_cidr *cidr, const struct hl_ip *ip);

/* Comma-separated; empty text is the empty list. On failure `*bad` is the element that is not a
 * range, and `out` is empty. */
HL_MUST_CHECK enum hl_err hl_cidr_list_parse(
    struct hl_str text, struct hl_cidr_list *out, struct hl_str *bad);
void hl_cidr_list_fini(struct hl_cidr_list *list);
bool hl_cidr_list_has(const struct hl_cidr_list *list, const struct hl_ip *ip);

#endif
