/* database.h - the SQLite driver's one writing connection and what its files share. Everything here
 * is the store's thread's; before that thread starts, the opener's. */
#ifndef HL_STORE_SQLITE_DATABASE_H
#define HL_STORE_SQLITE_DATABASE_H

#include "store/data_dir.h"
#include "store/driver.h"
#include "store/id_map.h"
#include "store/key.h"
#include "store/secret.h"
#include "store/sqlite/statement.h"

struct hl_reader;

/* A body's file that no record names any more. */
struct hl_doomed_file {
    struct hl_id id;
    uint64_t size;
};

/* What goes when the store is at its size limit, in this order; each walk begins with the oldest. */
enum hl_shed { HL_SHED_BODIES, HL_SHED_RUNS, HL_SHED_DEAD_LETTERS, HL_SHED_WALKS };

struct hl_shed_walk {
    int64_t result;   /* those up to here have given what they had, or were passed over */
    int64_t again;    /* the first that was passed over for its pending delivery; 0: none */
    int64_t again_ms; /* when those have another turn */
};

/* What a rollback must put back beside the database's own content. */
struct hl_database_marks {
    int64_t claimed_ticket; /* the queue is what is above it */
    uint64_t file_bytes;    /* of all bodies in files */
    size_t n_doomed;

    int64_t purged_result;  /* this pass of the purge has passed over what is up to here */
    int64_t purge_again_ms; /* when the first of those has another turn */
    int64_t purge_ms;       /* when the next pass may begin */
    int64_t swept_app;      /* this pass over the apps has seen up to here */
    int64_t sweep_ms;       /* when the next pass may begin */
    bool wants_sweep;       /* a run was removed since the last one, or there was none yet */
    struct hl_shed_walk shed[HL_SHED_WALKS];
    uint64_t purged_runs, shed_runs, shed_bodies; /* since the start */
};

/* A run of this transaction that has no rows yet. */
struct hl_fresh_run {
    const struct hl_accept *accept; /* borrowed: it is answered after the commit */
    int64_t app_id, number;
    bool has_begun;
    int64_t started_ms;
};
#define HL_FRESH_MAX 256

/* A run that ends in this transaction and has no result's row yet. */
struct hl_ended_run {
    const struct hl_id *run_id;       /* borrowed, as is the outcome: they are */
    const struct hl_outcome *outcome; /* answered after the commit */
    int64_t app_id, number;
    bool is_async;
};
#define HL_ENDED_MAX 256

struct hl_database {
    struct hl_driver base;
    struct hl_data_dir dir;
    bool is_dry; /* only looked at (check.c): nothing is made, changed or left */
    sqlite3 *db;
    sqlite3_stmt *st[HL_SQL_COUNT];
    struct hl_reader *reader;

    struct hl_key key;
    struct hl_sealer sealer;
    struct hl_buf sealed_heads[HL_SQL_MANY], sealed_url, sealed_secret; /* bound as one runs */
    struct hl_id_source ids;

    uint64_t swept_files; /* at open */

    int64_t retention_ms, idem_ms;
    uint32_t run_attempts, webhook_attempts;
    uint64_t max_bytes;

    struct hl_database_marks now, before; /* before: at begin */
    int64_t next_number;                  /* never used twice, rolled back or not */
    struct hl_doomed_file *doomed;        /* up to before.n_doomed outside a transaction: unlink */
    size_t cap_doomed;

    struct hl_fresh_run fresh[HL_FRESH_MAX];
    size_t n_fresh, n_fresh_queued;
    size_t fresh_begun; /* all before it have begun */
    struct hl_ended_run ended[HL_ENDED_MAX];
    size_t n_ended;
    struct hl_id_map running; /* run id → struct hl_stored_run, owned */

    /* The app that was named last: nearly always the only one. */
    int64_t app_id; /* 0: none */
    char app_project[129], app_name[129];

    int wal_pages;   /* in the log after the last commit */
    int wal_left;    /* of them, what the last checkpoint could not move */
    int wal_commits; /* since then */
};

static inline struct hl_database *hl_database_of(struct hl_driver *d)
{
    return HL_CONTAINER_OF(d, struct hl_database, base);
}

/* The statement, with no parameter bound. */
struct hl_sql_args hl_database_bind(struct hl_database *db, enum hl_sql which);
/* Runs it to its end. */
HL_MUST_CHECK enum hl_err hl_database_run(struct hl_database *db, enum hl_sql which);
/* Steps to its next row: OK, or NOT_FOUND and the statement is reset. After OK the caller resets it
 * with hl_database_done, before anything it reads is written. */
HL_MUST_CHECK enum hl_err hl_database_row(
    struct hl_database *db, enum hl_sql which, struct hl_sql_row *row);
void hl_database_done(struct hl_database *db, enum hl_sql which);
/* Writes the rows that wait for the end of the transaction: before anybody looks for one of them. */
HL_MUST_CHECK enum hl_err hl_database_write(struct hl_database *db);
/* The end of an operation: whatever is not an answer breaks the transaction. */
enum hl_err hl_database_end(struct hl_database *db, enum hl_err err);

/* See driver.h. */
enum hl_err hl_database_begin(struct hl_driver *d);
enum hl_err hl_database_commit(struct hl_driver *d);
void hl_database_rollback(struct hl_driver *d);

/* The id of a project's app. NOT_FOUND: it was never named; `adds` makes it. */
HL_MUST_CHECK enum hl_err hl_database_app(
    struct hl_database *db, struct hl_str project, struct hl_str name, bool adds, int64_t *app_id);

/* A record with this body was made, or will be gone with the commit. */
void hl_database_keep_file(struct hl_database *db, const struct hl_body *body);
void hl_database_doom_file(struct hl_database *db, const struct hl_id *file, uint64_t size);

/* --- run.c ---------------------------------------------------------------------------------- */
struct hl_stored_run {
    int64_t app_id, number;
    enum hl_run_state state;
    uint32_t epoch, attempt;
    bool is_async, has_webhook, is_cancel_wished;
    bool has_ticket;  /* hl_run_find only */
    bool has_request; /* recover.c only: it is kept, see hl_database_keeps_request */
    bool has_file;    /* its body is in one */
    struct hl_id file;
    uint64_t file_size;
};
HL_MUST_CHECK enum hl_err hl_run_find(
    struct hl_database *db, const struct hl_id *run_id, struct hl_stored_run *run);
enum hl_err hl_run_accept(struct hl_driver *d, struct hl_accept *a, struct hl_id *existing);
enum hl_err hl_run_record(struct hl_driver *d, struct hl_accept *a);
enum hl_err hl_run_finish(struct hl_driver *d, struct hl_finish *f);
enum hl_err hl_run_cancel(
    struct hl_driver *d, const struct hl_run_ref *ref, int64_t now_ms, bool *is_running);

/* Whether the request of a run that begins may be of use once more. A body in a file stays until the
 * end in any case. */
static inline bool hl_database_keeps_request(const struct hl_database *db)
{
    return db->run_attempts > 1;
}

/* --- fresh.c ------------------------------------------------------------------------------- */
/* A new run; `accept` stays until after the commit. */
HL_MUST_CHECK enum hl_err hl_fresh_add(
    struct hl_database *db, int64_t app_id, const struct hl_accept *accept);
/* Whether the oldest queued run is a fresh one: then hl_fresh_claim hands it out. NOMEM: nothing was
 * changed. */
bool hl_fresh_has_oldest(const struct hl_database *db);
HL_MUST_CHECK enum hl_err hl_fresh_claim(
    struct hl_database *db, int64_t now_ms, struct hl_claimed **out);
HL_MUST_CHECK enum hl_err hl_fresh_write(struct hl_database *db);
void hl_fresh_forget(struct hl_database *db);

/* --- ended.c -------------------------------------------------------------------------------- */
/* Final state, result, delivery; the ticket goes. `run_id` and `outcome` stay until after the
 * commit. */
HL_MUST_CHECK enum hl_err hl_ended_add(struct hl_database *db, const struct hl_id *run_id,
    const struct hl_stored_run *run, const struct hl_outcome *outcome);
HL_MUST_CHECK enum hl_err hl_ended_write(struct hl_database *db);
/* The same at once, for what does not stay. */
HL_MUST_CHECK enum hl_err hl_run_end(struct hl_database *db, const struct hl_id *run_id,
    const struct hl_stored_run *run, const struct hl_outcome *outcome);
/* A ticket whose run is not there: nothing can be said of it but in the log. */
HL_MUST_CHECK enum hl_err hl_ended_drop_ticket(
    struct hl_database *db, const struct hl_id *run_id, const struct hl_stored_run *run);

/* --- running.c ------------------------------------------------------------------------------ */
/* The run has begun; out of memory: it is not remembered. */
void hl_running_add(
    struct hl_database *db, const struct hl_id *run_id, const struct hl_stored_run *run);
/* What hl_run_find would say, if it is remembered; of a wish to cancel it knows nothing. */
bool hl_running_find(const struct hl_database *db, const struct hl_id *run_id, uint32_t epoch,
    struct hl_stored_run *run);
/* It has ended or waits again: it is no longer remembered, if it was. */
void hl_running_drop(struct hl_database *db, const struct hl_id *run_id);
/* After a rollback: what was remembered may not be so. */
void hl_running_forget(struct hl_database *db);

/* --- claim.c -------------------------------------------------------------------------------- */
enum hl_err hl_run_claim(struct hl_driver *d, int64_t now_ms, struct hl_claimed **out);
enum hl_err hl_run_release(struct hl_driver *d, struct hl_release *r, int64_t now_ms);

/* --- delivery.c ----------------------------------------------------------------------------- */
HL_MUST_CHECK enum hl_err hl_delivery_add(struct hl_database *db, const struct hl_id *run_id,
    const struct hl_stored_run *run, int64_t now_ms);
enum hl_err hl_delivery_lease(
    struct hl_driver *d, uint64_t lane, int64_t now_ms, struct hl_leased **out);
enum hl_err hl_delivery_attempt(struct hl_driver *d, struct hl_attempt *a, int64_t now_ms);
enum hl_err hl_delivery_outcome(
    struct hl_driver *d, const struct hl_attempt_outcome *o, int64_t now_ms, bool *is_parked);
enum hl_err hl_delivery_redeliver(
    struct hl_driver *d, struct hl_redeliver *r, unsigned max, bool *is_done);

/* --- account.c ------------------------------------------------------------------------------ */
enum hl_err hl_account_add(struct hl_driver *d, const struct hl_account *account);
enum hl_err hl_account_revoke(
    struct hl_driver *d, const struct hl_revoke_account *r, int64_t now_ms, int64_t *revoked_ms);
enum hl_err hl_account_touch(struct hl_driver *d, const struct hl_touch_accounts *t);

/* --- meta.c --------------------------------------------------------------------------------- */
/* 0: none was noted. */
HL_MUST_CHECK enum hl_err hl_meta_read_time(struct hl_database *db, int64_t *seen_ms);
enum hl_err hl_meta_note_time(struct hl_driver *d, int64_t seen_ms); /* see driver.h */
/* Into base.signing_key, if there is one. */
HL_MUST_CHECK enum hl_err hl_meta_read_signing_key(
    struct hl_database *db, char *why, size_t why_len);
enum hl_err hl_meta_keep_signing_key(struct hl_driver *d, struct hl_str key);

/* --- sqlite.c: at open ---------------------------------------------------------------------- */
struct hl_database *hl_database_new(void); /* NULL: out of memory */
void hl_database_free(struct hl_database *db);
/* Whether what is open is ours and whole, or new and no other's place; `path` names it. */
HL_MUST_CHECK enum hl_err hl_database_check_file(
    struct hl_database *db, const char *path, bool *is_new, char *why, size_t why_len);
/* The data key: the one that the database was made with, if it has tables. `path` names it. */
HL_MUST_CHECK enum hl_err hl_database_open_key(struct hl_database *db, const char *path,
    bool has_tables, struct hl_str key_file, char *why, size_t why_len);
/* Why it could not be opened, as SQLite says, or errno. Never OK. */
HL_MUST_CHECK enum hl_err hl_database_explain_file(const char *path, char *why, size_t why_len);
HL_MUST_CHECK enum hl_err hl_database_explain(
    struct hl_database *db, int rc, const char *path, char *why, size_t why_len);

/* --- recover.c: at open --------------------------------------------------------------------- */
/* Releases what an earlier process had claimed and counts what waits. */
HL_MUST_CHECK enum hl_err hl_database_recover(struct hl_database *db);
/* Those whose id is none, which nothing could be done with: pending deliveries that are leased, or
 * those that are not. */
HL_MUST_CHECK enum hl_err hl_database_bury_nameless(
    struct hl_database *db, bool is_leased, int64_t now_ms);

/* --- sweep.c: at open ----------------------------------------------------------------------- */
bool hl_database_has_bodies(struct hl_database *db); /* in files */
/* Files without records go; records without files are reported. */
HL_MUST_CHECK enum hl_err hl_database_sweep(struct hl_database *db);

/* --- purge.c -------------------------------------------------------------------------------- */
enum hl_err hl_database_purge(struct hl_driver *d, int64_t now_ms, unsigned max, int64_t *due_ms);
enum hl_err hl_database_shed(struct hl_driver *d, unsigned max);
/* That run ends; shedding may be past the place where its result goes. */
void hl_database_note_late(struct hl_database *db, int64_t number);

/* --- upkeep.c ------------------------------------------------------------------------------- */
/* It keeps more than HOOKLINE_STORE_MAX_BYTES, as the transaction stands. */
bool hl_database_is_over(struct hl_database *db);
bool hl_database_is_mostly_files(struct hl_database *db); /* what it keeps */
enum hl_err hl_database_room(struct hl_driver *d);
bool hl_database_release_reserve(struct hl_driver *d);
bool hl_database_has_space(struct hl_driver *d, size_t weight);
bool hl_database_settle(struct hl_driver *d, bool is_idle);
/* At open, when nobody waits: on a volume that is short, what is free inside the database goes back
 * to it, so that the first accept finds the room that there is. */
void hl_database_reclaim(struct hl_database *db);
void hl_database_survey(struct hl_driver *d, struct hl_survey *out);

#endif
