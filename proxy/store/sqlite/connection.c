/* connection.c - the writing connection: opened over a file that is known to be ours and whole, and
 * opened anew by the same process after the disk has failed. The store's thread; before that thread
 * starts, the opener's.
 *
 * After a failed fsync the kernel may have dropped the pages and take the next fsync for a success, so
 * what the connection wrote last must never be counted on: not by a second COMMIT, and not by reading
 * the log back, which shows what the page cache has and the disk may lack. What was acknowledged is in
 * the log up to the frame that its index names. Everything behind that is cut off before the log is
 * read again, so the file says what was acknowledged and nothing more, which is also what the process
 * has in memory. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "store/path.h"
#include "store/sqlite/database.h"
#include "store/sqlite/reading.h"
#include "store/sqlite/schema.h"

/* page_size and auto_vacuum hold only before the first table; the order matters. secure_delete is off
 * because Debian's default doubles what a deletion writes, and what is secret is encrypted. */
#define SETTINGS                                                                                   \
    "PRAGMA page_size = 8192;"                                                                     \
    "PRAGMA auto_vacuum = INCREMENTAL;"                                                            \
    "PRAGMA foreign_keys = ON;"                                                                    \
    "PRAGMA secure_delete = OFF;"                                                                  \
    "PRAGMA temp_store = MEMORY;"

/* wal_autocheckpoint is off because upkeep.c chooses the moment. */
static const char settings[] = SETTINGS "PRAGMA journal_mode = WAL;"
                                        "PRAGMA synchronous = FULL;"
                                        "PRAGMA wal_autocheckpoint = 0;"
                                        "PRAGMA journal_size_limit = 67108864;"
                                        "PRAGMA mmap_size = 0;"
                                        "PRAGMA cache_size = -16384;";

enum hl_err hl_sqlite_explain(
    struct hl_database *db, int rc, const char *path, char *why, size_t why_len)
{
    snprintf(why, why_len, "HOOKLINE_DATA_DIR: cannot open the store %s: %s", path,
        sqlite3_errmsg(db->db));
    enum hl_err err = hl_sql_err(db->db, rc);
    return err ? err : HL_ERR_IO;
}

enum hl_err hl_sqlite_explain_file(const char *path, char *why, size_t why_len)
{
    snprintf(
        why, why_len, "HOOKLINE_DATA_DIR: cannot open the store %s: %s", path, strerror(errno));
    return hl_err_from_errno(errno);
}

/* SQLite would make the file with the process's umask; this way it is 0600 from the start, and the
 * log and its index copy that. */
static enum hl_err make_file(const char *path, char *why, size_t why_len)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return hl_sqlite_explain_file(path, why, why_len);
    close(fd);
    return HL_OK;
}

static enum hl_err check(
    struct hl_database *db, const char *path, bool *is_new, char *why, size_t why_len)
{
    char what[256];
    *is_new = true; /* there is none: it was only looked for */
    enum hl_err err = db->db ? hl_schema_check(db->db, is_new, what, sizeof(what)) : HL_OK;
    if (!err)
        return HL_OK;
    /* Closing must not move the log into a file that is not understood. */
    sqlite3_db_config(db->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    if (err == HL_ERR_CORRUPT)
        snprintf(why, why_len,
            "HOOKLINE_DATA_DIR: the store %s is damaged (%s); nothing was changed: restore it from "
            "a backup, or move "
            "it"
            " away to begin with an empty one",
            path, what);
    else
        snprintf(why, why_len,
            "HOOKLINE_DATA_DIR: cannot use the store %s: %s; nothing was changed", path, what);
    return err;
}

/* Bodies without the database that names them: it was lost, or is not mounted, and the sweep of an
 * empty one would remove them all. The empty file that opening made goes again. */
static enum hl_err refuse_lost(struct hl_database *db, const char *path, char *why, size_t why_len)
{
    if (!hl_sweep_finds_bodies(db))
        return HL_OK;
    if (!db->is_dry)
        unlink(path);
    snprintf(why, why_len,
        "HOOKLINE_DATA_DIR: the store %s is missing, but %s/bodies has files that belong to it; "
        "nothing was changed: "
        "put it back, or move that directory away to begin with an empty store",
        path, db->dir.path);
    return HL_ERR_NOT_FOUND;
}

enum hl_err hl_sqlite_check_file(
    struct hl_database *db, const char *path, bool *is_new, char *why, size_t why_len)
{
    enum hl_err err = check(db, path, is_new, why, why_len);
    return err || !*is_new ? err : refuse_lost(db, path, why, why_len);
}

/* SQLite says nothing when a file system cannot hold a log's shared index: it stays as it was. */
static bool has_log(struct hl_database *db)
{
    sqlite3_stmt *st = NULL;
    bool is_wal = sqlite3_prepare_v2(db->db, "PRAGMA journal_mode", -1, &st, NULL) == SQLITE_OK &&
                  sqlite3_step(st) == SQLITE_ROW &&
                  strcmp((const char *)sqlite3_column_text(st, 0), "wal") == 0;
    sqlite3_finalize(st);
    return is_wal;
}

static int on_commit(void *arg, sqlite3 *handle, const char *name, int pages)
{
    (void)handle;
    (void)name;
    struct hl_database *db = arg;
    db->wal_pages = pages;
    db->wal_commits++;
    return SQLITE_OK;
}

static enum hl_err open_file(
    struct hl_database *db, const char *path, bool *is_new, char *why, size_t why_len)
{
    int rc = sqlite3_open_v2(path, &db->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_busy_timeout(db->db, HL_SQLITE_BUSY_MS);
    if (rc != SQLITE_OK)
        return hl_sqlite_explain(db, rc, path, why, why_len);
    enum hl_err err = hl_sqlite_check_file(db, path, is_new, why, why_len);
    if (err)
        return err;
    rc = sqlite3_exec(db->db, settings, NULL, NULL, NULL);
    if (rc != SQLITE_OK)
        return hl_sqlite_explain(db, rc, path, why, why_len);
    if (!has_log(db)) {
        snprintf(why, why_len,
            "HOOKLINE_DATA_DIR: the store %s cannot have a write-ahead log: its file system lacks"
            " shared memory",
            path);
        return HL_ERR_INVALID;
    }
    sqlite3_wal_hook(db->db, on_commit, db);
    char what[256];
    err = hl_schema_migrate(db->db, what, sizeof(what));
    if (!err)
        err = hl_path_sync(db->dir.path);
    if (err)
        snprintf(why, why_len, "HOOKLINE_DATA_DIR: cannot prepare the store %s: %s", path, what);
    return err;
}

/* Each connection to ":memory:" has a database of its own. Its journal, from which a transaction is
 * rolled back, is in memory by default. */
enum hl_err hl_connection_make_in_memory(struct hl_database *db, char *why, size_t why_len)
{
    char what[256] = "";
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    int rc = sqlite3_open_v2(":memory:", &db->db, flags, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db->db, SETTINGS, NULL, NULL, NULL);
    enum hl_err err = hl_sql_err(db->db, rc);
    if (!err)
        err = hl_schema_migrate(db->db, what, sizeof(what));
    if (err)
        snprintf(why, why_len, "HOOKLINE_STORE: cannot make a store in memory: %s",
            what[0] ? what : sqlite3_errmsg(db->db));
    return err;
}

enum hl_err hl_connection_prepare(
    struct hl_database *db, const char *path, char *why, size_t why_len)
{
    for (int i = 0; i < HL_SQL_COUNT; i++) {
        int rc = sqlite3_prepare_v3(
            db->db, hl_sql_statements[i].text, -1, SQLITE_PREPARE_PERSISTENT, &db->st[i], NULL);
        (void)hl_database_bind(db, (enum hl_sql)i);
        if (rc != SQLITE_OK)
            return hl_sqlite_explain(db, rc, path, why, why_len);
    }
    return HL_OK;
}

/* A log without its database: SQLite would remove it, and with it what was committed last. */
static enum hl_err refuse_log_alone(const char *path, bool has_log, char *why, size_t why_len)
{
    struct stat st;
    if ((stat(path, &st) == 0 && st.st_size > 0) || !has_log)
        return HL_OK;
    snprintf(why, why_len,
        "HOOKLINE_DATA_DIR: the store %s is missing or empty, but its log %s-wal is there; nothing "
        "was changed: put it back, or move that log away to begin with an empty store",
        path, path);
    return HL_ERR_NOT_FOUND;
}

static bool has_left_log(const char *path)
{
    struct stat st;
    char name[HL_PATH_MAX];
    return hl_path(name, "%s-wal", path) == HL_OK && stat(name, &st) == 0 && st.st_size > 0;
}

/* The file that the database was in when it was opened last; 0: nobody noted it, -1: it cannot be read. */
static int64_t noted_inode(struct hl_database *db)
{
    sqlite3_stmt *st = NULL;
    int64_t inode = -1;
    int rc = sqlite3_prepare_v2(db->db, "SELECT v FROM meta WHERE k = 'inode'", -1, &st, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(st);
    if (rc == SQLITE_ROW || rc == SQLITE_DONE)
        inode = rc == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
    sqlite3_finalize(st);
    return inode;
}

/* Moved from the log into the file at once, before anything is accepted: a copy of the file alone, whenever it
 * is made, has its tables and says what it is. */
static enum hl_err note_inode(struct hl_database *db, int64_t inode)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(
        db->db, "INSERT OR REPLACE INTO meta (k, v) VALUES ('inode', ?)", -1, &st, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int64(st, 1, inode);
    if (rc == SQLITE_OK)
        sqlite3_step(st);
    rc = sqlite3_finalize(st);
    if (rc == SQLITE_OK)
        rc = sqlite3_wal_checkpoint_v2(db->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    return rc == SQLITE_OK ? HL_OK : hl_sql_err(db->db, rc);
}

/* What was copied file by file while a process wrote is of many moments. A check of the pages alone does not
 * see that an index and its table are not of one; so a store that is in another file than before is read whole,
 * once. */
static enum hl_err check_copied(
    struct hl_database *db, const char *path, bool has_log, char *why, size_t why_len)
{
    char what[256];
    int64_t noted = noted_inode(db), inode = (int64_t)db->log.inode;
    if (noted == inode)
        return HL_OK;
    if (noted != 0 && has_log)
        HL_LOG(WARN, "store: its files were copied together with its log: if hookline was running "
                     "then, the latest acknowledged runs may be missing (hookline store backup "
                     "makes complete copies)");
    enum hl_err err = noted == 0 ? HL_OK : hl_schema_check_whole(db->db, what, sizeof(what));
    if (err) {
        sqlite3_db_config(db->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        snprintf(why, why_len,
            "HOOKLINE_DATA_DIR: the store %s is a damaged copy (%s), perhaps made while hookline "
            "was running: restore one that hookline store backup made",
            path, what);
        return err;
    }
    err = note_inode(db, inode);
    if (err)
        snprintf(why, why_len, "HOOKLINE_DATA_DIR: cannot write to the store %s: %s", path,
            hl_err_text(err));
    return err;
}

enum hl_err hl_connection_make(
    struct hl_database *db, const char *path, bool *is_new, char *why, size_t why_len)
{
    struct stat st;
    bool has_log = has_left_log(path);
    enum hl_err err = refuse_log_alone(path, has_log, why, why_len);
    if (!err)
        err = make_file(path, why, why_len);
    if (!err)
        err = open_file(db, path, is_new, why, why_len);
    if (!err && stat(path, &st) == 0)
        db->log = (struct hl_log_mark){.device = st.st_dev, .inode = st.st_ino};
    return err ? err : check_copied(db, path, has_log, why, why_len);
}

void hl_connection_close(struct hl_database *db)
{
    for (int i = 0; i < HL_SQL_COUNT; i++) {
        sqlite3_finalize(db->st[i]);
        db->st[i] = NULL;
    }
    sqlite3_close(db->db);
    db->db = NULL;
}

/* --- opened anew ----------------------------------------------------------------------------- */

#define INDEX_BYTES 32768
/* Where they stand in the log's index and in the log (sqlite.org/walformat.html 2.1, 1.1). */
#define INDEX_IS_INIT   12
#define INDEX_PAGE_SIZE 14
#define INDEX_FRAMES    16
#define INDEX_SALT      32
#define LOG_HEAD        32
#define LOG_SALT        16
#define FRAME_HEAD      24

/* How far the log was acknowledged. A connection that was never whole knows less than the one before. */
static void mark_log(struct hl_database *db)
{
    sqlite3_file *file = NULL;
    void volatile *mapped = NULL;
    if (!db->db ||
        sqlite3_file_control(db->db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK ||
        !file || !file->pMethods || file->pMethods->iVersion < 2 ||
        file->pMethods->xShmMap(file, 0, INDEX_BYTES, 0, &mapped) != SQLITE_OK || !mapped)
        return;
    const uint8_t *index = (const uint8_t *)mapped;
    uint16_t page_size;
    if (index[INDEX_IS_INIT] != 1)
        return;
    memcpy(&page_size, index + INDEX_PAGE_SIZE, sizeof(page_size));
    memcpy(&db->log.frames, index + INDEX_FRAMES, sizeof(db->log.frames));
    memcpy(db->log.salt, index + INDEX_SALT, sizeof(db->log.salt));
    db->log.page_size = page_size == 1 ? 65536 : page_size;
    db->log.is_known = true;
}

/* False: it is another log than the one that was marked. */
static bool is_marked_log(const struct hl_database *db, int fd)
{
    uint8_t salt[HL_LOG_SALT];
    return db->log.frames == 0 || (pread(fd, salt, sizeof(salt), LOG_SALT) == sizeof(salt) &&
                                      memcmp(salt, db->log.salt, sizeof(salt)) == 0);
}

static enum hl_err cut_open_log(const struct hl_database *db, int fd)
{
    struct stat st;
    off_t frame = FRAME_HEAD + (off_t)db->log.page_size;
    off_t size = db->log.frames == 0 ? 0 : LOG_HEAD + frame * (off_t)db->log.frames;
    if (fstat(fd, &st) < 0)
        return hl_err_from_errno(errno);
    if (st.st_size < size || !is_marked_log(db, fd))
        return HL_ERR_CORRUPT;
    if (st.st_size > size && ftruncate(fd, size) < 0)
        return hl_err_from_errno(errno);
    return fsync(fd) == 0 ? HL_OK : hl_err_from_errno(errno);
}

/* Nobody has it open. */
static enum hl_err cut_log(const struct hl_database *db, char *why, size_t why_len)
{
    char path[HL_PATH_MAX];
    enum hl_err err = hl_path(path, "%s/hookline.db-wal", db->dir.path);
    if (!err && !db->log.is_known)
        err = HL_ERR_CORRUPT;
    int fd = err ? -1 : open(path, O_RDWR | O_CLOEXEC);
    if (!err && fd < 0)
        err = errno == ENOENT && db->log.frames == 0 ? HL_OK : hl_err_from_errno(errno);
    if (fd >= 0) {
        err = cut_open_log(db, fd);
        close(fd);
    }
    if (err)
        snprintf(why, why_len, "the log of the store in %s cannot be used: %s", db->dir.path,
            hl_err_text(err));
    return err;
}

/* A volume that was mounted anew may hold something else. SQLite removes the log of an empty file. */
static enum hl_err check_place(const struct hl_database *db, char *why, size_t why_len)
{
    struct stat st;
    char path[HL_PATH_MAX];
    enum hl_err err = hl_path(path, "%s/hookline.db", db->dir.path);
    if (err)
        return err;
    if (stat(path, &st) < 0)
        return hl_sqlite_explain_file(path, why, why_len);
    if (st.st_dev == db->log.device && st.st_ino == db->log.inode)
        return HL_OK;
    snprintf(why, why_len, "the store %s is not the file that was opened at the start", path);
    return HL_ERR_CORRUPT;
}

/* That a page and the log can be written shows only when one is. */
static enum hl_err prove(struct hl_database *db, const char *path, char *why, size_t why_len)
{
    int rc = sqlite3_exec(db->db,
        "BEGIN IMMEDIATE;"
        "INSERT INTO meta (k, v) VALUES ('reopened', 1) ON CONFLICT (k) DO UPDATE SET v = v + 1;"
        "COMMIT",
        NULL, NULL, NULL);
    return rc == SQLITE_OK ? HL_OK : hl_sqlite_explain(db, rc, path, why, why_len);
}

static enum hl_err open_anew(struct hl_database *db, char *why, size_t why_len)
{
    bool is_new;
    char path[HL_PATH_MAX];
    enum hl_err err = hl_path(path, "%s/hookline.db", db->dir.path);
    if (!err)
        err = cut_log(db, why, why_len);
    if (!err)
        err = open_file(db, path, &is_new, why, why_len);
    if (!err)
        err = hl_connection_prepare(db, path, why, why_len);
    return err ? err : prove(db, path, why, why_len);
}

enum hl_err hl_connection_reopen(struct hl_driver *d, char *why, size_t why_len)
{
    struct hl_database *db = hl_database_of(d);
    snprintf(why, why_len, "%s", hl_err_text(HL_ERR_IO));
    hl_sqlite_reader_rest(db->reader);
    mark_log(db);
    if (db->db)
        sqlite3_db_config(db->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    hl_connection_close(db);
    enum hl_err err = check_place(db, why, why_len);
    if (err)
        return err;
    err = open_anew(db, why, why_len);
    if (err && db->db)
        sqlite3_db_config(db->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    if (err)
        hl_connection_close(db);
    hl_sqlite_reader_resume(db->reader);
    return err;
}
