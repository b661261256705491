/* rate_limit.h - the fields RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers-10). */
#ifndef HL_HTTP_RATE_LIMIT_H
#define HL_HTTP_RATE_LIMIT_H

#include <stdint.h>

/* One policy, of which nothing is left. */
struct hl_rate_limit {
    const char *policy; /* its name: letters, digits, _ */
    uint32_t quota;
    uint32_t window_s; /* 0: it is of no time, but of what there is at once */
    uint32_t wait_s;   /* until there is more; 0: nobody knows */
};

#define HL_RATE_LIMIT_MAX 160
/* Whole lines with CRLF, NUL-terminated. */
void hl_rate_limit_write(char out[HL_RATE_LIMIT_MAX], const struct hl_rate_limit *limit);

#endif
