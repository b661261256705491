/* sweep.c - bodies' files that no record names. At open, before the store's thread starts.
 * Promise: what is younger than an hour, or is not ours, stays; the log says how many went. */
#include "store/sqlite/sweep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crash_point.h"
#include "base/log.h"
#include "store/body_file.h"
#include "store/clock_guard.h"
#include "store/data_dir.h"
#include "store/driver.h"
#include "store/path.h"
#include "store/sqlite/database.h"

#define OLD_MS (3600 * 1000ll)

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
