/* listener.h - a listening socket of one loop, TCP or unix:; several loops listen on the same port
 * by SO_REUSEPORT, and the kernel spreads new connections over them. */
#ifndef HL_NET_LISTENER_H
#define HL_NET_LISTENER_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <uv.h>

struct hl_stream;
struct sockaddr;

struct hl_listener {
    union {
        uv_handle_t handle;
        uv_stream_t uv;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    };
    struct sockaddr_un path; /* unix: the file, removed on closing; else no sun_path */
    bool is_open;            /* the handle is live */
    bool is_waiting;         /* a connection was left in the queue because `may_accept` said no */
    void *owner;
    bool (*may_accept)(void *owner);
    void (*on_connection)(struct hl_listener *listener);
};

/* Binds without SO_REUSEPORT and listens, until the caller closes `*fd`: a port that another process
 * has is an error and not half of its traffic. errno value or 0; then `*fd` is -1. */
int hl_listener_hold(const struct sockaddr *address, int *fd);
/* Whether hl_listener_open_unix could bind there, as far as what is at `path` goes. errno value or
 * 0. */
int hl_listener_probe_unix(const char *path);

/* Opens, binds (SO_REUSEADDR, SO_REUSEPORT), listens; connections inherit TCP_NODELAY.
 * `on_connection` must call hl_listener_accept once. `may_accept`
 * (which may make room) false: nothing is accepted until hl_listener_poke. libuv error code or 0. */
int hl_listener_open(struct hl_listener *l, uv_loop_t *loop, const struct sockaddr *address,
    bool is_shared, void *owner, bool (*may_accept)(void *owner),
    void (*on_connection)(struct hl_listener *listener));

/* The same on a unix socket at `path`, made with the permissions `mode` less the umask. A socket
 * that nobody listens on any more is replaced; one that somebody does is UV_EADDRINUSE. */
int hl_listener_open_unix(struct hl_listener *l, uv_loop_t *loop, const char *path, mode_t mode,
    void *owner, bool (*may_accept)(void *owner),
    void (*on_connection)(struct hl_listener *listener));

/* Takes the waiting connection into an initialised stream of the listener's kind. libuv error code
 * or 0. */
int hl_listener_accept(struct hl_listener *l, struct hl_stream *stream);

/* The next connection of the kernel's queue as a non-blocking descriptor, owned by the caller; -1:
 * none waits. */
int hl_listener_take(struct hl_listener *l);

/* There is room again. */
void hl_listener_poke(struct hl_listener *l);

/* The port that was bound (for port 0); 0: unix, or not open. */
uint16_t hl_listener_port(const struct hl_listener *l);

void hl_listener_close(
    struct hl_listener *l); /* `l` stays valid until the loop ran its close callbacks */

#endif
