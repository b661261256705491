/* imported_mark.h - the mark in a data directory that its store was imported elsewhere: the file `moved`.
 * Its queued runs would run a second time if it were opened again. Blocks. */
#ifndef HL_STORE_IMPORTED_MARK_H
#define HL_STORE_IMPORTED_MARK_H

#include "base/compiler.h"
#include "base/err.h"

struct hl_id;

/* Which move it was. NOT_FOUND: there is no mark; INVALID: it says something else. */
HL_MUST_CHECK enum hl_err hl_imported_mark_read(const char *data_dir, struct hl_id *id);
/* `where` to, in words. Durable. */
HL_MUST_CHECK enum hl_err hl_imported_mark_write(
    const char *data_dir, const struct hl_id *id, const char *where);
/* DENIED, with one line in `why`, where there is a mark of any kind. */
HL_MUST_CHECK enum hl_err hl_imported_mark_check(const char *data_dir, char *why, size_t why_len);

#endif
