/* check.c - what a start would find wrong with the data directory, without one: beside a running
 * process, or with none. Any thread that may block.
 * Promise: no file is changed, locked against a start or left behind.
 * Not here: what is wrong with what (data_dir.c, sqlite.c, schema.c, key.c, meta.c): the same
 * functions say it. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "config/config.h"
#include "store/data_dir.h"
#include "store/key.h"
#include "store/path.h"
#include "store/sqlite/backup.h"
#include "store/sqlite/database.h"

#define WHY_MAX 512

static enum hl_err report(struct hl_buf *problems, const char *why)
{
    return hl_buf_printf(problems, "%s\n", why);
}

/* ---- a connection that leaves no trace ---- */

/* "file:" with what means something in a URI escaped (RFC 3986 2.1). */
static enum hl_err write_uri(struct hl_buf *out, const char *path, const char *query)
{
    enum hl_err err = hl_buf_printf(out, "file:");
    for (; *path && !err; path++)
        err = hl_buf_printf(out, strchr("?#%", *path) ? "%%%02X" : "%c", (unsigned char)*path);
    return err ? err : hl_buf_append(out, query, strlen(query) + 1);
}

static int ask_anything(sqlite3 *db)
{
    return sqlite3_exec(db, "SELECT 1 FROM sqlite_schema", NULL, NULL, NULL);
}

static int connect_by(struct hl_database *db, const char *path, const char *query, int flags)
{
    struct hl_buf uri;
    hl_buf_init(&uri, 0);
    sqlite3_close(db->db);
    db->db = NULL;
    int rc = SQLITE_NOMEM;
    if (write_uri(&uri, path, query) == HL_OK)
        rc = sqlite3_open_v2(uri.p, &db->db, flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_busy_timeout(db->db, 1000);
    hl_buf_fini(&uri);
    return rc;
}

/* A log without its index, as a copy of the two files is: no process has it open, and with the file
 * locked an index in this process's memory does. */
static int connect_alone(struct hl_database *db, const char *path)
{
    int rc = connect_by(db, path, "?mode=rw", SQLITE_OPEN_READWRITE);
    if (rc == SQLITE_OK)
        rc = sqlite3_db_config(db->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    return rc == SQLITE_OK
               ? sqlite3_exec(db->db, "PRAGMA locking_mode = EXCLUSIVE", NULL, NULL, NULL)
               : rc;
}

/* A reader of a log makes it and its index where there are none, and brings the index up to date
 * where no process does: each is kept from that in its own way (sqlite.org/wal.html, "Read-Only
 * Databases"). */
static int connect_unseen(struct hl_database *db, const char *path)
{
    char name[HL_PATH_MAX + 8];
    struct stat st;
    snprintf(name, sizeof(name), "%s-wal", path);
    if (stat(name, &st) != 0)
        return connect_by(db, path, "?immutable=1", SQLITE_OPEN_READONLY);
    snprintf(name, sizeof(name), "%s-shm", path);
    if (stat(name, &st) != 0)
        return connect_alone(db, path);
    int rc = connect_by(db, path, "?readonly_shm=1", SQLITE_OPEN_READONLY);
    if (rc == SQLITE_OK)
        rc = ask_anything(db->db);
    /* The index is in use and has no mark for a reader yet: like any reader's, ours is made. */
    if (rc == SQLITE_READONLY)
        rc = connect_by(db, path, "?mode=ro", SQLITE_OPEN_READONLY);
    return rc;
}

/* ---- what is in it ---- */

static bool prepare(struct hl_database *db, enum hl_sql which)
{
    return sqlite3_prepare_v2(db->db, hl_sql_statements[which].text, -1, &db->st[which], NULL) ==
           SQLITE_OK;
}

/* A schema from before there were accounts has no tokens that a key could be missed for. */
static enum hl_err check_signing_key(struct hl_database *db, char *why, size_t why_len)
{
    if (!prepare(db, HL_SQL_META_GET) || !prepare(db, HL_SQL_ACCOUNT_ANY))
        return HL_OK;
    return hl_meta_read_signing_key(db, why, why_len);
}

static enum hl_err open_file(
    struct hl_database *db, const char *path, bool *is_new, char *why, size_t why_len)
{
    struct stat st;
    bool is_there = lstat(path, &st) == 0;
    *is_new = true;
    if (hl_path_may_write(path) != HL_OK)
        return hl_sqlite_explain_file(path, why, why_len);
    int rc = is_there ? connect_unseen(db, path) : SQLITE_OK;
    if (rc != SQLITE_OK)
        return hl_sqlite_explain(db, rc, path, why, why_len);
    return hl_sqlite_check_file(db, path, is_new, why, why_len);
}

/* Without a database that can be read the key is still looked at: its file may be wrong as well. */
static enum hl_err check_store(
    struct hl_database *db, const struct hl_config *config, struct hl_buf *problems)
{
    char path[HL_PATH_MAX], why[WHY_MAX];
    bool is_new = true;
    enum hl_err failed, err = hl_path(path, "%s/hookline.db", db->dir.path);
    if (err)
        return err;
    if (hl_imported_mark_check(db->dir.path, why, sizeof(why)) != HL_OK ||
        hl_backup_check(db->dir.path, why, sizeof(why)) != HL_OK)
        return report(problems, why);
    failed = open_file(db, path, &is_new, why, sizeof(why));
    if (failed)
        err = report(problems, why);
    bool has_tables = !failed && !is_new;
    if (!err && hl_sqlite_open_key(db, path, has_tables, config->key_file, why, sizeof(why)))
        return report(problems, why);
    if (!err && has_tables && check_signing_key(db, why, sizeof(why)) != HL_OK)
        err = report(problems, why);
    return err;
}

/* A key file of its own can be looked at whatever the data directory is. */
static enum hl_err check_key_file(
    struct hl_database *db, const struct hl_config *config, struct hl_buf *problems)
{
    char why[WHY_MAX];
    if (config->key_file.n == 0 ||
        hl_key_load(&db->key, config->key_file.p, HL_KEY_LEFT_OPEN, why, sizeof(why)) == HL_OK)
        return HL_OK;
    return report(problems, why);
}

enum hl_err hl_sqlite_check(const struct hl_config *config, struct hl_buf *problems)
{
    char why[WHY_MAX];
    struct hl_database *db = hl_sqlite_new();
    if (!db)
        return HL_ERR_NOMEM;
    db->is_dry = true;
    enum hl_err failed = hl_data_dir_look(&db->dir, config->data_dir.p, why, sizeof(why));
    enum hl_err err = failed ? report(problems, why) : HL_OK;
    if (!err && db->dir.path)
        err = check_store(db, config, problems);
    else if (!err)
        err = check_key_file(db, config, problems);
    hl_sqlite_free(db);
    return err;
}
