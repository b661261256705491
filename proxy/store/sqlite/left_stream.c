/* left_stream.c - see left_stream.h. Only what could be followed is found here: an answer with status 200, the
 * type of an event stream and no coding (run/stream.c). */
#include "store/sqlite/left_stream.h"

#include <errno.h>
#include <mbedtls/sha256.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "http/body_check.h"
#include "http/sse.h"
#include "store/body_file.h"
#include "store/data_dir.h"
#include "store/record.h"
#include "store/sqlite/database.h"

#define PIECE_SIZE (64 * 1024)
#define TYPE       "text/event-stream"

struct left {
    struct hl_id file;
    int fd;
    uint64_t size;
    bool is_named; /* it stands among the bodies already, and is counted there */
};

static bool open_left(
    struct hl_database *db, const struct hl_id *run_id, uint32_t attempt, struct left *left)
{
    struct stat st;
    left->file = hl_body_file_of_stream(run_id, attempt);
    if (hl_body_file_open_left(db->dir.path, &left->file, &left->fd, &left->is_named) != HL_OK)
        return false;
    left->size = fstat(left->fd, &st) == 0 && st.st_size > 0 ? (uint64_t)st.st_size : 0;
    if (left->size > 0)
        return true;
    close(left->fd);
    return false;
}

/* Each piece of the file, in order. HL_ERR_IO: it could not be read to its end. */
static enum hl_err each_piece(
    const struct left *left, void (*take)(void *arg, struct hl_str piece), void *arg)
{
    char piece[PIECE_SIZE];
    for (uint64_t at = 0; at < left->size;) {
        ssize_t n = pread(left->fd, piece, sizeof(piece), (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return HL_ERR_IO;
        take(arg, (struct hl_str){piece, (size_t)n});
        at += (uint64_t)n;
    }
    return HL_OK;
}

/* ---- it is kept ---- */

struct look {
    mbedtls_sha256_context sha;
    struct hl_body_check check;
    struct hl_buf bytes; /* of a short one */
    enum hl_err err;
};

static void look_at(void *arg, struct hl_str piece)
{
    struct look *look = arg;
    mbedtls_sha256_update_ret(&look->sha, (const unsigned char *)piece.p, piece.n);
    hl_body_check_feed(&look->check, piece.p, piece.n);
    if (look->bytes.max > 0 && !look->err)
        look->err = hl_buf_append_str(&look->bytes, piece);
}

static void describe(struct hl_outcome *o, const struct hl_body_check *check)
{
    bool is_text = hl_body_check_end(check) == HL_BODY_TEXT;
    o->encoding = is_text ? HL_ENCODING_TEXT : HL_ENCODING_BASE64;
    o->escaped_size = is_text ? check->escaped : 0;
}

/* Its record counts it anew; a short one goes with it into the database. */
static void let_go(struct hl_database *db, const struct left *left, bool goes)
{
    if (goes)
        hl_database_doom_file(db, &left->file, left->size);
    else
        db->now.file_bytes -= left->size < db->now.file_bytes ? left->size : db->now.file_bytes;
}

static enum hl_err take(struct hl_database *db, const struct left *left, struct hl_outcome *o)
{
    struct look look = {.err = HL_OK};
    bool is_short = left->size <= HL_BODY_INLINE_MAX;
    struct hl_body *body = &o->body;
    mbedtls_sha256_init(&look.sha);
    mbedtls_sha256_starts_ret(&look.sha, 0);
    hl_body_check_init(&look.check, false);
    hl_buf_init(&look.bytes, is_short ? HL_BODY_INLINE_MAX : 0);
    enum hl_err err = each_piece(left, look_at, &look);
    if (!err)
        err = look.err;
    if (!err && !is_short)
        err = hl_body_file_commit(db->dir.path, &left->file, left->fd);
    if (!err && left->is_named)
        let_go(db, left, is_short);
    if (err) {
        hl_buf_fini(&look.bytes);
    } else {
        *body = (struct hl_body){.where = is_short ? HL_BODY_INLINE : HL_BODY_FILE,
            .size = left->size,
            .bytes = look.bytes.p,
            .file = left->file};
        mbedtls_sha256_finish_ret(&look.sha, body->digest);
        o->http_status = 200;
        memcpy(o->content_type, TYPE, sizeof(TYPE));
        describe(o, &look.check);
    }
    mbedtls_sha256_free(&look.sha);
    return err;
}

void hl_left_stream_take(struct hl_database *db, const struct hl_id *run_id, uint32_t attempt,
    struct hl_outcome *outcome)
{
    struct left left;
    if (!open_left(db, run_id, attempt, &left))
        return;
    enum hl_err err = take(db, &left, outcome);
    close(left.fd);
    if (err)
        HL_LOG(ERROR, "store: the events of an interrupted event stream cannot be kept",
            HL_LOG_ID("run_id", run_id), HL_LOG_TEXT("why", hl_err_text(err)));
}

/* ---- another attempt follows ---- */

static void count(void *arg, struct hl_str piece)
{
    hl_event_ids_pass(arg, piece);
}

uint64_t hl_left_stream_count(
    struct hl_database *db, const struct hl_id *run_id, uint32_t attempt, uint64_t before)
{
    struct left left;
    struct hl_event_ids ids;
    hl_event_ids_init(&ids, before);
    if (!open_left(db, run_id, attempt, &left))
        return before;
    enum hl_err err = each_piece(&left, count, &ids);
    close(left.fd);
    if (left.is_named) /* the next attempt has a file of its own */
        hl_database_doom_file(db, &left.file, left.size);
    if (err)
        HL_LOG(WARN, "store: the events of an interrupted attempt cannot be counted",
            HL_LOG_ID("run_id", run_id), HL_LOG_TEXT("why", hl_err_text(err)));
    return ids.count;
}
