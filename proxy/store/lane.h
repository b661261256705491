/* lane.h - lanes, the destinations of deliveries: how they are found in a map, and how many of their
 * deliveries may wait for a retry without a place. */
#ifndef HL_STORE_LANE_H
#define HL_STORE_LANE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/id.h"

/* They cost the sender memory. */
#define HL_PARKED_PER_PLACE 64
#define HL_PARKED_MAX       4096

/* What the sender knows of a destination from its attempts. Deliveries to those that are not PROVEN share what
 * places are free among them; one that is FAILING has a single one. */
enum hl_lane_health {
    HL_LANE_UNPROVEN, /* nothing is known, or its last attempt had no answer, or a slow one */
    HL_LANE_PROVEN,   /* its last attempt had an answer at once */
    HL_LANE_FAILING,  /* none of its last attempts had one */
};

/* Of deliveries that are leased and count at lanes that are not PROVEN, how many really have one of `places` while so
 * many are free: the sender puts some aside, for a look-up's turn or a retry, without saying so. */
static inline uint64_t hl_lane_unproven(
    uint64_t unproven, uint64_t leased, uint64_t places, uint64_t free)
{
    uint64_t taken = places > free ? places - free : 0;
    uint64_t aside = leased > taken ? leased - taken : 0;
    return unproven > aside ? unproven - aside : 0;
}

/* Whether a lane that has `leased` places gets another: no more than `per_lane`, or, where that is 0, than `free`,
 * which so many are; FAILING: one. `unproven` are taken at lanes that are not PROVEN, and another there is had only while
 * no more are taken than are free; a lane's first one is had more easily: who is not known yet does not wait behind
 * another that hangs. A quarter of all places is left for those that answer. */
static inline bool hl_lane_gets_place(enum hl_lane_health health, uint64_t per_lane,
    uint64_t leased, uint64_t unproven, uint64_t free)
{
    if (free == 0 || (health == HL_LANE_FAILING && leased > 0))
        return false;
    if (per_lane > 0)
        return leased < per_lane;
    bool is_proven = health == HL_LANE_PROVEN;
    return leased < free && (is_proven || unproven < (leased == 0 ? 3 * free : free));
}

/* In an id_map. */
static inline struct hl_id hl_lane_key(uint64_t name)
{
    struct hl_id key = {{0}};
    memcpy(key.b + 8, &name, sizeof(name));
    return key;
}

/* What one destination may have of HOOKLINE_MAX_PENDING_DELIVERIES, and what is redelivered may fill (contract 5). */
static inline uint64_t hl_lane_half(uint64_t max_pending)
{
    return max_pending > 1 ? max_pending / 2 : 1;
}

#endif
