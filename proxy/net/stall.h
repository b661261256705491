/* stall.h - the deadline of a stream that is blocked: its peer has to take something of what waits for
 * it. "Takes" means that the peer has it: bytes that moved into the kernel's buffer went nowhere. */
#ifndef HL_NET_STALL_H
#define HL_NET_STALL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

struct hl_stream;
struct hl_timer;
struct hl_wheel;

/* Whoever reads slowly takes in lumps: a receiver opens a closed window again when a good part of its
 * buffer is free. 5 s of silence were measured in steady reading at 12 KB/s, so shorter deadlines
 * count as this one. */
#define HL_STALL_LEAST_MS 15000

struct hl_stall {
    bool is_watched;
    uint64_t taken; /* by the peer when the deadline was set */
};

/* The stream is blocked: sets `timer`, unless it runs for this already. */
void hl_stall_watch(struct hl_stall *stall, const struct hl_stream *stream, struct hl_wheel *wheel,
    struct hl_timer *timer, uint64_t timeout_ms);
/* The timer has fired, the stream is blocked. True: the peer took nothing meanwhile. Else the timer
 * is set anew. */
HL_MUST_CHECK bool hl_stall_is_over(struct hl_stall *stall, const struct hl_stream *stream,
    struct hl_wheel *wheel, struct hl_timer *timer, uint64_t timeout_ms);
/* The stream is not blocked any more; the timer is for something else. */
static inline void hl_stall_end(struct hl_stall *stall)
{
    stall->is_watched = false;
}

#endif
