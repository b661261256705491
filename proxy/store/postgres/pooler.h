/* pooler.h - somebody may be in between who gives the next transaction to another process of the server and passes on
 * the number of the first: that is found out while it happens. The store's thread. */
#ifndef HL_STORE_POSTGRES_POOLER_H
#define HL_STORE_POSTGRES_POOLER_H

#include "store/postgres/state.h"

/* A connection is there. One that was found to be pooled when it began says so for the others, which are made anew. */
void hl_pg_pooler_meet(struct hl_pg_store *s, const struct hl_pg_link *link);
/* What a statement of the writer has seen: the number of its process, and whether that session was told what ours rely
 * on (session_setup.h). */
void hl_pg_pooler_watch(struct hl_pg_store *s, int pid, bool is_told);

#endif
