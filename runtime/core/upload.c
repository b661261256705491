/* upload.c - see upload.h.
 * Owns: the file, whether libuv's pool was made.
 * Promise: one piece is in the pool's hands, and nothing else is held; what a process that died leaves
 * behind is nothing.
 * Not here: when a caller is read (intake.c), what is in the form (hookline_runtime/upload.py). */
#include "core/upload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "core/fork.h"
#include "http/head.h"
#include "loop/thread.h"

bool hl_upload_is_form(const struct hl_head *head)
{
    const struct hl_str form = HL_STR("multipart/form-data");
    const struct hl_field *type = hl_head_field(head, HL_FIELD_CONTENT_TYPE);
    if (!type || type->value.n < form.n ||
        !hl_str_eq_nocase((struct hl_str){type->value.p, form.n}, form))
        return false;
    return type->value.n == form.n || strchr("; \t", type->value.p[form.n]) != NULL;
}

/* ---- in the pool ---- */

/* A file without a name; where the file system has none of those, one whose name is taken away. */
static int open_nameless(const char *directory)
{
    char path[4096];
    int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT))
        return fd;
    int n = snprintf(path, sizeof(path), "%s/hookline-XXXXXX", directory);
    if (n < 0 || (size_t)n >= sizeof(path) || (fd = mkostemp(path, O_CLOEXEC)) < 0)
        return HL_UPLOAD_NONE;
    unlink(path);
    return fd;
}

static enum hl_err make_file(struct hl_upload *upload)
{
    const char *directory = getenv("TMPDIR");
    upload->fd = open_nameless(directory && directory[0] ? directory : "/tmp");
    return upload->fd >= 0 ? HL_OK : HL_ERR_IO;
}

static enum hl_err write_piece(const struct hl_upload *upload)
{
    struct hl_str bytes = hl_buf_str(&upload->piece);
    while (bytes.n > 0) {
        ssize_t n = write(upload->fd, bytes.p, bytes.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return HL_ERR_IO;
        bytes.p += n;
        bytes.n -= (size_t)n;
    }
    return HL_OK;
}

static void on_write(uv_work_t *work)
{
    struct hl_upload *upload = HL_CONTAINER_OF(work, struct hl_upload, work);
    upload->err = upload->fd < 0 ? make_file(upload) : HL_OK;
    if (!upload->err)
        upload->err = write_piece(upload);
}

/* The end of a long file without a name gives its blocks back, which takes its time. */
static void on_close(uv_work_t *work)
{
    struct hl_upload *upload = HL_CONTAINER_OF(work, struct hl_upload, work);
    hl_upload_hand_over(upload);
    close(upload->fd);
    upload->fd = HL_UPLOAD_NONE;
}

/* ---- on the loop ---- */

static void on_end(uv_work_t *work, int status);

static void submit(struct hl_upload *upload, uv_work_cb work, uv_after_work_cb done)
{
    int rc = uv_queue_work(upload->loop, &upload->work, work, done);
    HL_ASSERT(rc == 0);
}

static void end(struct hl_upload *upload)
{
    if (upload->fd >= 0) {
        submit(upload, on_close, on_end);
        return;
    }
    hl_upload_hand_over(upload);
    hl_buf_fini(&upload->piece);
    free(upload);
}

static void on_end(uv_work_t *work, int status)
{
    (void)status;
    end(HL_CONTAINER_OF(work, struct hl_upload, work));
}

static void on_write_done(uv_work_t *work, int status)
{
    (void)status;
    struct hl_upload *upload = HL_CONTAINER_OF(work, struct hl_upload, work);
    upload->is_writing = false;
    hl_buf_fini(&upload->piece); /* who waits for a slow caller owns no memory */
    if (upload->is_abandoned)
        end(upload);
    else
        upload->on_written(upload);
}

/* libuv's pool is made for the first form: most hosts see none. */
static bool has_pool(uv_loop_t *loop)
{
    static bool is_made;
    is_made = is_made || hl_work_pool_start(loop) == 0;
    return is_made;
}

struct hl_upload *hl_upload_new(uv_loop_t *loop, struct hl_list *uploads, uint64_t max,
    void (*on_written)(struct hl_upload *upload), void *owner)
{
    struct hl_upload *upload = has_pool(loop) ? calloc(1, sizeof(*upload)) : NULL;
    if (!upload)
        return NULL;
    upload->loop = loop;
    upload->on_written = on_written;
    upload->owner = owner;
    upload->max = max;
    upload->fd = HL_UPLOAD_NONE;
    hl_buf_init(&upload->piece, 0);
    hl_fork_hold();
    hl_list_push_back(uploads, &upload->node);
    hl_fork_release();
    return upload;
}

void hl_upload_free(struct hl_upload *upload)
{
    if (!upload)
        return;
    upload->is_abandoned = true;
    if (!upload->is_writing)
        end(upload);
}

enum hl_err hl_upload_append(struct hl_upload *upload, struct hl_str bytes)
{
    HL_ASSERT(!upload->is_writing);
    if (bytes.n > upload->max - upload->n)
        return HL_ERR_TOO_LARGE;
    upload->n += bytes.n;
    return hl_buf_append_str(&upload->piece, bytes);
}

bool hl_upload_write(struct hl_upload *upload)
{
    if (upload->fd >= 0 && upload->piece.n == 0)
        return false;
    upload->is_writing = true;
    submit(upload, on_write, on_write_done);
    return true;
}

/* ---- forked processes ---- */

void hl_upload_hand_over(struct hl_upload *upload)
{
    hl_fork_hold();
    hl_list_remove(&upload->node);
    hl_fork_release();
}

void hl_upload_close_all(const struct hl_list *uploads)
{
    HL_LIST_EACH (node, uploads) {
        int fd = HL_CONTAINER_OF(node, struct hl_upload, node)->fd;
        if (fd >= 0)
            close(fd);
    }
}
