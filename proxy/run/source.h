/* source.h - a stored request body as the source of a run: from its file or from memory, piece by
 * piece through libuv's pool, and checked there. */
#ifndef HL_RUN_SOURCE_H
#define HL_RUN_SOURCE_H

#include "run/run.h"

/* Reads the body of `run->claimed`, whose bytes it takes: only where the store has them too, so that
 * the claim can be given back without. NULL: out of memory. Belongs to the run. */
struct hl_source *hl_source_new(struct hl_run *run);
/* The app takes bytes: go on. May end the run (the file cannot be read). */
void hl_source_go_on(struct hl_source *source);
void hl_source_free(
    struct hl_source *source); /* NULL-safe; waits for no one: a read in flight ends by itself */

#endif
