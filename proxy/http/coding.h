/* coding.h - content codings: which of them a client takes (RFC 9110 12.5.3). */
#ifndef HL_HTTP_CODING_H
#define HL_HTTP_CODING_H

#include <stdbool.h>

struct hl_str;

/* Whether the value of Accept-Encoding names `coding`, or else `*`, with a weight above 0. */
bool hl_coding_is_accepted(struct hl_str accept_encoding, struct hl_str coding);

#endif
