/* body_writer.c - a body's file while it is written, and its hash.
 * Owns: the file descriptor. Thread: its loop's; writes and hashes in libuv's pool.
 * Not here: what is collected before it is written (spool.c), how files are named and made durable
 * (store/body_file.c). */
#include "body/body_writer.h"

#include <errno.h>
#include <unistd.h>

#include "base/assert.h"
#include "store/body_file.h"

#define READ_SIZE  (64 * 1024)
#define WRITE_SIZE (256 * 1024) /* how fine the progress of a long piece is seen */

void hl_body_writer_init(struct hl_body_writer *w, uv_loop_t *loop, const char *data_dir,
    void (*on_done)(struct hl_body_writer *w))
{
    w->loop = loop;
    w->data_dir = data_dir;
    w->on_done = on_done;
    w->fd = -1;
    w->is_running = w->drops = w->wants_sha256 = false;
    w->bytes = NULL;
    atomic_init(&w->written, 0);
    mbedtls_sha256_init(&w->sha);
    mbedtls_sha256_starts_ret(&w->sha, 0);
}

void hl_body_writer_fini(struct hl_body_writer *w)
{
    if (w->fd >= 0)
        close(w->fd);
    mbedtls_sha256_free(&w->sha);
}

static enum hl_err write_all(struct hl_body_writer *w, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t wrote = write(w->fd, p, n < WRITE_SIZE ? n : WRITE_SIZE);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0)
            return hl_err_from_errno(errno);
        p += wrote;
        n -= (size_t)wrote;
        atomic_fetch_add_explicit(&w->written, (uint64_t)wrote, memory_order_relaxed);
    }
    return HL_OK;
}

static enum hl_err hash_file(struct hl_body_writer *w)
{
    unsigned char piece[READ_SIZE];
    off_t at = 0;
    for (;;) {
        ssize_t n = pread(w->fd, piece, sizeof(piece), at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return hl_err_from_errno(errno);
        if (n == 0)
            return HL_OK;
        mbedtls_sha256_update_ret(&w->sha, piece, (size_t)n);
        at += n;
    }
}

/* In the pool. After the last piece the file is hashed and made durable: hashing is seven times
 * slower than writing to the page cache, and a tee whose caller is fast has no time for it. */
static void on_work(uv_work_t *work)
{
    struct hl_body_writer *w = HL_CONTAINER_OF(work, struct hl_body_writer, work);
    if (w->drops) {
        w->err = ftruncate(w->fd, 0) < 0 ? hl_err_from_errno(errno) : HL_OK;
        return;
    }
    if (!w->writes) {
        hl_body_writer_hash(w, w->bytes, w->n);
        return;
    }
    if (w->fd < 0)
        w->err = hl_body_file_create(w->data_dir, &w->file, &w->fd);
    if (w->err == HL_OK)
        w->err = write_all(w, w->bytes, w->n);
    if (w->err == HL_OK && w->is_last)
        w->err = hash_file(w);
    if (w->err != HL_OK || !w->is_last)
        return;
    mbedtls_sha256_finish_ret(&w->sha, w->digest);
    w->err = hl_body_file_commit(w->data_dir, &w->file, w->fd);
}

static void on_work_done(uv_work_t *work, int status)
{
    (void)status;
    struct hl_body_writer *w = HL_CONTAINER_OF(work, struct hl_body_writer, work);
    w->is_running = false;
    w->on_done(w);
}

void hl_body_writer_submit(
    struct hl_body_writer *w, char *bytes, size_t n, bool writes, bool is_last)
{
    HL_ASSERT(!w->is_running);
    w->is_running = true;
    w->writes = writes;
    w->is_last = is_last;
    w->bytes = bytes;
    w->n = n;
    w->err = HL_OK;
    int rc = uv_queue_work(w->loop, &w->work, on_work, on_work_done);
    HL_ASSERT(rc == 0);
}

/* Others may have the file open, and keep what is in it on the disk: removing its name would not do. */
bool hl_body_writer_drop(struct hl_body_writer *w)
{
    if (w->fd < 0 || w->drops)
        return false;
    w->drops = true;
    hl_body_writer_submit(w, NULL, 0, false, false);
    return true;
}

void hl_body_writer_hash(struct hl_body_writer *w, const char *bytes, size_t n)
{
    struct hl_str body = {bytes, n};
    if (w->wants_sha256)
        hl_digest_sha256(body, w->digest);
    else
        hl_digest_short(body, w->digest);
}

static void on_remove(uv_work_t *work)
{
    struct hl_body_writer *w = HL_CONTAINER_OF(work, struct hl_body_writer, work);
    hl_body_file_remove(w->data_dir, &w->file);
}

bool hl_body_writer_remove(struct hl_body_writer *w, void (*on_removed)(struct hl_body_writer *w))
{
    HL_ASSERT(!w->is_running);
    if (w->fd < 0)
        return false;
    w->on_done = on_removed;
    int rc = uv_queue_work(w->loop, &w->work, on_remove, on_work_done);
    HL_ASSERT(rc == 0);
    return true;
}
