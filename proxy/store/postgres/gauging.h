/* gauging.h - gauges of all replicas together, and of what the server has to bear. The store's thread. */
#ifndef HL_STORE_POSTGRES_GAUGING_H
#define HL_STORE_POSTGRES_GAUGING_H

#include "store/postgres/state.h"

#define HL_PG_SNAPSHOT_OLD_MS   (60 * 1000)      /* worth a line */
#define HL_PG_SNAPSHOT_QUIET_MS (10 * 60 * 1000) /* between two lines */

/* What is due is asked; nothing before this replica has joined. */
void hl_pg_gauging_turn(struct hl_pg_store *s, uint64_t now_ms);
/* When something is due next (CLOCK_MONOTONIC ms). */
uint64_t hl_pg_gauging_due_ms(const struct hl_pg_store *s);
/* The server is gone, or back: nothing is known until it is asked, which is due. */
void hl_pg_gauging_forget(struct hl_pg_store *s);

/* Rows that go while others keep a snapshot or a transaction open cannot be vacuumed. A role may see how long a
 * transaction of another role's has lasted only as a member of pg_read_all_stats, but everybody sees which transaction id
 * it keeps: while that stays the same, time passes. Plain values; no thread.
 * `xid`: the oldest that is kept now, 0: none; `seen_ms`: how long the oldest transaction has lasted
 * whose time may be seen. The age in ms, which may be short by the time between two looks. */
uint64_t hl_pg_snapshot_age_look(
    struct hl_pg_snapshot_age *h, uint32_t xid, uint64_t seen_ms, uint64_t now_ms);
/* Whether that age is to be logged now: then it counts as logged. */
bool hl_pg_snapshot_age_says(struct hl_pg_snapshot_age *h, uint64_t age_ms, uint64_t now_ms);

#endif
