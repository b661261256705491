/* horizon.h - how old the oldest snapshot or transaction of others is: rows that go meanwhile cannot be
 * vacuumed. A role may see how long a transaction of another role's has lasted only as a member of
 * pg_read_all_stats, but everybody sees which transaction id it keeps: while that stays the same, time
 * passes. Plain values; no thread. */
#ifndef HL_STORE_POSTGRES_HORIZON_H
#define HL_STORE_POSTGRES_HORIZON_H

#include <stdbool.h>
#include <stdint.h>

#define HL_PG_HORIZON_OLD_MS   (60 * 1000)      /* worth a line */
#define HL_PG_HORIZON_QUIET_MS (10 * 60 * 1000) /* between two lines */

/* All zero at first. */
struct hl_pg_horizon {
    uint32_t xid;      /* the oldest that was kept at the last look; 0: none */
    uint64_t since_ms; /* CLOCK_MONOTONIC: when it was seen first */
    uint64_t said_ms;  /* the last line; 0: there was none */
};

/* `xid`: the oldest that is kept now, 0: none; `seen_ms`: how long the oldest transaction has lasted
 * whose time may be seen. The age in ms, which may be short by the time between two looks. */
uint64_t hl_pg_horizon_look(
    struct hl_pg_horizon *h, uint32_t xid, uint64_t seen_ms, uint64_t now_ms);
/* Whether that age is to be logged now: then it counts as logged. */
bool hl_pg_horizon_says(struct hl_pg_horizon *h, uint64_t age_ms, uint64_t now_ms);

#endif
