/* expect_address.h - addresses, read and judged a second time, naively (RFC 4291 2.2, RFC 6890,
 * contract 5 "Address guard"). */
#ifndef HL_FUZZ_EXPECT_ADDRESS_H
#define HL_FUZZ_EXPECT_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

struct hl_str;

/* Both families as 16 bytes, IPv4 as ::ffff:a.b.c.d. Four decimal parts without leading zeros. */
bool expect_v4(struct hl_str text, uint8_t out[16]);
/* Groups of 1 to 4 hex digits, at most one "::", perhaps a dotted quad at the end. */
bool expect_v6(struct hl_str text, uint8_t out[16]);
/* Whatever some resolver takes for an IPv4 address: 1 to 4 parts, decimal, octal, hex, and a
 * trailing dot. */
bool expect_loose_v4(struct hl_str text, uint8_t out[16]);

/* No webhook may go there. */
bool expect_is_blocked(const uint8_t ip[16]);

#endif
