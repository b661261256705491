/* start_line.h - the first line of a message (RFC 9112 3, 4): a part of head parsing. */
#ifndef HL_HTTP_START_LINE_H
#define HL_HTTP_START_LINE_H

#include "base/compiler.h"

struct hl_head;
struct hl_refusal;

/* Both read the line at p and return the byte after its CRLF, or NULL with `*fault` set. */

/* Sets method, method_id, target, minor; and host, when the target is in absolute form. */
HL_MUST_CHECK const char *hl_start_line_read_request(
    const char *p, const char *end, struct hl_head *head, struct hl_refusal *fault);
/* Sets status, reason, minor. */
HL_MUST_CHECK const char *hl_start_line_read_status(
    const char *p, const char *end, struct hl_head *head, struct hl_refusal *fault);

#endif
