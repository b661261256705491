/* path.h - paths inside the data directory. Blocking where said. */
#ifndef HL_STORE_PATH_H
#define HL_STORE_PATH_H

#include "base/compiler.h"
#include "base/err.h"

#define HL_PATH_MAX 4096

/* Formats into out[HL_PATH_MAX]; HL_ERR_INVALID when it does not fit. */
HL_MUST_CHECK enum hl_err hl_path(char *out, const char *fmt, ...) HL_PRINTF(2, 3);

/* The directory that `path` is in, into out[HL_PATH_MAX]. */
HL_MUST_CHECK enum hl_err hl_path_parent(char *out, const char *path);
/* Whether this process can make a file or directory at `path`, where there is none: tried beside it, and
 * nothing is left. errno is set. Blocks. */
HL_MUST_CHECK enum hl_err hl_path_may_make(const char *path);
/* The same for opening a file to read and write it, which makes it where there is none. */
HL_MUST_CHECK enum hl_err hl_path_may_write(const char *path);

/* Makes names in a directory, or a file's bytes, durable. Blocks. */
HL_MUST_CHECK enum hl_err hl_path_sync(const char *path);

/* Reads a whole small file into out[0..cap) and ends it with NUL; `*n` is its length without it.
 * HL_ERR_TOO_LARGE: it has cap bytes or more. Blocks. */
HL_MUST_CHECK enum hl_err hl_path_read(const char *path, char *out, size_t cap, size_t *n);

/* Makes a file of these bytes (0600), durable: its name appears, or changes hands, only with all of
 * them behind it. Blocks. */
HL_MUST_CHECK enum hl_err hl_path_write(const char *path, const void *bytes, size_t n);

/* Warns in the log if others than the owner may read or write it; `what` it is, in words. */
void hl_path_warn_if_shared(const char *path, const char *what);

#endif
