/* sqlite.c - opens and closes the SQLite driver: directory, file, settings, checks, key,
 * statements, recovery, reader; and the table of its operations. Nothing is written before the file
 * is known to be ours and whole. */
#include "store/sqlite/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/crash_point.h"
#include "base/heap.h"
#include "config/config.h"
#include "store/data_dir.h"
#include "store/driver.h"
#include "store/key.h"
#include "store/message.h"
#include "store/moved.h"
#include "store/path.h"
#include "store/secret.h"
#include "store/sqlite/account.h"
#include "store/sqlite/claim.h"
#include "store/sqlite/database.h"
#include "store/sqlite/delivery.h"
#include "store/sqlite/lease.h"
#include "store/sqlite/meta.h"
#include "store/sqlite/minute.h"
#include "store/sqlite/purge.h"
#include "store/sqlite/reader.h"
#include "store/sqlite/recover.h"
#include "store/sqlite/run.h"
#include "store/sqlite/running.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/due.h"
#include "store/sqlite/sweep.h"
#include "store/sqlite/transaction.h"
#include "store/sqlite/upkeep.h"

/* All that is in the log must fit into the database when there is nothing but the reserve: half of
 * it before a checkpoint is due (upkeep.c), and another batch, whose pages are half empty. */
#define BATCHES_IN_RESERVE 4

/* page_size and auto_vacuum hold only before the first table; the order matters. wal_autocheckpoint
 * is off because upkeep.c chooses the moment. secure_delete is off because Debian's default doubles
 * what a deletion writes, and what is secret is encrypted. */
static const char settings[] = "PRAGMA page_size = 8192;"
                               "PRAGMA auto_vacuum = INCREMENTAL;"
                               "PRAGMA journal_mode = WAL;"
                               "PRAGMA synchronous = FULL;"
                               "PRAGMA wal_autocheckpoint = 0;"
                               "PRAGMA journal_size_limit = 67108864;"
                               "PRAGMA foreign_keys = ON;"
                               "PRAGMA secure_delete = OFF;"
                               "PRAGMA mmap_size = 0;"
                               "PRAGMA temp_store = MEMORY;"
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
    enum hl_err err = make_file(path, why, why_len);
    if (err)
        return err;
    int rc = sqlite3_open_v2(path, &db->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_busy_timeout(db->db, 1000);
    if (rc != SQLITE_OK)
        return hl_sqlite_explain(db, rc, path, why, why_len);
    err = hl_sqlite_check_file(db, path, is_new, why, why_len);
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

/* --- key ------------------------------------------------------------------------------------ */

static int read_check(struct hl_database *db, uint8_t stored[HL_KEY_SIZE], bool *has_check)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(db->db, "SELECT v FROM meta WHERE k = 'key_check'", -1, &st, NULL);
    if (rc != SQLITE_OK)
        return rc;
    *has_check = sqlite3_step(st) == SQLITE_ROW && sqlite3_column_bytes(st, 0) == HL_KEY_SIZE;
    if (*has_check)
        memcpy(stored, sqlite3_column_blob(st, 0), HL_KEY_SIZE);
    return sqlite3_finalize(st);
}

static int write_check(struct hl_database *db)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(
        db->db, "INSERT INTO meta (k, v) VALUES ('key_check', ?)", -1, &st, NULL);
    if (rc != SQLITE_OK)
        return rc;
    sqlite3_bind_blob(st, 1, db->key.check, HL_KEY_SIZE, SQLITE_STATIC);
    sqlite3_step(st);
    return sqlite3_finalize(st);
}

/* The check value tells a wrong key at start instead of at the first webhook. */
enum hl_err hl_sqlite_open_key(struct hl_database *db, const char *store_path, bool has_tables,
    struct hl_str key_file, char *why, size_t why_len)
{
    char path[HL_PATH_MAX];
    uint8_t stored[HL_KEY_SIZE];
    bool has_check = false;
    const enum hl_key_absence absence = db->is_dry ? HL_KEY_LEFT_OPEN : HL_KEY_MADE;
    enum hl_err err = key_file.n > 0 ? hl_path(path, "%.*s", HL_STR_ARG(key_file))
                                     : hl_path(path, "%s/key", db->dir.path);
    if (err)
        return err;
    int rc = has_tables ? read_check(db, stored, &has_check) : SQLITE_OK;
    if (rc != SQLITE_OK)
        return hl_sqlite_explain(db, rc, store_path, why, why_len);
    err = hl_key_load(&db->key, path, has_check ? HL_KEY_MISSED : absence, why, why_len);
    if (err)
        return err;
    if (has_check && memcmp(stored, db->key.check, HL_KEY_SIZE) != 0) {
        snprintf(why, why_len,
            "HOOKLINE_KEY_FILE: the key file %s is not the one that the store %s was made with: "
            "put that one back",
            path, store_path);
        return HL_ERR_DENIED;
    }
    HL_CRASH_POINT(KEY_MADE);
    rc = has_check || db->is_dry ? SQLITE_OK : write_check(db);
    if (rc != SQLITE_OK)
        return hl_sqlite_explain(db, rc, store_path, why, why_len);
    return hl_sealer_init(&db->sealer, &db->key);
}

/* --- open ----------------------------------------------------------------------------------- */

static enum hl_err prepare_all(struct hl_database *db, const char *path, char *why, size_t why_len)
{
    for (int i = 0; i < HL_SQL_COUNT; i++) {
        int rc = sqlite3_prepare_v3(
            db->db, hl_sql_text(i), -1, SQLITE_PREPARE_PERSISTENT, &db->st[i], NULL);
        if (rc != SQLITE_OK)
            return hl_sqlite_explain(db, rc, path, why, why_len);
    }
    return HL_OK;
}

static void configure(struct hl_database *db, const struct hl_config *config)
{
    db->retention_ms = (int64_t)config->retention_ms;
    db->idem_ms = hl_store_key_ms(config);
    db->run_attempts = config->run_attempts;
    db->keep_requests = config->keep_requests;
    db->retries_interrupted = config->retry_on.interrupted;
    db->webhook_attempts = config->webhook_attempts;
    db->max_bytes = hl_store_limit_bytes(&config->store_max_bytes, db->dir.volume_size);
    db->stream_retention_ms = (int64_t)config->stream_retention_ms;
    db->max_stream_bytes = hl_store_limit_bytes(&config->stream_keep_max_bytes, db->max_bytes);
}

static enum hl_err open_all(
    struct hl_database *db, const struct hl_config *config, char *why, size_t why_len)
{
    char path[HL_PATH_MAX];
    bool is_new;
    enum hl_err err = hl_data_dir_open(&db->dir, config->data_dir.p, why, why_len);
    if (err)
        return err;
    err = hl_moved_check(db->dir.path, why, why_len);
    if (err)
        return err;
    db->base.data_dir = db->dir.path;
    db->base.lane_key = &db->key;
    db->base.max_batch = (size_t)hl_data_dir_reserve_size(&db->dir) / BATCHES_IN_RESERVE;
    configure(db, config);
    hl_data_dir_use_reserve_if_short(&db->dir);
    err = hl_path(path, "%s/hookline.db", db->dir.path);
    if (!err)
        err = open_file(db, path, &is_new, why, why_len);
    if (!err)
        err = hl_sqlite_open_key(db, path, true, config->key_file, why, why_len);
    if (!err)
        err = prepare_all(db, path, why, why_len);
    if (!err)
        err = hl_meta_read_signing_key(db, why, why_len);
    if (err)
        return err;

    hl_data_dir_make_reserve(&db->dir);
    err = hl_meta_read_time(db, &db->base.noted);
    if (!err)
        err = hl_sweep_files(db);
    if (!err)
        err = hl_recover_all(db);
    if (!err)
        err = hl_purge_load_streams(db);
    if (!err && db->run_attempts > 0)
        hl_sweep_empty_tmp(db); /* streams that were left there have been looked at */
    if (err) {
        snprintf(why, why_len, "HOOKLINE_DATA_DIR: cannot take over the store %s: %s", path,
            hl_err_text(err));
        return err;
    }
    return hl_sqlite_reader_start(&db->reader, db->dir.path, path, &db->key, why, why_len);
}

static void post_question(struct hl_driver *d, struct hl_store_msg *m)
{
    hl_sqlite_reader_post(hl_database_of(d)->reader, m);
}

/* The reader first: the last connection to close moves the log into the database, and that must be
 * the writing one. */
void hl_sqlite_free(struct hl_database *db)
{
    hl_sqlite_reader_stop(db->reader);
    for (int i = 0; i < HL_SQL_COUNT; i++)
        sqlite3_finalize(db->st[i]);
    sqlite3_close(db->db);
    hl_sealer_fini(&db->sealer);
    hl_key_wipe(&db->key);
    explicit_bzero(db->base.signing_key, sizeof(db->base.signing_key));
    for (size_t i = 0; i < HL_SQL_MANY; i++)
        hl_buf_fini(&db->sealed_heads[i]);
    for (size_t i = 0; i < HL_PRIORITIES; i++)
        hl_heap_fini(&db->fresh_turns[i]);
    hl_buf_fini(&db->sealed_url);
    hl_buf_fini(&db->sealed_secret);
    hl_buf_fini(&db->barred);
    hl_minute_free(db);
    hl_data_dir_close(&db->dir);
    hl_running_forget(db);
    hl_id_map_fini(&db->running);
    free(db->doomed);
    free(db);
}

static void close_all(struct hl_driver *d)
{
    hl_sqlite_free(hl_database_of(d));
}

static const struct hl_driver_vt vt = {
    .begin = hl_transaction_begin,
    .commit = hl_transaction_commit,
    .rollback = hl_transaction_rollback,
    .accept = hl_stored_run_accept,
    .record = hl_stored_run_record,
    .claim = hl_claim_take,
    .finish = hl_stored_run_finish,
    .release = hl_claim_release,
    .cancel = hl_stored_run_cancel,
    .expire = hl_due_expire,
    .recall = hl_due_recall,
    .lease = hl_lease_take,
    .attempt = hl_lease_attempt,
    .outcome = hl_lease_outcome,
    .redeliver = hl_stored_delivery_redeliver,
    .add_account = hl_account_add,
    .revoke_account = hl_account_revoke,
    .limit_account = hl_account_limit,
    .touch_accounts = hl_account_touch,
    .tally = hl_minute_tell,
    .keep_signing_key = hl_meta_keep_signing_key,
    .purge = hl_purge_step,
    .note_time = hl_meta_note_time,
    .shed = hl_purge_shed,
    .room = hl_upkeep_room,
    .release_reserve = hl_upkeep_release_reserve,
    .has_space = hl_upkeep_has_space,
    .settle = hl_upkeep_settle,
    .survey = hl_upkeep_survey,
    .post_question = post_question,
    .close = close_all,
};

struct hl_database *hl_sqlite_new(void)
{
    struct hl_database *db = calloc(1, sizeof(*db));
    if (!db)
        return NULL;
    db->dir.lock_fd = -1;
    db->now.wants_sweep = true;
    db->now.purge_again_ms = INT64_MAX;
    hl_id_source_init(&db->ids);
    hl_id_map_init(&db->running);
    for (size_t i = 0; i < HL_SQL_MANY; i++)
        hl_buf_init(&db->sealed_heads[i], 0);
    hl_buf_init(&db->sealed_url, 0);
    hl_buf_init(&db->sealed_secret, 0);
    hl_buf_init(&db->barred, 0);
    hl_buf_init(&db->tally_bytes, 0);
    return db;
}

enum hl_err hl_sqlite_open(struct hl_driver **out, const struct hl_config *config,
    struct hl_backlog *backlog, char *why, size_t why_len)
{
    struct hl_database *db = hl_sqlite_new();
    if (!db) {
        snprintf(why, why_len, "%s", hl_err_text(HL_ERR_NOMEM));
        return HL_ERR_NOMEM;
    }
    /* Statistics that nobody reads cost a lock for each allocation. Too late is no harm. */
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    db->base = (struct hl_driver){.vt = &vt, .backlog = backlog};
    enum hl_err err = open_all(db, config, why, why_len);
    if (err) {
        hl_sqlite_free(db);
        return err;
    }
    *out = &db->base;
    return HL_OK;
}
