/* framing.h - how a message's body is framed (RFC 9112 6), and what its head says about this one connection
 * (RFC 9110 7.6.1, 7.8, 10.1): parts of head parsing. */
#ifndef HL_HTTP_FRAMING_H
#define HL_HTTP_FRAMING_H

#include <stdbool.h>

#include "base/compiler.h"
#include "http/head.h"

/* ---- how the body is framed ---- */

/* Both need the start line and the fields. They set framing, content_length, has_content_length;
 * false with `*fault` set: the framing is ambiguous, or of a kind that we do not speak. */

HL_MUST_CHECK bool hl_framing_read_request(struct hl_head *head, struct hl_refusal *fault);
/* Takes back is_persistent where the body, or bytes that should not be there, may go on to the end
 * of the connection. */
HL_MUST_CHECK bool hl_framing_read_response(
    struct hl_head *head, enum hl_method request_method, struct hl_refusal *fault);

/* ---- what the head says about this connection ---- */

/* Sets is_hop of the fields that Connection nominates, is_persistent, is_websocket_upgrade as far
 * as Connection and Upgrade tell, wants_websocket and accepts_trailers. Needs the start line and the
 * fields. */
HL_MUST_CHECK bool hl_hop_read(struct hl_head *head, struct hl_refusal *fault);

/* Sets max_forwards. Needs the start line and the fields. */
HL_MUST_CHECK bool hl_hop_read_max_forwards(struct hl_head *head, struct hl_refusal *fault);

/* Sets expects_continue; 417 for any other expectation. Needs the framing. */
HL_MUST_CHECK bool hl_hop_read_expect(struct hl_head *head, struct hl_refusal *fault);

/* Whether a Via says that the request came through whoever goes by that name (RFC 9110 7.6.3). */
bool hl_hop_came_through(const struct hl_head *head, struct hl_str name);

#endif
