/* sqlite.h - what opening the store and looking at it have in common. The opener's. */
#ifndef HL_STORE_SQLITE_SQLITE_H
#define HL_STORE_SQLITE_SQLITE_H

#include <stdbool.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_database;
struct hl_str;

struct hl_database *hl_sqlite_new(void); /* NULL: out of memory */
void hl_sqlite_free(struct hl_database *db);
/* The data key: the one that the database was made with, if it has tables. `path` names it. */
HL_MUST_CHECK enum hl_err hl_sqlite_open_key(struct hl_database *db, const char *path,
    bool has_tables, struct hl_str key_file, char *why, size_t why_len);

#endif
