/* log_sink.c - where the log's lines go.
 * Owns: who takes them. Any thread.
 * Promise: a line is one write(2) where it is taken whole, so that lines of threads do not mix.
 * Here too: the last words of a process one of whose own invariants is broken (assert.h).
 * Not here: what a line looks like (log.c), the thread that writes for all others
 * (loop/log_writer.c). */
#include "base/log_sink.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/assert.h"

static const struct hl_log_sink *_Atomic sink;

void hl_log_sink_use(const struct hl_log_sink *to)
{
    atomic_store(&sink, to);
}

static void write_now(const char *p, size_t n)
{
    while (n > 0) {
        ssize_t written = write(STDERR_FILENO, p, n);
        if (written < 0 && errno != EINTR)
            return; /* a log that cannot be written has nowhere to say so */
        if (written > 0) {
            p += written;
            n -= (size_t)written;
        }
    }
}

void hl_log_sink_put(const char *lines, size_t n)
{
    const struct hl_log_sink *to = atomic_load(&sink);
    if (to)
        to->put(lines, n);
    else
        write_now(lines, n);
}

bool hl_log_sink_has_room(void)
{
    const struct hl_log_sink *to = atomic_load(&sink);
    struct pollfd stderr_fd = {.fd = STDERR_FILENO, .events = POLLOUT};
    int unread, size = to ? 0 : fcntl(STDERR_FILENO, F_GETPIPE_SZ);
    if (to)
        return to->has_room();
    if (size > 0 && ioctl(STDERR_FILENO, FIONREAD, &unread) == 0)
        return unread < size / 2;
    return poll(&stderr_fd, 1, 0) == 1;
}

void hl_log_sink_put_last(const char *text, size_t n)
{
    const struct hl_log_sink *to = atomic_load(&sink);
    struct pollfd stderr_fd = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (to)
        to->flush(HL_LOG_LAST_MS);
    if (poll(&stderr_fd, 1, HL_LOG_LAST_MS) != 1)
        return;
    ssize_t written = write(STDERR_FILENO, text, n);
    (void)written; /* as above */
}

void hl_assert_failed(const char *claim, const char *file, int line)
{
    char text[512]; /* written in one piece, and not at all where it would wait forever */
    snprintf(text, sizeof(text), "hookline: bug: %s:%d: assertion failed: %s\n", file, line, claim);
    hl_log_sink_put_last(text, strlen(text));
    abort();
}
