/* schema.h - the tables and how older ones become today's. */
#ifndef HL_STORE_SQLITE_SCHEMA_H
#define HL_STORE_SQLITE_SCHEMA_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/err.h"

/* PRAGMA application_id: "hkln". */
#define HL_SCHEMA_APPLICATION_ID 0x686b6c6e

/* Is this an empty file (`*is_new`) or a database of ours, not from a newer hookline, and whole?
 * Reads only. On failure `why` has one line that begins with what is wrong. */
HL_MUST_CHECK enum hl_err hl_schema_check(sqlite3 *db, bool *is_new, char *why, size_t why_len);
/* Makes the tables, in one transaction, or brings them up to date: one transaction for each version. */
HL_MUST_CHECK enum hl_err hl_schema_migrate(sqlite3 *db, char *why, size_t why_len);

/* All of it, indexes against their tables, unless it is too large for a start: the log says that, and how long
 * it took. `why` as above. */
HL_MUST_CHECK enum hl_err hl_schema_check_whole(sqlite3 *db, char *why, size_t why_len);

#endif
