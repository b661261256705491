/* stall.c - the deadline of a stream that is blocked.
 * Owns: nothing; the timer is its owner's. Thread: the loop's.
 * Promise: the kernel is asked only when a deadline is set or has passed.
 * Not here: what becomes of a peer that takes nothing (its owner). */
#include "net/stall.h"

#include "loop/wheel.h"
#include "net/stream.h"

static void begin(struct hl_stall *stall, uint64_t taken, struct hl_wheel *wheel,
    struct hl_timer *timer, uint64_t timeout_ms)
{
    stall->is_watched = true;
    stall->taken = taken;
    hl_timer_arm(wheel, timer, timeout_ms > HL_STALL_LEAST_MS ? timeout_ms : HL_STALL_LEAST_MS);
}

void hl_stall_watch(struct hl_stall *stall, const struct hl_stream *stream, struct hl_wheel *wheel,
    struct hl_timer *timer, uint64_t timeout_ms)
{
    if (!stall->is_watched)
        begin(stall, hl_stream_taken(stream), wheel, timer, timeout_ms);
}

bool hl_stall_is_over(struct hl_stall *stall, const struct hl_stream *stream,
    struct hl_wheel *wheel, struct hl_timer *timer, uint64_t timeout_ms)
{
    uint64_t taken = hl_stream_taken(stream);
    if (stall->is_watched && taken <= stall->taken)
        return true;
    begin(stall, taken, wheel, timer, timeout_ms);
    return false;
}
