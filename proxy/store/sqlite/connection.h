/* connection.h - the writing connection. The opener's, and the store's thread's. */
#ifndef HL_STORE_SQLITE_CONNECTION_H
#define HL_STORE_SQLITE_CONNECTION_H

#include "store/sqlite/database.h"

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
/* See hl_driver_vt. */
HL_MUST_CHECK enum hl_err hl_connection_reopen(struct hl_driver *d, char *why, size_t why_len);

/* Whether what is open is ours and whole, or new and no other's place; `path` names it. */
HL_MUST_CHECK enum hl_err hl_sqlite_check_file(
    struct hl_database *db, const char *path, bool *is_new, char *why, size_t why_len);
/* Why it could not be opened, as SQLite says, or errno. Never OK. */
HL_MUST_CHECK enum hl_err hl_sqlite_explain_file(const char *path, char *why, size_t why_len);
HL_MUST_CHECK enum hl_err hl_sqlite_explain(
    struct hl_database *db, int rc, const char *path, char *why, size_t why_len);

#endif
