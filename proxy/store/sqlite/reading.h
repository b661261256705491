/* reading.h - the read-only connection and its statements, sql/ask.sql. It can neither write nor checkpoint
 * (database.c says why that matters). Everything here is the reader's thread's; before that thread
 * starts and after it has ended, its owner's. A store in memory has one connection, the writing one,
 * which reads for it on the store's thread. */
#ifndef HL_STORE_SQLITE_READING_H
#define HL_STORE_SQLITE_READING_H

#include "store/secret.h"
#include "store/sqlite/ask.h"
#include "store/sqlite/statement.h"

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

#endif
