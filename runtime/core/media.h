/* media.h - what a caller wants to read (RFC 9110 12.5.1), as far as it matters here. */
#ifndef HL_RUNTIME_MEDIA_H
#define HL_RUNTIME_MEDIA_H

#include <stdbool.h>

struct hl_str;

/* Whether one value of Accept names text/event-stream, and not with q=0. Wildcards do not ask for a
 * stream. */
bool hl_media_wants_events(struct hl_str accept);

#endif
