/* flush.h - requests become transactions. The store's thread. */
#ifndef HL_STORE_POSTGRES_FLUSH_H
#define HL_STORE_POSTGRES_FLUSH_H

#include <stdbool.h>
#include <stdint.h>

struct hl_pg_store;

/* Sends what waits, as far as that may go now. */
void hl_pg_flush_turn(struct hl_pg_store *s, uint64_t now_ms);
/* When there may be something to hand out (CLOCK_MONOTONIC ms): what is posted wakes the thread. */
uint64_t hl_pg_flush_due_ms(const struct hl_pg_store *s);
/* Nothing waits and nothing is under way; or, not `with_refused`, what waits is refused. */
bool hl_pg_flush_is_idle(const struct hl_pg_store *s, bool with_refused);

#endif
