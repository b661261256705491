/* peer.h - whether the machine at the other end of a TCP connection is still there: one that vanished
 * sends neither FIN nor RST. */
#ifndef HL_NET_PEER_H
#define HL_NET_PEER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

struct hl_stream;

/* While the connection is quiet the kernel probes after `idle_s`, then every `interval_s`; after
 * `probes` without an answer the connection has failed. On a listening socket: for those it
 * accepts. */
void hl_peer_probe(int fd, int idle_s, int interval_s, int probes);

/* How long a peer has not acknowledged what it was sent. */
struct hl_silence {
    uint64_t since_ms; /* 0: it does */
};

/* One look, to be repeated every few seconds: whether bytes, or probes of a closed window, have
 * been sent again and again for `limit_ms` without one acknowledgment. A peer that answers and
 * takes nothing is not silent: TCP_USER_TIMEOUT would end its connection as well. False if not TCP. */
HL_MUST_CHECK bool hl_peer_is_silent(
    struct hl_silence *silence, const struct hl_stream *stream, uint64_t now_ms, uint64_t limit_ms);

#endif
