/* meta.c - what the database knows beside runs and accounts: the time that was believed last, and the
 * private key of hookline's own tokens, sealed. The store's thread; reading also the opener's, before
 * that. What the key's bytes mean is auth's affair.
 *
 * An earlier version kept that key in a file, `signing-key`. It is taken over once and removed. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "store/data_dir.h"
#include "store/driver.h"
#include "store/path.h"
#include "store/secret.h"
#include "store/sqlite/database.h"

#define SEEN        "seen_ms"
#define STEADY      "steady_ms" /* the clock of delivery.due_ms, which nobody sets … */
#define LEAD        "lead_ms"   /* … and how far it was ahead of the wall clock then */
#define SIGNING_KEY "signing_key"
#define PLACE       "signing-key" /* the name under which it is sealed: the file's, then and now */

static const struct hl_id no_row;

/* As hl_database_row. */
static enum hl_err get(struct hl_database *db, const char *name, struct hl_sql_row *row)
{
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_META_GET);
    hl_sql_bind_text(args, HL_SQL_P_NAME, hl_str_from(name));
    return hl_database_row(db, HL_SQL_META_GET, row);
}

/* --- time ----------------------------------------------------------------------------------- */

static enum hl_err get_ms(struct hl_database *db, const char *name, int64_t *ms)
{
    struct hl_sql_row row;
    enum hl_err err = get(db, name, &row);
    *ms = err ? 0 : hl_sql_int(&row);
    if (!err)
        hl_database_done(db, HL_SQL_META_GET);
    return err;
}

/* As hl_meta_read_time, from the newest run: a store of an earlier version has noted no time. */
static enum hl_err read_newest_run(struct hl_database *db, int64_t *seen_ms)
{
    struct hl_sql_row row;
    enum hl_err err = hl_database_row(db, HL_SQL_RUN_NEWEST, &row);
    *seen_ms = err ? 0 : hl_sql_int(&row);
    if (!err)
        hl_database_done(db, HL_SQL_RUN_NEWEST);
    return err == HL_ERR_NOT_FOUND ? HL_OK : err;
}

enum hl_err hl_meta_read_time(struct hl_database *db, struct hl_noted_time *noted)
{
    enum hl_err err = get_ms(db, SEEN, &noted->seen_ms);
    if (err == HL_ERR_NOT_FOUND)
        err = read_newest_run(db, &noted->seen_ms);
    if (!err)
        err = get_ms(db, LEAD, &noted->lead_ms);
    if (!err)
        err = get_ms(db, STEADY, &noted->steady_ms);
    if (err == HL_ERR_NOT_FOUND)
        noted->steady_ms = noted->seen_ms;
    return err == HL_ERR_NOT_FOUND ? HL_OK : err;
}

static enum hl_err put_ms(struct hl_database *db, struct hl_str name, int64_t ms)
{
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_META_PUT);
    hl_sql_bind_text(args, HL_SQL_P_NAME, name);
    hl_sql_bind_int(args, HL_SQL_P_VALUE, ms);
    return hl_database_run(db, HL_SQL_META_PUT);
}

enum hl_err hl_meta_note_time(struct hl_driver *d, const struct hl_noted_time *now)
{
    struct hl_database *db = hl_database_of(d);
    enum hl_err err = put_ms(db, HL_STR(SEEN), now->seen_ms);
    if (!err)
        err = put_ms(db, HL_STR(STEADY), now->steady_ms);
    return hl_database_end(db, err ? err : put_ms(db, HL_STR(LEAD), now->lead_ms));
}

/* --- the signing key ------------------------------------------------------------------------ */

static enum hl_err open_sealed(struct hl_database *db, struct hl_str sealed)
{
    char plain[HL_SIGNING_KEY_MAX + HL_SEAL_OVERHEAD];
    size_t n = 0;
    if (sealed.n > sizeof(plain))
        return HL_ERR_CORRUPT;
    enum hl_err err = hl_unseal(&db->sealer, PLACE, &no_row, sealed, plain, &n);
    if (!err && n > HL_SIGNING_KEY_MAX)
        err = HL_ERR_CORRUPT;
    if (!err)
        memcpy(db->base.signing_key, plain, n);
    db->base.signing_key_n = err ? 0 : n;
    explicit_bzero(plain, sizeof(plain));
    return err;
}

static enum hl_err put_sealed(struct hl_database *db, struct hl_str plain)
{
    struct hl_buf sealed;
    hl_buf_init(&sealed, 0);
    enum hl_err err = hl_seal(&db->sealer, PLACE, &no_row, plain, &sealed);
    if (!err) {
        struct hl_sql_args *args = hl_database_bind(db, HL_SQL_META_PUT);
        hl_sql_bind_text(args, HL_SQL_P_NAME, HL_STR(SIGNING_KEY));
        hl_sql_bind_blob(args, HL_SQL_P_VALUE, hl_buf_str(&sealed));
        err = hl_database_run(db, HL_SQL_META_PUT);
    }
    hl_buf_fini(&sealed);
    return err;
}

enum hl_err hl_meta_keep_signing_key(struct hl_driver *d, struct hl_str key)
{
    struct hl_database *db = hl_database_of(d);
    return hl_database_end(db, put_sealed(db, key));
}

/* An empty file is how an operator says that the key is lost. */
static enum hl_err give_up_key(struct hl_database *db)
{
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_ACCOUNT_REVOKE_ALL);
    hl_sql_bind_int(args, HL_SQL_P_NOW_MS, hl_clock_wall_ms());
    enum hl_err err = hl_database_run(db, HL_SQL_ACCOUNT_REVOKE_ALL);
    if (!err)
        HL_LOG(WARN, "store: the signing key was abandoned: all service accounts are revoked",
            HL_LOG_INT("accounts", sqlite3_changes(db->db)));
    return err;
}

static enum hl_err check_no_tokens(struct hl_database *db, const char *path, char *why, size_t len)
{
    struct hl_sql_row row;
    enum hl_err err = hl_database_row(db, HL_SQL_ACCOUNT_ANY, &row);
    if (err)
        return err == HL_ERR_NOT_FOUND ? HL_OK : err;
    hl_database_done(db, HL_SQL_ACCOUNT_ANY);
    snprintf(why, len,
        "HOOKLINE_DATA_DIR: the signing key %s is missing, but service accounts have tokens that "
        "it signed: put it "
        "back; if it is lost, make an empty file there: a new key is made, and all accounts are "
        "revoked",
        path);
    return HL_ERR_NOT_FOUND;
}

static enum hl_err take_over_file(struct hl_database *db, char *why, size_t why_len)
{
    char path[HL_PATH_MAX], sealed[HL_SIGNING_KEY_MAX + HL_SEAL_OVERHEAD + 1];
    size_t n = 0;
    enum hl_err err = hl_path(path, "%s/signing-key", db->dir.path);
    if (!err)
        err = hl_path_read(path, sealed, sizeof(sealed), &n);
    if (err == HL_ERR_NOT_FOUND)
        return check_no_tokens(db, path, why, why_len);
    if (!err && n > 0)
        err = open_sealed(db, (struct hl_str){sealed, n});
    if (!err && !db->is_dry)
        err = n == 0 ? give_up_key(db)
                     : put_sealed(db,
                           (struct hl_str){(char *)db->base.signing_key, db->base.signing_key_n});
    if (!err && !db->is_dry)
        unlink(path);
    else if (err)
        snprintf(why, why_len, "HOOKLINE_DATA_DIR: cannot take over the signing key %s: %s", path,
            hl_err_text(err));
    return err;
}

enum hl_err hl_meta_read_signing_key(struct hl_database *db, char *why, size_t why_len)
{
    struct hl_sql_row row;
    enum hl_err err = get(db, SIGNING_KEY, &row);
    if (err == HL_ERR_NOT_FOUND)
        return take_over_file(db, why, why_len);
    if (!err) {
        err = open_sealed(db, hl_sql_str(&row));
        hl_database_done(db, HL_SQL_META_GET);
    }
    if (err)
        snprintf(why, why_len,
            "HOOKLINE_DATA_DIR: the signing key in the store %s/hookline.db cannot be opened: "
            "restore it from a "
            "backup",
            db->dir.path);
    return err;
}

/* --- the store's own key -------------------------------------------------------------------- */

int hl_meta_read_key_check(sqlite3 *db, uint8_t check[HL_KEY_SIZE], int *n)
{
    sqlite3_stmt *st = NULL;
    *n = -1;
    int rc = sqlite3_prepare_v2(db, "SELECT v FROM meta WHERE k = 'key_check'", -1, &st, NULL);
    if (rc != SQLITE_OK)
        return rc;
    if (sqlite3_step(st) == SQLITE_ROW)
        *n = sqlite3_column_bytes(st, 0);
    if (*n == HL_KEY_SIZE)
        memcpy(check, sqlite3_column_blob(st, 0), HL_KEY_SIZE);
    return sqlite3_finalize(st);
}
