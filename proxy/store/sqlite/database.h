/* database.h - the SQLite driver's one writing connection and what its files share. Everything here
 * is the store's thread's; before that thread starts, the opener's. */
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
#include "store/sqlite/heads.h"
#include "store/sqlite/sql.h"
#include "store/sqlite/statement.h"
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

/* A run that ends in this transaction and has no result's row yet. */
struct hl_run_end {
    const struct hl_id *run_id;       /* borrowed, as is the outcome: they are */
    const struct hl_outcome *outcome; /* answered after the commit */
    int64_t app_id, number;
    bool is_async, keeps_request, is_stream;
};
#define HL_RUN_ENDS_MAX 256

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
    struct hl_buf sealed_heads[HL_SQL_MANY], sealed_url, sealed_secret; /* bound as one runs */
    struct hl_buf blocked;                                              /* likewise: a JSON array */
    struct hl_id_source ids;

    uint64_t swept_files; /* at open */

    int64_t retention_ms, stream_retention_ms, idem_ms;
    uint32_t run_attempts, webhook_attempts;
    bool retries_interrupted;
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
    struct hl_minute_tally *tallies; /* the first n_tallies; the others keep their room */
    size_t n_tallies, cap_tallies;
    struct hl_tally tally; /* one that is written just now */
    struct hl_buf tally_bytes;
    struct hl_id_map running; /* run id → struct hl_stored_run, owned */
    struct hl_heads heads;

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

/* The statement, whose parameters are to be bound. */
static inline struct hl_sql_args *hl_database_bind(struct hl_database *db, enum hl_sql which)
{
    hl_sql_args_begin(&db->args[which], db->st[which], &hl_sql_statements[which]);
    return &db->args[which];
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
    return db->run_attempts > 1 || db->keep_requests != HL_KEEP_REQUESTS_NONE;
}

#endif
