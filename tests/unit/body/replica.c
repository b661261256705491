/* replica.c - see replica.h. */
#include "replica.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "store/backend.h"
#include "store/key.h"

char replica_url[64];
static int port_fd = -1, fd = -1;
static char got[16 * 1024];
static size_t got_n;

struct hl_store *replica_store(void)
{
    static struct hl_store store;
    static struct hl_shared_keys keys;
    hl_key_random(&keys.key);
    store.shared_keys = &keys;
    return &store;
}

void replica_listen(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(address);
    port_fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(port_fd, (struct sockaddr *)&address, n), 0);
    cr_assert_eq(listen(port_fd, 8), 0);
    cr_assert_eq(getsockname(port_fd, (struct sockaddr *)&address, &n), 0);
    snprintf(replica_url, sizeof(replica_url), "http://127.0.0.1:%u", ntohs(address.sin_port));
    got_n = 0;
}

bool replica_is_called(void)
{
    if (fd < 0)
        fd = accept4(port_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    return fd >= 0;
}

static void receive(void)
{
    ssize_t n = 0;
    if (replica_is_called())
        n = recv(fd, got + got_n, sizeof(got) - 1 - got_n, 0);
    got_n += n > 0 ? (size_t)n : 0;
    got[got_n] = '\0';
}

bool replica_has_got(const char *part)
{
    receive();
    return strstr(got, part) != NULL;
}

const char *replica_field(const char *name)
{
    static char value[512];
    char line[64];
    receive();
    snprintf(line, sizeof(line), "\r\n%s: ", name);
    const char *at = strstr(got, line);
    if (!at)
        return NULL;
    at += strlen(line);
    size_t n = strcspn(at, "\r");
    cr_assert_lt(n, sizeof(value));
    memcpy(value, at, n);
    value[n] = '\0';
    return value;
}

size_t replica_pour(const char *p, size_t n)
{
    ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);
    cr_assert(sent > 0 || errno == EAGAIN);
    return sent > 0 ? (size_t)sent : 0;
}

void replica_say(const char *text)
{
    cr_assert_eq(replica_pour(text, strlen(text)), strlen(text));
}

bool replica_is_left(void)
{
    char byte;
    receive();
    ssize_t n = recv(fd, &byte, 1, MSG_PEEK);
    return n == 0 || (n < 0 && errno != EAGAIN);
}

void replica_close(void)
{
    if (fd >= 0)
        close(fd);
    if (port_fd >= 0)
        close(port_fd);
    fd = port_fd = -1;
}
