/* flush.h - requests become transactions. The store's thread. */
#ifndef HL_STORE_POSTGRES_FLUSH_H
#define HL_STORE_POSTGRES_FLUSH_H

#include <stdbool.h>

struct hl_pg_store;

/* Sends what waits, as far as that may go now. */
void hl_pg_flush_turn(struct hl_pg_store *s);
/* Whether a transaction may be sent for nothing but handing out: only one at a time, so that a server which does not
 * answer finds room for what callers wait for. */
bool hl_pg_flush_may_serve(const struct hl_pg_store *s);
/* Nothing waits and nothing is under way; or, not `with_refused`, what waits is refused. */
bool hl_pg_flush_is_idle(const struct hl_pg_store *s, bool with_refused);

#endif
