/* snapshot.h - one moment of a data directory, read beside the process that has it open or with none: nothing waits
 * for it. Whoever uses it blocks, before other threads.
 * The connection is opened read-only: only the store's own may write or checkpoint (database.h). */
#ifndef HL_STORE_SQLITE_SNAPSHOT_H
#define HL_STORE_SQLITE_SNAPSHOT_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_id;

struct hl_snapshot {
    const char *dir;
    sqlite3 *db;   /* in a transaction */
    int bodies_fd; /* locked: meanwhile nobody unlinks a body's file (data_dir.h); -1: not yet */
};

/* On failure `why` has one line; hl_snapshot_end is called in any case. */
HL_MUST_CHECK enum hl_err hl_snapshot_begin(
    struct hl_snapshot *s, const char *dir, char *why, size_t why_len);
void hl_snapshot_end(struct hl_snapshot *s);
/* The number that a query says; 0: none. */
int64_t hl_snapshot_ask(const struct hl_snapshot *s, const char *sql);

/* Calls `each` for all bodies in files that records name, until it fails: what it returned. Another error: not all could
 * be read, and SQLite says why. */
typedef enum hl_err (*hl_snapshot_body)(
    void *data, const struct hl_id *file, uint64_t size, const struct hl_id *run_id);
HL_MUST_CHECK enum hl_err hl_snapshot_each_body(
    const struct hl_snapshot *s, hl_snapshot_body each, void *data);

#endif
