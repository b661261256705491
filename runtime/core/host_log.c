/* host_log.c - the log of a function host, and of what a function forks.
 * Owns: what a child has dropped. Thread: any.
 * Promise: a child takes no lock that its parent may have held; whoever logs in it waits for the
 * reader of the log once, and not for long.
 * Not here: the thread that writes for a host (loop/log_writer.c), what a line looks like. */
#include "core/host_log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/log_sink.h"
#include "loop/log_writer.h"

#define END_MS        1000
#define FAILED_END_MS 5000 /* nobody waits for the process to end, but somebody wants to know why */
#define CHILD_WAIT_MS 1000

/* ---- the host ---- */

static atomic_bool is_serving;
static bool is_child; /* this process is one */

static void end(void)
{
    if (!is_child)
        hl_log_writer_stop(atomic_load(&is_serving) ? END_MS : FAILED_END_MS);
}

void hl_host_log_start(void)
{
    if (hl_log_writer_start() != 0 || atexit(end) != 0)
        HL_LOG(ERROR, "cannot start the log's thread: whoever logs waits for its reader");
}

void hl_host_log_set_serving(void)
{
    atomic_store(&is_serving, true);
}

/* ---- a child; all with its lock ---- */

static struct {
    pthread_mutex_t lock;
    uint64_t unsaid;  /* lines dropped since a line has said so */
    bool is_dropping; /* the last line found no room */
    bool is_torn;     /* stderr took a part of a line last */
} child;

/* Where to write. A pipe that others fill may be full again after poll said that it is not, so it
 * gets a description of its own, which does not wait: that of stderr is shared, and stays as it is. */
static int open_stderr(void)
{
    struct stat about;
    int fd = -1;
    if (fstat(STDERR_FILENO, &about) == 0 && S_ISFIFO(about.st_mode))
        fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    return fd >= 0 ? fd : STDERR_FILENO;
}

static ssize_t write_piece(int fd, const char *p, size_t n)
{
    size_t piece = n < PIPE_BUF ? n : PIPE_BUF; /* that much a pipe takes whole, or not */
    ssize_t sent = send(fd, p, piece, MSG_DONTWAIT | MSG_NOSIGNAL);
    return sent < 0 && errno == ENOTSOCK ? write(fd, p, piece) : sent;
}

/* True: stderr has taken all. False: it took nothing for `ms`, or never will. */
static bool write_all(int fd, const char *p, size_t n, int ms)
{
    struct pollfd writable = {.fd = fd, .events = POLLOUT};
    while (n > 0) {
        int ready = poll(&writable, 1, ms);
        ssize_t written = ready == 1 ? write_piece(fd, p, n) : -1;
        if (written > 0) {
            p += written;
            n -= (size_t)written;
            child.is_torn = p[-1] != '\n';
        } else if (ready == 0 || (errno != EINTR && errno != EAGAIN)) {
            return false;
        }
    }
    return true;
}

static bool say_dropped(int fd)
{
    char line[HL_LOG_LINE_MAX];
    struct hl_log_field fields[] = {HL_LOG_INT("lines", child.unsaid), {.name = NULL}};
    if (child.unsaid == 0 || !hl_log_is_on(HL_LOG_WARN))
        return true;
    size_t n = hl_log_build(line, HL_LOG_WARN, "the log was not read: lines were dropped", fields);
    if (!write_all(fd, line, n, 0))
        return false;
    child.unsaid = 0;
    return true;
}

static void put_of_child(const char *line, size_t n)
{
    pthread_mutex_lock(&child.lock);
    int fd = open_stderr(), ms = child.is_dropping ? 0 : CHILD_WAIT_MS;
    bool is_written = (!child.is_torn || write_all(fd, "\n", 1, ms)) && say_dropped(fd) &&
                      write_all(fd, line, n, ms);
    child.is_dropping = !is_written;
    child.unsaid += !is_written;
    if (fd != STDERR_FILENO)
        close(fd);
    pthread_mutex_unlock(&child.lock);
}

static bool child_has_room(void)
{
    return true;
}

static void flush_child(int ms)
{
    (void)ms; /* nothing waits here */
}

static const struct hl_log_sink sink_of_child = {
    .put = put_of_child, .has_room = child_has_room, .flush = flush_child};

void hl_host_log_begin_child(void)
{
    pthread_mutex_init(&child.lock, NULL); /* a process between may have forked while it was held */
    is_child = true;
    child.unsaid = 0;
    child.is_dropping = child.is_torn = false;
    hl_log_sink_use(&sink_of_child);
}
