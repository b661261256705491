/* left_file.c - files that an earlier process left: bodies that no record names, and event streams of runs that were in
 * progress when it ended. At open, before the store's thread starts.
 * Promise: a body's file that is younger than an hour, or is not ours, stays; the log says how many went. Of streams
 * only what could be followed is found: an answer with status 200, the type of an event stream and no coding
 * (run/stream.c). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mbedtls/sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/crash_point.h"
#include "base/log.h"
#include "http/body_check.h"
#include "http/sse.h"
#include "store/body_file.h"
#include "store/clock.h"
#include "store/data_dir.h"
#include "store/driver.h"
#include "store/path.h"
#include "store/record.h"
#include "store/sqlite/database.h"

#define OLD_MS     (3600 * 1000ll)
#define PIECE_SIZE (64 * 1024)
#define TYPE       "text/event-stream"

/* A walk over the bodies' files; `visit` ends it with an error. */
struct walk {
    struct hl_database *db;
    enum hl_err (*visit)(
        struct walk *w, const struct hl_id *id, int shard, const char *name, const struct stat *st);
    int64_t now_ms; /* the sweep's */
    uint64_t swept;
};

/* Only names that are ids: what somebody else put there is not ours. */
static enum hl_err walk_shard(struct walk *w, const char *bodies, const char *name)
{
    char path[HL_PATH_MAX];
    enum hl_err err = hl_path(path, "%s/%s", bodies, name);
    DIR *shard = !err && name[0] != '.' ? opendir(path) : NULL;
    if (!shard)
        return HL_OK;
    for (struct dirent *entry; !err && (entry = readdir(shard));) {
        struct hl_id id;
        struct stat st;
        if (hl_id_parse(hl_str_from(entry->d_name), &id) &&
            fstatat(dirfd(shard), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            err = w->visit(w, &id, dirfd(shard), entry->d_name, &st);
    }
    closedir(shard);
    return err;
}

static enum hl_err walk(struct walk *w)
{
    char bodies[HL_PATH_MAX];
    enum hl_err err = hl_path(bodies, "%s/bodies", w->db->dir.path);
    DIR *dir = err ? NULL : opendir(bodies);
    if (!dir)
        return err ? err : hl_err_from_errno(errno);
    for (struct dirent *entry; !err && (entry = readdir(dir));)
        err = walk_shard(w, bodies, entry->d_name);
    closedir(dir);
    return err;
}

/* --- a directory without its database ------------------------------------------------------- */

static enum hl_err find_any(
    struct walk *w, const struct hl_id *id, int shard, const char *name, const struct stat *st)
{
    (void)w;
    (void)id;
    (void)shard;
    (void)name;
    (void)st;
    return HL_ERR_EXISTS;
}

bool hl_sweep_finds_bodies(struct hl_database *db)
{
    struct walk w = {.db = db, .visit = find_any};
    return walk(&w) == HL_ERR_EXISTS;
}

/* --- the sweep ------------------------------------------------------------------------------ */

/* A record names it, or it may be the stream of a run that goes on, whose file has the run's name. */
static enum hl_err is_known(struct hl_database *db, const struct hl_id *file, bool *known)
{
    struct hl_sql_row row;
    struct hl_id first, last;
    hl_body_file_stream_runs(file, &first, &last);
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_FILE_KNOWN);
    hl_sql_bind_id(args, HL_SQL_P_FILE, file);
    hl_sql_bind_id(args, HL_SQL_P_FIRST, &first);
    hl_sql_bind_id(args, HL_SQL_P_LAST, &last);
    enum hl_err err = hl_database_row(db, HL_SQL_FILE_KNOWN, &row);
    if (err)
        return err;
    *known = hl_sql_int(&row);
    hl_database_done(db, HL_SQL_FILE_KNOWN);
    return HL_OK;
}

static enum hl_err sweep_file(
    struct walk *w, const struct hl_id *id, int shard, const char *name, const struct stat *st)
{
    bool known = false;
    enum hl_err err = is_known(w->db, id, &known);
    if (err)
        return err;
    if (known || w->now_ms - (int64_t)st->st_mtime * 1000 < OLD_MS) {
        w->db->now.file_bytes += (uint64_t)st->st_size;
        return HL_OK;
    }
    if (!hl_data_dir_take_bodies(&w->db->dir))
        return HL_OK; /* a backup may want it; the next start's sweep has it */
    w->swept += unlinkat(shard, name, 0) == 0;
    hl_data_dir_release_bodies(&w->db->dir);
    HL_CRASH_POINT(SWEEP_UNLINKED);
    return HL_OK;
}

void hl_sweep_empty_tmp(const struct hl_database *db)
{
    char path[HL_PATH_MAX];
    DIR *tmp = hl_path(path, "%s/tmp", db->dir.path) == HL_OK ? opendir(path) : NULL;
    if (!tmp)
        return;
    for (struct dirent *entry; (entry = readdir(tmp));)
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(tmp), entry->d_name, 0);
    closedir(tmp);
}

static enum hl_err report_missing(struct hl_database *db)
{
    struct hl_sql_row row;
    enum hl_err err;
    while (!(err = hl_database_row(db, HL_SQL_FILE_EACH, &row))) {
        struct hl_id file, run_id;
        int fd;
        hl_sql_id(&row, &file);
        hl_sql_id(&row, &run_id);
        if (hl_body_file_open(db->dir.path, &file, &fd) == HL_OK)
            close(fd);
        else
            HL_LOG(ERROR, "store: a body's file is missing", HL_LOG_ID("file", &file),
                HL_LOG_ID("run_id", &run_id));
    }
    return err == HL_ERR_NOT_FOUND ? HL_OK : err;
}

/* By a clock that is ahead every file is old: until it is believed, time stands where it was. */
static int64_t trusted_now_ms(const struct hl_database *db)
{
    int64_t seen_ms = db->base.noted.seen_ms, now_ms = hl_clock_wall_ms();
    return seen_ms > 0 && now_ms - seen_ms > HL_CLOCK_JUMP_MS ? seen_ms : now_ms;
}

enum hl_err hl_sweep_files(struct hl_database *db)
{
    struct walk w = {.db = db, .visit = sweep_file, .now_ms = trusted_now_ms(db)};
    enum hl_err err = walk(&w);
    db->swept_files = w.swept;
    if (w.swept > 0)
        HL_LOG(WARN, "store: removed files of bodies that no record names",
            HL_LOG_INT("files", w.swept));
    return err ? err : report_missing(db);
}

/* --- event streams of interrupted runs ------------------------------------------------------ */

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

static enum hl_err keep(struct hl_database *db, const struct left *left, struct hl_outcome *o)
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
    enum hl_err err = keep(db, &left, outcome);
    close(left.fd);
    if (err)
        HL_LOG(ERROR, "store: the events of an interrupted event stream cannot be kept",
            HL_LOG_ID("run_id", run_id), HL_LOG_TEXT("why", hl_err_text(err)));
}

/* Another attempt follows: of what came only the ordinals count. */
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
