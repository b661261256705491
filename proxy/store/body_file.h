/* body_file.h - bodies too large for the database: files in the data directory, mode 0600.
 *
 * Written to tmp/<id>, then made durable in the order file fsync, rename to bodies/<last 2
 * hex>/<id>, directory fsync; only then may a record name it. All calls block: they are made from
 * libuv's pool or the store's threads, never from a loop. */
#ifndef HL_STORE_BODY_FILE_H
#define HL_STORE_BODY_FILE_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/id.h"

struct hl_str;

/* Bodies up to this many bytes stay in memory and in the database. */
#define HL_BODY_INLINE_MAX (256 * 1024)
/* Where there is no directory, so many stay in memory: it is one value of a database. */
#define HL_BODY_MEMORY_MAX (512u << 20)

/* The file of a run's event stream, which an attempt writes: known without a record, so that a kill leaves
 * it to be found. */
struct hl_id hl_body_file_of_stream(const struct hl_id *run_id, uint32_t attempt);
/* The other way: the run whose stream it is, if it is one, is among these. */
void hl_body_file_stream_runs(const struct hl_id *file, struct hl_id *first, struct hl_id *last);
/* Creates tmp/<id> for writing. `*fd` is owned by the caller. */
HL_MUST_CHECK enum hl_err hl_body_file_create(
    const char *data_dir, const struct hl_id *id, int *fd);
/* All of `bytes`, behind what was written. */
HL_MUST_CHECK enum hl_err hl_body_file_write(int fd, struct hl_str bytes);
/* Opens tmp/<id>, which another process has left, for reading and hl_body_file_commit; or, if that process
 * had come so far, what has the final name: `*is_named`. */
HL_MUST_CHECK enum hl_err hl_body_file_open_left(
    const char *data_dir, const struct hl_id *id, int *fd, bool *is_named);
/* Makes tmp/<id> durable under its final name, which it may have already. Closes nothing. */
HL_MUST_CHECK enum hl_err hl_body_file_commit(const char *data_dir, const struct hl_id *id, int fd);
/* Likewise, but not durable: for what is only a copy. */
HL_MUST_CHECK enum hl_err hl_body_file_publish(const char *data_dir, const struct hl_id *id);
/* Makes what has the final name `from` durable under the final name `to`, too. NOT_FOUND: it is not there. */
HL_MUST_CHECK enum hl_err hl_body_file_link(
    const char *data_dir, const struct hl_id *from, const struct hl_id *to);
/* Opens bodies/<last 2 hex>/<id> for reading. */
HL_MUST_CHECK enum hl_err hl_body_file_open(const char *data_dir, const struct hl_id *id, int *fd);
/* Whether bodies/… has it, with so many bytes. */
bool hl_body_file_is_of_size(const char *data_dir, const struct hl_id *id, uint64_t size);
/* Removes both names, whichever exists. */
void hl_body_file_remove(const char *data_dir, const struct hl_id *id);

#endif
