/* backoff.h - how long to wait before the app is restarted. Pure. */
#ifndef HL_APP_BACKOFF_H
#define HL_APP_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

#define HL_BACKOFF_FIRST_MS   100
#define HL_BACKOFF_MOST_MS    30000
#define HL_BACKOFF_HEALTHY_MS 10000 /* who was ready, and lived this long, starts afresh */

struct hl_backoff {
    uint32_t failures; /* in a row */
};

/* The app has ended after `lived_ms`: the time to wait, twice the last one's up to the most. */
static inline uint64_t hl_backoff_next(struct hl_backoff *b, bool was_ready, uint64_t lived_ms)
{
    if (was_ready && lived_ms >= HL_BACKOFF_HEALTHY_MS)
        b->failures = 0;
    uint64_t ms = (uint64_t)HL_BACKOFF_FIRST_MS << (b->failures < 16 ? b->failures : 16);
    b->failures++;
    return ms < HL_BACKOFF_MOST_MS ? ms : HL_BACKOFF_MOST_MS;
}

#endif
