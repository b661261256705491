/* reader.h - questions about what is kept, on a read-only connection and a thread of their own, so
 * that a list that takes its time delays no commit. */
#ifndef HL_STORE_SQLITE_READER_H
#define HL_STORE_SQLITE_READER_H

#include "base/compiler.h"
#include "base/err.h"

struct hl_key;
struct hl_reading;
struct hl_store_msg;

struct hl_sqlite_reader;

/* Opens the database at `path`, which the writing connection has open, and starts the thread. */
HL_MUST_CHECK enum hl_err hl_sqlite_reader_start(struct hl_sqlite_reader **out,
    const char *data_dir, const char *path, const struct hl_key *key, char *why, size_t why_len);
/* Answers a question; inside a transaction, or where nobody else writes. */
HL_MUST_CHECK enum hl_err hl_sqlite_reader_answer(struct hl_reading *r, struct hl_store_msg *m);
/* Any thread; takes the message. */
void hl_sqlite_reader_post(struct hl_sqlite_reader *reader, struct hl_store_msg *m);
/* The store's thread: it has no connection when this returns, and answers UNAVAILABLE; or it has one
 * again, if the database can be read. NULL-safe. */
void hl_sqlite_reader_rest(struct hl_sqlite_reader *reader);
void hl_sqlite_reader_resume(struct hl_sqlite_reader *reader);
void hl_sqlite_reader_stop(
    struct hl_sqlite_reader *reader); /* answers everything first; NULL-safe */

#endif
