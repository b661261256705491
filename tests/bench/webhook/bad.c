/* bad.c - receivers that each hold a sender up in their own way, on ports of their own.
 *
 *   bad FIRST N    127.0.0.1:FIRST and the N - 1 ports after it, until it is ended */
#include "bad.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define TICK_MS    100
#define SLOW_MS    3000
#define DRIP_MS    1000
#define LONG_BODY  (10u << 20)
#define HINT_BYTES (2u << 20) /* in all, for one request */
#define BACKLOG    1024

struct conn {
    enum bad_kind kind;
    int fd, port;
    bool is_listener, has_request;
    uint64_t due_ms; /* SLOW, DRIPPING: 0: nothing is due */
    size_t left;     /* LONG, HINTING: bytes to send */
    struct conn *prev, *next;
};

static int epoll;
static struct conn timed = {.prev = &timed, .next = &timed}; /* SLOW and DRIPPING */

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void watch(struct conn *c, int how, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = c};
    epoll_ctl(epoll, how, c->fd, &event);
}

static struct conn *conn_new(enum bad_kind kind, int fd, int port, bool is_listener)
{
    struct conn *c = calloc(1, sizeof *c);
    if (!c)
        exit(1);
    *c = (struct conn){.kind = kind, .fd = fd, .port = port, .is_listener = is_listener};
    c->prev = c->next = c;
    fcntl(fd, F_SETFL, O_NONBLOCK);
    watch(c, EPOLL_CTL_ADD, EPOLLIN);
    return c;
}

static void time_it(struct conn *c, uint64_t in_ms)
{
    c->due_ms = now_ms() + in_ms;
    c->prev->next = c->next;
    c->next->prev = c->prev;
    c->prev = timed.prev;
    c->next = &timed;
    timed.prev->next = c;
    timed.prev = c;
}

static void end(struct conn *c)
{
    c->prev->next = c->next;
    c->next->prev = c->prev;
    close(c->fd);
    free(c);
}

static void open_port(enum bad_kind kind, int port)
{
    struct sockaddr_in in = {.sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
        .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (bind(fd, (struct sockaddr *)&in, sizeof in) != 0 ||
        (kind != BAD_REFUSING && listen(fd, kind == BAD_UNACCEPTED ? 0 : BACKLOG) != 0)) {
        perror("a bad receiver's port");
        exit(1);
    }
    if (kind != BAD_REFUSING && kind != BAD_UNACCEPTED)
        conn_new(kind, fd, port, true);
}

static void say(struct conn *c, const char *text)
{
    if (send(c->fd, text, strlen(text), MSG_NOSIGNAL) < 0)
        return; /* it has gone: reading will tell */
}

/* As much as the socket takes. False: it has gone. */
static bool pour(struct conn *c)
{
    static const char hint[] = "HTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n";
    static char zeros[65536];
    bool is_hint = c->kind == BAD_HINTING;
    size_t whole = is_hint ? sizeof hint - 1 : sizeof zeros;
    while (c->left > 0) {
        size_t n = c->left < whole ? c->left : whole;
        ssize_t sent = send(c->fd, is_hint ? hint : zeros, n, MSG_NOSIGNAL);
        if (sent < 0)
            return errno == EAGAIN;
        c->left -= (size_t)sent;
    }
    return true;
}

static bool begin_pouring(struct conn *c, size_t n)
{
    c->left = n;
    watch(c, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
    return pour(c);
}

/* False: the connection ends. */
static bool on_request(struct conn *c)
{
    char text[256];
    switch (c->kind) {
    case BAD_RESETTING:
        setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
        return false;
    case BAD_DRIPPING:
        time_it(c, DRIP_MS);
        return true;
    case BAD_SLOW:
        time_it(c, SLOW_MS);
        return true;
    case BAD_LONG:
        snprintf(text, sizeof text, "HTTP/1.1 200 OK\r\nContent-Length: %u\r\n\r\n", LONG_BODY);
        say(c, text);
        return begin_pouring(c, LONG_BODY);
    case BAD_HINTING:
        return begin_pouring(c, HINT_BYTES);
    case BAD_REDIRECTING:
        snprintf(text, sizeof text,
            "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:%d/hook\r\n"
            "Content-Length: 0\r\n\r\n",
            c->port);
        say(c, text);
        return true;
    case BAD_BROKEN:
        say(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno chunk\r\n");
        return true;
    case BAD_FAILING:
        say(c, "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 5\r\n\r\nsorry");
        return true;
    case BAD_MISSING:
        say(c, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
        return true;
    default:
        return true;
    }
}

static void on_event(struct conn *c, uint32_t events)
{
    char in[16384];
    if (c->is_listener) {
        int fd = accept4(c->fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0)
            conn_new(c->kind, fd, c->port, false);
        return;
    }
    if (events & EPOLLOUT) {
        if (!pour(c)) {
            end(c);
            return;
        }
        if (c->left == 0)
            watch(c, EPOLL_CTL_MOD, EPOLLIN);
    }
    if (!(events & ~(uint32_t)EPOLLOUT))
        return;
    ssize_t n = recv(c->fd, in, sizeof in, 0);
    if (n < 0 && errno == EAGAIN)
        return;
    /* A request is small and comes in one piece, or in two of which the first is its head. */
    bool is_request = n > 0 && (c->kind == BAD_STALLING || memmem(in, (size_t)n, "\r\n\r\n", 4));
    if (n <= 0 || (is_request && !on_request(c)))
        end(c);
}

static void on_tick(void)
{
    uint64_t now = now_ms();
    for (struct conn *c = timed.next, *next; c != &timed; c = next) {
        next = c->next;
        if (now < c->due_ms)
            continue;
        bool is_slow = c->kind == BAD_SLOW;
        say(c, is_slow ? "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" : "H");
        c->due_ms = is_slow ? UINT64_MAX : now + DRIP_MS;
    }
}

int main(int argc, char **argv)
{
    struct epoll_event events[128];
    if (argc != 3)
        return 2;
    int first = atoi(argv[1]), count = atoi(argv[2]);
    epoll = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 0; i < count; i++)
        open_port((enum bad_kind)(i % BAD_KINDS), first + i);
    for (;;) {
        int n = epoll_wait(epoll, events, 128, TICK_MS);
        for (int i = 0; i < n; i++)
            on_event(events[i].data.ptr, events[i].events);
        on_tick();
    }
}
