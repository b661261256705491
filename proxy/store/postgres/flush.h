/* flush.h - requests become transactions. The store's thread. */
#ifndef HL_STORE_POSTGRES_FLUSH_H
#define HL_STORE_POSTGRES_FLUSH_H

#include "store/postgres/state.h"

/* Sends what waits, as far as that may go now. */
void hl_pg_flush_turn(struct hl_pg_store *s);
/* Answers what waits with UNAVAILABLE: the store ends. */
void hl_pg_flush_refuse_all(struct hl_pg_store *s);
/* Not as many are under way as may be. */
bool hl_pg_flush_has_room(const struct hl_pg_store *s);
/* Nothing waits and nothing is under way. */
bool hl_pg_flush_is_idle(const struct hl_pg_store *s);
/* Refuses accepts that have waited too long for a server that is gone. When to look again
 * (CLOCK_MONOTONIC ms); UINT64_MAX: never. */
uint64_t hl_pg_flush_expire(struct hl_pg_store *s, uint64_t now_ms);
/* Takes a request. */
void hl_pg_flush_add(struct hl_pg_store *s, struct hl_store_msg *m);

#endif
