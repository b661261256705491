/* diary_file.h - lines in a file of this replica's own, which the process after this one reads: what they say is diary.h's.
 * The store's thread, unless said; what touches the disk is done by libuv's pool, one batch after the other. */
#ifndef HL_STORE_POSTGRES_DIARY_FILE_H
#define HL_STORE_POSTGRES_DIARY_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/compiler.h"
#include "base/str.h"

struct hl_buf;
struct hl_pg_diary_file;
struct hl_shared_keys;

/* `dir` is locked by this process; `keys` and `loop` are borrowed, the loop only once there is something to write.
 * Opener's thread. NULL: out of memory, or the path is too long. */
struct hl_pg_diary_file *hl_pg_diary_file_open(
    uv_loop_t *loop, const struct hl_shared_keys *keys, const char *dir, struct hl_str schema);
/* All lines that another process has left, in order; `read` says whether it understands one. False: they are
 * damaged, or another's: that is logged, and what was read is to be forgotten. Opener's thread; blocks. */
bool hl_pg_diary_file_read(
    struct hl_pg_diary_file *d, bool (*read)(void *self, struct hl_str line), void *self);

/* Whether the file is written anew from now on: who asks adds all lines that there are. So it begins, and so it goes
 * on after the disk has taken nothing. */
bool hl_pg_diary_file_begins_anew(struct hl_pg_diary_file *d, uint64_t now_ms);
/* Takes `line`. The number of it, or 0: it goes to no file meanwhile. */
uint64_t hl_pg_diary_file_add(struct hl_pg_diary_file *d, struct hl_buf *line);
/* The one line that is there once. */
void hl_pg_diary_file_put_first(struct hl_pg_diary_file *d, struct hl_buf *line);
void hl_pg_diary_file_drop(struct hl_pg_diary_file *d, uint64_t number); /* 0 is harmless */
void hl_pg_diary_file_turn(struct hl_pg_diary_file *d);
/* When hl_pg_diary_file_begins_anew is to be asked next (CLOCK_MONOTONIC ms). */
uint64_t hl_pg_diary_file_due_ms(const struct hl_pg_diary_file *d);

/* What waits is written; the loop runs until that is so. */
void hl_pg_diary_file_close(struct hl_pg_diary_file *d);
void hl_pg_diary_file_free(
    struct hl_pg_diary_file *d); /* once the loop has ended; NULL is harmless */

#endif
