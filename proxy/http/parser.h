/* parser.h - llhttp's reading of a head: the second opinion that ours is held against. */
#ifndef HL_HTTP_PARSER_H
#define HL_HTTP_PARSER_H

#include <stdbool.h>
#include <stddef.h>

#include "http/head.h"

enum hl_parser_verdict {
    HL_PARSER_AGREES,
    HL_PARSER_DISAGREES, /* refused, or read with another framing */
};

/* Whether there is something to have a second opinion about: Transfer-Encoding. Elsewhere a head of
 * ours has nothing that can be framed in two ways (no body, or one Content-Length of digits), and
 * llhttp's 15 instructions a byte would be most of what a small call costs;
 * tests/unit/http/test_parser.c shows that both agree there too. */
bool hl_parser_is_needed(const struct hl_head *head);

/* `head` has been read from p[0..n) by us, and has passed. */
HL_MUST_CHECK enum hl_parser_verdict hl_parser_check_request(
    const struct hl_head *head, const char *p, size_t n);
HL_MUST_CHECK enum hl_parser_verdict hl_parser_check_response(
    const struct hl_head *head, const char *p, size_t n);

#endif
