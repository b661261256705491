/* hop.h - what a head says about this one connection (RFC 9110 7.6.1, 7.8, 10.1): a part of head
 * parsing. */
#ifndef HL_HTTP_HOP_H
#define HL_HTTP_HOP_H

#include <stdbool.h>

#include "base/compiler.h"

struct hl_head;
struct hl_refusal;
struct hl_str;

/* Sets is_hop of the fields that Connection nominates, is_persistent, is_websocket_upgrade as far
 * as Connection and Upgrade tell, and accepts_trailers. Needs the start line and the fields. */
HL_MUST_CHECK bool hl_hop_read(struct hl_head *head, struct hl_refusal *fault);

/* Sets max_forwards. Needs the start line and the fields. */
HL_MUST_CHECK bool hl_hop_read_max_forwards(struct hl_head *head, struct hl_refusal *fault);

/* Sets expects_continue; 417 for any other expectation. Needs the framing. */
HL_MUST_CHECK bool hl_hop_read_expect(struct hl_head *head, struct hl_refusal *fault);

/* Whether a Via says that the request came through whoever goes by that name (RFC 9110 7.6.3). */
bool hl_hop_came_through(const struct hl_head *head, struct hl_str name);

#endif
