/* membership.h - this replica among the others. The store's thread. */
#ifndef HL_STORE_POSTGRES_MEMBERSHIP_H
#define HL_STORE_POSTGRES_MEMBERSHIP_H

#include "store/postgres/state.h"

/* The writer has a connection, or has lost it. */
void hl_pg_member_connect(struct hl_pg_store *s, bool is_up);
/* What is due is sent. */
void hl_pg_member_turn(struct hl_pg_store *s, uint64_t now_ms);
/* When something is due next (CLOCK_MONOTONIC ms). */
uint64_t hl_pg_member_due_ms(const struct hl_pg_store *s);
/* Its beats have succeeded for a whole lifetime: what the others' rows say, or do not say any more, is
 * not just what an outage kept from them. */
bool hl_pg_member_knows_others(const struct hl_pg_store *s, uint64_t now_ms);
/* One that has joined leaves: nothing has to wait until it counts as dead. False: there is no connection. */
HL_MUST_CHECK bool hl_pg_member_leave(struct hl_pg_store *s);

#endif
