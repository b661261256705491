/* sqlite.c - opens and closes the SQLite driver: directory, connection, key, recovery, reader; begins and ends its
 * transactions; and the table of its operations. Nothing is written before the file is known to be ours and whole. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/crash_point.h"
#include "base/heap.h"
#include "base/log.h"
#include "config/config.h"
#include "store/data_dir.h"
#include "store/driver.h"
#include "store/key.h"
#include "store/message.h"
#include "store/path.h"
#include "store/secret.h"
#include "store/sqlite/backup.h"
#include "store/sqlite/claim.h"
#include "store/sqlite/database.h"
#include "store/sqlite/delivery.h"
#include "store/sqlite/lease.h"
#include "store/sqlite/new_delivery.h"
#include "store/sqlite/new_run.h"
#include "store/sqlite/reading.h"
#include "store/sqlite/run.h"
#include "store/sqlite/run_end.h"
#include "store/sqlite/running_run.h"
#include "store/sqlite/schema.h"
#include "store/store.h"

/* All that is in the log must fit into the database when there is nothing but the reserve: half of
 * it before a checkpoint is due (upkeep.c), and another batch, whose pages are half empty. */
#define BATCHES_IN_RESERVE 4

/* --- key ------------------------------------------------------------------------------------ */

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
    int stored_n = -1;
    const enum hl_key_absence absence = db->is_dry ? HL_KEY_LEFT_OPEN : HL_KEY_MADE;
    enum hl_err err = hl_key_path(path, key_file, db->dir.path);
    if (err)
        return err;
    int rc = has_tables ? hl_meta_read_key_check(db->db, stored, &stored_n) : SQLITE_OK;
    if (rc != SQLITE_OK)
        return hl_sqlite_explain(db, rc, store_path, why, why_len);
    bool has_check = stored_n == HL_KEY_SIZE;
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
    return hl_sealer_init_own(&db->sealer, &db->key);
}

/* --- open ----------------------------------------------------------------------------------- */

static void configure(struct hl_database *db, const struct hl_config *config, uint64_t max_bytes)
{
    db->retention_ms = (int64_t)config->retention_ms;
    db->idem_ms = hl_store_key_ms(config->retention_ms);
    db->run_attempts = config->run_attempts;
    db->keep_requests = config->keep_requests;
    db->retries_interrupted = config->retry_on.interrupted;
    db->returns_cut = config->retry_on.shutdown;
    db->webhook_attempts = config->webhook_attempts;
    db->max_bytes = max_bytes;
    db->stream_retention_ms = (int64_t)config->stream_retention_ms;
    db->max_stream_bytes = hl_store_limit_bytes(&config->stream_keep_max_bytes, db->max_bytes);
}

static enum hl_err open_all(
    struct hl_database *db, const struct hl_config *config, char *why, size_t why_len)
{
    char path[HL_PATH_MAX];
    bool is_new;
    enum hl_err err = hl_backup_check(config->data_dir.p, why, why_len);
    if (!err)
        err = hl_data_dir_open(&db->dir, config->data_dir.p, why, why_len);
    if (err)
        return err;
    err = hl_imported_mark_check(db->dir.path, why, why_len);
    if (err)
        return err;
    db->base.data_dir = db->dir.path;
    db->base.lane_key = &db->key;
    db->base.max_batch = (size_t)hl_data_dir_reserve_size(&db->dir) / BATCHES_IN_RESERVE;
    configure(db, config, hl_store_limit_bytes(&config->store_max_bytes, db->dir.volume_size));
    hl_data_dir_use_reserve_if_short(&db->dir);
    err = hl_path(path, "%s/hookline.db", db->dir.path);
    if (!err)
        err = hl_connection_make(db, path, &is_new, why, why_len);
    if (!err)
        err = hl_sqlite_open_key(db, path, true, config->key_file, why, why_len);
    if (!err)
        err = hl_connection_prepare(db, path, why, why_len);
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
        hl_upkeep_reclaim(db);
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

/* Nothing was left there; only where it begins must be said. */
static enum hl_err open_in_memory(
    struct hl_database *db, const struct hl_config *config, char *why, size_t why_len)
{
    db->base.lane_key = &db->key;
    configure(db, config, hl_store_memory_max(config));
    enum hl_err err = hl_memory_make(db, why, why_len);
    if (err)
        return err;
    err = hl_recover_all(db);
    if (err)
        snprintf(why, why_len, "%s", hl_err_text(err));
    return err;
}

/* --- transactions --------------------------------------------------------------------------- */

static enum hl_err begin(struct hl_driver *d)
{
    struct hl_database *db = hl_database_of(d);
    db->base.is_broken = false;
    db->before = db->now;
    return hl_database_run(db, HL_SQL_BEGIN);
}

static void rollback(struct hl_driver *d)
{
    struct hl_database *db = hl_database_of(d);
    /* A full volume or an I/O error may have rolled back already. */
    if (!sqlite3_get_autocommit(db->db) && hl_database_run(db, HL_SQL_ROLLBACK) != HL_OK)
        HL_LOG(ERROR, "store: a rollback failed");
    db->now = db->before;
    db->app_id = 0;
    hl_new_run_forget(db);
    hl_run_end_forget(db);
    hl_new_delivery_forget(db);
    hl_app_forget_minutes(db);
    hl_running_run_forget(db);
    hl_waiting_run_forget(&db->waiting);
    hl_turn_forget_ahead(db);
    db->base.is_broken = false;
}

static enum hl_err commit(struct hl_driver *d)
{
    struct hl_database *db = hl_database_of(d);
    enum hl_err err = hl_run_end_write(db);
    if (!err)
        err = hl_app_write_minutes(db);
    if (!err)
        err = hl_database_run(db, HL_SQL_COMMIT);
    if (err)
        rollback(d);
    else
        db->before = db->now;
    return err;
}

/* --- closing, and the table ------------------------------------------------------------------- */

static void post_question(struct hl_driver *d, struct hl_store_msg *m)
{
    hl_sqlite_reader_post(hl_database_of(d)->reader, m);
}

static void init_sealed(struct hl_sealed_run *sealed)
{
    hl_buf_init(&sealed->head, 0);
    hl_buf_init(&sealed->url, 0);
    hl_buf_init(&sealed->secret, 0);
}

static void free_sealed(struct hl_sealed_run *sealed)
{
    hl_buf_fini(&sealed->head);
    hl_buf_fini(&sealed->url);
    hl_buf_fini(&sealed->secret);
}

/* The reader first: the last connection to close moves the log into the database, and that must be
 * the writing one. */
void hl_sqlite_free(struct hl_database *db)
{
    hl_sqlite_reader_stop(db->reader);
    hl_memory_free(db);
    hl_connection_close(db);
    hl_sealer_fini(&db->sealer);
    hl_key_wipe(&db->key);
    explicit_bzero(db->base.signing_key, sizeof(db->base.signing_key));
    for (size_t i = 0; i < HL_SQL_MANY; i++)
        free_sealed(&db->sealed[i]);
    for (size_t i = 0; i < HL_PRIORITIES; i++)
        hl_heap_fini(&db->new_turns[i]);
    hl_buf_fini(&db->blocked);
    hl_app_free_minutes(db);
    hl_data_dir_close(&db->dir);
    hl_waiting_run_forget(&db->waiting);
    hl_known_webhook_fini(&db->webhooks);
    hl_running_run_forget(db);
    hl_id_map_fini(&db->running);
    free(db->doomed);
    free(db);
}

static void close_all(struct hl_driver *d)
{
    hl_sqlite_free(hl_database_of(d));
}

#define OPERATIONS                                                                                 \
    .begin = begin, .commit = commit, .rollback = rollback, .accept = hl_stored_run_accept,        \
    .record = hl_stored_run_record, .claim = hl_claim_take, .finish = hl_stored_run_finish,        \
    .release = hl_claim_release, .cancel = hl_stored_run_cancel, .expire = hl_due_expire,          \
    .recall = hl_due_recall, .lease = hl_lease_take, .attempt = hl_lease_attempt,                  \
    .outcome = hl_lease_outcome, .redeliver = hl_stored_delivery_redeliver,                        \
    .resend = hl_stored_delivery_resend, .add_account = hl_account_add,                            \
    .revoke_account = hl_account_revoke, .limit_account = hl_account_limit,                        \
    .touch_accounts = hl_account_touch, .add_job = hl_job_add, .keep_job = hl_job_keep,            \
    .stop_job = hl_job_stop, .audit = hl_audit_write, .keep_text = hl_text_keep,                   \
    .tally = hl_app_tell_minutes, .purge = hl_purge_step, .shed = hl_shed_step,                    \
    .survey = hl_upkeep_survey, .close = close_all

static const struct hl_driver_vt on_disk = {
    OPERATIONS,
    .keep_signing_key = hl_meta_keep_signing_key,
    .note_time = hl_meta_note_time,
    .room = hl_upkeep_room,
    .release_reserve = hl_upkeep_release_reserve,
    .has_space = hl_upkeep_has_space,
    .settle = hl_upkeep_settle,
    .post_question = post_question,
    .reopen = hl_connection_reopen,
};

static const struct hl_driver_vt in_memory = {
    OPERATIONS,
    .room = hl_memory_room,
    .release_reserve = hl_memory_release_reserve,
    .has_space = hl_memory_has_space,
    .settle = hl_memory_settle,
    .answer = hl_memory_answer,
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
        init_sealed(&db->sealed[i]);
    hl_buf_init(&db->blocked, 0);
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
    bool is_in_memory = config->store == HL_STORE_MEMORY;
    db->base = (struct hl_driver){.vt = is_in_memory ? &in_memory : &on_disk, .backlog = backlog};
    enum hl_err err = is_in_memory ? open_in_memory(db, config, why, why_len)
                                   : open_all(db, config, why, why_len);
    if (err) {
        hl_sqlite_free(db);
        return err;
    }
    *out = &db->base;
    return HL_OK;
}
