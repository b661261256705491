/* retry_after.h - what Retry-After asks for (RFC 9110 10.2.3). Pure. */
#ifndef HL_HTTP_RETRY_AFTER_H
#define HL_HTTP_RETRY_AFTER_H

#include <stdint.h>

struct hl_str;

/* Milliseconds from `now_ms`, wall time, on. Seconds, however many (UINT64_MAX: more than that), or a date in one of the
 * three forms (RFC 9110 5.6.7); 0: it is neither, or over. */
uint64_t hl_retry_after_ms(struct hl_str value, int64_t now_ms);

#endif
