/* crowd.c - see crowd.h. Reads HTTP/1.1 as far as hookline writes it here: heads, chunked bodies. */
#include "crowd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "exchange.h"

#define BACKLOG      1024
#define SMALL_BUFFER 8192
#define SMALL_PIECE  1400
#define SLOW_BYTES   256 /* that a slow reader takes every 10 ms: */
#define SLOW_TICK_US 1000
#define SLOW_PARTS   10
#define BODY_N       8 /* of a call: the number of its stream */
#define EVENT_MAX    1024

enum role { ROLE_LISTENER, ROLE_APP, ROLE_READER, ROLE_TICK, ROLE_SLOW_TICK };

/* What epoll knows. */
struct source {
    enum role role;
    int fd;
};

struct app_conn {
    struct source source;
    struct crowd_stream *stream; /* the last one */
    size_t in_n;
    char in[4096];
};

enum part { PART_HEAD, PART_SIZE, PART_DATA, PART_DATA_END, PART_LAST, PART_OVER };

struct crowd_reader {
    struct source source;
    struct crowd_stream *stream;
    enum crowd_pace pace;
    enum part part;
    uint64_t left;   /* of the chunk; of PART_DATA_END and PART_LAST: line ends */
    uint32_t events; /* complete ones */
    uint32_t data, id;
    uint64_t sent_us;
    size_t line_n;
    char line[EVENT_MAX];
};

static void fail(const char *what)
{
    fprintf(stderr, "follow: %s\n", what);
    exit(1);
}

static void fail_errno(const char *what)
{
    fprintf(stderr, "follow: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void *make(size_t size)
{
    void *made = calloc(1, size);
    if (!made)
        fail("out of memory");
    return made;
}

/* ---- latencies ---- */

static void add(struct latencies *l, uint32_t us)
{
    if (l->n == l->cap) {
        l->cap = l->cap > 0 ? 2 * l->cap : 4096;
        l->us = realloc(l->us, l->cap * sizeof *l->us);
        if (!l->us)
            fail("out of memory");
    }
    l->us[l->n++] = us;
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

uint32_t latencies_share(struct latencies *l, double share)
{
    if (l->n == 0)
        return 0;
    qsort(l->us, l->n, sizeof *l->us, compare);
    return l->us[(size_t)(share * (double)(l->n - 1))];
}

/* ---- sockets ---- */

static struct sockaddr_in loopback(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
        .sin_port = htons((uint16_t)port)};
}

static void watch(struct crowd *c, struct source *source)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = source};
    if (epoll_ctl(c->epoll, EPOLL_CTL_ADD, source->fd, &event) != 0)
        fail_errno("epoll_ctl");
}

static void unwatch(struct crowd *c, const struct source *source)
{
    epoll_ctl(c->epoll, EPOLL_CTL_DEL, source->fd, NULL);
}

static void open_nonblocking(int fd)
{
    fcntl(fd, F_SETFL, O_NONBLOCK);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
}

/* Of both sides: the kernel gives a sender room by the size of the pieces that it may send, which
 * on loopback are 64 KiB: megabytes would lie there before hookline hears that nobody reads. */
static void set_small_buffers(int fd)
{
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &(int){SMALL_BUFFER}, sizeof(int));
    setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &(int){SMALL_PIECE}, sizeof(int));
}

/* Connected, and the request is sent. */
static int request(int port, bool has_small_buffers, const char *text, size_t n)
{
    struct sockaddr_in in = loopback(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (has_small_buffers)
        set_small_buffers(fd);
    if (fd < 0 || connect(fd, (struct sockaddr *)&in, sizeof in) != 0)
        fail_errno("connect");
    if (send(fd, text, n, MSG_NOSIGNAL) != (ssize_t)n)
        fail_errno("a request cannot be sent");
    return fd;
}

struct crowd *crowd_new(int app_port, int hookline_port)
{
    struct crowd *c = make(sizeof *c);
    struct source *listener = make(sizeof *listener);
    struct sockaddr_in in = loopback(app_port);
    c->port = hookline_port;
    c->epoll = epoll_create1(EPOLL_CLOEXEC);
    *listener = (struct source){ROLE_LISTENER, socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (bind(listener->fd, (struct sockaddr *)&in, sizeof in) != 0 ||
        listen(listener->fd, BACKLOG) != 0)
        fail_errno("the app cannot listen");
    watch(c, listener);
    return c;
}

/* ---- callers ---- */

static struct crowd_stream *new_stream(struct crowd *c, bool is_kept)
{
    struct crowd_stream *stream = make(sizeof *stream);
    *stream = (struct crowd_stream){.is_kept = is_kept, .fd = -1};
    c->streams = realloc(c->streams, (c->streams_n + 1) * sizeof(*c->streams));
    if (!c->streams)
        fail("out of memory");
    c->streams[c->streams_n++] = stream;
    return stream;
}

static int call(const struct crowd *c, const char *query)
{
    char text[512];
    int n = snprintf(text, sizeof text,
        "POST /v4/p/a/run%s HTTP/1.1\r\n"
        "Host: 127.0.0.1\r\n"
        "Content-Length: %d\r\n"
        "\r\n%0*zu",
        query, BODY_N, BODY_N, c->streams_n - 1);
    return request(c->port, false, text, (size_t)n);
}

struct crowd_stream *crowd_call_async(struct crowd *c)
{
    static const char key[] = "{\"run_id\":\"";
    struct crowd_stream *stream = new_stream(c, true);
    char in[4096] = "", *found = NULL;
    int fd = call(c, "?async=true");
    for (size_t n = 0; !found || !strchr(found, '}');) {
        ssize_t got = recv(fd, in + n, sizeof in - 1 - n, 0);
        if (got <= 0)
            fail("a call has no 202");
        n += (size_t)got;
        found = strstr(in, key);
    }
    close(fd);
    sscanf(found + sizeof key - 1, "%39[0-9a-f-]", stream->run_id);
    return stream;
}

static struct crowd_reader *new_reader(struct crowd *c, struct crowd_stream *stream, int fd)
{
    struct crowd_reader *r = make(sizeof *r);
    r->source = (struct source){ROLE_READER, fd};
    r->stream = stream;
    open_nonblocking(fd);
    watch(c, &r->source);
    c->readers = realloc(c->readers, (c->readers_n + 1) * sizeof(*c->readers));
    if (!c->readers)
        fail("out of memory");
    c->readers[c->readers_n++] = r;
    return r;
}

struct crowd_stream *crowd_call(struct crowd *c)
{
    struct crowd_stream *stream = new_stream(c, false);
    new_reader(c, stream, call(c, ""));
    return stream;
}

struct crowd_reader *crowd_follow(
    struct crowd *c, struct crowd_stream *stream, bool has_small_buffers)
{
    char text[512];
    int n = snprintf(text, sizeof text,
        "GET /v2/projects/p/apps/a/runs/%s/events HTTP/1.1\r\n"
        "Host: 127.0.0.1\r\n"
        "\r\n",
        stream->run_id);
    return new_reader(c, stream, request(c->port, has_small_buffers, text, (size_t)n));
}

void crowd_set_pace(struct crowd *c, struct crowd_reader *r, enum crowd_pace pace)
{
    if (r->pace == CROWD_FAST && pace != CROWD_FAST)
        unwatch(c, &r->source);
    if (r->pace != CROWD_FAST && pace == CROWD_FAST)
        watch(c, &r->source);
    r->pace = pace;
}

uint64_t crowd_missing(const struct crowd *c)
{
    uint64_t missing = 0;
    for (size_t i = 0; i < c->readers_n; i++)
        if (c->readers[i]->pace == CROWD_FAST)
            missing += c->readers[i]->stream->sent - c->readers[i]->events;
    return missing;
}

void crowd_close_readers(struct crowd *c)
{
    for (size_t i = 0; i < c->readers_n; i++) {
        close(c->readers[i]->source.fd);
        free(c->readers[i]);
    }
    c->readers_n = 0;
}

/* ---- reading ---- */

static void fail_reader(const struct crowd_reader *r, const char *what)
{
    fprintf(stderr, "follow: %s: of %s stream %s, after event %u of %u; the last line: %.*s\n",
        what, r->stream->is_kept ? "a kept" : "a plain", r->stream->run_id, r->events,
        r->stream->sent, (int)r->line_n, r->line);
    exit(1);
}

static void on_event_end(struct crowd *c, struct crowd_reader *r, uint64_t now)
{
    if (r->data != r->events + 1)
        fail_reader(r, "an event is missing, or came twice");
    if (r->id != (r->stream->is_kept ? r->data : 0))
        fail_reader(r, "an event has another id");
    r->events++;
    r->data = r->id = 0;
    bool is_first = r->events > r->stream->seen;
    if (is_first)
        r->stream->seen = r->events;
    if (r->pace != CROWD_FAST)
        return;
    c->received++;
    if (c->times && is_first)
        add(&c->fastest[r->stream->is_kept], (uint32_t)(now - r->sent_us));
    if (c->times)
        add(&c->every[r->stream->is_kept], (uint32_t)(now - r->sent_us));
}

static void on_line(struct crowd *c, struct crowd_reader *r, uint64_t now)
{
    r->line[r->line_n] = '\0';
    char *end;
    if (strncmp(r->line, "data: ", 6) == 0) {
        r->data = (uint32_t)strtoul(r->line + 6, &end, 10);
        r->sent_us = strtoull(end, NULL, 10);
    } else if (strncmp(r->line, "id: ", 4) == 0) {
        r->id = (uint32_t)strtoul(r->line + 4, NULL, 10);
    } else if (r->line_n == 0) {
        on_event_end(c, r, now);
    } else {
        fail_reader(r, "a line that the app did not write");
    }
    r->line_n = 0;
}

static void take_text(
    struct crowd *c, struct crowd_reader *r, const char *p, size_t n, uint64_t now)
{
    while (n > 0) {
        const char *end = memchr(p, '\n', n);
        size_t part = end ? (size_t)(end - p) : n;
        if (r->line_n + part >= sizeof r->line)
            fail_reader(r, "a line is too long");
        memcpy(r->line + r->line_n, p, part);
        r->line_n += part;
        if (!end)
            return;
        on_line(c, r, now);
        p += part + 1;
        n -= part + 1;
    }
}

/* The head uses the place of a line. How many bytes were its. */
static size_t take_head(struct crowd_reader *r, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (r->line_n + 1 >= sizeof r->line)
            fail_reader(r, "a head is too long");
        r->line[r->line_n++] = p[i];
        if (r->line_n < 4 || memcmp(r->line + r->line_n - 4, "\r\n\r\n", 4) != 0)
            continue;
        if (strncmp(r->line, "HTTP/1.1 200 ", 13) != 0)
            fail_reader(r, "an answer is not 200");
        r->line_n = 0;
        r->part = PART_SIZE;
        return i + 1;
    }
    return n;
}

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One byte of what stands between chunks' data. */
static void take_frame(struct crowd *c, struct crowd_reader *r, char byte)
{
    if (r->part == PART_SIZE && hex(byte) >= 0) {
        r->left = r->left * 16 + (uint64_t)hex(byte);
    } else if (r->part == PART_SIZE && byte == '\n') {
        r->part = r->left > 0 ? PART_DATA : PART_LAST;
    } else if (r->part == PART_DATA_END && byte == '\n') {
        r->part = PART_SIZE;
    } else if (r->part == PART_LAST && byte == '\n') {
        if (r->events != r->stream->sent)
            fail_reader(r, "an answer has ended before its last event");
        r->part = PART_OVER;
        c->ended++;
    } else if (byte != '\r') {
        fail_reader(r, "an answer's chunks are none");
    }
}

static void take(struct crowd *c, struct crowd_reader *r, const char *p, size_t n, uint64_t now)
{
    for (size_t part; n > 0; p += part, n -= part) {
        part = 1;
        if (r->part == PART_HEAD) {
            part = take_head(r, p, n);
        } else if (r->part == PART_DATA) {
            part = n < r->left ? n : (size_t)r->left;
            take_text(c, r, p, part, now);
            r->left -= part;
            if (r->left == 0)
                r->part = PART_DATA_END;
        } else {
            take_frame(c, r, *p);
        }
    }
}

static void read_some(struct crowd *c, struct crowd_reader *r, size_t max)
{
    static char in[64 << 10];
    ssize_t n = recv(r->source.fd, in, max < sizeof in ? max : sizeof in, MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n > 0)
        take(c, r, in, (size_t)n, exchange_now_us());
    else if (r->part == PART_OVER)
        unwatch(c, &r->source);
    else
        fail_reader(r, "hookline has closed a reader's connection");
}

/* Each of them once in SLOW_PARTS ticks. */
static void read_slowly(struct crowd *c)
{
    for (size_t i = c->slow_next; i < c->readers_n; i += SLOW_PARTS)
        if (c->readers[i]->pace == CROWD_SLOW)
            read_some(c, c->readers[i], SLOW_BYTES);
    c->slow_next = (c->slow_next + 1) % SLOW_PARTS;
}

/* ---- the app ---- */

static void accept_app(struct crowd *c, const struct source *listener)
{
    int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return;
    struct app_conn *app = make(sizeof *app);
    app->source = (struct source){ROLE_APP, fd};
    open_nonblocking(fd);
    watch(c, &app->source);
}

static void read_app(struct crowd *c, struct app_conn *app)
{
    static const char head[] = "HTTP/1.1 200 OK\r\n"
                               "Content-Type: text/event-stream\r\n"
                               "Transfer-Encoding: chunked\r\n"
                               "\r\n";
    ssize_t n = recv(app->source.fd, app->in + app->in_n, sizeof app->in - 1 - app->in_n, 0);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0) {
        if (app->stream && app->stream->fd == app->source.fd)
            fail("hookline has closed the app's connection in a stream");
        close(app->source.fd);
        free(app);
        return;
    }
    app->in_n += (size_t)n;
    app->in[app->in_n] = '\0';
    const char *body = strstr(app->in, "\r\n\r\n");
    if (!body || strlen(body + 4) < BODY_N)
        return;
    size_t i = strtoul(body + 4, NULL, 10);
    if (i >= c->streams_n || c->streams[i]->fd >= 0)
        fail("the app is asked for a stream twice, or for none");
    app->in_n = 0;
    app->stream = c->streams[i];
    app->stream->fd = app->source.fd;
    if (send(app->source.fd, head, sizeof head - 1, MSG_NOSIGNAL) != (ssize_t)sizeof head - 1)
        fail_errno("the app cannot answer");
    c->called++;
}

void crowd_write(struct crowd *c, struct crowd_stream *stream, size_t size)
{
    char line[EVENT_MAX], text[EVENT_MAX + 32];
    int n = snprintf(line, sizeof line, "data: %u %llu ", stream->sent + 1,
        (unsigned long long)exchange_now_us());
    while ((size_t)n < size && (size_t)n < sizeof line - 1)
        line[n++] = 'x';
    n = snprintf(text, sizeof text, "%x\r\n%.*s\n\n\r\n", (unsigned)n + 2, n, line);
    ssize_t sent = send(stream->fd, text, (size_t)n, MSG_NOSIGNAL);
    if (sent == n)
        stream->sent++;
    else if (sent < 0 && errno == EAGAIN)
        c->skipped++;
    else
        fail_errno("the app cannot write an event");
}

void crowd_end(struct crowd_stream *stream)
{
    static const char last[] = "0\r\n\r\n";
    int fd = stream->fd;
    stream->fd = -1;
    if (send(fd, last, sizeof last - 1, MSG_NOSIGNAL) != (ssize_t)sizeof last - 1)
        fail_errno("the app cannot end a stream");
}

/* ---- the loop ---- */

static void set_timer(struct crowd *c, struct source *timer, enum role role, unsigned every_us)
{
    struct timespec every = {every_us / 1000000, (long)(every_us % 1000000) * 1000};
    struct itimerspec when = {every, every};
    *timer = (struct source){role, timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)};
    if (timer->fd < 0 || timerfd_settime(timer->fd, 0, &when, NULL) != 0)
        fail_errno("timerfd");
    watch(c, timer);
}

/* False: it was not due. */
static bool clear_timer(const struct source *timer)
{
    uint64_t times;
    return read(timer->fd, &times, sizeof times) == (ssize_t)sizeof times;
}

struct play {
    void (*on_tick)(void *self);
    void *self;
};

static void on_source(struct crowd *c, struct source *source, const struct play *play)
{
    switch (source->role) {
    case ROLE_LISTENER:
        accept_app(c, source);
        break;
    case ROLE_APP:
        read_app(c, (struct app_conn *)source);
        break;
    case ROLE_READER:
        read_some(c, (struct crowd_reader *)source, SIZE_MAX);
        break;
    case ROLE_TICK:
        if (clear_timer(source))
            play->on_tick(play->self);
        break;
    case ROLE_SLOW_TICK:
        if (clear_timer(source))
            read_slowly(c);
        break;
    }
}

/* Until then, or the goal. */
static void play_until(
    struct crowd *c, uint64_t end, const uint64_t *count, uint64_t goal, const struct play *play)
{
    struct epoll_event events[64];
    uint64_t now;
    while (*count < goal && (now = exchange_now_us()) < end) {
        int n = epoll_wait(c->epoll, events, 64, (int)((end - now) / 1000 + 1));
        for (int i = 0; i < n; i++)
            on_source(c, events[i].data.ptr, play);
    }
}

/* Whoever reads at once and has not all of it. */
static void print_missing(const struct crowd_reader *r)
{
    struct sockaddr_in in = {0};
    if (r->pace != CROWD_FAST || r->part == PART_OVER)
        return;
    getsockname(r->source.fd, (struct sockaddr *)&in, &(socklen_t){sizeof in});
    fprintf(stderr, "follow: port %d has %u events of %u\n", ntohs(in.sin_port), r->events,
        r->stream->sent);
}

void crowd_run(
    struct crowd *c, double seconds, const uint64_t *count, uint64_t goal, const char *what)
{
    play_until(c, exchange_now_us() + (uint64_t)(seconds * 1e6), count, goal, NULL);
    if (*count >= goal)
        return;
    fprintf(stderr, "follow: %s: %llu of %llu after %.0f s\n", what, (unsigned long long)*count,
        (unsigned long long)goal, seconds);
    for (size_t i = 0; i < c->readers_n; i++)
        print_missing(c->readers[i]);
    exit(1);
}

void crowd_run_for(
    struct crowd *c, double seconds, unsigned tick_us, void (*on_tick)(void *), void *self)
{
    static const uint64_t nothing;
    struct source tick = {ROLE_TICK, -1}, slow;
    struct play play = {on_tick, self};
    set_timer(c, &slow, ROLE_SLOW_TICK, SLOW_TICK_US);
    if (on_tick)
        set_timer(c, &tick, ROLE_TICK, tick_us);
    play_until(c, exchange_now_us() + (uint64_t)(seconds * 1e6), &nothing, 1, &play);
    if (on_tick)
        close(tick.fd);
    close(slow.fd);
}
