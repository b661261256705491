/* wire.c - see wire.h. */
#include "wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BACKLOG 4096

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

uint64_t wire_now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static struct sockaddr_in loopback(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
        .sin_port = htons((uint16_t)port)};
}

static struct wire_conn *conn_new(
    struct wire *w, int fd, const struct wire_side *side, void *self, bool is_listener)
{
    struct wire_conn *c = calloc(1, sizeof *c);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    if (!c)
        fail("calloc");
    c->fd = fd;
    c->wire = w;
    c->side = side;
    c->self = self;
    c->is_listener = is_listener;
    fcntl(fd, F_SETFL, O_NONBLOCK);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    if (epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        fail("epoll_ctl");
    return c;
}

void wire_listen(struct wire *w, int port, const struct wire_side *side, void *self)
{
    struct sockaddr_in in = loopback(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (bind(fd, (struct sockaddr *)&in, sizeof in) != 0 || listen(fd, BACKLOG) != 0)
        fail("a port cannot be listened on");
    conn_new(w, fd, side, self, true);
}

struct wire_conn *wire_connect(struct wire *w, int port, const struct wire_side *side, void *self)
{
    struct sockaddr_in in = loopback(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&in, sizeof in) != 0)
        fail("a caller cannot connect");
    return conn_new(w, fd, side, self, false);
}

void wire_send(struct wire_conn *c, const char *text, size_t n)
{
    if (send(c->fd, text, n, MSG_NOSIGNAL) != (ssize_t)n && errno != EPIPE && errno != ECONNRESET)
        fail("a message cannot be sent at once");
}

static void take(struct wire_conn *listener)
{
    int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0)
        conn_new(listener->wire, fd, listener->side, listener->self, false);
}

static void end(struct wire_conn *c)
{
    close(c->fd);
    if (c->side->on_closed)
        c->side->on_closed(c);
    free(c);
}

static size_t length_of(const char *head)
{
    const char *field = strcasestr(head, "\r\ncontent-length:");
    return field ? strtoul(field + strlen("\r\ncontent-length:"), NULL, 10) : 0;
}

static void receive(struct wire_conn *c)
{
    ssize_t n = recv(c->fd, c->in + c->in_n, sizeof c->in - 1 - c->in_n, 0);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0) {
        end(c);
        return;
    }
    c->in_n += (size_t)n;
    c->in[c->in_n] = '\0';
    const char *head_end = strstr(c->in, "\r\n\r\n");
    if (!head_end || c->in_n < (size_t)(head_end + 4 - c->in) + length_of(c->in))
        return;
    c->body = head_end + 4;
    c->side->on_message(c);
    c->in_n = 0;
}

void wire_turn(struct wire *w, int wait_ms)
{
    struct epoll_event events[128];
    int n = epoll_wait(w->epoll, events, 128, wait_ms);
    for (int i = 0; i < n; i++) {
        struct wire_conn *c = events[i].data.ptr;
        if (c->is_listener)
            take(c);
        else
            receive(c);
    }
}
