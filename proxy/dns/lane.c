/* lane.c - a c-ares channel that asks one server. c-ares would go from server to server by itself, but
 * takes the second one's "no such name" for the answer while the first is merely slow.
 * Thread: its owner's. */
#include "dns/lane.h"

#include <net/if.h>
#include <string.h>

#define TRIES 3

/* A link-local server is reached by its own link; without the right to say so it is not reached. */
static int on_socket(ares_socket_t fd, int type, void *arg)
{
    const struct hl_lane *lane = arg;
    char name[IF_NAMESIZE];
    (void)type;
    if (lane->server.scope == 0 || !if_indextoname(lane->server.scope, name))
        return 0;
    return setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, (socklen_t)strlen(name) + 1);
}

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
        .timeout = HL_LANE_ANSWER_MS,
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
    ares_set_socket_configure_callback(lane->channel, on_socket, lane);
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
