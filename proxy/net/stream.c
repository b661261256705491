/* stream.c - one connected socket as a source of typed events.
 * Owns: the libuv handle and copies of unsent bytes. Thread: the loop's.
 * Promise: no memory while nothing is unsent; no event from inside a call of the owner's.
 * Not here: what the bytes mean (http/), who pauses whom (run/). */
#include "net/stream.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <uv/unix.h>

#include "base/assert.h"
#include "base/str.h"
#include "loop/wheel.h"

struct unsent {
    uv_write_t request;
    struct hl_stream *stream;
    char bytes[];
};

static void on_prepare(uv_prepare_t *prepare)
{
    HL_CONTAINER_OF(prepare, struct hl_reader, prepare)->turn++;
}

int hl_reader_init(struct hl_reader *reader, uv_loop_t *loop)
{
    reader->turn = 1;
    reader->buffer = malloc(HL_READ_SIZE_LONG);
    if (!reader->buffer)
        return UV_ENOMEM;
    int rc = uv_prepare_init(loop, &reader->prepare);
    if (rc == 0)
        rc = uv_prepare_start(&reader->prepare, on_prepare);
    uv_unref((uv_handle_t *)&reader->prepare);
    return rc;
}

void hl_reader_close(struct hl_reader *reader)
{
    uv_close((uv_handle_t *)&reader->prepare, NULL);
}

void hl_reader_fini(struct hl_reader *reader)
{
    free(reader->buffer);
    reader->buffer = NULL;
}

static void init_fields(struct hl_stream *s, struct hl_reader *reader,
    void (*on_event)(struct hl_stream *stream, const struct hl_stream_event *event))
{
    s->reader = reader;
    s->on_event = on_event;
    s->layer = NULL;
    s->layered = NULL;
    s->read_size = HL_READ_SIZE;
    s->reads = 0;
    s->turn = 0;
    s->is_reading = s->is_closing = s->has_failed = s->is_shut = s->shuts_when_drained = false;
    s->write_error = 0;
    s->writes = 0;
    s->written = 0;
}

int hl_stream_init_tcp(struct hl_stream *s, uv_loop_t *loop, struct hl_reader *reader,
    void (*on_event)(struct hl_stream *stream, const struct hl_stream_event *event))
{
    init_fields(s, reader, on_event);
    return uv_tcp_init(loop, &s->tcp);
}

int hl_stream_init_unix(struct hl_stream *s, uv_loop_t *loop, struct hl_reader *reader,
    void (*on_event)(struct hl_stream *stream, const struct hl_stream_event *event))
{
    init_fields(s, reader, on_event);
    return uv_pipe_init(loop, &s->pipe, 0);
}

static void raise_event(struct hl_stream *s, enum hl_stream_event_kind kind, int error)
{
    s->on_event(s, &(struct hl_stream_event){.kind = kind, .error = error});
}

struct connecting {
    uv_connect_t request;
    struct hl_stream *stream;
};

static void on_connect(uv_connect_t *request, int status)
{
    struct connecting *c = HL_CONTAINER_OF(request, struct connecting, request);
    struct hl_stream *s = c->stream;
    free(c);
    if (!s->is_closing)
        raise_event(s, HL_STREAM_CONNECTED, status);
}

int hl_stream_connect_tcp(struct hl_stream *s, const struct sockaddr *address)
{
    struct connecting *c = malloc(sizeof(*c));
    if (!c)
        return UV_ENOMEM;
    c->stream = s;
    int rc = uv_tcp_nodelay(&s->tcp, 1); /* kept by libuv until there is a socket */
    if (rc == 0)
        rc = uv_tcp_connect(&c->request, &s->tcp, address, on_connect);
    if (rc != 0)
        free(c);
    return rc;
}

int hl_stream_connect_unix(struct hl_stream *s, const char *path)
{
    struct connecting *c = malloc(sizeof(*c));
    if (!c)
        return UV_ENOMEM;
    c->stream = s;
    uv_pipe_connect(&c->request, &s->pipe, path, on_connect);
    return 0;
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    (void)suggested;
    struct hl_stream *s = HL_CONTAINER_OF(handle, struct hl_stream, handle);
    if (s->turn != s->reader->turn) {
        s->turn = s->reader->turn;
        s->reads = 0;
    }
    bool has_had_its_share = s->reads++ >= HL_READS_PER_TURN;
    *out = uv_buf_init(s->reader->buffer, has_had_its_share ? 0 : s->read_size);
}

/* libuv says EOF, too, when bytes and a reset come together (POLLHUP behind a short read): what was
 * cut off would look whole. EPIPE is what a reset behind a FIN leaves on the socket. */
static bool was_reset(const struct hl_stream *s)
{
    uv_os_fd_t fd;
    int error = 0;
    socklen_t n = sizeof(error);
    return uv_fileno(&s->handle, &fd) == 0 &&
           getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n) == 0 && error != 0 && error != EPIPE;
}

/* What came before is read. A write that failed has taken the error off the socket, and its end looks
 * like the peer's. */
static ssize_t end_of(const struct hl_stream *s)
{
    if (s->write_error != 0 && s->write_error != UV_EPIPE)
        return s->write_error;
    return was_reset(s) ? UV_ECONNRESET : UV_EOF;
}

static void stop_reading(struct hl_stream *s)
{
    s->is_reading = false;
    uv_read_stop(&s->uv);
}

static void on_read(uv_stream_t *uv, ssize_t n, const uv_buf_t *buf)
{
    struct hl_stream *s = HL_CONTAINER_OF(uv, struct hl_stream, uv);
    if (n == UV_EOF)
        n = end_of(s);
    if (n > 0) {
        struct hl_stream_event event = {.kind = HL_STREAM_DATA, .p = buf->base, .n = (size_t)n};
        s->on_event(s, &event);
    } else if (n == UV_EOF) {
        stop_reading(s);
        raise_event(s, HL_STREAM_EOF, 0);
    } else if (n < 0 && n != UV_ENOBUFS) {
        s->has_failed = true;
        stop_reading(s);
        raise_event(s, HL_STREAM_FAILED, (int)n);
    }
}

void hl_stream_resume(struct hl_stream *s)
{
    if (s->is_reading || s->is_closing)
        return;
    s->is_reading = true;
    if (s->layer)
        s->layer->set_reading(s, true);
    else
        uv_read_start(&s->uv, on_alloc, on_read);
}

void hl_stream_pause(struct hl_stream *s)
{
    if (!s->is_reading)
        return;
    s->is_reading = false;
    if (s->layer)
        s->layer->set_reading(s, false);
    else
        uv_read_stop(&s->uv);
}

void hl_socket_set_reading(struct hl_stream *s, bool is_on)
{
    if (s->is_closing)
        return;
    if (is_on)
        uv_read_start(&s->uv, on_alloc, on_read); /* harmless when it is on */
    else
        uv_read_stop(&s->uv);
}

static void on_written(uv_write_t *request, int status)
{
    struct unsent *u = HL_CONTAINER_OF(request, struct unsent, request);
    struct hl_stream *s = u->stream;
    free(u);
    s->writes--;
    if (s->is_closing)
        return;
    if (status < 0) {
        if (s->has_failed)
            return;
        s->has_failed = true;
        s->write_error = status;
        raise_event(s, HL_STREAM_WRITE_FAILED, status);
    } else if (s->writes == 0) {
        if (s->shuts_when_drained)
            hl_socket_shutdown(s);
        raise_event(s, HL_STREAM_DRAINED, 0);
    }
}

/* Copies what the socket did not take. */
static enum hl_err queue_rest(struct hl_stream *s, struct hl_str first, struct hl_str second)
{
    size_t n = first.n + second.n;
    struct unsent *u = malloc(sizeof(*u) + n);
    if (!u)
        return HL_ERR_NOMEM;
    u->stream = s;
    if (first.n)
        memcpy(u->bytes, first.p, first.n);
    if (second.n)
        memcpy(u->bytes + first.n, second.p, second.n);
    uv_buf_t buf = uv_buf_init(u->bytes, (unsigned)n);
    if (uv_write(&u->request, &s->uv, &buf, 1, on_written) != 0) {
        free(u);
        return HL_ERR_IO;
    }
    s->writes++;
    s->written += n;
    return HL_OK;
}

enum hl_err hl_stream_write2(struct hl_stream *s, struct hl_str first, struct hl_str second)
{
    return s->layer ? s->layer->write2(s, first, second) : hl_socket_write2(s, first, second);
}

enum hl_err hl_socket_write2(struct hl_stream *s, struct hl_str first, struct hl_str second)
{
    if (s->is_closing || s->has_failed || s->is_shut)
        return HL_ERR_IO;
    uv_buf_t bufs[2] = {uv_buf_init((char *)(uintptr_t)first.p, (unsigned)first.n),
        uv_buf_init((char *)(uintptr_t)second.p, (unsigned)second.n)};
    int taken = s->writes > 0 ? UV_EAGAIN : uv_try_write(&s->uv, bufs, second.n ? 2 : 1);
    if (taken == UV_EAGAIN)
        taken = 0;
    if (taken < 0) {
        s->has_failed = true;
        s->write_error = taken;
        return HL_ERR_IO;
    }
    size_t n = (size_t)taken;
    s->written += n;
    if (n == first.n + second.n)
        return HL_OK;
    if (n < first.n)
        return queue_rest(s, (struct hl_str){first.p + n, first.n - n}, second);
    n -= first.n;
    return queue_rest(s, (struct hl_str){NULL, 0}, (struct hl_str){second.p + n, second.n - n});
}

enum hl_err hl_stream_write(struct hl_stream *s, const char *p, size_t n)
{
    return hl_stream_write2(s, (struct hl_str){p, n}, (struct hl_str){NULL, 0});
}

size_t hl_stream_unsent(const struct hl_stream *s)
{
    return uv_stream_get_write_queue_size(&s->uv);
}

uint64_t hl_stream_taken(const struct hl_stream *s)
{
    uv_os_fd_t fd;
    int in_kernel = 0;
    if (uv_fileno(&s->handle, &fd) != 0 || ioctl(fd, SIOCOUTQ, &in_kernel) != 0)
        in_kernel = 0;
    uint64_t waiting = hl_stream_unsent(s) + (uint64_t)in_kernel;
    return waiting < s->written ? s->written - waiting : 0; /* unix: whole buffers count */
}

bool hl_stream_has_peer_left(const struct hl_stream *s)
{
    uv_os_fd_t fd;
    if (uv_fileno(&s->handle, &fd) != 0)
        return true;
    struct pollfd look = {.fd = fd, .events = POLLRDHUP};
    return poll(&look, 1, 0) > 0;
}

bool hl_stream_has_unread(const struct hl_stream *s)
{
    uv_os_fd_t fd;
    char byte;
    return uv_fileno(&s->handle, &fd) == 0 && recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* Asked for each call. By syscall(), as libc's recv() costs three times as much: threads may be
 * cancelled in it. */
bool hl_stream_is_quiet(const struct hl_stream *s)
{
    uv_os_fd_t fd;
    char byte;
    return uv_fileno(&s->handle, &fd) == 0 &&
           syscall(SYS_recvfrom, fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT, NULL, NULL) < 0 &&
           errno == EAGAIN;
}

static void on_shutdown(uv_shutdown_t *request, int status)
{
    (void)status; /* a peer that has gone shows as EOF or a failure */
    free(request);
}

void hl_stream_shutdown(struct hl_stream *s)
{
    if (s->layer)
        s->layer->shutdown(s);
    else
        hl_socket_shutdown(s);
}

void hl_socket_shutdown(struct hl_stream *s)
{
    if (s->is_closing || s->has_failed || s->is_shut)
        return;
    if (s->writes > 0) {
        s->shuts_when_drained = true;
        return;
    }
    s->is_shut = true;
    uv_shutdown_t *request = malloc(sizeof(*request));
    if (request && uv_shutdown(request, &s->uv, on_shutdown) == 0)
        return;
    free(request);
    uv_os_fd_t fd;
    if (uv_fileno(&s->handle, &fd) == 0)
        shutdown(fd, SHUT_WR); /* nothing is unsent */
}

static void on_close(uv_handle_t *handle)
{
    struct hl_stream *s = HL_CONTAINER_OF(handle, struct hl_stream, handle);
    raise_event(s, HL_STREAM_CLOSED, 0);
}

static void close_socket(struct hl_stream *s)
{
    s->is_closing = true;
    s->is_reading = false;
    uv_close(&s->handle, on_close);
}

void hl_stream_close(struct hl_stream *s)
{
    if (s->is_closing)
        return;
    if (s->layer)
        s->layer->end(s);
    close_socket(s);
}

void hl_stream_close_reset(struct hl_stream *s)
{
    if (s->is_closing)
        return;
    if (s->handle.type == UV_TCP && !s->is_shut && uv_tcp_close_reset(&s->tcp, on_close) == 0) {
        s->is_closing = true;
        s->is_reading = false;
        return;
    }
    close_socket(s);
}

/* ---- a stream that is blocked: the kernel is asked only when a deadline is set or has passed; what becomes of a
 * peer that takes nothing is for its owner ---- */

static void begin(struct hl_stall *stall, uint64_t taken, struct hl_wheel *wheel,
    struct hl_timer *timer, uint64_t timeout_ms)
{
    stall->is_watched = true;
    stall->taken = taken;
    hl_timer_arm(wheel, timer, timeout_ms > HL_STALL_LEAST_MS ? timeout_ms : HL_STALL_LEAST_MS);
}

void hl_stall_watch(struct hl_stall *stall, const struct hl_stream *stream, struct hl_wheel *wheel,
    struct hl_timer *timer, uint64_t timeout_ms)
{
    if (!stall->is_watched)
        begin(stall, hl_stream_taken(stream), wheel, timer, timeout_ms);
}

bool hl_stall_is_over(struct hl_stall *stall, const struct hl_stream *stream,
    struct hl_wheel *wheel, struct hl_timer *timer, uint64_t timeout_ms)
{
    uint64_t taken = hl_stream_taken(stream);
    if (stall->is_watched && taken <= stall->taken)
        return true;
    begin(stall, taken, wheel, timer, timeout_ms);
    return false;
}

/* ---- how long a connection stays after its last answer ---- */

void hl_linger_arm(struct hl_linger *linger, struct hl_wheel *wheel, struct hl_timer *timer)
{
    uint64_t now = uv_now(wheel->loop);
    if (linger->until == 0)
        linger->until = now + HL_LINGER_MOST_MS;
    uint64_t left = linger->until > now ? linger->until - now : 0;
    hl_timer_arm(wheel, timer, left < HL_LINGER_SILENCE_MS ? left : HL_LINGER_SILENCE_MS);
}

/* ---- whether the machine at the other end of a TCP connection is still there ---- */

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
