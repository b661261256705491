/* lane.h - lanes, the destinations of deliveries: how they are found in a map, and how many of their
 * deliveries may wait for a retry without a place. */
#ifndef HL_STORE_LANE_H
#define HL_STORE_LANE_H

#include <string.h>

#include "base/id.h"

/* They cost the sender memory. */
#define HL_PARKED_PER_PLACE 64
#define HL_PARKED_MAX       4096

/* In an id_map. */
static inline struct hl_id hl_lane_key(uint64_t name)
{
    struct hl_id key = {{0}};
    memcpy(key.b + 8, &name, sizeof(name));
    return key;
}

#endif
