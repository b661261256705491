/* reading.h - questions about what is kept: the connection that reads, its statements (sql/ask.sql), the answers, and
 * the thread that gives them, so that a list that takes its time delays no commit. It can neither write nor checkpoint
 * (database.c says why that matters). Everything here is the reader's thread's; before that thread
 * starts and after it has ended, its owner's. A store in memory has one connection, the writing one,
 * which reads for it on the store's thread. */
#ifndef HL_STORE_SQLITE_READING_H
#define HL_STORE_SQLITE_READING_H

#include "store/record.h"
#include "store/secret.h"
#include "store/sqlite/ask.h"
#include "store/sqlite/statement.h"

struct hl_destination_row;
struct hl_destination_tally;
struct hl_sqlite_reader;
struct hl_store_msg;

struct hl_reading {
    sqlite3 *db;
    bool is_shared; /* the writing one */
    sqlite3_stmt *st[HL_ASK_COUNT];
    struct hl_sql_args args[HL_ASK_COUNT]; /* of each, since it was bound last */
    struct hl_sealer sealer;
    const char *data_dir; /* borrowed: of bodies in files */
};

/* Opens the database at `path`, which the writing connection has open. Whatever it says,
 * hl_reading_close is due. */
HL_MUST_CHECK enum hl_err hl_reading_open(
    struct hl_reading *r, const char *path, const struct hl_key *key, char *why, size_t why_len);
/* Reads with a connection that writes, and outlives it. As above. */
HL_MUST_CHECK enum hl_err hl_reading_share(
    struct hl_reading *r, sqlite3 *db, const struct hl_key *key);
void hl_reading_close(struct hl_reading *r);

/* The statement, whose parameters are to be bound. */
struct hl_sql_args *hl_reading_bind(struct hl_reading *r, enum hl_ask which);
/* Its next row: OK, or NOT_FOUND and the statement is reset. After OK: hl_reading_done. */
HL_MUST_CHECK enum hl_err hl_reading_row(
    struct hl_reading *r, enum hl_ask which, struct hl_sql_row *row);
void hl_reading_done(struct hl_reading *r, enum hl_ask which);
/* The rows of a statement whose parameters are bound, each told to `read_row`, are the list's page. */
HL_MUST_CHECK enum hl_err hl_reading_list(struct hl_reading *r, enum hl_ask which,
    struct hl_store_msg *list,
    enum hl_err (*read_row)(struct hl_sql_row *row, struct hl_store_msg *list));
/* The number that a statement whose parameters are bound answers with. */
HL_MUST_CHECK enum hl_err hl_reading_count(
    struct hl_reading *r, enum hl_ask which, uint64_t *count);

/* --- answers: inside a transaction, or where nobody else writes. See question.h ---------------------------------------- */

/* A run's row, and how it ended; the row is the caller's to free. HL_ERR_NOT_FOUND. */
HL_MUST_CHECK enum hl_err hl_reading_run(struct hl_reading *r, const struct hl_id *run_id,
    bool with_body, struct hl_run_row *row, struct hl_outcome *o);

/* Of the column that counts a run's deliveries by state. */
#define HL_DELIVERY_BITS 20
static inline uint32_t hl_deliveries_in(int64_t packed, enum hl_delivery_state state)
{
    return (uint32_t)(packed >> (HL_DELIVERY_BITS * state)) & ((1u << HL_DELIVERY_BITS) - 1);
}

typedef enum hl_err hl_sqlite_answer(struct hl_reading *r, struct hl_store_msg *m);
/* Of list_runs, running runs are those that the list has picked. */
hl_sqlite_answer hl_sqlite_answer_get_run, hl_sqlite_answer_list_runs,
    hl_sqlite_answer_get_delivery, hl_sqlite_answer_list_deliveries,
    hl_sqlite_answer_list_destinations, hl_sqlite_answer_overview, hl_sqlite_answer_list_errors,
    hl_sqlite_answer_list_accounts, hl_sqlite_answer_list_audit, hl_sqlite_answer_list_jobs,
    hl_sqlite_answer_list_job_pieces, hl_sqlite_answer_list_apps;
/* One destination, into a row that is zeroed; `tally` is only lent. */
HL_MUST_CHECK enum hl_err hl_sqlite_answer_lane(struct hl_reading *r, const char *project,
    int64_t lane, struct hl_destination_tally *tally, struct hl_destination_row *row);
/* What is kept under a name. */
HL_MUST_CHECK enum hl_err hl_sqlite_answer_text(
    struct hl_reading *r, const char *name, struct hl_buf *value);
/* Whichever it is. */
HL_MUST_CHECK enum hl_err hl_sqlite_reader_answer(struct hl_reading *r, struct hl_store_msg *m);

/* --- reader.c: the thread ------------------------------------------------------------------------------------------------- */

/* Opens the database at `path`, which the writing connection has open, and starts the thread. */
HL_MUST_CHECK enum hl_err hl_sqlite_reader_start(struct hl_sqlite_reader **out,
    const char *data_dir, const char *path, const struct hl_key *key, char *why, size_t why_len);
/* Any thread; takes the message. */
void hl_sqlite_reader_post(struct hl_sqlite_reader *reader, struct hl_store_msg *m);
/* The store's thread: it has no connection when this returns, and answers UNAVAILABLE; or it has one
 * again, if the database can be read. NULL-safe. */
void hl_sqlite_reader_rest(struct hl_sqlite_reader *reader);
void hl_sqlite_reader_resume(struct hl_sqlite_reader *reader);
/* Answers everything first; NULL-safe. */
void hl_sqlite_reader_stop(struct hl_sqlite_reader *reader);

#endif
