/* database.h - the SQLite driver's one writing connection, what its files share, and what they ask of each other.
 * Everything here is the store's thread's; before that thread starts, the opener's. */
#ifndef HL_STORE_SQLITE_DATABASE_H
#define HL_STORE_SQLITE_DATABASE_H

#include "base/buf.h"
#include "base/heap.h"
#include "store/backlog.h"
#include "store/data_dir.h"
#include "store/driver.h"
#include "base/id_map.h"
#include "store/key.h"
#include "store/secret.h"
#include "store/sqlite/known_webhook.h"
#include "store/sqlite/sql.h"
#include "store/sqlite/statement.h"
#include "store/sqlite/turn.h"
#include "store/sqlite/waiting_run.h"
#include "store/tally.h"

struct hl_body;

struct hl_reading;
struct hl_sqlite_reader;

/* A body's file that no record names any more. */
struct hl_doomed_file {
    struct hl_id id;
    uint64_t size;
};

/* What goes when the store is at its size limit, in this order; each walk begins with the oldest. */
enum hl_shed {
    HL_SHED_REQUESTS,
    HL_SHED_BODIES,
    HL_SHED_RUNS,
    HL_SHED_DEAD_LETTERS,
    HL_SHED_WALKS
};

struct hl_shed_walk {
    int64_t result;   /* those up to here have given what they had, or were passed over */
    int64_t again;    /* the first that was passed over for its pending delivery; 0: none */
    int64_t again_ms; /* when those have another turn */
    int64_t soon_ms;  /* the same, where a delivery has ended since the last turn */
    int64_t looks;    /* at so many since the last turn began */
};

/* What a rollback must put back beside the database's own content. */
struct hl_database_marks {
    int64_t oldest_queued; /* none below it is queued */
    uint64_t file_bytes;   /* of all bodies in files */
    uint64_t stream_bytes; /* of kept streams of synchronous calls that have ended */
    uint64_t long_bytes;   /* of results' bodies that would be in files on a disk */
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
struct hl_new_run {
    const struct hl_accept *accept; /* borrowed: it is answered after the commit */
    int64_t app_id, number;
    bool has_begun;
    int64_t started_ms;
    struct hl_queue_place place;
    uint64_t lane;               /* of its webhook, once that is written */
    struct hl_heap_node in_turn; /* in `new_turns` of its class iff queued */
};
#define HL_NEW_RUNS_MAX 256

/* What is secret of one. */
struct hl_sealed_run {
    struct hl_buf head, url, secret;
};

/* A run that ends in this transaction and has no result's row yet. */
struct hl_run_end {
    const struct hl_id *run_id;       /* borrowed, as is the outcome: they are */
    const struct hl_outcome *outcome; /* answered after the commit */
    int64_t app_id, number;
    bool is_async, keeps_request, is_stream;
};
#define HL_RUN_ENDS_MAX 256

/* A delivery that begins in this transaction and has no row yet. */
struct hl_new_delivery {
    struct hl_id id, run_id;
    int64_t app_id, created_ms;
    uint64_t lane;
    struct hl_leased *webhook; /* what it is sent from, but for the outcome; NULL: it is read */
    const struct hl_outcome *outcome; /* borrowed, with `webhook` */
    int64_t leased_ms;                /* 0: it waits */
};

/* What this transaction adds to the counts of an app's minute (tally.h). */
struct hl_minute_tally {
    int64_t app_id, minute;
    struct hl_tally tally;
};

/* Where the database is, and how far its log was acknowledged when it was last left (connection.c). */
#define HL_LOG_SALT 8
struct hl_log_mark {
    uint64_t device, inode;
    bool is_known;
    uint32_t frames, page_size;
    uint8_t salt[HL_LOG_SALT];
};

struct hl_database {
    struct hl_driver base;
    struct hl_data_dir dir; /* in memory there is none: its path is NULL */
    bool is_dry;            /* only looked at (check.c): nothing is made, changed or left */
    sqlite3 *db;            /* NULL, as its statements: it could not be opened anew yet */
    sqlite3_stmt *st[HL_SQL_COUNT];
    struct hl_sql_args args[HL_SQL_COUNT]; /* of each, since it was bound last */
    struct hl_log_mark log;
    struct hl_sqlite_reader *reader;
    struct hl_reading *reading; /* in memory, instead of the reader */
    bool uses_reserve;          /* memory.c */

    struct hl_key key;
    struct hl_sealer sealer;
    struct hl_sealed_run sealed[HL_SQL_MANY]; /* bound as a statement runs */
    struct hl_buf blocked;                    /* likewise: a JSON array */
    struct hl_id_source ids;

    uint64_t swept_files; /* at open */

    int64_t retention_ms, stream_retention_ms, idem_ms;
    uint32_t run_attempts, webhook_attempts;
    bool retries_interrupted;
    bool returns_cut; /* runs that have begun may come back */
    enum hl_keep_requests keep_requests;
    uint64_t max_bytes, max_stream_bytes;

    struct hl_database_marks now, before; /* before: at begin */
    int64_t next_number;                  /* never used twice, rolled back or not */
    struct hl_doomed_file *doomed;        /* up to before.n_doomed outside a transaction: unlink */
    size_t cap_doomed;

    struct hl_new_run new_runs[HL_NEW_RUNS_MAX];
    size_t n_new_runs, n_new_queued;
    struct hl_heap new_turns[HL_PRIORITIES]; /* with room for all */
    struct hl_run_end run_ends[HL_RUN_ENDS_MAX];
    size_t n_run_ends;
    struct hl_new_delivery new_deliveries[HL_RUN_ENDS_MAX];
    size_t n_new_deliveries;
    struct hl_minute_tally *tallies; /* the first n_tallies; the others keep their room */
    size_t n_tallies, cap_tallies;
    struct hl_tally tally; /* one that is written just now */
    struct hl_buf tally_bytes;
    struct hl_id_map running; /* run id → struct hl_stored_run, owned */
    struct hl_waiting_runs waiting;
    struct hl_turns_ahead ahead[HL_PRIORITIES];
    struct hl_known_webhooks webhooks;

    /* The app that was named last: nearly always the only one. */
    int64_t app_id; /* 0: none */
    char app_project[129], app_name[129];

    int wal_pages;           /* in the log after the last commit */
    int wal_left;            /* of them, what the last checkpoint could not move */
    uint64_t told_log_bytes; /* held for somebody who reads, as was said last; 0: it was not */
    int wal_commits;         /* since then */
};

static inline struct hl_database *hl_database_of(struct hl_driver *d)
{
    return HL_CONTAINER_OF(d, struct hl_database, base);
}

/* The statement, whose parameters are to be bound. */
static inline struct hl_sql_args *hl_database_bind(struct hl_database *db, enum hl_sql which)
{
    hl_sql_args_begin(&db->args[which], db->st[which], &hl_sql_statements[which]);
    return &db->args[which];
}
/* The one that adds so many rows (hl_sql_many), of several that stand behind each other. */
static inline enum hl_sql hl_database_many(enum hl_sql one, size_t n)
{
    unsigned doublings = 0;
    while ((size_t)1 << doublings < n)
        doublings++;
    return (enum hl_sql)(one + doublings);
}
/* Runs it to its end. */
HL_MUST_CHECK enum hl_err hl_database_run(struct hl_database *db, enum hl_sql which);
/* Steps to its next row: OK, or NOT_FOUND and the statement is reset. After OK the caller resets it
 * with hl_database_done, before anything it reads is written. */
HL_MUST_CHECK enum hl_err hl_database_row(
    struct hl_database *db, enum hl_sql which, struct hl_sql_row *row);
void hl_database_done(struct hl_database *db, enum hl_sql which);
/* The end of an operation: whatever is not an answer breaks the transaction. */
enum hl_err hl_database_end(struct hl_database *db, enum hl_err err);

/* A record with this body was made, or will be gone with the commit. */
void hl_database_keep_file(struct hl_database *db, const struct hl_body *body);
void hl_database_doom_file(struct hl_database *db, const struct hl_id *file, uint64_t size);

/* Whether the request of a run that begins may be of use once more. A body in a file stays until the
 * end in any case. */
static inline bool hl_database_keeps_request(const struct hl_database *db)
{
    return db->run_attempts > 1 || db->returns_cut || db->keep_requests != HL_KEEP_REQUESTS_NONE;
}

/* --- what the files of the writing connection ask of each other ------------------------------------------------------- */
/* The store's thread, inside a transaction, unless said; before that thread starts, the opener's. What driver.h has is
 * said there. (Runs and deliveries: run.h, claim.h, delivery.h, lease.h, …) */

struct hl_account;
struct hl_audit;
struct hl_config;
struct hl_finish;
struct hl_limit_account;
struct hl_noted_time;
struct hl_revoke_account;
struct hl_sql_row;
struct hl_stored_run;
struct hl_survey;
struct hl_told_tally;
struct hl_touch_accounts;

/* sqlite.c */

struct hl_database *hl_sqlite_new(void); /* NULL: out of memory */
void hl_sqlite_free(struct hl_database *db);
/* The data key: the one that the database was made with, if it has tables. `path` names it. */
HL_MUST_CHECK enum hl_err hl_sqlite_open_key(struct hl_database *db, const char *path,
    bool has_tables, struct hl_str key_file, char *why, size_t why_len);

/* connection.c: outside transactions */

#define HL_SQLITE_BUSY_MS 1000 /* how long a lock of another connection is waited for */

/* Opens the store at `path`, which is made if it is not there, checks and migrates it. */
HL_MUST_CHECK enum hl_err hl_connection_make(
    struct hl_database *db, const char *path, bool *is_new, char *why, size_t why_len);
/* Makes an empty one in memory, which ends with the connection. */
HL_MUST_CHECK enum hl_err hl_connection_make_in_memory(
    struct hl_database *db, char *why, size_t why_len);
/* All statements of what is open. */
HL_MUST_CHECK enum hl_err hl_connection_prepare(
    struct hl_database *db, const char *path, char *why, size_t why_len);
/* Moves the log into the database if it is the last connection. What is not open is left alone. */
void hl_connection_close(struct hl_database *db);
HL_MUST_CHECK enum hl_err hl_connection_reopen(struct hl_driver *d, char *why, size_t why_len);
/* Whether what is open is ours and whole, or new and no other's place; `path` names it. */
HL_MUST_CHECK enum hl_err hl_sqlite_check_file(
    struct hl_database *db, const char *path, bool *is_new, char *why, size_t why_len);
/* Why it could not be opened, as SQLite says, or errno. Never OK. */
HL_MUST_CHECK enum hl_err hl_sqlite_explain_file(const char *path, char *why, size_t why_len);
HL_MUST_CHECK enum hl_err hl_sqlite_explain(
    struct hl_database *db, int rc, const char *path, char *why, size_t why_len);

/* memory.c: the database in memory (HOOKLINE_STORE=memory) */

/* Makes it, empty, under a key of its own. */
HL_MUST_CHECK enum hl_err hl_memory_make(struct hl_database *db, char *why, size_t why_len);
/* Before the connection is closed. */
void hl_memory_free(struct hl_database *db);
enum hl_err hl_memory_answer(struct hl_driver *d, struct hl_store_msg *m);
enum hl_err hl_memory_room(struct hl_driver *d);
bool hl_memory_release_reserve(struct hl_driver *d);
bool hl_memory_has_space(struct hl_driver *d, size_t weight);
bool hl_memory_settle(struct hl_driver *d, bool is_idle);

/* meta.c: what is kept once, the time that was last believed, the signing key, and by what a key is known */

HL_MUST_CHECK enum hl_err hl_meta_read_time(struct hl_database *db, struct hl_noted_time *noted);
enum hl_err hl_meta_note_time(struct hl_driver *d, const struct hl_noted_time *now);
/* Into base.signing_key, if there is one. */
HL_MUST_CHECK enum hl_err hl_meta_read_signing_key(
    struct hl_database *db, char *why, size_t why_len);
enum hl_err hl_meta_keep_signing_key(struct hl_driver *d, struct hl_str key);
/* An SQLite result. `*n`: how many bytes it has, -1: there is none; HL_KEY_SIZE: they are in `check`. By any connection. */
HL_MUST_CHECK int hl_meta_read_key_check(sqlite3 *db, uint8_t check[HL_KEY_SIZE], int *n);

/* left_file.c, recover.c: at open, what an earlier process left */

bool hl_sweep_finds_bodies(struct hl_database *db); /* in files */
/* What nobody will finish goes. */
void hl_sweep_empty_tmp(const struct hl_database *db);
/* Files without records go; records without files are reported. */
HL_MUST_CHECK enum hl_err hl_sweep_files(struct hl_database *db);
/* The event stream of a run that was in progress: what came of it becomes the kept response, `*outcome`'s body, which
 * is the caller's to free, with what a stream's head says. Nothing changes where there is none. */
void hl_left_stream_take(struct hl_database *db, const struct hl_id *run_id, uint32_t attempt,
    struct hl_outcome *outcome);
/* The last ordinal that its events have used, after `before`. */
uint64_t hl_left_stream_count(
    struct hl_database *db, const struct hl_id *run_id, uint32_t attempt, uint64_t before);
/* Releases what an earlier process had claimed and counts what waits. */
HL_MUST_CHECK enum hl_err hl_recover_all(struct hl_database *db);

/* account.c */

enum hl_err hl_account_add(struct hl_driver *d, const struct hl_account *account);
enum hl_err hl_account_revoke(
    struct hl_driver *d, const struct hl_revoke_account *r, int64_t now_ms, int64_t *revoked_ms);
enum hl_err hl_account_limit(struct hl_driver *d, struct hl_limit_account *l);
enum hl_err hl_account_touch(struct hl_driver *d, const struct hl_touch_accounts *t);

/* audit.c */

enum hl_err hl_audit_write(struct hl_driver *d, const struct hl_audit *audit);
enum hl_err hl_text_keep(
    struct hl_driver *d, const char *name, struct hl_str former, struct hl_str value);

/* job.c */

struct hl_add_job;
struct hl_keep_job;
struct hl_stop_job;

enum hl_err hl_job_add(struct hl_driver *d, const struct hl_add_job *a);
enum hl_err hl_job_keep(struct hl_driver *d, const struct hl_keep_job *k, bool *is_stopping);
enum hl_err hl_job_stop(struct hl_driver *d, const struct hl_stop_job *s, bool *was_wished);

/* app.c */

/* The id of a project's app. NOT_FOUND: it was never named; `adds` makes it. */
HL_MUST_CHECK enum hl_err hl_app_find_id(
    struct hl_database *db, struct hl_str project, struct hl_str name, bool adds, int64_t *app_id);
/* A run has ended in a minute of its app. `times` NULL: how long it took is not known. */
HL_MUST_CHECK enum hl_err hl_app_add_end(struct hl_database *db, const struct hl_stored_run *run,
    const struct hl_outcome *outcome, const struct hl_finish *times);
/* Of calls that have no record here. */
enum hl_err hl_app_tell_minutes(struct hl_driver *d, const struct hl_told_tally *t);
HL_MUST_CHECK enum hl_err hl_app_write_minutes(struct hl_database *db);
void hl_app_forget_minutes(struct hl_database *db); /* rolled back */
void hl_app_free_minutes(struct hl_database *db);

/* due.c */

/* When the run of a ticket must have started. 0: it has begun in time, or may at any. */
HL_MUST_CHECK enum hl_err hl_due_start_by(
    struct hl_database *db, int64_t number, int64_t steady_ms);
enum hl_err hl_due_expire(struct hl_driver *d, int64_t now_ms, unsigned max, int64_t *due_ms);
enum hl_err hl_due_recall(struct hl_driver *d, int64_t now_ms, unsigned max, int64_t *due_ms);

/* purge.c: what time takes, and the results that go */

/* The end of a run, and what is kept with it. */
struct hl_result {
    int64_t number, finished_ms;
    struct hl_id run_id, file;
    enum hl_body_where where;
    uint64_t size;
    bool has_request, has_request_file, is_stream;
    struct hl_id request_file;
    uint64_t request_size;
};

/* Results in the order of their runs, from `after` on; or the oldest stream, to which `after` means nothing. */
HL_MUST_CHECK enum hl_err hl_result_next(
    struct hl_database *db, enum hl_sql which, int64_t after, struct hl_result *out);
/* The whole run goes; of it the kept request; the response's body. */
HL_MUST_CHECK enum hl_err hl_result_drop(struct hl_database *db, const struct hl_result *result);
HL_MUST_CHECK enum hl_err hl_result_drop_request(
    struct hl_database *db, const struct hl_result *result);
HL_MUST_CHECK enum hl_err hl_result_strip(struct hl_database *db, const struct hl_result *result);

enum hl_err hl_purge_step(struct hl_driver *d, int64_t now_ms, unsigned max, int64_t *due_ms);
/* How much is kept of streams of synchronous calls. */
HL_MUST_CHECK enum hl_err hl_purge_load_streams(struct hl_database *db);
/* That result more; whether it is such a stream. */
void hl_purge_note_result(struct hl_database *db, const struct hl_body *body, bool is_stream);

/* How long after a pass that left pending deliveries behind the next one looks at them again. */
#define HL_PURGE_LOOK_AGAIN_MS 60000
/* Whether a pause of `pause_ms` that ends at `end_ms` goes on. A clock that was set back ends it. */
static inline bool hl_purge_is_pause(int64_t end_ms, int64_t pause_ms, int64_t now_ms)
{
    return now_ms < end_ms && end_ms - now_ms <= pause_ms;
}

/* shed.c: what goes when the store is full */

enum hl_err hl_shed_step(struct hl_driver *d, unsigned max);
/* That run ends; shedding may be past the place where its result goes, and its request. */
void hl_shed_note_late(struct hl_database *db, int64_t number, bool keeps_request);
/* A delivery has ended: what shedding passed over for it may go soon. */
void hl_shed_note_delivery_end(struct hl_database *db);

/* upkeep.c: what the database needs between transactions, and how much it keeps */

#define HL_UPKEEP_PAGE_SIZE 8192
/* Pages given back at a time: HL_SQL_VACUUM's own bound. */
#define HL_UPKEEP_STEP_PAGES 256
/* Where space is short a request is tried when there is room for so many like it: the last of it is for
 * those that are much lighter. */
#define HL_UPKEEP_LIKE_IT 4

struct hl_pages {
    uint64_t all, free;
};
struct hl_pages hl_upkeep_pages(struct hl_database *db);
/* Gives free pages back, at most HL_UPKEEP_STEP_PAGES; how many. Outside transactions. */
uint64_t hl_upkeep_vacuum(struct hl_database *db, uint64_t most);
/* It keeps more than HOOKLINE_STORE_MAX_BYTES, as the transaction stands. */
bool hl_upkeep_is_over(struct hl_database *db);
bool hl_upkeep_is_mostly_long(struct hl_database *db); /* what it keeps: bodies that are long */
/* But for the last those of a store on a disk. */
enum hl_err hl_upkeep_room(struct hl_driver *d);
bool hl_upkeep_release_reserve(struct hl_driver *d);
bool hl_upkeep_has_space(struct hl_driver *d, size_t weight);
bool hl_upkeep_settle(struct hl_driver *d, bool is_idle);
void hl_upkeep_survey(struct hl_driver *d, struct hl_survey *out);
/* At open, when nobody waits: on a volume that is short, what is free inside the database goes back
 * to it, so that the first accept finds the room that there is. */
void hl_upkeep_reclaim(struct hl_database *db);

#endif
