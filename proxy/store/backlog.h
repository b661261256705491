/* backlog.h - what waits in the store, by the count: queued runs with their turns, and pending deliveries
 * by lane (destination). The drivers say what changes, the engine decides from it what to hand out.
 *
 * It is as transactional as the database: what changed since hl_backlog_begin is undone by
 * hl_backlog_rollback. The store's thread owns it. */
#ifndef HL_STORE_BACKLOG_H
#define HL_STORE_BACKLOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/turn.h"
#include "store/barred.h"
#include "store/watch.h"

struct hl_lane {
    struct hl_list ready; /* linked iff something is pending and less than the limit is leased */
    uint64_t name;
    uint32_t pending; /* deliveries that wait for a lease */
    uint32_t leased;  /* with a place; at most the limit */
    uint32_t parked;  /* leased, without a place */
    bool is_at_limit; /* something is pending, and no place is free */
};

struct hl_lane_change {
    struct hl_lane *lane; /* valid until the commit */
    uint64_t name;
    int32_t pending, leased, parked;
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
    uint64_t pending; /* deliveries that are not final, leased ones among them */
    uint64_t leased;  /* parked ones among them */
    uint64_t parked;
    uint64_t dead; /* dead letters made since start */
    uint64_t lanes_at_limit;
};

struct hl_backlog {
    struct hl_backlog_totals now, before; /* before: at hl_backlog_begin */
    struct hl_turns turns;
    struct hl_barred barred;
    struct hl_id_map lanes;
    struct hl_list ready; /* lanes in turn */
    /* Wall time before which no queued run's time to start is over and no retry is due; it may be too
     * early. */
    int64_t expire_ms;
    struct hl_lane_change *changes;
    size_t n_changes, cap_changes;

    uint32_t max_queued_runs, max_pending, per_lane;

    struct hl_watchers watchers; /* of runs; their ends are noted in a transaction, too */
};

void hl_backlog_init(
    struct hl_backlog *b, uint32_t max_queued_runs, uint32_t max_pending, uint32_t per_lane);
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

/* A delivery begins to wait in `lane`. HL_ERR_NOMEM: nothing changed; the caller's commit must not
 * happen. */
HL_MUST_CHECK enum hl_err hl_backlog_add_pending(struct hl_backlog *b, uint64_t lane);
/* At open: `n` deliveries wait in `lane`. */
HL_MUST_CHECK enum hl_err hl_backlog_load(struct hl_backlog *b, uint64_t lane, uint32_t n);
/* The lane whose turn it is, or NULL. It stays first until hl_backlog_lease. */
struct hl_lane *hl_backlog_next_lane(const struct hl_backlog *b);
HL_MUST_CHECK enum hl_err hl_backlog_lease(struct hl_backlog *b, uint64_t lane);
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
