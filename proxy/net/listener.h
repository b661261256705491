/* listener.h - a listening socket of one loop, TCP or unix:; several loops listen on the same port
 * by SO_REUSEPORT, and the kernel spreads new connections over them. */
#ifndef HL_NET_LISTENER_H
#define HL_NET_LISTENER_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <uv.h>

struct hl_listener;
struct hl_stream;
struct sockaddr;

#include "loop/wheel.h"

/* Whose connections they are. */
struct hl_listener_host {
    uv_loop_t *loop;
    struct hl_wheel *wheel;
    void *owner;
    /* Whether one more may come; may make room for it. */
    bool (*may_accept)(void *owner);
    /* No descriptor is left: closes a connection that nobody needs now. False: there is none. NULL:
     * there never is. */
    bool (*make_room)(void *owner);
    /* Whether one more may come with a descriptor of the reserve (listener.h): only for what health
     * checks ask, and not for long. NULL: none may. */
    bool (*may_use_reserve)(void *owner);
    /* Must call hl_listener_accept once, or not at all if memory is short: then it is called again
     * for the same connection. */
    void (*on_connection)(struct hl_listener *listener);
};

struct hl_listener {
    struct hl_listener_host host;
    union {
        uv_handle_t handle;
        uv_poll_t poll;
    };
    struct sockaddr_un path; /* unix: the file, removed on closing; else no sun_path */
    int fd;
    int accepted;         /* the connection that the owner has not taken yet; -1: none */
    bool is_unix;         /* the family of connections */
    bool is_open;         /* the handle is live */
    bool is_waiting;      /* nothing is accepted until `again` fires, or hl_listener_poke */
    bool is_from_reserve; /* `accepted` took a descriptor that is kept for health checks */
    struct hl_timer again;
    uint64_t noted_ms; /* when it was said that there are no descriptors; 0: never */
};

/* Binds without SO_REUSEPORT and listens, until the caller closes `*fd`: a port that another process
 * has is an error and not half of its traffic. errno value or 0; then `*fd` is -1. */
int hl_listener_hold(const struct sockaddr *address, int *fd);
/* Whether hl_listener_open_unix could bind there, as far as what is at `path` goes. errno value or
 * 0. */
int hl_listener_probe_unix(const char *path);

/* Opens, binds (SO_REUSEADDR, SO_REUSEPORT), listens; connections inherit TCP_NODELAY. While
 * `may_accept` says no, or there is neither memory nor a descriptor, nothing is accepted until
 * hl_listener_poke, or some 100 ms are over. libuv error code or 0. */
int hl_listener_open(struct hl_listener *l, const struct hl_listener_host *host,
    const struct sockaddr *address, bool is_shared);

/* The same on a unix socket at `path`, made with the permissions `mode` less the umask. A socket
 * that nobody listens on any more is replaced; one that somebody does is UV_EADDRINUSE. */
int hl_listener_open_unix(
    struct hl_listener *l, const struct hl_listener_host *host, const char *path, mode_t mode);

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

/* ---- descriptors that the process holds back for the time when it has no more, so that a
 * health check finds one. They are the last ones below the limit of open files: as nothing is open
 * there, none of them can get lost to another thread ---- */

/* Holds back `most`, or fewer where the process may not have many. Before there are other threads. */
void hl_reserve_hold(unsigned most);

/* Accepts with a descriptor of the reserve. Any thread. -1: errno says why not. */
int hl_reserve_accept(int listening_fd);

#endif
