/* lane.c - a c-ares channel that asks one server. c-ares would go from server to server by itself, but
 * takes the second one's "no such name" for the answer while the first is merely slow.
 * Thread: its owner's. */
#include "dns/lane.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define TRIES 4 /* the last of them reaches as far as any look-up */

static ares_socket_t on_open(int family, int type, int protocol, void *arg)
{
    (void)arg;
    return socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);
}

static int on_close(ares_socket_t fd, void *arg)
{
    (void)arg;
    return close(fd);
}

/* A link-local server is on one of our links. */
static int on_connect(ares_socket_t fd, const struct sockaddr *to, ares_socklen_t n, void *arg)
{
    const struct hl_lane *lane = arg;
    struct sockaddr_in6 there;
    if (to->sa_family != AF_INET6 || n != sizeof(there))
        return connect(fd, to, n);
    memcpy(&there, to, sizeof(there));
    there.sin6_scope_id = lane->server.scope;
    return connect(fd, (const struct sockaddr *)&there, sizeof(there));
}

/* A datagram that is no answer (RFC 1035 4.1.1: QR), such as our own question sent back, is not read: c-ares
 * would take it for one without addresses. `from` is NULL of a stream. */
static ares_ssize_t on_receive(ares_socket_t fd, void *p, size_t cap, int flags,
    struct sockaddr *from, ares_socklen_t *from_n, void *arg)
{
    ssize_t n = recvfrom(fd, p, cap, flags, from, from_n);
    (void)arg;
    if (n < 0 || !from || (n > 2 && ((const unsigned char *)p)[2] & 0x80))
        return n;
    errno = EAGAIN;
    return -1;
}

static ares_ssize_t on_send(ares_socket_t fd, const struct iovec *pieces, int n, void *arg)
{
    struct msghdr message = {.msg_iov = (struct iovec *)pieces, .msg_iovlen = (size_t)n};
    (void)arg;
    return sendmsg(fd, &message, MSG_NOSIGNAL);
}

static const struct ares_socket_functions socket_functions = {.asocket = on_open,
    .aclose = on_close,
    .aconnect = on_connect,
    .arecvfrom = on_receive,
    .asendv = on_send};

static int set_server(struct hl_lane *lane)
{
    struct ares_addr_port_node node = {.family = AF_INET6};
    if (hl_ip_is_v4(&lane->server.ip)) {
        node.family = AF_INET;
        memcpy(&node.addr.addr4, lane->server.ip.b + 12, 4);
    } else {
        memcpy(&node.addr.addr6, lane->server.ip.b, 16);
    }
    return ares_set_servers_ports(lane->channel, &node);
}

/* All that it would read from files is said, so that it reads none. */
static int init_channel(ares_channel *channel, bool uses_tcp)
{
    struct in_addr nobody = {0};
    char lookups[] = "b";
    struct ares_options options = {
        .flags = ARES_FLAG_NOCHECKRESP | (uses_tcp ? ARES_FLAG_USEVC : 0),
        .timeout = uses_tcp ? HL_LANE_TCP_MS : HL_LANE_ANSWER_MS,
        .tries = TRIES,
        .ndots = 1,
        .servers = &nobody,
        .nservers = 1,
        .lookups = lookups};
    return ares_init_options(channel, &options,
        ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_NDOTS | ARES_OPT_SERVERS |
            ARES_OPT_DOMAINS | ARES_OPT_LOOKUPS | ARES_OPT_SORTLIST);
}

enum hl_err hl_lane_open(struct hl_lane *lane, const struct hl_dns_server *server, bool uses_tcp)
{
    *lane = (struct hl_lane){.server = *server};
    if (init_channel(&lane->channel, uses_tcp) != ARES_SUCCESS) {
        lane->channel = NULL;
        return HL_ERR_NOMEM;
    }
    ares_set_socket_functions(lane->channel, &socket_functions, lane);
    if (set_server(lane) == ARES_SUCCESS)
        return HL_OK;
    hl_lane_close(lane);
    return HL_ERR_NOMEM;
}

void hl_lane_close(struct hl_lane *lane)
{
    if (lane->channel)
        ares_destroy(lane->channel);
    lane->channel = NULL;
}
