/* backup.c - see backup.h. A process of its own, beside the one that has the store open.
 * Promise: the copy is of one moment, bodies' files included, and nothing waits for it (snapshot.h). Until it is
 * whole, a mark in the directory keeps a start away from it. */
#include "store/sqlite/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "config/config.h"
#include "store/body_file.h"
#include "store/data_dir.h"
#include "store/key.h"
#include "store/path.h"
#include "store/sqlite/database.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/snapshot.h"
#include "store/sqlite/statement.h"

#define MARK       "backup"
#define UNFINISHED "this backup is not finished: make it again\n"
#define FINISHED   "a backup of a hookline data directory\n"
#define STEP_PAGES 64
#define COPY_BYTES (256 * 1024)

struct backup {
    const char *from, *to;
    uint64_t rate;
    struct hl_snapshot moment;
    uint64_t began_us, read_bytes;
    char *buffer; /* COPY_BYTES */
    struct hl_backed_up *done;
    char *why;
    size_t why_len;
};

static enum hl_err explain(struct backup *b, enum hl_err err, const char *what, const char *path)
{
    snprintf(b->why, b->why_len, "%s %s: %s", what, path, hl_err_text(err));
    return err;
}

static enum hl_err explain_errno(struct backup *b, const char *what, const char *path)
{
    snprintf(b->why, b->why_len, "%s %s: %s", what, path, strerror(errno));
    return hl_err_from_errno(errno);
}

static enum hl_err explain_db(struct backup *b, sqlite3 *db, int rc, const char *path)
{
    snprintf(b->why, b->why_len, "%s: %s", path, sqlite3_errmsg(db));
    enum hl_err err = hl_sql_err(db, rc);
    return err ? err : HL_ERR_IO;
}

/* Sleeps for as long as it is ahead of its rate. */
static void pace(struct backup *b, uint64_t bytes)
{
    b->read_bytes += bytes;
    uint64_t due_us = (uint64_t)((double)b->read_bytes * 1e6 / (double)b->rate);
    uint64_t now_us = hl_clock_mono_us() - b->began_us;
    if (due_us <= now_us)
        return;
    struct timespec pause = {.tv_sec = (time_t)((due_us - now_us) / 1000000),
        .tv_nsec = (long)((due_us - now_us) % 1000000) * 1000};
    nanosleep(&pause, NULL);
}

/* ---- the place ---- */

static enum hl_err mark(struct backup *b, const char *text)
{
    char path[HL_PATH_MAX];
    enum hl_err err = hl_path(path, "%s/" MARK, b->to);
    if (!err)
        err = hl_path_write(path, text, strlen(text));
    return err ? explain(b, err, "cannot write to", b->to) : HL_OK;
}

static bool is_there(const char *dir, const char *name)
{
    char path[HL_PATH_MAX];
    struct stat st;
    return hl_path(path, "%s/%s", dir, name) == HL_OK && lstat(path, &st) == 0;
}

static bool is_empty(const char *path)
{
    DIR *dir = opendir(path);
    bool is = dir != NULL;
    for (struct dirent *entry; is && (entry = readdir(dir));)
        is = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    if (dir)
        closedir(dir);
    return is;
}

/* A directory that a process has run on is no backup any more, and not to be written over. */
static enum hl_err check_place(struct backup *b)
{
    if (is_there(b->to, MARK) && !is_there(b->to, "store.lock"))
        return HL_OK;
    if (is_empty(b->to))
        return HL_OK;
    snprintf(b->why, b->why_len,
        "%s holds something other than a backup: name a new directory, or an empty one", b->to);
    return HL_ERR_EXISTS;
}

static enum hl_err make_place(struct backup *b)
{
    static const char *const names[] = {"/tmp", "/bodies"};
    char path[HL_PATH_MAX];
    if (mkdir(b->to, 0700) < 0 && errno != EEXIST)
        return explain_errno(b, "cannot make", b->to);
    enum hl_err err = check_place(b);
    if (!err)
        err = mark(b, UNFINISHED);
    for (size_t i = 0; i < HL_ARRAY_LEN(names) && !err; i++) {
        err = hl_path(path, "%s%s", b->to, names[i]);
        if (!err && mkdir(path, 0700) < 0 && errno != EEXIST)
            err = explain_errno(b, "cannot make", path);
    }
    return err;
}

/* ---- bodies ---- */

static enum hl_err copy_bytes(struct backup *b, int from, int to)
{
    for (;;) {
        ssize_t n = read(from, b->buffer, COPY_BYTES);
        if (n <= 0)
            return n < 0 ? hl_err_from_errno(errno) : HL_OK;
        enum hl_err err = hl_body_file_write(to, (struct hl_str){b->buffer, (size_t)n});
        if (err)
            return err;
        pace(b, (uint64_t)n);
        b->done->body_bytes += (uint64_t)n;
    }
}

static enum hl_err copy_body(struct backup *b, const struct hl_id *id)
{
    int from, to = -1;
    enum hl_err err = hl_body_file_open(b->from, id, &from);
    if (err)
        return err;
    err = hl_body_file_create(b->to, id, &to);
    if (!err)
        err = copy_bytes(b, from, to);
    if (!err)
        err = hl_body_file_commit(b->to, id, to);
    if (to >= 0)
        close(to);
    close(from);
    b->done->bodies += err == HL_OK;
    return err;
}

/* One with that name and length is that one: what has its final name never changes. */
static enum hl_err bring_body(
    void *data, const struct hl_id *id, uint64_t size, const struct hl_id *run_id)
{
    struct backup *b = data;
    (void)run_id;
    if (hl_body_file_is_of_size(b->to, id, size)) {
        b->done->kept++;
        return HL_OK;
    }
    if (!hl_body_file_is_of_size(b->from, id, size)) {
        b->done->missing++;
        return HL_OK;
    }
    hl_body_file_remove(b->to, id);
    enum hl_err err = copy_body(b, id);
    return err ? explain(b, err, "cannot copy a body to", b->to) : HL_OK;
}

static enum hl_err bring_bodies(struct backup *b)
{
    b->why[0] = '\0';
    enum hl_err err = hl_snapshot_each_body(&b->moment, bring_body, b);
    return err && !b->why[0] ? explain_db(b, b->moment.db, sqlite3_errcode(b->moment.db), b->from)
                             : err;
}

/* What an earlier backup to this place had, and the store has no more. */
static bool is_named(sqlite3_stmt *st, const struct hl_id *id)
{
    sqlite3_reset(st);
    sqlite3_bind_blob(st, 1, id->b, sizeof(id->b), SQLITE_STATIC);
    return sqlite3_step(st) == SQLITE_ROW;
}

static void drop_unnamed_in(struct backup *b, sqlite3_stmt *st, const char *shard)
{
    DIR *dir = opendir(shard);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        struct hl_id id;
        if (hl_id_parse(hl_str_from(entry->d_name), &id) && !is_named(st, &id))
            hl_body_file_remove(b->to, &id);
    }
    if (dir)
        closedir(dir);
}

static enum hl_err drop_unnamed(struct backup *b)
{
    char bodies[HL_PATH_MAX], shard[HL_PATH_MAX];
    sqlite3_stmt *st = NULL;
    enum hl_err err = hl_path(bodies, "%s/bodies", b->to);
    DIR *dir = err ? NULL : opendir(bodies);
    int rc = sqlite3_prepare_v2(b->moment.db,
        "SELECT 1 WHERE EXISTS (SELECT 1 FROM ticket WHERE body_file = ?1) OR EXISTS (SELECT 1 "
        "FROM "
        "result WHERE body_file = ?1) OR EXISTS (SELECT 1 FROM request WHERE body_file = ?1)",
        -1, &st, NULL);
    for (struct dirent *entry; rc == SQLITE_OK && dir && (entry = readdir(dir));)
        if (entry->d_name[0] != '.' && hl_path(shard, "%s/%s", bodies, entry->d_name) == HL_OK)
            drop_unnamed_in(b, st, shard);
    if (dir)
        closedir(dir);
    sqlite3_finalize(st);
    return rc == SQLITE_OK ? err : explain_db(b, b->moment.db, rc, b->from);
}

/* ---- the database ---- */

/* In its own transaction: what is written meanwhile is not seen, and begins nothing anew. */
static int copy_pages(struct backup *b, sqlite3 *copy)
{
    uint64_t page = (uint64_t)hl_snapshot_ask(&b->moment, "PRAGMA page_size");
    sqlite3_backup *pages = sqlite3_backup_init(copy, "main", b->moment.db, "main");
    if (!pages)
        return sqlite3_errcode(copy);
    int rc;
    while ((rc = sqlite3_backup_step(pages, STEP_PAGES)) == SQLITE_OK)
        pace(b, STEP_PAGES * page);
    b->done->database_bytes = page * (uint64_t)sqlite3_backup_pagecount(pages);
    int end = sqlite3_backup_finish(pages);
    return rc == SQLITE_DONE ? end : rc;
}

static enum hl_err check_copy(struct backup *b, sqlite3 *copy, const char *path)
{
    char what[256];
    bool is_new;
    enum hl_err err = hl_schema_check(copy, &is_new, what, sizeof(what));
    if (err)
        snprintf(b->why, b->why_len, "the copy %s is not whole: %s", path, what);
    return err;
}

static enum hl_err bring_database(struct backup *b)
{
    char path[HL_PATH_MAX], name[HL_PATH_MAX];
    sqlite3 *copy = NULL;
    enum hl_err err = hl_path(path, "%s/hookline.db.part", b->to);
    if (!err)
        err = hl_path(name, "%s/hookline.db", b->to);
    if (err)
        return explain(b, err, "cannot write to", b->to);
    unlink(path);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return explain_errno(b, "cannot make", path);
    int rc = sqlite3_open_v2(path, &copy, SQLITE_OPEN_READWRITE, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(
            copy, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF", NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = copy_pages(b, copy);
    err = rc == SQLITE_OK ? check_copy(b, copy, path) : explain_db(b, copy, rc, path);
    sqlite3_close(copy);
    if (!err && fsync(fd) < 0)
        err = explain_errno(b, "cannot sync", path);
    close(fd);
    if (!err && rename(path, name) < 0)
        err = explain_errno(b, "cannot make", name);
    return err;
}

/* ---- the key ---- */

static enum hl_err bring_key(struct backup *b)
{
    char from[HL_PATH_MAX], to[HL_PATH_MAX], key[512];
    size_t n;
    enum hl_err err = hl_path(from, "%s/key", b->from);
    if (!err)
        err = hl_path(to, "%s/key", b->to);
    if (!err)
        err = hl_path_read(from, key, sizeof(key), &n);
    if (err == HL_ERR_NOT_FOUND)
        return HL_OK;
    if (!err)
        err = hl_path_write(to, key, n);
    explicit_bzero(key, sizeof(key));
    b->done->has_key = !err;
    return err ? explain(b, err, "cannot copy the key file", from) : HL_OK;
}

enum hl_err hl_backup(const struct hl_config *config, const char *to, uint64_t rate,
    struct hl_backed_up *done, char *why, size_t why_len)
{
    *done = (struct hl_backed_up){0};
    struct backup b = {.from = config->data_dir.p,
        .to = to,
        .rate = rate,
        .moment.bodies_fd = -1,
        .began_us = hl_clock_mono_us(),
        .buffer = malloc(COPY_BYTES),
        .done = done,
        .why = why,
        .why_len = why_len};
    enum hl_err err =
        hl_imported_mark_check(b.from, why, why_len); /* a copy would run what has moved, again */
    if (!err)
        err = hl_backup_check(b.from, why, why_len); /* and would pass for one that is finished */
    if (!err)
        err = b.buffer ? hl_snapshot_begin(&b.moment, b.from, why, why_len)
                       : explain(&b, HL_ERR_NOMEM, "cannot copy", b.from);
    if (!err)
        err = make_place(&b);
    if (!err && config->key_file.n == 0)
        err = bring_key(&b);
    if (!err)
        err = bring_bodies(&b);
    if (!err)
        err = bring_database(&b);
    if (!err)
        err = drop_unnamed(&b);
    if (!err)
        err = mark(&b, FINISHED);
    hl_snapshot_end(&b.moment);
    free(b.buffer);
    return err;
}

enum hl_err hl_backup_check(const char *data_dir, char *why, size_t why_len)
{
    char path[HL_PATH_MAX], text[sizeof(UNFINISHED)];
    size_t n;
    if (hl_path(path, "%s/" MARK, data_dir) != HL_OK ||
        hl_path_read(path, text, sizeof(text), &n) != HL_OK || strcmp(text, UNFINISHED) != 0)
        return HL_OK;
    snprintf(why, why_len,
        "HOOKLINE_DATA_DIR: %s holds a backup that was not finished: make it again with hookline "
        "store "
        "backup, or restore another",
        data_dir);
    return HL_ERR_INVALID;
}
