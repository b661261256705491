/* places.c - see places.h. */
#include "store/postgres/places.h"

#include <stdlib.h>

struct hl_pg_hold {
    struct hl_pg_place *place;
    uint32_t round, n;
    bool is_parked;
};

void hl_pg_places_init(struct hl_pg_places *p, uint32_t per_lane)
{
    *p = (struct hl_pg_places){.per_lane = per_lane};
    hl_id_map_init(&p->lanes);
    hl_id_map_init(&p->held);
    hl_list_init(&p->idle);
}

void hl_pg_places_fini(struct hl_pg_places *p)
{
    for (size_t i = 0; i < p->lanes.cap; i++)
        free(p->lanes.entries[i].value);
    for (size_t i = 0; i < p->held.cap; i++)
        free(p->held.entries[i].value);
    hl_id_map_fini(&p->lanes);
    hl_id_map_fini(&p->held);
}

/* --- counts ------------------------------------------------------------------------------------ */

/* A place's counts leave the totals before it changes, and are in them again after it. */
static void discount(struct hl_pg_places *p, const struct hl_pg_place *place)
{
    p->busy -= place->taken > 0;
    p->proven -= place->health == HL_LANE_PROVEN;
    p->unproven -= place->health == HL_LANE_PROVEN ? 0 : place->taken;
}

static void count(struct hl_pg_places *p, const struct hl_pg_place *place)
{
    p->busy += place->taken > 0;
    p->proven += place->health == HL_LANE_PROVEN;
    p->unproven += place->health == HL_LANE_PROVEN ? 0 : place->taken;
}

static void forget(struct hl_pg_places *p, struct hl_pg_place *place)
{
    struct hl_id key = hl_lane_key((uint64_t)place->lane);
    discount(p, place);
    free(hl_id_map_remove(&p->lanes, &key));
}

static void use(struct hl_pg_places *p, struct hl_pg_place *place)
{
    if (hl_list_is_empty(&place->idle))
        return;
    hl_list_remove(&place->idle);
    p->n_idle--;
}

/* Of one that has nothing only a good name is kept, and not of all there ever were. */
static void rest(struct hl_pg_places *p, struct hl_pg_place *place)
{
    if (place->taken > 0 || place->parked > 0)
        return;
    if (place->health != HL_LANE_PROVEN) {
        forget(p, place);
        return;
    }
    hl_list_push_back(&p->idle, &place->idle);
    if (++p->n_idle <= HL_PG_IDLE_LANES_MAX)
        return;
    struct hl_pg_place *oldest = HL_CONTAINER_OF(p->idle.next, struct hl_pg_place, idle);
    use(p, oldest);
    forget(p, oldest);
}

/* --- leases ------------------------------------------------------------------------------------ */

static struct hl_pg_place *place_of(struct hl_pg_places *p, int64_t lane)
{
    struct hl_id key = hl_lane_key((uint64_t)lane);
    struct hl_pg_place *place = hl_id_map_find(&p->lanes, &key);
    if (place || hl_id_map_reserve(&p->lanes, 1) != HL_OK)
        return place;
    place = calloc(1, sizeof(*place));
    if (!place)
        return NULL;
    place->lane = lane;
    hl_list_init(&place->idle);
    hl_id_map_put(&p->lanes, &key, place);
    return place;
}

enum hl_err hl_pg_places_take(struct hl_pg_places *p, struct hl_pg_lease lease, int64_t lane)
{
    if (hl_id_map_reserve(&p->held, 1) != HL_OK)
        return HL_ERR_NOMEM;
    struct hl_pg_hold *hold = calloc(1, sizeof(*hold));
    struct hl_pg_place *place = hold ? place_of(p, lane) : NULL;
    if (!place) {
        free(hold);
        return HL_ERR_NOMEM;
    }
    *hold = (struct hl_pg_hold){.place = place, .round = lease.round, .n = lease.n};
    hl_id_map_put(&p->held, &lease.delivery, hold);
    use(p, place);
    discount(p, place);
    place->taken++;
    count(p, place);
    p->leased++;
    return HL_OK;
}

static struct hl_pg_hold *find_hold(const struct hl_pg_places *p, const struct hl_pg_lease *lease)
{
    struct hl_pg_hold *hold = hl_id_map_find(&p->held, &lease->delivery);
    return hold && hold->round == lease->round && hold->n == lease->n ? hold : NULL;
}

void hl_pg_places_go_on(struct hl_pg_places *p, struct hl_pg_lease lease)
{
    struct hl_pg_hold *hold = hl_id_map_find(&p->held, &lease.delivery);
    if (hold && hold->round == lease.round && hold->n + 1 == lease.n)
        hold->n = lease.n;
}

static void leave_place(struct hl_pg_places *p, struct hl_pg_hold *hold)
{
    struct hl_pg_place *place = hold->place;
    discount(p, place);
    if (hold->is_parked) {
        place->parked--;
        p->parked--;
    } else {
        place->taken--;
    }
    count(p, place);
    rest(p, place);
}

bool hl_pg_places_leave(struct hl_pg_places *p, struct hl_pg_lease lease)
{
    struct hl_pg_hold *hold = find_hold(p, &lease);
    if (!hold)
        return false;
    hl_id_map_remove(&p->held, &lease.delivery);
    p->leased--;
    leave_place(p, hold);
    free(hold);
    return true;
}

/* Where the free places are shared no destination has more than half of those for the parked. */
static uint32_t parked_max(const struct hl_pg_places *p)
{
    return p->per_lane > 0 ? HL_PARKED_PER_PLACE * p->per_lane : HL_PARKED_MAX / 2;
}

bool hl_pg_places_park(struct hl_pg_places *p, struct hl_pg_lease lease)
{
    struct hl_pg_hold *hold = find_hold(p, &lease);
    struct hl_pg_place *place = hold ? hold->place : NULL;
    if (!hold || hold->is_parked || place->parked >= parked_max(p) || p->parked >= HL_PARKED_MAX)
        return false;
    hold->is_parked = true;
    discount(p, place);
    place->taken--;
    place->parked++;
    count(p, place);
    p->parked++;
    return true;
}

bool hl_pg_places_has(const struct hl_pg_places *p, struct hl_pg_lease lease)
{
    return find_hold(p, &lease) != NULL;
}

void hl_pg_places_judge(
    struct hl_pg_places *p, struct hl_pg_lease lease, enum hl_lane_health health)
{
    struct hl_pg_hold *hold = find_hold(p, &lease);
    if (!hold)
        return;
    discount(p, hold->place);
    hold->place->health = health;
    count(p, hold->place);
}

int64_t hl_pg_places_lane(const struct hl_pg_places *p, struct hl_pg_lease lease)
{
    const struct hl_pg_hold *hold = find_hold(p, &lease);
    return hold ? hold->place->lane : 0;
}
