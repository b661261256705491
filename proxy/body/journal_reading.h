/* journal_reading.h - one read of a journal's file, in libuv's pool: of what is in its memory no more. Thread: its
 * loop. */
#ifndef HL_BODY_JOURNAL_READING_H
#define HL_BODY_JOURNAL_READING_H

#include <uv.h>

#include "base/str.h"

struct hl_journal;

struct hl_journal_reading;

/* What came of it; not of a reading that was left. `piece` is valid within the call; not `is_read`: it could not be. */
typedef void hl_journal_piece(void *owner, struct hl_journal *j, bool is_read, struct hl_str piece);

/* What stands at `offset`; calls back after the return. The journal stays until then. NULL: it cannot be read now. */
struct hl_journal_reading *hl_journal_reading_begin(uv_loop_t *loop, struct hl_journal *j,
    uint64_t offset, hl_journal_piece *on_piece, void *owner);
/* Its owner goes: it ends without a word. NULL-safe. */
void hl_journal_reading_leave(struct hl_journal_reading *r);

#endif
