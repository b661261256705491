/* listener.c - a listening socket of one loop.
 * Owns: the socket and its poll handle, the file of a unix socket, a connection until its owner takes
 * it. Thread: the loop's.
 * Promise: a loop that cannot accept (no room, memory or descriptor) waits, and tries again by itself.
 * Not here: what a connection is, and whose may have a descriptor that is held back (its owner).
 *
 * Not uv_listen: where accept fails, it asks again in a loop of its own, for as long as it fails; and
 * out of descriptors it closes all who wait. */
#include "net/listener.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv/unix.h>

#include "base/log.h"
#include "net/stream.h"

#define BACKLOG    1024 /* the kernel cuts it to net.core.somaxconn */
#define UNSENT_MAX (128 * 1024)
/* A caller whose machine vanished: while an app computes nothing is written to it. */
#define PROBE_IDLE_S     60
#define PROBE_INTERVAL_S 15
#define PROBES           4

#define AT_ONCE       64 /* accepted before others of the loop have their turn */
#define AGAIN_MS      100
#define NOTE_AGAIN_MS 60000

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

/* ---- accepting ---- */

static void on_readable(uv_poll_t *poll, int status, int events);

/* What accept reports of the connection that it takes off the queue, and not of the process
 * (accept(2), "Error handling"). */
static bool is_of_the_connection(int err)
{
    switch (err) {
    case EINTR:
    case ECONNABORTED:
    case EPROTO:
    case ENOPROTOOPT:
    case ENETDOWN:
    case ENETUNREACH:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENONET:
    case EOPNOTSUPP:
        return true;
    default:
        return false;
    }
}

/* The next connection of the queue, or -1 with errno. */
static int accept_next(const struct hl_listener *l)
{
    int fd;
    do
        fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    while (fd < 0 && is_of_the_connection(errno));
    return fd;
}

static bool is_out_of_descriptors(int fd)
{
    return fd < 0 && (errno == EMFILE || errno == ENFILE);
}

/* errno says which limit it is. Once a minute. */
static void note_shortage(struct hl_listener *l)
{
    uint64_t now = uv_now(l->host.loop) + 1;
    if (l->noted_ms != 0 && now - l->noted_ms < NOTE_AGAIN_MS)
        return;
    l->noted_ms = now;
    HL_LOG(WARN,
        "out of file descriptors: new connections wait, but for a few that health checks may use; "
        "raise the limit of open files, or lower HOOKLINE_MAX_CONNECTIONS",
        HL_LOG_TEXT("error", strerror(errno)));
}

/* Somebody waits and there is no descriptor for it: an idle connection gives way, or one is taken
 * that is held back for this. */
static int accept_short(struct hl_listener *l)
{
    const struct hl_listener_host *host = &l->host;
    note_shortage(l);
    if (host->make_room && host->make_room(host->owner)) {
        int fd = accept_next(l);
        if (!is_out_of_descriptors(fd))
            return fd;
    }
    errno = EMFILE;
    if (!host->may_use_reserve || !host->may_use_reserve(host->owner))
        return -1;
    int fd = hl_reserve_accept(l->fd);
    l->is_from_reserve = fd >= 0;
    return fd;
}

/* Nothing is accepted for a time: no turn of the loop is spent on who waits. */
static void wait_awhile(struct hl_listener *l)
{
    l->is_waiting = true;
    uv_poll_stop(&l->poll);
    hl_timer_arm(l->host.wheel, &l->again, AGAIN_MS);
}

/* Offers `accepted` to the owner. False: it was not taken, or the listener is closed. */
static bool hand_over(struct hl_listener *l)
{
    if (l->host.may_accept(l->host.owner))
        l->host.on_connection(l);
    if (l->is_open && l->accepted >= 0)
        wait_awhile(l);
    return l->is_open && l->accepted < 0;
}

static bool is_queue_empty(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK;
}

static void accept_all(struct hl_listener *l)
{
    for (unsigned i = 0; i < AT_ONCE; i++) {
        int fd = accept_next(l);
        if (is_out_of_descriptors(fd)) {
            if (i > 0)
                return; /* perhaps nobody else waits: the loop will tell */
            fd = accept_short(l);
        }
        if (fd < 0 && !is_queue_empty())
            wait_awhile(l);
        if (fd < 0)
            return;
        l->accepted = fd;
        if (!hand_over(l))
            return;
    }
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct hl_listener *l = HL_CONTAINER_OF(poll, struct hl_listener, poll);
    (void)events;
    if (status == 0)
        accept_all(l);
    else
        wait_awhile(l);
}

static void go_on(struct hl_listener *l)
{
    if (l->accepted >= 0 && !hand_over(l))
        return;
    l->is_waiting = false;
    hl_timer_disarm(&l->again);
    if (uv_poll_start(&l->poll, UV_READABLE, on_readable) != 0)
        wait_awhile(l);
}

static void on_again(struct hl_timer *timer)
{
    go_on(HL_CONTAINER_OF(timer, struct hl_listener, again));
}

void hl_listener_poke(struct hl_listener *l)
{
    if (l->is_open && l->is_waiting)
        go_on(l);
}

static int take_accepted(struct hl_listener *l)
{
    int fd = l->accepted;
    l->accepted = -1;
    l->is_from_reserve = false;
    return fd;
}

int hl_listener_accept(struct hl_listener *l, struct hl_stream *stream)
{
    int fd = take_accepted(l);
    int rc = l->is_unix ? uv_pipe_open(&stream->pipe, fd) : uv_tcp_open(&stream->tcp, fd);
    if (rc != 0)
        close(fd);
    return rc;
}

int hl_listener_take(struct hl_listener *l)
{
    if (!l->is_open)
        return -1;
    return l->accepted >= 0 ? take_accepted(l) : accept_next(l);
}

/* ---- opening ---- */

static void prepare(struct hl_listener *l, const struct hl_listener_host *host, bool is_unix)
{
    *l = (struct hl_listener){.host = *host, .fd = -1, .accepted = -1, .is_unix = is_unix};
    hl_timer_init(&l->again, on_again);
}

/* Takes `fd`. libuv error code or 0. */
static int begin(struct hl_listener *l, int fd)
{
    int rc = listen(fd, BACKLOG) == 0 ? uv_poll_init(l->host.loop, &l->poll, fd)
                                      : uv_translate_sys_error(errno);
    if (rc != 0) {
        close(fd);
        return rc;
    }
    l->is_open = true;
    l->fd = fd;
    return uv_poll_start(&l->poll, UV_READABLE, on_readable);
}

int hl_listener_open(struct hl_listener *l, const struct hl_listener_host *host,
    const struct sockaddr *address, bool is_shared)
{
    prepare(l, host, false);
    int fd = open_bound(address, is_shared);
    return fd < 0 ? uv_translate_sys_error(errno) : begin(l, fd);
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

int hl_listener_open_unix(
    struct hl_listener *l, const struct hl_listener_host *host, const char *path, mode_t mode)
{
    prepare(l, host, true);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (path[0] == '\0' || strlen(path) >= sizeof(address.sun_path))
        return UV_ENAMETOOLONG;
    memcpy(address.sun_path, path, strlen(path));
    int fd = open_bound_unix(&address, mode);
    if (fd < 0)
        return uv_translate_sys_error(errno);
    int rc = begin(l, fd);
    if (l->is_open)
        l->path = address;
    else
        unlink(address.sun_path);
    return rc;
}

uint16_t hl_listener_port(const struct hl_listener *l)
{
    struct sockaddr_storage ss;
    socklen_t n = sizeof(ss);
    if (!l->is_open || l->is_unix || getsockname(l->fd, (struct sockaddr *)&ss, &n) != 0)
        return 0;
    return ntohs(ss.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&ss)->sin6_port
                                          : ((struct sockaddr_in *)&ss)->sin_port);
}

void hl_listener_close(struct hl_listener *l)
{
    if (!l->is_open)
        return;
    l->is_open = false;
    hl_timer_fini(l->host.wheel, &l->again);
    if (l->path.sun_path[0])
        unlink(l->path.sun_path);
    uv_close(&l->handle, NULL); /* libuv lets go of the descriptor before this returns */
    close(l->fd);
    if (l->accepted >= 0)
        close(take_accepted(l));
}

/* ---- descriptors that are held back, by a soft limit of open files below the one that holds.
 * Thread: any; one at a time raises the limit, for as long as an accept takes ---- */

#define SHARE 8 /* at most one of so many that the process may have */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rlimit with_reserve, without;

void hl_reserve_hold(unsigned most)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return;
    with_reserve = without = limit;
    without.rlim_cur -= limit.rlim_cur / SHARE < most ? limit.rlim_cur / SHARE : most;
    setrlimit(RLIMIT_NOFILE, &without);
}

int hl_reserve_accept(int listening_fd)
{
    if (with_reserve.rlim_cur == without.rlim_cur) {
        errno = EMFILE;
        return -1;
    }
    pthread_mutex_lock(&lock);
    setrlimit(RLIMIT_NOFILE, &with_reserve);
    int fd = accept4(listening_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), err = errno;
    setrlimit(RLIMIT_NOFILE, &without);
    pthread_mutex_unlock(&lock);
    errno = err;
    return fd;
}
