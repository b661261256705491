/* backlog.h - what waits in the store, by the count: queued runs with their turns, and pending deliveries
 * by lane (destination). The drivers say what changes, the engine decides from it what to hand out.
 *
 * It is as transactional as the database: what changed since hl_backlog_begin is undone by
 * hl_backlog_rollback. The store's thread owns it. */
#ifndef HL_STORE_BACKLOG_H
#define HL_STORE_BACKLOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/turn.h"
#include "store/barred.h"
#include "store/lane.h"
#include "store/watch.h"

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

/* Where a queued run stands: the lowest turn of its class is first, of two the one accepted first. */
struct hl_queue_place {
    enum hl_priority class;
    uint64_t subject; /* a hash of who made it */
    int64_t turn;
};

struct hl_backlog_totals {
    uint64_t queued_runs, queued[HL_PRIORITIES]; /* all; of each class */
    uint64_t waiting_runs;                       /* for their next attempt: not in the queue */
    uint64_t expired_runs;                       /* since start */
    struct hl_priority_rule rule;                /* of starts for which no class is wished */
    uint64_t pending; /* deliveries that are not final, leased and waiting ones among them */
    uint64_t leased;  /* parked ones among them */
    uint64_t parked;
    uint64_t waiting;  /* for the time of their next attempt */
    uint64_t unproven; /* places that are taken at lanes that are not PROVEN */
    uint64_t dead;     /* dead letters made since start */
    uint64_t lanes_at_limit;
};

struct hl_backlog {
    struct hl_backlog_totals now, before; /* before: at hl_backlog_begin */
    struct hl_turns turns;
    struct hl_barred barred;
    struct hl_id_map lanes;
    struct hl_list ready[2]; /* lanes in turn: those that are PROVEN, and others */
    unsigned turn;           /* which of the two is first */
    struct hl_list idle;     /* the first to be forgotten first */
    uint32_t n_idle;
    /* Lanes that have as many deliveries as one may have; 0: none. Any thread may read them. */
    _Atomic uint64_t full[HL_FULL_LANES];
    /* Wall time before which no queued run's time to start is over and no retry is due; it may be too
     * early. */
    int64_t expire_ms;
    int64_t recall_ms; /* the same, steady time, of deliveries that wait for their next attempt */
    struct hl_lane_change *changes;
    size_t n_changes, cap_changes;

    uint32_t max_queued_runs, max_pending;
    uint32_t places;   /* of all lanes together */
    uint32_t per_lane; /* 0: as many as are free */

    struct hl_watchers watchers; /* of runs; their ends are noted in a transaction, too */
};

/* `places`: for deliveries; `per_lane` of them for one lane, 0: as many as are free. */
void hl_backlog_init(struct hl_backlog *b, uint32_t max_queued_runs, uint32_t max_pending,
    uint32_t places, uint32_t per_lane);
void hl_backlog_fini(struct hl_backlog *b);

void hl_backlog_begin(struct hl_backlog *b);
void hl_backlog_commit(struct hl_backlog *b); /* lanes where nothing is left are forgotten */
void hl_backlog_rollback(struct hl_backlog *b);

/* HL_ERR_BUSY when one more queued run, or its webhook, would be over a limit (contract 5 and
 * 7). */
HL_MUST_CHECK enum hl_err hl_backlog_has_room(const struct hl_backlog *b, bool has_webhook);
/* The same for an accept whose key is not known, its own limits included: BUSY, and is_over_queued if it is
 * its max_queued. `key` hashes subjects. */
HL_MUST_CHECK enum hl_err hl_backlog_admits(
    const struct hl_backlog *b, struct hl_accept *a, const struct hl_key *key);
/* One more run is queued: place->turn is set. */
void hl_backlog_queue(struct hl_backlog *b, struct hl_queue_place *place);
/* One that has its turn already. */
void hl_backlog_queue_again(struct hl_backlog *b, const struct hl_queue_place *place);
/* A queued run has begun; or is no longer queued otherwise. */
void hl_backlog_start(struct hl_backlog *b, const struct hl_queue_place *place);
void hl_backlog_unqueue(struct hl_backlog *b, const struct hl_queue_place *place);
/* Somebody has removed queued runs: those of a class are not waited for. */
void hl_backlog_forget_class(struct hl_backlog *b, enum hl_priority class);
/* Whether the one whose turn it is may start: OK, with `*quota` for its claim. STALE: it may not, and others
 * have their turn. */
HL_MUST_CHECK enum hl_err hl_backlog_may_start(struct hl_backlog *b, const struct hl_key *key,
    const struct hl_queue_place *place, struct hl_quota **quota);
/* Of a class, those that may start as far as is known; all of them; their classes, 0: none. */
uint64_t hl_backlog_ready_of(const struct hl_backlog *b, enum hl_priority class);
uint64_t hl_backlog_ready(const struct hl_backlog *b);
/* A run waits until it is due (wall time): it counts, and is not in the queue; or no longer. */
void hl_backlog_put_off(struct hl_backlog *b, const struct hl_queue_place *place, int64_t due_ms);
void hl_backlog_call_back(struct hl_backlog *b, const struct hl_queue_place *place);
/* The classes that wait; 0: none. */
unsigned hl_backlog_waiting(const struct hl_backlog *b);

/* One of the queued runs is to start by then, 0: at any time. */
static inline void hl_backlog_note_start_by(struct hl_backlog *b, int64_t wall_ms)
{
    if (wall_ms > 0 && wall_ms < b->expire_ms)
        b->expire_ms = wall_ms;
}

/* A run with a webhook was accepted, or recorded; `lane` is where that goes. HL_ERR_NOMEM, as below: nothing
 * changed; the caller's commit must not happen. */
HL_MUST_CHECK enum hl_err hl_backlog_expect(struct hl_backlog *b, uint64_t lane);
/* It has ended: its delivery begins to wait in `lane`. */
HL_MUST_CHECK enum hl_err hl_backlog_add_expected(struct hl_backlog *b, uint64_t lane);
/* The same of one that was final: it is delivered again. */
HL_MUST_CHECK enum hl_err hl_backlog_add_pending(struct hl_backlog *b, uint64_t lane);
/* At open: so many are there. */
HL_MUST_CHECK enum hl_err hl_backlog_load(
    struct hl_backlog *b, uint64_t lane, struct hl_lane_counts n);
/* The lane whose turn it is while so many places are free, or NULL. It stays first until hl_backlog_lease. */
struct hl_lane *hl_backlog_next_lane(const struct hl_backlog *b, uint64_t free);
HL_MUST_CHECK enum hl_err hl_backlog_lease(struct hl_backlog *b, uint64_t lane);
/* A lease ends, and the delivery waits for its next attempt, until `due_ms` (steady time); it waits no more. */
HL_MUST_CHECK enum hl_err hl_backlog_put_delivery_off(
    struct hl_backlog *b, uint64_t lane, bool is_parked, int64_t due_ms);
HL_MUST_CHECK enum hl_err hl_backlog_recall(struct hl_backlog *b, uint64_t lane);
/* How a lane stands from now on; and how it does. `*has_changed`: it has begun, or ceased, to fail. */
HL_MUST_CHECK enum hl_err hl_backlog_judge(
    struct hl_backlog *b, uint64_t lane, struct hl_lane_standing standing, bool *has_changed);
int64_t hl_backlog_failing_since(const struct hl_backlog *b, uint64_t lane);
/* Any thread. */
bool hl_backlog_is_full(const struct hl_backlog *b, uint64_t lane);
/* A lease ends, one with a place or a parked one: the delivery waits again, or is final (`is_dead`:
 * a dead letter). */
HL_MUST_CHECK enum hl_err hl_backlog_unlease(struct hl_backlog *b, uint64_t lane, bool is_parked);
HL_MUST_CHECK enum hl_err hl_backlog_end_leased(
    struct hl_backlog *b, uint64_t lane, bool is_parked, bool is_dead);

/* A leased delivery gives its place away for good, so that many which fail at once do not hold up
 * the rest of their destination: the sender has places of its own for their retries. BUSY: too many
 * are parked; it keeps its place. */
HL_MUST_CHECK enum hl_err hl_backlog_park(struct hl_backlog *b, uint64_t lane);

#endif
