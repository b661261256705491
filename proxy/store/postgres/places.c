/* places.c - see places.h. */
#include "store/postgres/places.h"

#include <stdlib.h>
#include <string.h>

/* Parked deliveries cost the sender memory. */
#define PARKED_PER_PLACE 64
#define PARKED_MAX       4096

void hl_pg_places_init(struct hl_pg_places *p, uint32_t per_lane)
{
    *p = (struct hl_pg_places){.per_lane = per_lane};
    hl_id_map_init(&p->lanes);
    hl_id_map_init(&p->held);
}

void hl_pg_places_fini(struct hl_pg_places *p)
{
    for (size_t i = 0; i < p->lanes.cap; i++)
        free(p->lanes.entries[i].value);
    hl_id_map_fini(&p->lanes);
    hl_id_map_fini(&p->held);
}

static struct hl_id key_of(int64_t lane)
{
    struct hl_id key = {{0}};
    memcpy(key.b + 8, &lane, sizeof(lane));
    return key;
}

static struct hl_pg_place *place_of(struct hl_pg_places *p, int64_t lane)
{
    struct hl_id key = key_of(lane);
    struct hl_pg_place *place = hl_id_map_find(&p->lanes, &key);
    if (place || hl_id_map_reserve(&p->lanes, 1) != HL_OK)
        return place;
    place = calloc(1, sizeof(*place));
    if (!place)
        return NULL;
    place->lane = lane;
    hl_id_map_put(&p->lanes, &key, place);
    return place;
}

enum hl_err hl_pg_places_take(struct hl_pg_places *p, const struct hl_id *delivery, int64_t lane)
{
    if (hl_id_map_reserve(&p->held, 1) != HL_OK)
        return HL_ERR_NOMEM;
    struct hl_pg_place *place = place_of(p, lane);
    if (!place)
        return HL_ERR_NOMEM;
    hl_id_map_put(&p->held, delivery, place);
    place->taken++;
    p->leased++;
    return HL_OK;
}

void hl_pg_places_leave(struct hl_pg_places *p, const struct hl_id *delivery, bool was_parked)
{
    struct hl_pg_place *place = hl_id_map_remove(&p->held, delivery);
    if (!place)
        return;
    p->leased--;
    if (was_parked) {
        place->parked--;
        p->parked--;
    } else {
        place->taken--;
    }
    if (place->taken > 0 || place->parked > 0)
        return;
    struct hl_id key = key_of(place->lane);
    free(hl_id_map_remove(&p->lanes, &key));
}

bool hl_pg_places_park(struct hl_pg_places *p, const struct hl_id *delivery)
{
    struct hl_pg_place *place = hl_id_map_find(&p->held, delivery);
    if (!place || place->parked >= PARKED_PER_PLACE * p->per_lane || p->parked >= PARKED_MAX)
        return false;
    place->taken--;
    place->parked++;
    p->parked++;
    return true;
}

bool hl_pg_places_has(const struct hl_pg_places *p, const struct hl_id *delivery)
{
    return hl_id_map_find(&p->held, delivery) != NULL;
}
