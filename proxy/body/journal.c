/* journal.c - see journal.h.
 * Not here: which run has which journal, and how long it stays (journals.c). */
#include "body/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/body_file.h"

#define GROW_FIRST 1024

struct hl_journal *hl_journal_new(struct hl_journals *all, const struct hl_id *run_id)
{
    struct hl_journal *j = calloc(1, sizeof(*j));
    if (!j)
        return NULL;
    j->all = all;
    j->run_id = *run_id;
    j->fd = -1;
    hl_list_init(&j->taps);
    pthread_mutex_init(&j->lock, NULL);
    return j;
}

void hl_journal_free(struct hl_journal *j)
{
    if (j->fd >= 0)
        close(j->fd);
    pthread_mutex_destroy(&j->lock);
    free(j->bytes);
    free(j->progress);
    free(j);
}

/* Under the lock. */
static void wake(struct hl_journal *j)
{
    HL_LIST_EACH (node, &j->taps) {
        struct hl_journal_tap *tap = HL_CONTAINER_OF(node, struct hl_journal_tap, node);
        if (tap->is_posted)
            continue;
        tap->is_posted = true;
        hl_mailbox_post(tap->box, &tap->msg);
    }
}

static void unlock_and_wake(struct hl_journal *j)
{
    wake(j);
    pthread_mutex_unlock(&j->lock);
}

void hl_journal_heard(struct hl_journal_tap *tap)
{
    pthread_mutex_lock(&tap->journal->lock);
    tap->is_posted = false;
    pthread_mutex_unlock(&tap->journal->lock);
}

/* ---- writing ---- */

void hl_journal_open(struct hl_journal *j, uint32_t attempt, uint64_t before)
{
    pthread_mutex_lock(&j->lock);
    j->now.stage = HL_JOURNAL_OPEN;
    j->now.state = HL_RUN_RUNNING;
    j->now.attempt = attempt;
    j->now.before = before;
    unlock_and_wake(j);
}

void hl_journal_begin_stream(struct hl_journal *j, bool has_file)
{
    pthread_mutex_lock(&j->lock);
    j->now.stage = HL_JOURNAL_STREAM;
    j->now.is_stream = true;
    j->has_file = has_file;
    unlock_and_wake(j);
}

void hl_journal_begin_other(struct hl_journal *j)
{
    pthread_mutex_lock(&j->lock);
    j->now.stage = HL_JOURNAL_OTHER;
    unlock_and_wake(j);
}

void hl_journal_expect(struct hl_journal *j, size_t n)
{
    atomic_fetch_add(&j->coming, n);
}

static bool grow(struct hl_journal *j, size_t need)
{
    size_t cap = j->cap > 0 ? j->cap : GROW_FIRST;
    while (cap < need)
        cap *= 2;
    char *bytes = cap > j->cap ? realloc(j->bytes, cap) : j->bytes;
    if (!bytes)
        return false;
    j->bytes = bytes;
    j->cap = cap;
    return true;
}

/* What is in the file need not be here: makes room, and takes off `*more` what is not kept of it. */
static void keep_tail(struct hl_journal *j, struct hl_str *more)
{
    bool fits = j->from == 0 && j->n + more->n <= HL_BODY_INLINE_MAX;
    size_t keep = more->n < HL_JOURNAL_TAIL ? HL_JOURNAL_TAIL - more->n : 0;
    size_t skipped = more->n > HL_JOURNAL_TAIL ? more->n - HL_JOURNAL_TAIL : 0;
    if (!j->has_file || fits || j->n + more->n <= j->cap || j->n + skipped <= keep)
        return;
    if (keep > 0)
        memmove(j->bytes, j->bytes + j->n - keep, keep);
    j->from += j->n - keep + skipped;
    j->n = keep;
    *more = (struct hl_str){more->p + skipped, more->n - skipped};
}

static bool has_descriptor(struct hl_journal *j, int fd)
{
    if (j->has_file && j->fd < 0)
        j->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return !j->has_file || j->fd >= 0;
}

bool hl_journal_add(struct hl_journal *j, struct hl_str bytes, int fd)
{
    struct hl_str kept = bytes;
    pthread_mutex_lock(&j->lock);
    keep_tail(j, &kept);
    bool is_good = has_descriptor(j, fd) && grow(j, j->n + kept.n);
    if (is_good) {
        memcpy(j->bytes + j->n, kept.p, kept.n);
        j->n += kept.n;
        j->now.size += bytes.n;
    }
    unlock_and_wake(j);
    return is_good;
}

static void drop_bytes(struct hl_journal *j)
{
    free(j->bytes);
    j->bytes = NULL;
    j->from += j->n;
    j->n = j->cap = 0;
}

void hl_journal_drop(struct hl_journal *j)
{
    pthread_mutex_lock(&j->lock);
    j->now.is_stream = false;
    j->now.is_dropped = true;
    drop_bytes(j);
    unlock_and_wake(j);
}

void hl_journal_end(
    struct hl_journal *j, enum hl_run_state state, enum hl_run_reason reason, bool is_again)
{
    pthread_mutex_lock(&j->lock);
    j->now.stage = HL_JOURNAL_ENDED;
    j->now.state = is_again ? HL_RUN_QUEUED : state;
    j->now.reason = reason;
    j->now.is_again = is_again;
    unlock_and_wake(j);
}

char *hl_journal_take(struct hl_journal *j)
{
    char *taken = NULL;
    pthread_mutex_lock(&j->lock);
    bool is_whole = j->from == 0 && j->n == j->now.size && j->n > 0;
    if (is_whole && j->has_file) {
        if ((taken = malloc(j->n)))
            memcpy(taken, j->bytes, j->n);
    } else if (is_whole) {
        taken = j->bytes;
        j->bytes = NULL;
        drop_bytes(j);
    }
    pthread_mutex_unlock(&j->lock);
    return taken;
}

/* Those who are behind read the file, or ask the store. */
void hl_journal_close(struct hl_journal *j)
{
    pthread_mutex_lock(&j->lock);
    if (j->now.stage != HL_JOURNAL_ENDED) { /* it waits again, or the process ends */
        j->now.stage = HL_JOURNAL_ENDED;
        j->now.state = HL_RUN_QUEUED;
        j->now.is_again = true;
    }
    j->now.is_closed = true;
    if (j->fd >= 0)
        drop_bytes(j);
    unlock_and_wake(j);
}

void hl_journal_set_progress(struct hl_journal *j, struct hl_str json)
{
    pthread_mutex_lock(&j->lock);
    if (!j->progress)
        j->progress = malloc(HL_JOURNAL_PROGRESS + 1);
    if (j->progress && json.n <= HL_JOURNAL_PROGRESS) {
        memcpy(j->progress, json.p, json.n);
        j->progress[json.n] = '\0';
        j->now.progress++;
    }
    unlock_and_wake(j);
}

/* ---- reading ---- */

void hl_journal_observe(struct hl_journal *j, struct hl_journal_look *out)
{
    pthread_mutex_lock(&j->lock);
    *out = j->now;
    out->coming = atomic_load(&j->coming);
    pthread_mutex_unlock(&j->lock);
}

size_t hl_journal_read(struct hl_journal *j, uint64_t offset, char *out, size_t cap, bool *is_file)
{
    size_t n = 0;
    pthread_mutex_lock(&j->lock);
    *is_file = false;
    if (offset >= j->from && offset < j->from + j->n) {
        n = (size_t)(j->from + j->n - offset);
        n = n < cap ? n : cap;
        memcpy(out, j->bytes + (offset - j->from), n);
    } else if (offset < j->now.size) {
        *is_file = j->fd >= 0 && !j->now.is_dropped;
    }
    pthread_mutex_unlock(&j->lock);
    return n;
}

ptrdiff_t hl_journal_read_file(struct hl_journal *j, uint64_t offset, char *out, size_t cap)
{
    ssize_t n;
    pthread_mutex_lock(&j->lock);
    uint64_t left = j->now.size - offset;
    pthread_mutex_unlock(&j->lock);
    do
        n = pread(j->fd, out, cap < left ? cap : (size_t)left, (off_t)offset);
    while (n < 0 && errno == EINTR);
    return n > 0 ? n : -1;
}

bool hl_journal_get_progress(struct hl_journal *j, char *out)
{
    pthread_mutex_lock(&j->lock);
    if (j->progress)
        memcpy(out, j->progress, strlen(j->progress) + 1);
    bool has = j->progress != NULL;
    pthread_mutex_unlock(&j->lock);
    return has;
}
