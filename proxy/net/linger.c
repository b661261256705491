/* linger.c - how long a connection stays after its last answer.
 * Owns: nothing; the timer is its owner's. Thread: the loop's.
 * Not here: reading and dropping (the connection). */
#include "net/linger.h"

#include "loop/wheel.h"

void hl_linger_arm(struct hl_linger *linger, struct hl_wheel *wheel, struct hl_timer *timer)
{
    uint64_t now = uv_now(wheel->loop);
    if (linger->until == 0)
        linger->until = now + HL_LINGER_MOST_MS;
    uint64_t left = linger->until > now ? linger->until - now : 0;
    hl_timer_arm(wheel, timer, left < HL_LINGER_SILENCE_MS ? left : HL_LINGER_SILENCE_MS);
}
