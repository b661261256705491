/* listener.c - a listening socket of one loop.
 * Owns: the libuv handle, the file of a unix socket. Thread: the loop's.
 * Not here: what a connection is (its owner). */
#include "net/listener.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>
#include <uv/unix.h>

#include "net/peer.h"
#include "net/stream.h"

#define BACKLOG    1024 /* the kernel cuts it to net.core.somaxconn */
#define UNSENT_MAX (128 * 1024)
/* A caller whose machine vanished: while an app computes nothing is written to it. */
#define PROBE_IDLE_S     60
#define PROBE_INTERVAL_S 15
#define PROBES           4

static socklen_t address_len(const struct sockaddr *address)
{
    return address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                          : sizeof(struct sockaddr_in);
}

/* What the kernel holds for a peer that reads slowly, beyond what is on its way: without a bound, up
 * to net.ipv4.tcp_wmem (4 MiB). Not SO_SNDBUF, which would bound what is on its way as well, and so
 * the speed over long distances. Connections inherit this. */
static void bound_unsent(int fd)
{
    int bytes = UNSENT_MAX;
    setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof(bytes));
}

/* A bound socket, or -1 with errno. */
static int open_bound(const struct sockaddr *address, bool is_shared)
{
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    hl_peer_probe(fd, PROBE_IDLE_S, PROBE_INTERVAL_S, PROBES);
    bound_unsent(fd);
    if (address->sa_family == AF_INET6) {
        int off = 0;
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    }
    if ((!is_shared || setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) == 0) &&
        bind(fd, address, address_len(address)) == 0)
        return fd;
    int err = errno;
    close(fd);
    errno = err;
    return -1;
}

int hl_listener_hold(const struct sockaddr *address, int *fd)
{
    *fd = open_bound(address, false);
    if (*fd < 0)
        return errno;
    if (listen(*fd, 1) == 0) /* SO_REUSEADDR lets a bind through that listen refuses */
        return 0;
    int err = errno;
    close(*fd);
    *fd = -1;
    return err;
}

static void on_pending(uv_stream_t *server, int status)
{
    struct hl_listener *l = HL_CONTAINER_OF(server, struct hl_listener, uv);
    if (status < 0)
        return;           /* out of descriptors: libuv keeps the queue and calls again */
    l->is_waiting = true; /* libuv stops polling until the connection is accepted */
    if (l->may_accept(l->owner))
        l->on_connection(l);
}

static void prepare(struct hl_listener *l, void *owner, bool (*may_accept)(void *owner),
    void (*on_connection)(struct hl_listener *listener))
{
    l->is_open = l->is_waiting = false;
    l->path.sun_path[0] = '\0';
    l->owner = owner;
    l->may_accept = may_accept;
    l->on_connection = on_connection;
}

int hl_listener_open(struct hl_listener *l, uv_loop_t *loop, const struct sockaddr *address,
    bool is_shared, void *owner, bool (*may_accept)(void *owner),
    void (*on_connection)(struct hl_listener *listener))
{
    prepare(l, owner, may_accept, on_connection);
    int fd = open_bound(address, is_shared);
    if (fd < 0)
        return uv_translate_sys_error(errno);
    int rc = uv_tcp_init(loop, &l->tcp);
    if (rc == 0) {
        l->is_open = true;
        rc = uv_tcp_open(&l->tcp, fd);
    }
    if (rc != 0) {
        close(fd);
        return rc;
    }
    return uv_listen(&l->uv, BACKLOG, on_pending);
}

/* Whether the file is a socket that refuses callers: what a process that was killed leaves. */
static bool is_abandoned(const struct sockaddr_un *address)
{
    struct stat st;
    if (lstat(address->sun_path, &st) != 0 || !S_ISSOCK(st.st_mode))
        return false;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    bool is_refused = connect(fd, (const struct sockaddr *)address, sizeof(*address)) != 0 &&
                      errno == ECONNREFUSED;
    close(fd);
    return is_refused;
}

int hl_listener_probe_unix(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat st;
    if (path[0] == '\0' || strlen(path) >= sizeof(address.sun_path))
        return ENAMETOOLONG;
    memcpy(address.sun_path, path, strlen(path));
    if (lstat(path, &st) != 0)
        return errno == ENOENT ? 0 : errno;
    return is_abandoned(&address) ? 0 : EADDRINUSE;
}

/* A bound socket, or -1 with errno. Its file has the socket's own mode from its first moment. */
static int open_bound_unix(const struct sockaddr_un *address, mode_t mode)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (fchmod(fd, mode) == 0) {
        if (is_abandoned(address))
            unlink(address->sun_path);
        if (bind(fd, (const struct sockaddr *)address, sizeof(*address)) == 0)
            return fd;
    }
    int err = errno;
    close(fd);
    errno = err;
    return -1;
}

int hl_listener_open_unix(struct hl_listener *l, uv_loop_t *loop, const char *path, mode_t mode,
    void *owner, bool (*may_accept)(void *owner),
    void (*on_connection)(struct hl_listener *listener))
{
    prepare(l, owner, may_accept, on_connection);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (path[0] == '\0' || strlen(path) >= sizeof(address.sun_path))
        return UV_ENAMETOOLONG;
    memcpy(address.sun_path, path, strlen(path));
    int fd = open_bound_unix(&address, mode);
    if (fd < 0)
        return uv_translate_sys_error(errno);
    int rc = uv_pipe_init(loop, &l->pipe, 0);
    if (rc == 0) {
        l->is_open = true;
        l->path = address;
        rc = uv_pipe_open(&l->pipe, fd);
    }
    if (rc != 0) {
        close(fd);
        unlink(address.sun_path);
        return rc;
    }
    return uv_listen(&l->uv, BACKLOG, on_pending);
}

int hl_listener_accept(struct hl_listener *l, struct hl_stream *stream)
{
    l->is_waiting = false;
    return uv_accept(&l->uv, &stream->uv);
}

int hl_listener_take(struct hl_listener *l)
{
    uv_os_fd_t fd;
    if (!l->is_open || uv_fileno(&l->handle, &fd) != 0)
        return -1;
    return accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

void hl_listener_poke(struct hl_listener *l)
{
    if (!l->is_open || !l->is_waiting || !l->may_accept(l->owner))
        return;
    l->on_connection(l);
}

uint16_t hl_listener_port(const struct hl_listener *l)
{
    struct sockaddr_storage ss;
    int n = sizeof(ss);
    if (!l->is_open || l->handle.type != UV_TCP ||
        uv_tcp_getsockname(&l->tcp, (struct sockaddr *)&ss, &n) != 0)
        return 0;
    return ntohs(ss.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&ss)->sin6_port
                                          : ((struct sockaddr_in *)&ss)->sin_port);
}

void hl_listener_close(struct hl_listener *l)
{
    if (!l->is_open)
        return;
    l->is_open = false;
    if (l->path.sun_path[0])
        unlink(l->path.sun_path);
    uv_close(&l->handle, NULL);
}
