/* places.h - how many places this replica's deliveries have taken at each destination. What waits there
 * is the database's to know. The store's thread. */
#ifndef HL_STORE_POSTGRES_PLACES_H
#define HL_STORE_POSTGRES_PLACES_H

#include "base/id_map.h"

struct hl_pg_place { /* of a lane */
    int64_t lane;
    uint32_t taken;  /* deliveries that are leased and have a place */
    uint32_t parked; /* and those that gave theirs to others for the time of their wait */
};

/* What the sender has, or had: the end of an older lease, which comes late, is not that of a newer one. */
struct hl_pg_lease {
    struct hl_id delivery;
    uint32_t round, n; /* its last attempt */
};

struct hl_pg_places {
    struct hl_id_map lanes; /* key of a lane → struct hl_pg_place */
    struct hl_id_map held;  /* delivery → struct hl_pg_hold */
    uint32_t per_lane, parked;
    uint64_t leased; /* all that are held */
};

void hl_pg_places_init(struct hl_pg_places *p, uint32_t per_lane);
void hl_pg_places_fini(struct hl_pg_places *p);

/* A delivery was leased. HL_ERR_NOMEM: nothing changed. */
HL_MUST_CHECK enum hl_err hl_pg_places_take(
    struct hl_pg_places *p, struct hl_pg_lease lease, int64_t lane);
/* Its next attempt: of the lease before, if that is held. */
void hl_pg_places_go_on(struct hl_pg_places *p, struct hl_pg_lease lease);
/* It is over, or given back. False: it was not held, and nothing changed. */
bool hl_pg_places_leave(struct hl_pg_places *p, struct hl_pg_lease lease);
/* It gives its place away. False: too many have; it keeps it. */
bool hl_pg_places_park(struct hl_pg_places *p, struct hl_pg_lease lease);
bool hl_pg_places_has(const struct hl_pg_places *p, struct hl_pg_lease lease);

#endif
