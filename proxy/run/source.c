/* source.c - a stored request body, from its file or from memory, as the source of a run.
 * Owns: the file descriptor or the bytes, and one piece. Thread: the worker's; reads and hashes in
 * libuv's pool.
 * Promise: one piece at a time; the last one goes on only if the whole body is what was stored (its
 * SHA-256). Not here: small bodies (dispatch.c puts them behind the head). */
#include "run/source.h"

#include <errno.h>
#include <mbedtls/sha256.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

#define PIECE_SIZE (64 * 1024)

struct hl_source {
    struct hl_run *run; /* NULL: the run has gone */
    uv_work_t work;
    bool is_reading, has_piece;
    const char *data_dir;
    struct hl_id file;
    char *bytes; /* NULL: they are in the file */
    uint64_t size, left;
    uint8_t expected[32];
    mbedtls_sha256_context sha;
    int fd;
    enum hl_err err;
    size_t n;
    char piece[PIECE_SIZE];
};

struct hl_source *hl_source_new(struct hl_run *run)
{
    struct hl_source *s = malloc(sizeof(*s));
    if (!s)
        return NULL;
    struct hl_body *body = &run->claimed->body;
    s->run = run;
    s->is_reading = s->has_piece = false;
    s->data_dir = run->worker->spools.data_dir;
    s->file = body->file;
    s->bytes = body->bytes;
    body->bytes = NULL;
    s->size = s->left = body->size;
    memcpy(s->expected, body->sha256, sizeof(s->expected));
    mbedtls_sha256_init(&s->sha);
    mbedtls_sha256_starts_ret(&s->sha, 0);
    s->fd = -1;
    s->err = HL_OK;
    s->n = 0;
    return s;
}

static void source_free(struct hl_source *s)
{
    if (s->fd >= 0)
        close(s->fd);
    mbedtls_sha256_free(&s->sha);
    free(s->bytes);
    free(s);
}

static void read_file(struct hl_source *s, size_t want)
{
    if (s->fd < 0)
        s->err = hl_body_file_open(s->data_dir, &s->file, &s->fd);
    s->n = 0;
    while (s->err == HL_OK && s->n < want) {
        ssize_t r = read(s->fd, s->piece + s->n, want - s->n);
        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            s->err = hl_err_from_errno(errno);
        else if (r == 0)
            s->err = HL_ERR_CORRUPT;
        else
            s->n += (size_t)r;
    }
}

/* In the pool. */
static void on_read_work(uv_work_t *work)
{
    struct hl_source *s = HL_CONTAINER_OF(work, struct hl_source, work);
    uint8_t sha[32];
    size_t want = s->left < PIECE_SIZE ? (size_t)s->left : PIECE_SIZE;
    if (s->bytes)
        memcpy(s->piece, s->bytes + (s->size - s->left), s->n = want);
    else
        read_file(s, want);
    if (s->err != HL_OK)
        return;
    mbedtls_sha256_update_ret(&s->sha, (unsigned char *)s->piece, s->n);
    s->left -= s->n;
    if (s->left > 0)
        return;
    mbedtls_sha256_finish_ret(&s->sha, sha);
    if (memcmp(sha, s->expected, sizeof(sha)) != 0)
        s->err = HL_ERR_CORRUPT;
}

static void give_piece(struct hl_source *s)
{
    struct hl_run *run = s->run;
    s->has_piece = false;
    hl_forward_body(run, (struct hl_str){s->piece, s->n});
    if (s->left == 0)
        hl_forward_body_end(run, (struct hl_str){NULL, 0});
}

static void on_read_done(uv_work_t *work, int status)
{
    (void)status;
    struct hl_source *s = HL_CONTAINER_OF(work, struct hl_source, work);
    s->is_reading = false;
    if (!s->run) {
        source_free(s);
        return;
    }
    if (s->err != HL_OK) {
        HL_LOG(ERROR, "a stored request body cannot be read", HL_LOG_ID("run_id", &s->run->id),
            HL_LOG_TEXT("error", hl_err_text(s->err)));
        hl_forward_fail(s->run, HL_RUN_FAILURE, HL_REASON_INTERRUPTED, 500,
            "The stored request body cannot be read.");
        return;
    }
    s->has_piece = true;
    hl_source_go_on(s);
}

void hl_source_go_on(struct hl_source *s)
{
    if (s->is_reading || hl_forward_is_blocked(s->run))
        return;
    if (s->has_piece)
        give_piece(s);
    if (s->left == 0 || hl_forward_is_blocked(s->run))
        return;
    s->is_reading = true;
    if (uv_queue_work(&s->run->worker->loop, &s->work, on_read_work, on_read_done) != 0)
        s->is_reading = false;
}

void hl_source_free(struct hl_source *s)
{
    if (!s)
        return;
    s->run = NULL;
    if (!s->is_reading)
        source_free(s);
}
