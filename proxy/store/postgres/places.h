/* places.h - how many places this replica's deliveries have taken at each destination, and what it knows of
 * those. What waits there is the database's to know. The store's thread. */
#ifndef HL_STORE_POSTGRES_PLACES_H
#define HL_STORE_POSTGRES_PLACES_H

#include "base/id_map.h"
#include "base/list.h"
#include "store/lane.h"

/* Destinations that have nothing here, and are remembered because they have answered. */
#define HL_PG_IDLE_LANES_MAX 1024

struct hl_pg_place { /* of a lane */
    int64_t lane;
    uint32_t taken;  /* deliveries that are leased and have a place */
    uint32_t parked; /* and those that gave theirs to others for the time of their wait */
    enum hl_lane_health health;
    struct hl_list idle; /* in the places' list iff it is PROVEN and has nothing */
};

/* What the sender has, or had: the end of an older lease, which comes late, is not that of a newer one. */
struct hl_pg_lease {
    struct hl_id delivery;
    uint32_t round, n; /* its last attempt */
};

struct hl_pg_places {
    struct hl_id_map lanes; /* key of a lane → struct hl_pg_place */
    struct hl_id_map held;  /* delivery → struct hl_pg_hold */
    struct hl_list idle;    /* the first to be forgotten first */
    uint32_t n_idle;
    uint32_t per_lane; /* 0: as many as are free */
    uint32_t parked;
    uint32_t busy;     /* lanes where a place is taken */
    uint32_t proven;   /* lanes that are */
    uint32_t unproven; /* places that are taken at lanes that are not */
    uint64_t leased;   /* all that are held */
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
/* What its destination is from now on; nothing where it is not held. */
void hl_pg_places_judge(
    struct hl_pg_places *p, struct hl_pg_lease lease, enum hl_lane_health health);
/* Its lane; 0: it is not held. */
int64_t hl_pg_places_lane(const struct hl_pg_places *p, struct hl_pg_lease lease);

#endif
