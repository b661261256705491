/* port.c - see port.h. */
#include "dev/port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#define TRIES 1000

static bool ask(uint16_t port, int (*what)(int, const struct sockaddr *, socklen_t))
{
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    if (fd < 0)
        return false;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    bool is_good = what(fd, (struct sockaddr *)&at, sizeof(at)) == 0;
    close(fd);
    return is_good;
}

/* One that is bound to all addresses has it as well. */
uint16_t hl_dev_port_find(uint16_t wanted)
{
    for (uint32_t port = wanted; port < (uint32_t)wanted + TRIES && port <= UINT16_MAX; port++)
        if (!hl_dev_port_answers((uint16_t)port) && ask((uint16_t)port, bind))
            return (uint16_t)port;
    return 0;
}

bool hl_dev_port_answers(uint16_t port)
{
    return ask(port, connect);
}
