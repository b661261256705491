/* outbox.h - what replicas tell each other, in the table `event`: a run that is to be cancelled where it
 * runs, an account that is new, one that is revoked. The store's thread. */
#ifndef HL_STORE_POSTGRES_OUTBOX_H
#define HL_STORE_POSTGRES_OUTBOX_H

#include <stdint.h>

struct hl_pg_store;

/* Reads what is new, when that is due. */
void hl_pg_outbox_turn(struct hl_pg_store *s, uint64_t now_ms);
/* When it is due next (CLOCK_MONOTONIC ms); UINT64_MAX: when the connection is there again. */
uint64_t hl_pg_outbox_due_ms(const struct hl_pg_store *s);
/* There may be something new. */
void hl_pg_outbox_hurry(struct hl_pg_store *s);
void hl_pg_outbox_fini(struct hl_pg_store *s);

#endif
