/* arrival.h - a connection is there: which database it leads to is looked at, what is wrong with its numbers is
 * mended, and then this replica is among the others again. The store's thread. */
#ifndef HL_STORE_POSTGRES_ARRIVAL_H
#define HL_STORE_POSTGRES_ARRIVAL_H

#include "store/postgres/state.h"

/* The writer has a connection. */
void hl_pg_arrive(struct hl_pg_store *s);
/* Tries again what was refused; arrives anew where the database has turned out to be another one. */
void hl_pg_arrival_turn(struct hl_pg_store *s, uint64_t now_ms);
/* When it is due next (CLOCK_MONOTONIC ms). */
uint64_t hl_pg_arrival_due_ms(const struct hl_pg_store *s);

#endif
