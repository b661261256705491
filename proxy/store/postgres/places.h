/* places.h - how many places this replica's deliveries have taken at each destination. What waits there
 * is the database's to know. The store's thread. */
#ifndef HL_STORE_POSTGRES_PLACES_H
#define HL_STORE_POSTGRES_PLACES_H

#include "store/id_map.h"

struct hl_pg_place { /* of a lane */
    int64_t lane;
    uint32_t taken;  /* deliveries that are leased and have a place */
    uint32_t parked; /* and those that gave theirs to others for the time of their wait */
};

struct hl_pg_places {
    struct hl_id_map lanes; /* key of a lane → struct hl_pg_place */
    struct hl_id_map held;  /* delivery → struct hl_pg_place */
    uint32_t per_lane, parked;
    uint64_t leased; /* all that are held */
};

void hl_pg_places_init(struct hl_pg_places *p, uint32_t per_lane);
void hl_pg_places_fini(struct hl_pg_places *p);

/* A delivery was leased. HL_ERR_NOMEM: nothing changed. */
HL_MUST_CHECK enum hl_err hl_pg_places_take(
    struct hl_pg_places *p, const struct hl_id *delivery, int64_t lane);
/* It is over, or given back. `was_parked`: it had no place. */
void hl_pg_places_leave(struct hl_pg_places *p, const struct hl_id *delivery, bool was_parked);
/* It gives its place away. False: too many have; it keeps it. */
bool hl_pg_places_park(struct hl_pg_places *p, const struct hl_id *delivery);
bool hl_pg_places_has(const struct hl_pg_places *p, const struct hl_id *delivery);

#endif
