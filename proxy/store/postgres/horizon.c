/* horizon.c - see horizon.h. */
#include "store/postgres/horizon.h"

uint64_t hl_pg_horizon_look(
    struct hl_pg_horizon *h, uint32_t xid, uint64_t seen_ms, uint64_t now_ms)
{
    if (xid != h->xid) {
        h->xid = xid;
        h->since_ms = now_ms;
    }
    uint64_t watched_ms = xid ? now_ms - h->since_ms : 0;
    return seen_ms > watched_ms ? seen_ms : watched_ms;
}

bool hl_pg_horizon_says(struct hl_pg_horizon *h, uint64_t age_ms, uint64_t now_ms)
{
    bool is_quiet = h->said_ms > 0 && now_ms - h->said_ms < HL_PG_HORIZON_QUIET_MS;
    if (age_ms < HL_PG_HORIZON_OLD_MS || is_quiet)
        return false;
    h->said_ms = now_ms;
    return true;
}
