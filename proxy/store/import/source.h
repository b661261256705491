/* source.h - a data directory that is read to be taken elsewhere. Errors have one line in `why`, beginning with
 * the argument that is wrong. Blocks. */
#ifndef HL_STORE_IMPORT_SOURCE_H
#define HL_STORE_IMPORT_SOURCE_H

#include <sqlite3.h>

#include "base/compiler.h"
#include "base/err.h"
#include "store/import/read.h"

struct hl_database;
struct hl_shared_keys;
struct hl_sql_args;
struct hl_sql_row;

/* Locked, looked through, with its key, its signing key read. `keys`: what may have been its key where
 * it has no file of it. The caller frees it (hl_sqlite_free). A schema of an earlier version is brought
 * up to date, as a start would; nothing else is changed. */
HL_MUST_CHECK enum hl_err hl_import_source_open(struct hl_database **out, const char *path,
    const struct hl_shared_keys *keys, char *why, size_t why_len);

/* A statement of import/sql/read.sql, whose parameters are to be bound; NULL, with the reason in `why`, if it cannot be
 * made. */
sqlite3_stmt *hl_import_source_prepare(struct hl_database *db, enum hl_import_read which,
    struct hl_sql_args *args, char *why, size_t why_len);
/* OK: a row; NOT_FOUND: no more. */
HL_MUST_CHECK enum hl_err hl_import_source_step(
    struct hl_database *db, sqlite3_stmt *st, struct hl_sql_row *row, char *why, size_t why_len);

#endif
