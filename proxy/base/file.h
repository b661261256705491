/* file.h - opens the files that an operator names. */
#ifndef HL_BASE_FILE_H
#define HL_BASE_FILE_H

#include "base/compiler.h"
#include "base/err.h"

/* Opens a regular file, or a link to one, for reading; `*fd` is the caller's. NO_FILE: something
 * else is there, such as a pipe, which nobody may ever write to. On failure `*fd` is -1. */
HL_MUST_CHECK enum hl_err hl_file_open(const char *path, int *fd);

#endif
