/* backup.h - `hookline store backup` and `store check`: a data directory copied, or looked through, whether
 * a process has it open or not. Both block, and are called before other threads. */
#ifndef HL_STORE_SQLITE_BACKUP_H
#define HL_STORE_SQLITE_BACKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"

struct hl_buf;
struct hl_config;

struct hl_backed_up {
    uint64_t database_bytes;
    uint64_t bodies, body_bytes; /* copied now … */
    uint64_t kept;               /* … and there already, of a backup to the same place */
    uint64_t missing;            /* their files were gone, or had another length, before */
    bool has_key;                /* the data directory's own key file went along */
};

/* Copies what the data directory holds at one moment to `to`, reading at most `rate` bytes a second. `to` is
 * new, empty, or holds a backup, which is brought up to date. One that was interrupted says so to whoever
 * starts on it, and goes on when it is made again. On failure `why` has one line. */
HL_MUST_CHECK enum hl_err hl_backup(const struct hl_config *config, const char *to, uint64_t rate,
    struct hl_backed_up *done, char *why, size_t why_len);

struct hl_looked_through {
    uint64_t runs, bodies;
    bool has_key; /* a key file was there to be looked at */
};

/* Reads all of the database in `data_dir`, looks for the files that it names, and at its key: the file at
 * `key_file`, or where that is empty its own. A line for each fault to `problems`. An error: it cannot be read at
 * all, or is a backup that was not finished, and `why` has one line. */
HL_MUST_CHECK enum hl_err hl_look_through(const char *data_dir, struct hl_str key_file,
    struct hl_looked_through *done, struct hl_buf *problems, char *why, size_t why_len);

/* A start on a backup that was not finished, or not restored, is refused. */
HL_MUST_CHECK enum hl_err hl_backup_check(const char *data_dir, char *why, size_t why_len);

#endif
