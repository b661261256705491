/* parser.h - llhttp's reading of a head: the second opinion that ours is held against. */
#ifndef HL_HTTP_PARSER_H
#define HL_HTTP_PARSER_H

#include <stdbool.h>
#include <stddef.h>

#include "http/head.h"

enum hl_parser_verdict {
    HL_PARSER_AGREES,
    HL_PARSER_UNKNOWN_METHOD, /* or one of another protocol */
    HL_PARSER_DISAGREES,      /* refused, or read with another framing */
};

/* `head` has been read from p[0..n) by us, and has passed. Called once a head. */
HL_MUST_CHECK enum hl_parser_verdict hl_parser_check_request(
    const struct hl_head *head, const char *p, size_t n);
HL_MUST_CHECK enum hl_parser_verdict hl_parser_check_response(
    const struct hl_head *head, const char *p, size_t n);

#endif
