/* exchange.c - an app and its callers on one epoll. Reads HTTP/1.1 as far as these two speak it:
 * Content-Length or chunked, never two messages on the way in one direction of a connection.
 * Long bodies are sent from one page and dropped in the kernel, so that the proxy is the slow one.
 */
#include "exchange.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define BACKLOG      1024
#define FILLER_PIECE (256 << 10)

enum role { ROLE_LISTENER, ROLE_APP, ROLE_CALLER };

struct conn {
    enum role role;
    int fd;
    struct conn *next_caller;
    uint64_t sent_us;     /* when the request was sent */
    bool waits;           /* for a call that it may begin */
    bool has_begun;       /* its answer, see exchange.begun */
    uint64_t filler_left; /* to send */
    uint64_t body_left;   /* to receive, of a body with a Content-Length */
    size_t in_n;
    char in[4096]; /* the head that is coming, and what came with it */
};

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

uint64_t exchange_now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

struct exchange *exchange_new(void)
{
    struct exchange *x = calloc(1, sizeof *x);
    if (!x || (x->epoll = epoll_create1(EPOLL_CLOEXEC)) < 0)
        fail("epoll_create1");
    x->calls_left = UINT64_MAX;
    return x;
}

static void watch(struct exchange *x, struct conn *c, int how, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = c};
    if (epoll_ctl(x->epoll, how, c->fd, &event) != 0)
        fail("epoll_ctl");
}

static struct conn *conn_new(struct exchange *x, enum role role, int fd)
{
    struct conn *c = calloc(1, sizeof *c);
    if (!c)
        fail("calloc");
    c->role = role;
    c->fd = fd;
    fcntl(fd, F_SETFL, O_NONBLOCK);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)); /* not for unix: no harm */
    watch(x, c, EPOLL_CTL_ADD, EPOLLIN);
    return c;
}

static void conn_free(struct conn *c)
{
    close(c->fd);
    free(c);
}

static void listen_on(struct exchange *x, const struct sockaddr *address, socklen_t n)
{
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (bind(fd, address, n) != 0 || listen(fd, BACKLOG) != 0)
        fail("the app cannot listen");
    conn_new(x, ROLE_LISTENER, fd);
}

static struct sockaddr_in loopback(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
        .sin_port = htons((uint16_t)port)};
}

void exchange_listen_tcp(struct exchange *x, int port)
{
    struct sockaddr_in in = loopback(port);
    listen_on(x, (struct sockaddr *)&in, sizeof in);
}

void exchange_listen_unix(struct exchange *x, const char *path)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    snprintf(un.sun_path, sizeof un.sun_path, "%s", path);
    unlink(path);
    listen_on(x, (struct sockaddr *)&un, sizeof un);
}

static void send_request(struct exchange *x, struct conn *c);

void exchange_open_callers(struct exchange *x, int port, int n)
{
    struct sockaddr_in in = loopback(port);
    for (int i = 0; i < n; i++) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(fd, (struct sockaddr *)&in, sizeof in) != 0)
            fail("a caller cannot connect");
        struct conn *c = conn_new(x, ROLE_CALLER, fd);
        c->next_caller = x->callers;
        x->callers = c;
        send_request(x, c);
    }
}

void exchange_pace(struct exchange *x, double rate)
{
    x->rate = rate;
    x->paced_us = exchange_now_us();
    x->calls_left = 0;
}

void exchange_close_callers(struct exchange *x)
{
    while (x->callers) {
        struct conn *c = x->callers;
        x->callers = c->next_caller;
        conn_free(c);
    }
}

static void on_event(struct exchange *x, struct conn *c, uint32_t events);

/* What has fallen due since the last time goes to those that wait, and is lost where none does. */
static void pace(struct exchange *x, uint64_t now)
{
    x->due += x->rate * (double)(now - x->paced_us) / 1e6;
    x->paced_us = now;
    x->calls_left = (uint64_t)x->due;
    x->due -= (double)x->calls_left;
    for (struct conn *c = x->callers; c && x->calls_left > 0; c = c->next_caller)
        if (c->waits)
            send_request(x, c);
    x->calls_left = 0;
}

void exchange_run(struct exchange *x, double seconds, const uint64_t *count, uint64_t goal)
{
    struct epoll_event events[128];
    uint64_t end = exchange_now_us() + (uint64_t)(seconds * 1e6), now;
    while (*count < goal && (now = exchange_now_us()) < end) {
        if (x->rate > 0)
            pace(x, now);
        int n = epoll_wait(x->epoll, events, 128, x->rate > 0 ? 1 : (int)((end - now) / 1000 + 1));
        for (int i = 0; i < n; i++)
            on_event(x, events[i].data.ptr, events[i].events);
    }
}

void exchange_run_for(struct exchange *x, double seconds)
{
    static const uint64_t nothing;
    exchange_run(x, seconds, &nothing, 1);
}

static bool receive(struct exchange *x, struct conn *c);
static void send_filler(struct exchange *x, struct conn *c);
static void on_end(struct exchange *x, struct conn *c);

static void on_event(struct exchange *x, struct conn *c, uint32_t events)
{
    if (c->role == ROLE_LISTENER) {
        int fd = accept4(c->fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0)
            conn_new(x, ROLE_APP, fd);
        return;
    }
    if (events & EPOLLOUT)
        send_filler(x, c);
    if (events & ~(uint32_t)EPOLLOUT && !receive(x, c))
        on_end(x, c);
}

/* Callers are freed when they are closed: by exchange_close_callers. */
static void on_end(struct exchange *x, struct conn *c)
{
    if (c->role == ROLE_APP) {
        conn_free(c);
        return;
    }
    if (x->failed++ == 0)
        fprintf(stderr, "a caller's connection was closed\n");
    epoll_ctl(x->epoll, EPOLL_CTL_DEL, c->fd, NULL);
}

/* Looks only at the names it needs: this runs for each message. False: chunked. */
static bool read_length(const char *head, const char *end, uint64_t *length)
{
    static const char length_name[] = "content-length:", chunked[] = "transfer-encoding: chunked";
    *length = 0;
    for (const char *p = head; (p = memchr(p, '\n', (size_t)(end - p))); p++) {
        if ((p[1] | 0x20) == 'c' && strncasecmp(p + 1, length_name, sizeof length_name - 1) == 0)
            *length = strtoull(p + sizeof length_name, NULL, 10);
        if ((p[1] | 0x20) == 't' && strncasecmp(p + 1, chunked, sizeof chunked - 1) == 0)
            return false;
    }
    return true;
}

static void on_message(struct exchange *x, struct conn *c);

static void on_head(struct exchange *x, struct conn *c, size_t head_n)
{
    static const char last_chunk[] = "\r\n0\r\n\r\n";
    size_t last_n = sizeof last_chunk - 1, body_n = c->in_n - head_n;
    uint64_t length;
    if (c->role == ROLE_CALLER && body_n > 0 && !c->has_begun) {
        c->has_begun = true;
        x->begun++;
    }
    if (!read_length(c->in, c->in + head_n, &length)) {
        if (memcmp(c->in + c->in_n - last_n, last_chunk, last_n) == 0)
            on_message(x, c);
    } else if (body_n < length) {
        c->body_left = length - body_n;
    } else {
        on_message(x, c);
    }
}

/* False: the connection has ended. */
static bool receive(struct exchange *x, struct conn *c)
{
    bool is_body = c->body_left > 0;
    ssize_t n = is_body ? recv(c->fd, NULL, c->body_left, MSG_TRUNC)
                        : recv(c->fd, c->in + c->in_n, sizeof c->in - 1 - c->in_n, 0);
    if (n <= 0)
        return n < 0 && errno == EAGAIN;
    if (is_body) {
        x->body_bytes += (uint64_t)n;
        c->body_left -= (uint64_t)n;
        if (c->body_left == 0)
            on_message(x, c);
        return true;
    }
    c->in_n += (size_t)n;
    c->in[c->in_n] = 0;
    const char *end = memmem(c->in, c->in_n, "\r\n\r\n", 4);
    if (end)
        on_head(x, c, (size_t)(end + 4 - c->in));
    return true;
}

static void send_message(struct exchange *x, struct conn *c, const struct message *m)
{
    if (send(c->fd, m->text, m->text_n, MSG_NOSIGNAL) != (ssize_t)m->text_n)
        return; /* the peer has gone; reading will tell */
    c->filler_left = m->filler;
    if (c->filler_left > 0)
        watch(x, c, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
}

static void send_filler(struct exchange *x, struct conn *c)
{
    static const char piece[FILLER_PIECE];
    size_t n = c->filler_left < sizeof piece ? c->filler_left : sizeof piece;
    ssize_t sent = send(c->fd, piece, n, MSG_NOSIGNAL);
    if (sent > 0)
        c->filler_left -= (uint64_t)sent;
    if (c->filler_left == 0 || (sent < 0 && errno != EAGAIN))
        watch(x, c, EPOLL_CTL_MOD, EPOLLIN);
}

static void send_request(struct exchange *x, struct conn *c)
{
    c->waits = x->calls_left == 0;
    if (c->waits)
        return;
    x->calls_left--;
    c->has_begun = false;
    c->sent_us = exchange_now_us();
    send_message(x, c, &x->request);
}

static void on_message(struct exchange *x, struct conn *c)
{
    c->in_n = 0;
    if (c->role == ROLE_APP) {
        send_message(x, c, &x->answer);
        x->served++;
        return;
    }
    x->answered++;
    if (c->in[9] != '2' && x->failed++ == 0)
        fprintf(stderr, "an answer that is not 2xx:\n%s\n", c->in);
    if (x->latency_n < EXCHANGE_LATENCIES)
        x->latency_us[x->latency_n++] = (uint32_t)(exchange_now_us() - c->sent_us);
    send_request(x, c);
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

uint32_t exchange_latency(struct exchange *x, double share)
{
    if (x->latency_n == 0)
        return 0;
    qsort(x->latency_us, x->latency_n, sizeof x->latency_us[0], compare);
    return x->latency_us[(size_t)(share * (double)(x->latency_n - 1))];
}
