/* log_writer.c - the ring of log lines and the thread that writes them.
 * Owns: the ring, which lives as long as the process. Thread: its own, "hl-log"; lines come from any.
 * Promise: whoever logs waits for a memcpy at the most; stderr stays as it is, for others may share
 * it: it is not made non-blocking. A write has whole lines only, and no more of them than a pipe
 * takes in one piece, so that lines of other processes do not come between; but for a line that is
 * longer than that.
 * Not here: what a line looks like (base/log.c). */
#include "loop/log_writer.h"

#include <errno.h>
#include <limits.h>
#include <linux/limits.h>
#include <poll.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/log_sink.h"
#include "base/metric.h"
#include "loop/thread.h"

#define PIECE_BYTES PIPE_BUF
_Static_assert(PIECE_BYTES >= HL_LOG_LINE_MAX, "a line fits a piece");

static struct {
    struct hl_thread thread;
    pthread_mutex_t lock;
    pthread_cond_t filled, emptied;
    size_t begin, used; /* of the ring; what is being written counts as used */
    uint64_t unsaid;    /* dropped since a line has said so */
    bool is_dropping;   /* from full until half empty */
    bool is_stopping, has_ended, is_closed;
    bool is_torn; /* stderr took a part of a line last */
    struct hl_counter dropped;
    char ring[HL_LOG_WRITER_BYTES];
} writer = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the ring; all with the lock ---- */

static uint64_t count_lines(const char *p, size_t n)
{
    uint64_t lines = 0;
    for (size_t i = 0; i < n; i++)
        lines += p[i] == '\n';
    return lines;
}

static void drop(uint64_t lines)
{
    writer.unsaid += lines;
    hl_counter_add(&writer.dropped, lines);
}

static void append(const char *line, size_t n)
{
    size_t at = (writer.begin + writer.used) % HL_LOG_WRITER_BYTES;
    size_t first = n < HL_LOG_WRITER_BYTES - at ? n : HL_LOG_WRITER_BYTES - at;
    memcpy(writer.ring + at, line, first);
    memcpy(writer.ring, line + first, n - first);
    writer.used += n;
    pthread_cond_signal(&writer.filled);
}

static void release(size_t n)
{
    writer.used -= n;
    /* From the beginning where possible: pages that were never touched cost no memory. */
    writer.begin = writer.used == 0 ? 0 : (writer.begin + n) % HL_LOG_WRITER_BYTES;
    if (writer.used <= HL_LOG_WRITER_BYTES / 2)
        writer.is_dropping = false;
    if (writer.used == 0)
        pthread_cond_broadcast(&writer.emptied);
}

/* Stands where the lines are missing, for none was taken meanwhile. */
static void say_dropped(void)
{
    char line[HL_LOG_LINE_MAX];
    struct hl_log_field fields[] = {HL_LOG_INT("lines", writer.unsaid), {.name = NULL}};
    writer.unsaid = 0;
    if (hl_log_is_on(HL_LOG_WARN))
        append(line,
            hl_log_build(line, HL_LOG_WARN, "the log was not read: lines were dropped", fields));
}

/* ---- those who log ---- */

static void put(const char *line, size_t n)
{
    pthread_mutex_lock(&writer.lock);
    bool fits = n <= HL_LOG_WRITER_BYTES - writer.used;
    if (!fits && n <= HL_LOG_WRITER_BYTES) /* a longer one never would */
        writer.is_dropping = true;
    if (!fits || writer.is_dropping || writer.is_closed)
        drop(count_lines(line, n));
    else
        append(line, n);
    pthread_mutex_unlock(&writer.lock);
}

static bool has_room(void)
{
    pthread_mutex_lock(&writer.lock);
    bool has = !writer.is_dropping && writer.used < HL_LOG_WRITER_BYTES / 2;
    pthread_mutex_unlock(&writer.lock);
    return has;
}

static struct timespec deadline_in(int ms)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += ms / 1000;
    at.tv_nsec += ms % 1000 * 1000000L;
    if (at.tv_nsec >= 1000000000L) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000L;
    }
    return at;
}

/* For a process that is about to abort: whoever does may hold the lock. */
static void flush(int ms)
{
    struct timespec deadline = deadline_in(ms);
    int rc = pthread_mutex_clocklock(&writer.lock, CLOCK_MONOTONIC, &deadline);
    if (rc != 0)
        return;
    while (writer.used > 0 && rc == 0)
        rc = pthread_cond_timedwait(&writer.emptied, &writer.lock, &deadline);
    pthread_mutex_unlock(&writer.lock);
}

/* ---- the thread; what is used stays as it is until release, so it is read without the lock ---- */

/* Bytes from..to of what is used, as they lie in the ring. */
static void map(struct iovec parts[2], size_t from, size_t to)
{
    size_t at = (writer.begin + from) % HL_LOG_WRITER_BYTES;
    size_t to_end = HL_LOG_WRITER_BYTES - at, n = to - from;
    parts[0] = (struct iovec){writer.ring + at, n < to_end ? n : to_end};
    parts[1] = (struct iovec){writer.ring, n - parts[0].iov_len};
}

static char byte_at(size_t i)
{
    return writer.ring[(writer.begin + i) % HL_LOG_WRITER_BYTES];
}

/* How much goes into one write: the lines that fit a piece, or a longer one. */
static size_t measure_piece(size_t used)
{
    size_t most = used < PIECE_BYTES ? used : PIECE_BYTES;
    for (size_t n = most; n > 0; n--)
        if (byte_at(n - 1) == '\n')
            return n;
    while (most < used && byte_at(most) != '\n')
        most++;
    HL_ASSERT(most < used);
    return most + 1;
}

/* Ends when stderr has taken all, or will not. */
static bool write_piece(size_t n)
{
    struct iovec parts[2];
    if (writer.is_torn && write(STDERR_FILENO, "\n", 1) == 1)
        writer.is_torn = false;
    for (size_t done = 0; done < n;) {
        map(parts, done, n);
        ssize_t written = writev(STDERR_FILENO, parts, 2);
        if (written >= 0) {
            done += (size_t)written;
        } else if (errno == EAGAIN) { /* somebody who shares it has made it non-blocking */
            poll(&(struct pollfd){.fd = STDERR_FILENO, .events = POLLOUT}, 1, -1);
        } else if (errno != EINTR) {
            writer.is_torn = writer.is_torn || (done > 0 && byte_at(done - 1) != '\n');
            return false;
        }
    }
    return true;
}

static uint64_t count_lines_of_piece(size_t n)
{
    struct iovec parts[2];
    map(parts, 0, n);
    return count_lines(parts[0].iov_base, parts[0].iov_len) +
           count_lines(parts[1].iov_base, parts[1].iov_len);
}

static void write_lines(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&writer.lock);
    for (;;) {
        while (writer.used == 0 && !writer.is_stopping)
            pthread_cond_wait(&writer.filled, &writer.lock);
        if (writer.used == 0)
            break;
        size_t used = writer.used;
        pthread_mutex_unlock(&writer.lock);
        size_t n = measure_piece(used);
        bool is_written = write_piece(n);
        uint64_t lost = is_written ? 0 : count_lines_of_piece(n);
        pthread_mutex_lock(&writer.lock);
        release(n);
        if (!is_written)
            drop(lost);
        else if (writer.unsaid > 0 && !writer.is_dropping)
            say_dropped();
    }
    writer.has_ended = true;
    pthread_cond_broadcast(&writer.emptied);
    pthread_mutex_unlock(&writer.lock);
}

/* ---- start and stop ---- */

static const struct hl_log_sink sink = {.put = put, .has_room = has_room, .flush = flush};

int hl_log_writer_start(void)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&writer.filled, &monotonic);
    pthread_cond_init(&writer.emptied, &monotonic);
    pthread_condattr_destroy(&monotonic);
    writer.is_stopping = writer.has_ended = writer.is_closed = false;
    int err = hl_thread_start(&writer.thread, "hl-log", write_lines, NULL);
    if (err == 0)
        hl_log_sink_use(&sink);
    return err;
}

void hl_log_writer_stop(int ms)
{
    struct timespec deadline = deadline_in(ms);
    int rc = 0;
    pthread_mutex_lock(&writer.lock);
    writer.is_stopping = true;
    pthread_cond_signal(&writer.filled);
    while (!writer.has_ended && rc == 0)
        rc = pthread_cond_timedwait(&writer.emptied, &writer.lock, &deadline);
    bool has_ended = writer.has_ended;
    writer.is_closed = !has_ended;
    pthread_mutex_unlock(&writer.lock);
    if (!has_ended)
        return;
    hl_log_sink_use(NULL);
    hl_thread_join(&writer.thread);
}

uint64_t hl_log_writer_dropped(void)
{
    return hl_counter_get(&writer.dropped);
}
