/* body_reader.c - a body at rest, piece by piece.
 * Owns: the file descriptor or the bytes, and one piece. Thread: its loop's; reads and hashes in
 * libuv's pool.
 * Promise: one piece at a time; the last one is given only if the whole body is what was stored.
 * Not here: where the pieces go (source.c, inquiry.c, api/). */
#include "body/body_reader.h"

#include <errno.h>
#include <mbedtls/sha256.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/body_file.h"
#include "store/record.h"

#define PIECE_SIZE (64 * 1024)

struct hl_body_reader {
    uv_work_t work;
    uv_loop_t *loop;
    hl_body_piece *on_piece; /* NULL: freed while a read was in flight */
    void *owner;
    bool is_reading;
    const char *data_dir;
    struct hl_id file;
    char *bytes; /* NULL: they are in the file */
    uint64_t size, left;
    uint8_t expected[HL_DIGEST_SIZE];
    mbedtls_sha256_context sha;
    int fd;
    enum hl_err err;
    size_t n;
    char piece[PIECE_SIZE];
};

struct hl_body_reader *hl_body_reader_new(uv_loop_t *loop, const char *data_dir,
    struct hl_body *body, hl_body_piece *on_piece, void *owner)
{
    struct hl_body_reader *r = malloc(sizeof(*r));
    if (!r)
        return NULL;
    r->loop = loop;
    r->on_piece = on_piece;
    r->owner = owner;
    r->is_reading = false;
    r->data_dir = data_dir;
    r->file = body->file;
    r->bytes = body->bytes;
    body->bytes = NULL;
    r->size = r->left = body->size;
    memcpy(r->expected, body->digest, sizeof(r->expected));
    mbedtls_sha256_init(&r->sha);
    mbedtls_sha256_starts_ret(&r->sha, 0);
    r->fd = -1;
    r->err = HL_OK;
    r->n = 0;
    return r;
}

static void reader_free(struct hl_body_reader *r)
{
    if (r->fd >= 0)
        close(r->fd);
    mbedtls_sha256_free(&r->sha);
    free(r->bytes);
    free(r);
}

/* Checked as a whole, before the first piece. */
static void read_memory(struct hl_body_reader *r, size_t want)
{
    if (r->left == r->size &&
        !hl_digest_fits(r->expected, (struct hl_str){r->bytes, (size_t)r->size}))
        r->err = HL_ERR_CORRUPT;
    else
        memcpy(r->piece, r->bytes + (r->size - r->left), r->n = want);
}

static void read_bytes(struct hl_body_reader *r, size_t want)
{
    if (r->fd < 0)
        r->err = hl_body_file_open(r->data_dir, &r->file, &r->fd);
    r->n = 0;
    while (r->err == HL_OK && r->n < want) {
        ssize_t got = read(r->fd, r->piece + r->n, want - r->n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            r->err = hl_err_from_errno(errno);
        else if (got == 0)
            r->err = HL_ERR_CORRUPT;
        else
            r->n += (size_t)got;
    }
}

/* Checked as it is read. */
static void read_file(struct hl_body_reader *r, size_t want)
{
    uint8_t sha[HL_DIGEST_SIZE];
    read_bytes(r, want);
    if (r->err != HL_OK)
        return;
    mbedtls_sha256_update_ret(&r->sha, (unsigned char *)r->piece, r->n);
    if (r->n < r->left)
        return;
    mbedtls_sha256_finish_ret(&r->sha, sha);
    if (memcmp(sha, r->expected, sizeof(sha)) != 0)
        r->err = HL_ERR_CORRUPT;
}

/* In the pool. */
static void on_read_work(uv_work_t *work)
{
    struct hl_body_reader *r = HL_CONTAINER_OF(work, struct hl_body_reader, work);
    size_t want = r->left < PIECE_SIZE ? (size_t)r->left : PIECE_SIZE;
    if (r->bytes)
        read_memory(r, want);
    else
        read_file(r, want);
    r->left -= r->err == HL_OK ? r->n : 0;
}

static void on_read_done(uv_work_t *work, int status)
{
    (void)status;
    struct hl_body_reader *r = HL_CONTAINER_OF(work, struct hl_body_reader, work);
    r->is_reading = false;
    if (!r->on_piece)
        reader_free(r);
    else
        r->on_piece(r->owner, r->err, (struct hl_str){r->piece, r->n}, r->left == 0);
}

bool hl_body_reader_next(struct hl_body_reader *r)
{
    r->is_reading = uv_queue_work(r->loop, &r->work, on_read_work, on_read_done) == 0;
    return r->is_reading;
}

void hl_body_reader_free(struct hl_body_reader *r)
{
    if (!r)
        return;
    r->on_piece = NULL;
    if (!r->is_reading)
        reader_free(r);
}
