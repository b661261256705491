/* diary_file.c - see diary_file.h.
 *
 * A database of SQLite's: a batch is there whole or not at all, also where the process is killed in the middle of
 * one, the room of lines that are gone is used again, and neither needs code of ours. Its log is not synchronized
 * with each batch: a kill loses nothing that was written, a power cut the last seconds. Lines are sealed, each for its
 * number: that keeps them to this key's replicas, and is their checksum.
 *
 * Promise: nothing waits for it but the end of the process. Where the disk takes nothing the file goes, for what it says is not so any more, and
 * is made anew later. A file that was copied, damaged, or sealed with a key that is not known is not believed: who
 * reads it would speak for a process that may be alive. */
#include "store/postgres/diary_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "store/key.h"
#include "store/path.h"
#include "store/secret.h"

#define NAME        "diary.db"
#define PLACE       "diary.line"
#define FILE_MAX    (64u << 20) /* far more than what is remembered */
#define WAITING_MAX (16u << 20)
#define AGAIN_MS    30000
#define FORMAT      1
/* Numbers of lines: what the file is, and the one that is there once. */
#define ORIGIN 1
#define FIRST  2
#define LAST   2

static const char settings[] = "PRAGMA locking_mode = EXCLUSIVE;"
                               "PRAGMA journal_mode = WAL;"
                               "PRAGMA synchronous = NORMAL;"
                               "PRAGMA journal_size_limit = 4194304;"
                               "PRAGMA temp_store = MEMORY;"
                               "PRAGMA cache_size = -512;"
                               "CREATE TABLE IF NOT EXISTS line (n INTEGER PRIMARY KEY, sealed);";

struct line {
    uint64_t n;
    struct hl_buf bytes;
    bool is_gone;
};

struct batch {
    struct line *lines;
    size_t n, cap, bytes;
    bool is_anew; /* all that was there before goes */
};

enum standing {
    BEGINNING, /* all lines are to be added */
    WRITING,
    RESTING, /* the disk takes nothing: until again_ms */
};

struct hl_pg_diary_file {
    uv_loop_t *loop;
    char path[HL_PATH_MAX];
    char schema[96];
    enum standing standing;
    uint64_t last, again_ms;
    bool is_rest_said, is_closing;
    bool is_stale; /* the file is to go: what is not in it was given up */
    struct batch waiting;

    /* Who writes has these; nobody else while `is_busy`. */
    bool is_busy;
    uv_work_t work;
    struct batch batch;
    struct hl_sealer sealer;
    sqlite3 *db; /* NULL: closed */
    sqlite3_stmt *add, *drop;
    char why[160]; /* it failed; "": it did not */
};

struct hl_pg_diary_file *hl_pg_diary_file_open(
    uv_loop_t *loop, const struct hl_shared_keys *keys, const char *dir, struct hl_str schema)
{
    struct hl_pg_diary_file *d = calloc(1, sizeof(*d));
    if (!d)
        return NULL;
    d->loop = loop;
    d->last = LAST;
    d->work.data = d;
    snprintf(d->schema, sizeof(d->schema), "%.*s", HL_STR_ARG(schema));
    if (hl_path(d->path, "%s/" NAME, dir) == HL_OK &&
        hl_sealer_init_shared(&d->sealer, keys) == HL_OK)
        return d;
    free(d);
    return NULL;
}

/* --- the file ------------------------------------------------------------------------------- */

static bool failed(struct hl_pg_diary_file *d)
{
    int errnum = d->db ? sqlite3_system_errno(d->db) : errno;
    snprintf(d->why, sizeof(d->why), "%s", errnum ? strerror(errnum) : sqlite3_errmsg(d->db));
    return false;
}

static void close_file(struct hl_pg_diary_file *d)
{
    sqlite3_finalize(d->add);
    sqlite3_finalize(d->drop);
    sqlite3_close(d->db);
    d->db = NULL;
    d->add = d->drop = NULL;
}

/* The database first: its log alone says nothing, and it alone would say what was so earlier. */
static void remove_file(struct hl_pg_diary_file *d)
{
    static const char *const ends[] = {"", "-wal", "-shm", "-journal"};
    char path[HL_PATH_MAX];
    close_file(d);
    for (size_t i = 0; i < HL_ARRAY_LEN(ends); i++)
        if (hl_path(path, "%s%s", d->path, ends[i]) == HL_OK)
            unlink(path);
}

static bool open_file(struct hl_pg_diary_file *d)
{
    int fd = open(d->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return failed(d);
    close(fd);
    if (sqlite3_open_v2(d->path, &d->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) ||
        sqlite3_exec(d->db, settings, NULL, NULL, NULL) ||
        sqlite3_prepare_v2(
            d->db, "INSERT OR REPLACE INTO line (n, sealed) VALUES (?, ?)", -1, &d->add, NULL) ||
        sqlite3_prepare_v2(d->db, "DELETE FROM line WHERE n = ?", -1, &d->drop, NULL))
        return failed(d);
    return true;
}

static struct hl_id row_of(uint64_t n)
{
    struct hl_id id = {{0}};
    memcpy(id.b, &n, sizeof(n));
    return id;
}

/* A copy is another file. */
static enum hl_err write_origin(const struct hl_pg_diary_file *d, struct hl_buf *out)
{
    struct stat st;
    if (stat(d->path, &st) < 0)
        return hl_err_from_errno(errno);
    return hl_buf_printf(out, "%d %llu %s", FORMAT, (unsigned long long)st.st_ino, d->schema);
}

/* --- reading -------------------------------------------------------------------------------- */

struct reading {
    struct hl_pg_diary_file *diary;
    bool (*read)(void *self, struct hl_str line);
    void *self;
    bool has_origin;
};

static const char *read_line(struct reading *r, uint64_t n, struct hl_str sealed)
{
    struct hl_buf plain = {0}, origin = {0};
    struct hl_id row = row_of(n);
    const char *why = NULL;
    if (hl_unseal_append(&r->diary->sealer, PLACE, &row, sealed, &plain))
        why = "it was sealed with another key, or is damaged";
    else if (n == ORIGIN)
        r->has_origin = write_origin(r->diary, &origin) == HL_OK &&
                        hl_str_eq(hl_buf_str(&plain), hl_buf_str(&origin));
    else if (r->has_origin && !r->read(r->self, hl_buf_str(&plain)))
        why = "its format is unknown";
    if (!why && !r->has_origin)
        why = "it is a copy, or of another schema or version";
    hl_buf_fini(&plain);
    hl_buf_fini(&origin);
    return why;
}

static const char *read_lines(struct reading *r)
{
    sqlite3_stmt *st = NULL;
    const char *why = NULL;
    int rc =
        sqlite3_prepare_v2(r->diary->db, "SELECT n, sealed FROM line ORDER BY n", -1, &st, NULL);
    while (rc == SQLITE_OK && !why && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        const char *bytes = sqlite3_column_blob(st, 1);
        struct hl_str sealed = {bytes, (size_t)sqlite3_column_bytes(st, 1)};
        why = read_line(r, (uint64_t)sqlite3_column_int64(st, 0), sealed);
        rc = SQLITE_OK;
    }
    sqlite3_finalize(st);
    return why || rc == SQLITE_DONE ? why : "it is damaged";
}

static bool is_whole(sqlite3 *db)
{
    sqlite3_stmt *st = NULL;
    const char *said = NULL;
    if (sqlite3_prepare_v2(db, "PRAGMA quick_check(1)", -1, &st, NULL) == SQLITE_OK &&
        sqlite3_step(st) == SQLITE_ROW)
        said = (const char *)sqlite3_column_text(st, 0);
    bool is = said && strcmp(said, "ok") == 0;
    sqlite3_finalize(st);
    return is;
}

static const char *read_file(struct reading *r, const struct stat *st)
{
    if (!S_ISREG(st->st_mode) || (uint64_t)st->st_size > FILE_MAX)
        return "it is not such a file";
    if (!open_file(r->diary))
        return r->diary->why;
    return is_whole(r->diary->db) ? read_lines(r) : "it is damaged";
}

bool hl_pg_diary_file_read(
    struct hl_pg_diary_file *d, bool (*read)(void *self, struct hl_str line), void *self)
{
    struct stat st;
    if (lstat(d->path, &st) < 0 || st.st_size == 0)
        return true;
    struct reading r = {.diary = d, .read = read, .self = self};
    const char *why = read_file(&r, &st);
    if (!why)
        return true;
    HL_LOG(WARN, "store: this replica's record of what it ran is not usable; a new one is begun",
        HL_LOG_TEXT("file", d->path), HL_LOG_TEXT("why", why));
    remove_file(d);
    d->why[0] = '\0';
    return false;
}

/* --- writing, on a thread of the pool ------------------------------------------------------- */

static bool step(struct hl_pg_diary_file *d, sqlite3_stmt *st)
{
    int rc = sqlite3_step(st);
    bool is_done = rc == SQLITE_DONE || failed(d);
    sqlite3_reset(st);
    return is_done;
}

static bool write_sealed(struct hl_pg_diary_file *d, uint64_t n, struct hl_str plain)
{
    struct hl_buf sealed = {0};
    struct hl_id row = row_of(n);
    enum hl_err err = hl_seal(&d->sealer, PLACE, &row, plain, &sealed);
    if (err) {
        snprintf(d->why, sizeof(d->why), "%s", hl_err_text(err));
    } else {
        sqlite3_bind_int64(d->add, 1, (int64_t)n);
        sqlite3_bind_blob(d->add, 2, sealed.p, (int)sealed.n, SQLITE_STATIC);
    }
    bool is_done = !err && step(d, d->add);
    sqlite3_clear_bindings(d->add);
    hl_buf_fini(&sealed);
    return is_done;
}

static bool write_line(struct hl_pg_diary_file *d, const struct line *line)
{
    if (!line->is_gone)
        return write_sealed(d, line->n, hl_buf_str(&line->bytes));
    sqlite3_bind_int64(d->drop, 1, (int64_t)line->n);
    return step(d, d->drop);
}

static bool begin_anew(struct hl_pg_diary_file *d)
{
    struct hl_buf origin = {0};
    bool is_done =
        sqlite3_exec(d->db, "DELETE FROM line", NULL, NULL, NULL) == SQLITE_OK || failed(d);
    if (is_done)
        is_done = write_origin(d, &origin) == HL_OK || failed(d);
    if (is_done)
        is_done = write_sealed(d, ORIGIN, hl_buf_str(&origin));
    hl_buf_fini(&origin);
    return is_done;
}

static bool write_batch(struct hl_pg_diary_file *d)
{
    if (!d->db && !open_file(d))
        return false;
    if (sqlite3_exec(d->db, "BEGIN", NULL, NULL, NULL))
        return failed(d);
    bool is_done = !d->batch.is_anew || begin_anew(d);
    for (size_t i = 0; is_done && i < d->batch.n; i++)
        is_done = write_line(d, &d->batch.lines[i]);
    return is_done && (sqlite3_exec(d->db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK || failed(d));
}

static void on_work(uv_work_t *work)
{
    struct hl_pg_diary_file *d = work->data;
    d->why[0] = '\0';
    if (!write_batch(d))
        remove_file(d);
}

/* --- batches -------------------------------------------------------------------------------- */

static void empty(struct batch *b)
{
    for (size_t i = 0; i < b->n; i++)
        hl_buf_fini(&b->lines[i].bytes);
    free(b->lines);
    *b = (struct batch){0};
}

static void rest(struct hl_pg_diary_file *d, const char *why)
{
    if (!d->is_rest_said)
        HL_LOG(WARN,
            "store: this replica's record of what it ran is in memory only: its file cannot be "
            "written",
            HL_LOG_TEXT("file", d->path), HL_LOG_TEXT("why", why));
    d->is_rest_said = true;
    d->standing = RESTING;
    d->again_ms = hl_clock_mono_ms() + AGAIN_MS;
    empty(&d->waiting);
}

static void on_written(uv_work_t *work, int status)
{
    struct hl_pg_diary_file *d = work->data;
    d->is_busy = false;
    empty(&d->batch);
    if (status != 0 || d->why[0]) {
        rest(d, d->why[0] ? d->why : uv_strerror(status));
    } else if (d->is_rest_said && d->standing == WRITING) {
        HL_LOG(INFO, "store: this replica's record of what it ran is in its file again");
        d->is_rest_said = false;
    }
    if (d->is_closing)
        hl_pg_diary_file_turn(d);
}

static void on_remove(uv_work_t *work)
{
    remove_file(work->data);
}

static void on_removed(uv_work_t *work, int status)
{
    struct hl_pg_diary_file *d = work->data;
    d->is_busy = false;
    d->is_stale = status != 0;
}

void hl_pg_diary_file_turn(struct hl_pg_diary_file *d)
{
    if (d->is_stale && !d->is_busy)
        d->is_busy = uv_queue_work(d->loop, &d->work, on_remove, on_removed) == 0;
    if (d->is_busy || d->standing != WRITING || (d->waiting.n == 0 && !d->waiting.is_anew))
        return;
    d->batch = d->waiting;
    d->waiting = (struct batch){0};
    d->is_busy = true;
    int rc = uv_queue_work(d->loop, &d->work, on_work, on_written);
    if (rc != 0)
        on_written(&d->work, rc);
}

bool hl_pg_diary_file_begins_anew(struct hl_pg_diary_file *d, uint64_t now_ms)
{
    if (now_ms < hl_pg_diary_file_due_ms(d))
        return false;
    d->standing = WRITING;
    d->waiting.is_anew = true;
    return true;
}

uint64_t hl_pg_diary_file_due_ms(const struct hl_pg_diary_file *d)
{
    if (d->is_busy || d->is_closing || d->standing == WRITING)
        return UINT64_MAX;
    return d->standing == BEGINNING ? 0 : d->again_ms;
}

/* --- lines ---------------------------------------------------------------------------------- */

/* Takes the bytes. False: it goes to no file. */
static bool push(struct hl_pg_diary_file *d, struct line line)
{
    struct batch *b = &d->waiting;
    if (d->standing == WRITING && b->n == b->cap) {
        size_t cap = b->cap ? 2 * b->cap : 64;
        struct line *lines = realloc(b->lines, cap * sizeof(*lines));
        if (lines) {
            b->lines = lines;
            b->cap = cap;
        }
    }
    size_t bytes = b->bytes + sizeof(line) + line.bytes.n;
    if (d->standing == WRITING && (b->n == b->cap || bytes > WAITING_MAX)) {
        rest(d, "more is waiting for its disk than there is room for");
        d->is_stale = true;
    }
    if (d->standing != WRITING) {
        hl_buf_fini(&line.bytes);
        return false;
    }
    b->bytes = bytes;
    b->lines[b->n++] = line;
    return true;
}

uint64_t hl_pg_diary_file_add(struct hl_pg_diary_file *d, struct hl_buf *line)
{
    bool is_pushed = push(d, (struct line){.n = d->last + 1, .bytes = *line});
    *line = (struct hl_buf){0};
    d->last += is_pushed;
    return is_pushed ? d->last : 0;
}

void hl_pg_diary_file_put_first(struct hl_pg_diary_file *d, struct hl_buf *line)
{
    push(d, (struct line){.n = FIRST, .bytes = *line});
    *line = (struct hl_buf){0};
}

void hl_pg_diary_file_drop(struct hl_pg_diary_file *d, uint64_t number)
{
    if (number > 0)
        push(d, (struct line){.n = number, .is_gone = true});
}

/* --- the end -------------------------------------------------------------------------------- */

void hl_pg_diary_file_close(struct hl_pg_diary_file *d)
{
    d->is_closing = true;
    hl_pg_diary_file_turn(d);
}

void hl_pg_diary_file_free(struct hl_pg_diary_file *d)
{
    if (!d)
        return;
    close_file(d);
    empty(&d->waiting);
    hl_sealer_fini(&d->sealer);
    free(d);
}
