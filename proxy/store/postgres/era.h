/* era.h - which database this is, and whether it still has what it acknowledged: after a failover, or when it
 * was moved or restored, it may lack the last commits, and its numbers may be given once more. The store's
 * thread. */
#ifndef HL_STORE_POSTGRES_ERA_H
#define HL_STORE_POSTGRES_ERA_H

#include "store/postgres/state.h"

/* What a statement has said of it: its name ({era} of sql/parts.sql), and when this replica's row says that it beat last, in
 * ms by the server's clock; 0: there is no such row. True: it is another one, or lacks a beat that was
 * acknowledged. That is logged, and what is believed of the old one's numbers is forgotten. */
bool hl_pg_era_take(struct hl_pg_store *s, struct hl_str name, int64_t beat_ms);
/* The same while this replica is among the others: it is to arrive anew. `beat_ms` below 0: not asked. */
void hl_pg_era_watch(struct hl_pg_store *s, struct hl_str name, int64_t beat_ms);

#endif
