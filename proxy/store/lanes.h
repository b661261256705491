/* lanes.h - pending deliveries by lane, which is a destination: how many wait, have a place, or wait for the time of
 * their next attempt; how each lane stands; and whose turn it is.
 *
 * It is as transactional as the database: what changed since hl_lanes_begin is undone by hl_lanes_rollback. The
 * store's thread owns it. */
#ifndef HL_STORE_LANES_H
#define HL_STORE_LANES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/id_map.h"
#include "base/list.h"
#include "store/lane.h"

/* A lane may have half of HOOKLINE_MAX_PENDING_DELIVERIES; what runs that go on add may bring further ones to it. */
#define HL_FULL_LANES 4
/* Lanes that have nothing, and are remembered for their health. */
#define HL_IDLE_LANES_MAX 4096

struct hl_lane_counts {
    uint32_t pending;  /* deliveries that wait for a lease */
    uint32_t leased;   /* with a place */
    uint32_t parked;   /* leased, without a place */
    uint32_t waiting;  /* for the time of their next attempt */
    uint32_t accepted; /* runs that have not ended, whose webhook goes here */
};

/* How a lane stands (lane.h). */
struct hl_lane_standing {
    enum hl_lane_health health;
    int64_t failing_since_ms; /* FAILING: wall time; else 0 */
};

struct hl_lane {
    struct hl_list ready; /* linked iff something is pending, in the list of its health */
    struct hl_list idle;  /* linked iff it has nothing, and is remembered for its health */
    uint64_t name;
    struct hl_lane_counts n;
    struct hl_lane_standing standing;
    bool is_at_limit; /* something is pending, and it has as many places as it may */
};

struct hl_lane_change {
    struct hl_lane *lane; /* valid until the commit */
    uint64_t name;
    struct hl_lane_counts by; /* modulo 2^32: some are less */
    struct hl_lane_standing before;
};

struct hl_lanes_totals {
    uint64_t pending; /* deliveries that are not final, leased and waiting ones among them */
    uint64_t leased;  /* parked ones among them */
    uint64_t parked;
    uint64_t waiting;  /* for the time of their next attempt */
    uint64_t unproven; /* places that are taken at lanes that are not PROVEN */
    uint64_t dead;     /* dead letters made since start */
    uint64_t at_limit; /* lanes that are */
};

struct hl_lanes {
    struct hl_lanes_totals now, before; /* before: at hl_lanes_begin */
    struct hl_id_map by_name;
    struct hl_list ready[2]; /* lanes in turn: those that are PROVEN, and others */
    unsigned turn;           /* which of the two is first */
    struct hl_list idle;     /* the first to be forgotten first */
    uint32_t n_idle;
    /* Lanes that have as many deliveries as one may have; 0: none. Any thread may read them. */
    _Atomic uint64_t full[HL_FULL_LANES];
    /* Steady time before which none that waits for its next attempt is due; it may be too early. */
    int64_t recall_ms;
    struct hl_lane_change *changes;
    size_t n_changes, cap_changes;

    uint32_t max_pending;
    uint32_t places;   /* of all lanes together */
    uint32_t per_lane; /* 0: as many as are free */
};

/* `places`: for deliveries; `per_lane` of them for one lane, 0: as many as are free. */
void hl_lanes_init(struct hl_lanes *all, uint32_t max_pending, uint32_t places, uint32_t per_lane);
void hl_lanes_fini(struct hl_lanes *all);

void hl_lanes_begin(struct hl_lanes *all);
void hl_lanes_commit(struct hl_lanes *all); /* lanes where nothing is left are forgotten */
void hl_lanes_rollback(struct hl_lanes *all);

/* Whether one more is within the limit of all; whether a lane has as many as one may have. */
bool hl_lanes_have_room(const struct hl_lanes *all);
bool hl_lanes_has_its_share(const struct hl_lanes *all, uint64_t lane);

/* A run with a webhook was accepted, or recorded; `lane` is where that goes. HL_ERR_NOMEM, as below: nothing
 * changed; the caller's commit must not happen. */
HL_MUST_CHECK enum hl_err hl_lanes_expect(struct hl_lanes *all, uint64_t lane);
/* It has ended: its delivery begins to wait in `lane`. */
HL_MUST_CHECK enum hl_err hl_lanes_add_expected(struct hl_lanes *all, uint64_t lane);
/* The same of one that was final: it is delivered again. */
HL_MUST_CHECK enum hl_err hl_lanes_add_pending(struct hl_lanes *all, uint64_t lane);
/* At open: so many are there. */
HL_MUST_CHECK enum hl_err hl_lanes_load(
    struct hl_lanes *all, uint64_t lane, struct hl_lane_counts n);
/* How many wait for a lease there. */
uint32_t hl_lanes_pending(const struct hl_lanes *all, uint64_t lane);
/* The lane whose turn it is while so many places are free, or NULL. It stays first until hl_lanes_lease. */
struct hl_lane *hl_lanes_next(const struct hl_lanes *all, uint64_t free);
HL_MUST_CHECK enum hl_err hl_lanes_lease(struct hl_lanes *all, uint64_t lane);
/* A lease ends, and the delivery waits for its next attempt, until `due_ms` (steady time); it waits no more. */
HL_MUST_CHECK enum hl_err hl_lanes_put_off(
    struct hl_lanes *all, uint64_t lane, bool is_parked, int64_t due_ms);
HL_MUST_CHECK enum hl_err hl_lanes_recall(struct hl_lanes *all, uint64_t lane);
/* How a lane stands from now on; and how it does. `*has_changed`: it has begun, or ceased, to fail. */
HL_MUST_CHECK enum hl_err hl_lanes_judge(
    struct hl_lanes *all, uint64_t lane, struct hl_lane_standing standing, bool *has_changed);
int64_t hl_lanes_failing_since(const struct hl_lanes *all, uint64_t lane);
/* Any thread. */
bool hl_lanes_is_full(const struct hl_lanes *all, uint64_t lane);
/* A lease ends, one with a place or a parked one: the delivery waits again, or is final (`is_dead`:
 * a dead letter). */
HL_MUST_CHECK enum hl_err hl_lanes_unlease(struct hl_lanes *all, uint64_t lane, bool is_parked);
HL_MUST_CHECK enum hl_err hl_lanes_end_leased(
    struct hl_lanes *all, uint64_t lane, bool is_parked, bool is_dead);

/* A leased delivery gives its place away for good, so that many which fail at once do not hold up
 * the rest of their destination: the sender has places of its own for their retries. BUSY: too many
 * are parked; it keeps its place. */
HL_MUST_CHECK enum hl_err hl_lanes_park(struct hl_lanes *all, uint64_t lane);

#endif
