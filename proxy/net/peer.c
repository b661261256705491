/* peer.c - whether the machine at the other end of a TCP connection is still there.
 * Owns: nothing. Thread: the stream's.
 * Not here: a peer that is there and takes nothing (stall.c). */
#include "net/peer.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <uv/unix.h>

#include "net/stream.h"

#define PROBES_LOST 2 /* one may get lost, and the next is sent up to two minutes later */

void hl_peer_probe(int fd, int idle_s, int interval_s, int probes)
{
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof(interval_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
}

bool hl_peer_is_silent(
    struct hl_silence *silence, const struct hl_stream *stream, uint64_t now_ms, uint64_t limit_ms)
{
    uv_os_fd_t fd;
    struct tcp_info info;
    socklen_t n = sizeof(info);
    bool is_unanswered = uv_fileno(&stream->handle, &fd) == 0 &&
                         getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) == 0 &&
                         (info.tcpi_retransmits > 0 || info.tcpi_probes >= PROBES_LOST);
    if (!is_unanswered)
        silence->since_ms = 0;
    else if (silence->since_ms == 0 || info.tcpi_last_ack_recv < now_ms - silence->since_ms)
        silence->since_ms = now_ms;
    return is_unanswered && now_ms - silence->since_ms >= limit_ms;
}
