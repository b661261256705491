/* file.h - the files that an operator names, and the descriptors that a program may be started without. */
#ifndef HL_BASE_FILE_H
#define HL_BASE_FILE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/err.h"

/* ---- files that an operator names ---- */

/* Opens a regular file, or a link to one, for reading; `*fd` is the caller's. NO_FILE: something
 * else is there, such as a pipe, which nobody may ever write to. On failure `*fd` is -1. */
HL_MUST_CHECK enum hl_err hl_file_open(const char *path, int *fd);

/* The same, and all that is in it behind what is in `out`; TOO_LARGE: more than `out` may hold. Nothing of
 * it stays elsewhere: it may be a secret. */
HL_MUST_CHECK enum hl_err hl_file_append(const char *path, struct hl_buf *out);

/* For hl_file_has_changed; a file that is not there looks like no other. */
void hl_file_look(const char *path, struct stat *seen);

/* Whether a file that was looked at twice is another, or has other content. */
bool hl_file_has_changed(const struct stat *before, const struct stat *now);

/* ---- descriptors 0 to 2, which a program may be started without ---- */

/* The first thing in main: whatever is opened later, by libraries too, never gets one of these numbers.
 * Where one was closed, reading and writing go on failing as they did (EBADF). False: errno says why
 * that cannot be; the program must not go on. */
bool hl_standard_fds_fill(void);

#endif
