/* prefer.h - the one preference that hookline honours (RFC 7240 4.1). */
#ifndef HL_ROUTE_PREFER_H
#define HL_ROUTE_PREFER_H

#include "http/head.h"

/* Whether some Prefer field lists respond-async, with or without parameters. */
bool hl_prefers_async(const struct hl_head *head);

#endif
