/* linger.h - how long a connection stays after its last answer for a peer that still sends: a close
 * with unread bytes is a reset, which destroys the answer on its way (RFC 9112 9.6). As long as the
 * peer goes on, within bounds. */
#ifndef HL_NET_LINGER_H
#define HL_NET_LINGER_H

#include <stdint.h>

struct hl_timer;
struct hl_wheel;

#define HL_LINGER_SILENCE_MS 2000
#define HL_LINGER_MOST_MS    30000 /* in all */

struct hl_linger {
    uint64_t until; /* uv_now() ms; 0: not begun */
};

/* The answer is written, or bytes came and were dropped: sets `timer`. When it fires, it is time to
 * close. */
void hl_linger_arm(struct hl_linger *linger, struct hl_wheel *wheel, struct hl_timer *timer);

#endif
