/* data_dir.h - the directory that one process owns: made, checked, locked; the space on its volume.
 */
#ifndef HL_STORE_DATA_DIR_H
#define HL_STORE_DATA_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/compiler.h"

struct hl_id;

struct hl_data_dir {
    char *path; /* absolute */
    int lock_fd;
    int bodies_fd; /* of bodies/, once it was needed; 0: not yet */
    uint64_t volume_size;
    uint64_t reserve; /* size of the ballast file; 0: there was no room for one */
};

/* Makes `path` (0700) with tmp/ and bodies/, takes the lock. Refused: network file systems, a
 * directory that another process has or that cannot be written. On failure `why` has one line and
 * nothing is left open. Blocks. */
HL_MUST_CHECK enum hl_err hl_data_dir_open(
    struct hl_data_dir *dir, const char *path, char *why, size_t why_len);
/* Says what opening would, but for the lock's owner, and changes nothing. `dir->path` stays NULL if
 * the directory would be made. */
HL_MUST_CHECK enum hl_err hl_data_dir_look(
    struct hl_data_dir *dir, const char *path, char *why, size_t why_len);
void hl_data_dir_close(struct hl_data_dir *dir);

/* While somebody reads bodies' files that records of an earlier moment name, none is unlinked (flock(2) on
 * bodies/, which goes with the process). For who reads: an fd to close at the end, or -1 and errno; waits
 * for who unlinks just then. */
int hl_data_dir_hold_bodies(const char *path);
/* For who unlinks: whether that may be; then hl_data_dir_release_bodies is due. */
bool hl_data_dir_take_bodies(struct hl_data_dir *dir);
void hl_data_dir_release_bodies(struct hl_data_dir *dir);

/* Bytes that this process may still write. */
uint64_t hl_data_dir_free_bytes(const struct hl_data_dir *dir);
/* Below this, new work is refused: what is left is for ending what was accepted (contract 7). */
uint64_t hl_data_dir_soft_limit(const struct hl_data_dir *dir);
/* `most`, or on a small volume a twentieth of it: for what must not take it all. */
uint64_t hl_data_dir_share(const struct hl_data_dir *dir, uint64_t most);

uint64_t hl_data_dir_reserve_size(const struct hl_data_dir *dir); /* once it is made */

/* The ballast: a file that is worth its size when the volume is full, because even deleting from a
 * database needs space first. Made, if it is not there, when there is room for it. */
void hl_data_dir_make_reserve(struct hl_data_dir *dir);
void hl_data_dir_release_reserve(struct hl_data_dir *dir);
/* At start, before the database is opened: on a full volume an earlier process's ballast makes the
 * room that taking over its runs needs. */
void hl_data_dir_use_reserve_if_short(struct hl_data_dir *dir);

/* True if a file system of this statfs magic is refused; `*name` is what it is called. */
bool hl_data_dir_is_refused(uint64_t magic, const char **name);

/* --- the mark of an import ---------------------------------------------------------------- */

/* That its store was imported elsewhere: the file `moved`. Its queued runs would run a second time if it were opened
 * again. All three block. */

/* Which move it was. NOT_FOUND: there is no mark; INVALID: it says something else. */
HL_MUST_CHECK enum hl_err hl_imported_mark_read(const char *data_dir, struct hl_id *id);
/* `where` to, in words. Durable. */
HL_MUST_CHECK enum hl_err hl_imported_mark_write(
    const char *data_dir, const struct hl_id *id, const char *where);
/* DENIED, with one line in `why`, where there is a mark of any kind. */
HL_MUST_CHECK enum hl_err hl_imported_mark_check(const char *data_dir, char *why, size_t why_len);

#endif
