/* recall.h - a database that does not know what this replica has ended of late (diary.h), a standby that lacks the last
 * commits, an earlier state that was brought back, is told, and nothing of it runs again. The store's thread. */
#ifndef HL_STORE_POSTGRES_RECALL_H
#define HL_STORE_POSTGRES_RECALL_H

#include "store/postgres/state.h"

/* The database has turned out to be another one, at `now_ms` of its clock: it is told, and nothing is claimed or
 * leased there until the others had their say. */
void hl_pg_recall_begin(struct hl_pg_store *s, int64_t now_ms);
/* Tells it what it may not know, if anything; then `then`, or when there was no memory for that. Not where the
 * connection goes meanwhile: who arrives again begins anew. */
void hl_pg_recall_tell(struct hl_pg_store *s, void (*then)(struct hl_pg_store *s, bool is_told));
/* Looks whether the others have come back, while that is waited for. */
void hl_pg_recall_turn(struct hl_pg_store *s, uint64_t now_ms);
/* When that is due next (CLOCK_MONOTONIC ms). */
uint64_t hl_pg_recall_due_ms(const struct hl_pg_store *s);

#endif
