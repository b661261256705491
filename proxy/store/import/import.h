/* import.h - `hookline store import`: what a data directory holds, brought into a schema of
 * PostgreSQL's. Beside running replicas; one that was interrupted goes on when it is run again. */
#ifndef HL_STORE_IMPORT_IMPORT_H
#define HL_STORE_IMPORT_IMPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_config;

/* What is new in the schema. */
struct hl_imported {
    uint64_t accounts, keys; /* keys: Idempotency-Keys */
    uint64_t runs, queued, interrupted;
    uint64_t deliveries, pending, dead;
    uint64_t unreadable; /* values and bodies that are lost in the directory */
    bool is_second_key;  /* its signing key only verifies: the schema had one */
};

/* Of the config: what a replica on that database has; HOOKLINE_DATA_DIR does not matter. Nobody else may
 * have the directory open; it stays as it is, but for a mark (data_dir.h). On failure `why` has one line.
 * Blocks. */
HL_MUST_CHECK enum hl_err hl_import(const struct hl_config *config, const char *data_dir,
    struct hl_imported *done, char *why, size_t why_len);

#endif
