/* flush.h - requests become transactions. The store's thread. */
#ifndef HL_STORE_POSTGRES_FLUSH_H
#define HL_STORE_POSTGRES_FLUSH_H

#include <stdbool.h>

struct hl_pg_store;

/* Sends what waits, as far as that may go now. */
void hl_pg_flush_turn(struct hl_pg_store *s);
/* One that is not under way; NULL: as many are as may be. */
struct hl_pg_flush *hl_pg_flush_free(struct hl_pg_store *s);
/* Nothing waits and nothing is under way; or, not `with_refused`, what waits is refused. */
bool hl_pg_flush_is_idle(const struct hl_pg_store *s, bool with_refused);

#endif
