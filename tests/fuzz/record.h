/* record.h - a conversation as text: who did what, and the bytes that each peer got, step by step.
 *
 * A line of bytes stands behind "| ". CRLF ends it, unless it ends with "\n" (LF alone) or with "\"
 * (nothing: the bytes end there). What differs from one run to the next is replaced by as many
 * bytes: ids of runs by run-1, run-2 … in the order in which they are met, ids of traces and spans
 * likewise, dates and deadlines by zeros. */
#ifndef HL_FUZZ_RECORD_H
#define HL_FUZZ_RECORD_H

struct hl_buf;
struct world;

void record_begin(void);
/* A step was carried out; a script_on_step. '\0': it was world_finish. */
void record_step(const struct world *world, char letter, unsigned digit);
/* Appends all of it to `out`, at its end what the store was told; what is replaced
 * is replaced in the world. */
void record_write(struct world *world, struct hl_buf *out);

#endif
