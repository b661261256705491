/* source.c - see source.h. */
#include "store/import/source.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "store/data_dir.h"
#include "store/driver.h"
#include "store/key.h"
#include "store/path.h"
#include "store/secret.h"
#include "store/sqlite/database.h"
#include "store/sqlite/schema.h"

/* What the embedded store finds wrong is said of a setting: here the directory is an argument. */
static void name_argument(char *why)
{
    static const char setting[] = "HOOKLINE_DATA_DIR: ";
    const size_t skip = strlen("HOOKLINE_");
    if (strncmp(why, setting, strlen(setting)) == 0)
        memmove(why, why + skip, strlen(why + skip) + 1);
}

static enum hl_err refuse(const char *path, const char *what, char *why, size_t why_len)
{
    snprintf(why, why_len, "DATA_DIR: %s %s", path, what);
    return HL_ERR_NOT_FOUND;
}

/* Opening would make what is not there. */
static enum hl_err look(const char *path, char *why, size_t why_len)
{
    char file[HL_PATH_MAX];
    struct stat st;
    enum hl_err err = hl_path(file, "%s/hookline.db", path);
    if (err || stat(path, &st) != 0)
        return refuse(path, "is not there", why, why_len);
    if (!S_ISDIR(st.st_mode))
        return refuse(path, "is not a directory", why, why_len);
    if (stat(file, &st) != 0 || st.st_size == 0)
        return refuse(path, "holds no store: there is no hookline.db in it", why, why_len);
    return HL_OK;
}

static enum hl_err open_file(struct hl_database *db, const char *path, char *why, size_t why_len)
{
    bool is_new;
    char what[256];
    int rc = sqlite3_open_v2(path, &db->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_busy_timeout(db->db, 1000);
    if (rc == SQLITE_OK)
        rc = sqlite3_db_config(db->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    if (rc != SQLITE_OK)
        return hl_sqlite_explain(db, rc, path, why, why_len);
    enum hl_err err = hl_sqlite_check_file(db, path, &is_new, why, why_len);
    if (!err && is_new)
        err = refuse(db->dir.path, "holds no store: its hookline.db is empty", why, why_len);
    if (err)
        return err;
    err = hl_schema_migrate(db->db, what, sizeof(what));
    if (err)
        snprintf(why, why_len, "DATA_DIR: cannot bring %s up to date: %s", path, what);
    return err;
}

/* ---- its key ---- */

/* False: nothing was ever sealed. */
static bool read_check(struct hl_database *db, uint8_t out[HL_KEY_SIZE])
{
    sqlite3_stmt *st = NULL;
    bool is_there = sqlite3_prepare_v2(db->db, "SELECT v FROM meta WHERE k = 'key_check'", -1, &st,
                        NULL) == SQLITE_OK &&
                    sqlite3_step(st) == SQLITE_ROW && sqlite3_column_bytes(st, 0) == HL_KEY_SIZE;
    if (is_there)
        memcpy(out, sqlite3_column_blob(st, 0), HL_KEY_SIZE);
    sqlite3_finalize(st);
    return is_there;
}

static bool is_its_key(const struct hl_key *key, const uint8_t check[HL_KEY_SIZE])
{
    return memcmp(key->check, check, HL_KEY_SIZE) == 0;
}

static enum hl_err find_key(
    struct hl_database *db, const struct hl_shared_keys *keys, char *why, size_t why_len)
{
    char path[HL_PATH_MAX];
    uint8_t check[HL_KEY_SIZE];
    enum hl_err err = hl_path(path, "%s/key", db->dir.path);
    if (err)
        return err;
    bool has_check = read_check(db, check);
    err = hl_key_load(&db->key, path, HL_KEY_MISSED, why, why_len);
    if (err && err != HL_ERR_NOT_FOUND)
        return err;
    if (!err && (!has_check || is_its_key(&db->key, check)))
        return HL_OK;
    db->key = keys->key;
    if (!has_check || is_its_key(&db->key, check))
        return HL_OK;
    db->key = keys->previous;
    if (keys->has_previous && is_its_key(&db->key, check))
        return HL_OK;
    snprintf(why, why_len,
        "DATA_DIR: the store in %s was made with a key other than those given: put its key file "
        "back as %s, or give that key as HOOKLINE_PREVIOUS_KEY",
        db->dir.path, path);
    return HL_ERR_DENIED;
}

static sqlite3_stmt *prepare(struct hl_database *db, const char *sql, char *why, size_t why_len)
{
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(db->db, sql, -1, &st, NULL) != SQLITE_OK)
        snprintf(why, why_len, "DATA_DIR: cannot read the store in %s: %s", db->dir.path,
            sqlite3_errmsg(db->db));
    return st;
}

static enum hl_err read_signing_key(struct hl_database *db, char *why, size_t why_len)
{
    static const enum hl_sql wanted[] = {HL_SQL_META_GET, HL_SQL_RUN_NEWEST, HL_SQL_ACCOUNT_ANY};
    for (size_t i = 0; i < HL_ARRAY_LEN(wanted); i++) {
        db->st[wanted[i]] = prepare(db, hl_sql_statements[wanted[i]].text, why, why_len);
        if (!db->st[wanted[i]])
            return HL_ERR_IO;
    }
    enum hl_err err = hl_meta_read_time(db, &db->base.noted);
    return err ? err : hl_meta_read_signing_key(db, why, why_len);
}

/* ---- the whole ---- */

static enum hl_err open_all(struct hl_database *db, const char *path,
    const struct hl_shared_keys *keys, char *why, size_t why_len)
{
    char file[HL_PATH_MAX];
    enum hl_err err = look(path, why, why_len);
    if (!err)
        err = hl_data_dir_open(&db->dir, path, why, why_len);
    if (!err)
        err = hl_path(file, "%s/hookline.db", db->dir.path);
    if (!err)
        err = open_file(db, file, why, why_len);
    if (!err)
        err = find_key(db, keys, why, why_len);
    if (!err)
        err = hl_sealer_init(&db->sealer, &db->key);
    return err ? err : read_signing_key(db, why, why_len);
}

enum hl_err hl_import_source_open(struct hl_database **out, const char *path,
    const struct hl_shared_keys *keys, char *why, size_t why_len)
{
    struct hl_database *db = hl_sqlite_new();
    if (!db)
        return HL_ERR_NOMEM;
    db->is_dry = true;
    enum hl_err err = open_all(db, path, keys, why, why_len);
    if (err) {
        name_argument(why);
        hl_sqlite_free(db);
        return err;
    }
    *out = db;
    return HL_OK;
}

/* ---- reading ---- */

sqlite3_stmt *hl_import_source_prepare(struct hl_database *db, enum hl_import_read which,
    struct hl_sql_args *args, char *why, size_t why_len)
{
    sqlite3_stmt *st = prepare(db, hl_import_read_statements[which].text, why, why_len);
    hl_sql_args_begin(args, st, &hl_import_read_statements[which]);
    return st;
}

enum hl_err hl_import_source_step(
    struct hl_database *db, sqlite3_stmt *st, struct hl_sql_row *row, char *why, size_t why_len)
{
    int rc = sqlite3_step(st);
    *row = (struct hl_sql_row){.st = st};
    if (rc == SQLITE_ROW)
        return HL_OK;
    if (rc == SQLITE_DONE)
        return HL_ERR_NOT_FOUND;
    snprintf(why, why_len, "DATA_DIR: cannot read the store in %s: %s", db->dir.path,
        sqlite3_errmsg(db->db));
    enum hl_err err = hl_sql_err(db->db, rc);
    return err ? err : HL_ERR_IO;
}
