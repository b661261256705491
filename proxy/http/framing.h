/* framing.h - how a message's body is framed (RFC 9112 6): a part of head parsing. */
#ifndef HL_HTTP_FRAMING_H
#define HL_HTTP_FRAMING_H

#include "http/head.h"

/* Both need the start line and the fields. They set framing, content_length, has_content_length;
 * false with `*fault` set: the framing is ambiguous, or of a kind that we do not speak. */

HL_MUST_CHECK bool hl_framing_read_request(struct hl_head *head, struct hl_refusal *fault);
/* Takes back is_persistent where the body, or bytes that should not be there, may go on to the end
 * of the connection. */
HL_MUST_CHECK bool hl_framing_read_response(
    struct hl_head *head, enum hl_method request_method, struct hl_refusal *fault);

#endif
