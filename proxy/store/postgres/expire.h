/* expire.h - queued runs whose time to start is over (contract 7). The store's thread. */
#ifndef HL_STORE_POSTGRES_EXPIRE_H
#define HL_STORE_POSTGRES_EXPIRE_H

#include <stdint.h>

struct hl_pg_store;

/* One is to start within so many ms. */
void hl_pg_expire_note(struct hl_pg_store *s, uint64_t in_ms);
void hl_pg_expire_turn(struct hl_pg_store *s, uint64_t now_ms);
/* CLOCK_MONOTONIC, when there is something to do; UINT64_MAX: nothing, as things stand. */
uint64_t hl_pg_expire_due_ms(const struct hl_pg_store *s);

#endif
