/* socket.c - one blocking question to a running sidecar.
 * Not here: what is asked (health.c, session.c). */
#include "cli/socket.h"

#include <errno.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"

#define PIECE (16 * 1024)

/* What is left of the time becomes the limit of the next call. False: nothing is left. */
static bool limit_next_call(struct hl_cli_socket *s)
{
    uint64_t now = hl_clock_mono_ms();
    if (now >= s->deadline)
        return false;
    uint64_t left = s->deadline - now;
    struct timeval tv = {(time_t)(left / 1000), (suseconds_t)(left % 1000 * 1000)};
    return setsockopt(s->fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)) == 0 &&
           setsockopt(s->fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) == 0;
}

/* errno after a call that may have met its time limit. */
static int error_of_call(void)
{
    return errno == EAGAIN || errno == EINPROGRESS ? ETIMEDOUT : errno;
}

int hl_cli_socket_connect(
    struct hl_cli_socket *s, const struct sockaddr *address, socklen_t len, uint64_t deadline_ms)
{
    s->deadline = hl_clock_mono_ms() + deadline_ms;
    s->fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s->fd < 0)
        return errno;
    if (!limit_next_call(s))
        return ETIMEDOUT;
    return connect(s->fd, address, len) == 0 ? 0 : error_of_call();
}

int hl_cli_socket_send(struct hl_cli_socket *s, struct hl_str bytes)
{
    while (bytes.n > 0) {
        if (!limit_next_call(s))
            return ETIMEDOUT;
        ssize_t n = send(s->fd, bytes.p, bytes.n, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_of_call();
        bytes.p += n;
        bytes.n -= (size_t)n;
    }
    return 0;
}

/* With a time limit a signal ends a call, whatever its handler asks for. */
static int receive(struct hl_cli_socket *s, char *piece, size_t *n)
{
    ssize_t got;
    do {
        if (!limit_next_call(s))
            return ETIMEDOUT;
        got = recv(s->fd, piece, *n, 0);
    } while (got < 0 && errno == EINTR);
    *n = got < 0 ? 0 : (size_t)got;
    return got < 0 ? error_of_call() : 0;
}

int hl_cli_socket_read_some(struct hl_cli_socket *s, struct hl_buf *out)
{
    char piece[PIECE];
    size_t n = sizeof(piece);
    int error = receive(s, piece, &n);
    if (error)
        return error;
    return hl_buf_append(out, piece, n) == HL_OK ? 0 : ENOMEM;
}

int hl_cli_socket_read(struct hl_cli_socket *s, struct hl_buf *out)
{
    char piece[PIECE];
    for (;;) {
        size_t n = sizeof(piece);
        int error = receive(s, piece, &n);
        if (error)
            return error;
        size_t room = out->max > 0 ? out->max - out->n : n;
        size_t take = n < room ? n : room;
        if (hl_buf_append(out, piece, take) != HL_OK)
            return ENOMEM;
        if (n == 0 || take < n)
            return 0;
    }
}

void hl_cli_socket_close(struct hl_cli_socket *s)
{
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
}

const char *hl_cli_socket_error(int error)
{
    return error == ETIMEDOUT ? "no answer in time" : strerror(error);
}
