/* stream.h - one connected socket (TCP or unix:) as a source of typed events: reading into a shared
 * buffer, writing with what the socket did not take kept back, pausing for back-pressure.
 *
 * Rules it keeps (proxy/README.md, "The data plane's rules"): a read goes into the loop's one
 * buffer, so a stream that waits owns no memory; a write is tried at once, and a write request is
 * made only for the rest; reading stays on between messages (no epoll_ctl per call); a stream that is
 * always readable gets a bounded number of reads per loop turn. */
#ifndef HL_NET_STREAM_H
#define HL_NET_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"

struct hl_stream;
struct hl_timer;
struct hl_wheel;
struct sockaddr;

#define HL_READ_SIZE      (64 * 1024)  /* one read of a small call */
#define HL_READ_SIZE_LONG (256 * 1024) /* one read inside a long body */
#define HL_READS_PER_TURN 4            /* full reads before other streams get their turn */

/* What all streams of a loop share. One per loop. */
struct hl_reader {
    char *buffer;  /* HL_READ_SIZE_LONG bytes */
    uint64_t turn; /* counts loop iterations */
    uv_prepare_t prepare;
};

int hl_reader_init(struct hl_reader *reader, uv_loop_t *loop); /* libuv error code or 0 */
void hl_reader_close(struct hl_reader *reader);                /* closes the handle */
void hl_reader_fini(struct hl_reader *reader); /* after the loop ran its close callbacks */

enum hl_stream_event_kind {
    HL_STREAM_CONNECTED, /* error is 0 or says why not */
    HL_STREAM_DATA,      /* p[0..n), valid during the call only */
    HL_STREAM_EOF,       /* the peer sends no more */
    HL_STREAM_FAILED,    /* the connection is broken: error; close it */
    /* What was held back is lost, and nothing else can be written: error. What the peer sent before is
     * still read; its end, or FAILED, comes behind it. */
    HL_STREAM_WRITE_FAILED,
    HL_STREAM_DRAINED, /* all that was held back is written */
    HL_STREAM_CLOSED,  /* last event: the memory may go */
};

struct hl_stream_event {
    enum hl_stream_event_kind kind;
    int error; /* libuv code */
    const char *p;
    size_t n;
};

/* What may stand between a socket and the stream's owner, such as TLS: it takes the place of `on_event`,
 * and is asked instead of the socket. Of the functions below, those that begin with hl_stream_ are for the
 * owner, and those with hl_socket_ for the layer. */
struct hl_stream_layer {
    enum hl_err (*write2)(struct hl_stream *s, struct hl_str first, struct hl_str second);
    void (*set_reading)(struct hl_stream *s, bool is_on); /* `is_reading` has changed */
    void (*shutdown)(struct hl_stream *s);
    void (*end)(struct hl_stream *s); /* it is about to be closed, not by a reset */
};

struct hl_stream {
    union {
        uv_handle_t handle;
        uv_stream_t uv;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    };
    struct hl_reader *reader;
    void (*on_event)(struct hl_stream *stream, const struct hl_stream_event *event);
    const struct hl_stream_layer *layer; /* NULL: there is none, and no `layered` */
    void *layered;                       /* the layer's own */
    uint32_t read_size;
    uint32_t reads; /* in loop turn `turn` */
    uint64_t turn;
    bool is_reading; /* the owner wants to */
    bool is_closing, has_failed, is_shut;
    bool shuts_when_drained;
    int write_error; /* libuv code of the write that failed: it is not told again behind what is read */
    uint32_t writes;  /* write requests not finished */
    uint64_t written; /* bytes that it took or keeps, and no others */
};

/* Not connected, not reading. libuv error code or 0 (then close it, even if never connected). */
int hl_stream_init_tcp(struct hl_stream *s, uv_loop_t *loop, struct hl_reader *reader,
    void (*on_event)(struct hl_stream *stream, const struct hl_stream_event *event));
int hl_stream_init_unix(struct hl_stream *s, uv_loop_t *loop, struct hl_reader *reader,
    void (*on_event)(struct hl_stream *stream, const struct hl_stream_event *event));

/* Begins a connect; HL_STREAM_CONNECTED follows, never before the return. libuv error code or 0. */
int hl_stream_connect_tcp(struct hl_stream *s, const struct sockaddr *address);
int hl_stream_connect_unix(struct hl_stream *s, const char *path);

/* Reading on or off; both are free when nothing changes. */
void hl_stream_resume(struct hl_stream *s);
void hl_stream_pause(struct hl_stream *s);

/* Writes all of it: what the socket does not take now is copied and goes out later
 * (HL_STREAM_DRAINED follows). HL_OK also when some was kept: ask hl_stream_is_blocked and pause
 * the source. HL_ERR_IO: the peer has gone (HL_STREAM_WRITE_FAILED does not follow); HL_ERR_NOMEM. No
 * event is raised before the return. */
HL_MUST_CHECK enum hl_err hl_stream_write(struct hl_stream *s, const char *p, size_t n);
HL_MUST_CHECK enum hl_err hl_stream_write2(
    struct hl_stream *s, struct hl_str first, struct hl_str second);

/* Bytes wait for the socket. */
static inline bool hl_stream_is_blocked(const struct hl_stream *s)
{
    return s->writes > 0;
}
/* How many. */
size_t hl_stream_unsent(const struct hl_stream *s);
/* Of all that was written, how many bytes the peer has: what waits here, or in the kernel and was not
 * acknowledged (unix: not read), does not count. A system call. */
uint64_t hl_stream_taken(const struct hl_stream *s);

/* The peer has ended its side or reset the connection, whatever of it is still unread. One system
 * call. */
bool hl_stream_has_peer_left(const struct hl_stream *s);

/* Bytes wait in the kernel that were not read. One system call. */
bool hl_stream_has_unread(const struct hl_stream *s);

/* Nothing waits in the kernel: neither bytes nor the peer's end nor a reset. One system call. */
bool hl_stream_is_quiet(const struct hl_stream *s);

/* Sends FIN once everything is written. */
void hl_stream_shutdown(struct hl_stream *s);

/* Closes; HL_STREAM_CLOSED follows and nothing else. What was not sent is dropped. Harmless twice.
 * `_reset` sends RST. */
void hl_stream_close(struct hl_stream *s);
void hl_stream_close_reset(struct hl_stream *s);

/* ---- the socket below a layer ---- */

void hl_socket_set_reading(struct hl_stream *s, bool is_on);
HL_MUST_CHECK enum hl_err hl_socket_write2(
    struct hl_stream *s, struct hl_str first, struct hl_str second);
void hl_socket_shutdown(struct hl_stream *s);

/* ---- a stream that is blocked ---- */

/* Whoever reads slowly takes in lumps: a receiver opens a closed window again when a good part of its
 * buffer is free. 5 s of silence were measured in steady reading at 12 KB/s, so shorter deadlines
 * count as this one. */
#define HL_STALL_LEAST_MS 15000

struct hl_stall {
    bool is_watched;
    uint64_t taken; /* by the peer when the deadline was set */
};

/* The stream is blocked: sets `timer`, unless it runs for this already. */
void hl_stall_watch(struct hl_stall *stall, const struct hl_stream *stream, struct hl_wheel *wheel,
    struct hl_timer *timer, uint64_t timeout_ms);
/* The timer has fired, the stream is blocked. True: the peer took nothing meanwhile. Else the timer
 * is set anew. */
HL_MUST_CHECK bool hl_stall_is_over(struct hl_stall *stall, const struct hl_stream *stream,
    struct hl_wheel *wheel, struct hl_timer *timer, uint64_t timeout_ms);
/* The stream is not blocked any more; the timer is for something else. */
static inline void hl_stall_end(struct hl_stall *stall)
{
    stall->is_watched = false;
}

/* ---- how long a connection stays after its last answer for a peer that still sends: a close
 * with unread bytes is a reset, which destroys the answer on its way (RFC 9112 9.6). As long as the
 * peer goes on, within bounds ---- */

#define HL_LINGER_SILENCE_MS 2000
#define HL_LINGER_MOST_MS    30000 /* in all */

struct hl_linger {
    uint64_t until; /* uv_now() ms; 0: not begun */
};

/* The answer is written, or bytes came and were dropped: sets `timer`. When it fires, it is time to
 * close. */
void hl_linger_arm(struct hl_linger *linger, struct hl_wheel *wheel, struct hl_timer *timer);

/* ---- whether the machine at the other end of a TCP connection is still there: one that vanished
 * sends neither FIN nor RST ---- */

/* While the connection is quiet the kernel probes after `idle_s`, then every `interval_s`; after
 * `probes` without an answer the connection has failed. On a listening socket: for those it
 * accepts. */
void hl_peer_probe(int fd, int idle_s, int interval_s, int probes);

/* How long a peer has not acknowledged what it was sent. */
struct hl_silence {
    uint64_t since_ms; /* 0: it does */
};

/* One look, to be repeated every few seconds: whether bytes, or probes of a closed window, have
 * been sent again and again for `limit_ms` without one acknowledgment. A peer that answers and
 * takes nothing is not silent: TCP_USER_TIMEOUT would end its connection as well. False if not TCP. */
HL_MUST_CHECK bool hl_peer_is_silent(
    struct hl_silence *silence, const struct hl_stream *stream, uint64_t now_ms, uint64_t limit_ms);

#endif
