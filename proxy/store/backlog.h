/* backlog.h - how much is waiting in the store: queued runs with their turns, and pending
 * deliveries by lane (lanes.h). The drivers say what changes, the engine decides from it what to
 * hand out.
 *
 * It is as transactional as the database: what changed since hl_backlog_begin is undone by
 * hl_backlog_rollback. The store's thread owns it. */
#ifndef HL_STORE_BACKLOG_H
#define HL_STORE_BACKLOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/turn.h"
#include "store/lanes.h"
#include "store/quota.h"
#include "store/watch.h"

struct hl_accept; /* accept.h */

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
};

struct hl_backlog {
    struct hl_backlog_totals now, before; /* before: at hl_backlog_begin */
    struct hl_turns turns;
    struct hl_quota_blocked blocked;
    struct hl_lanes lanes;
    /* Steady time before which no queued run's time to start is over and no retry is due; it may be too
     * early. */
    int64_t expire_ms;
    uint32_t max_queued_runs;

    struct hl_watchers watchers; /* of runs; their ends are noted in a transaction, too */
};

/* `places`: for deliveries; `per_lane` of them for one lane, 0: as many as are free. */
void hl_backlog_init(struct hl_backlog *b, uint32_t max_queued_runs, uint32_t max_pending,
    uint32_t places, uint32_t per_lane);
void hl_backlog_fini(struct hl_backlog *b);

void hl_backlog_begin(struct hl_backlog *b);
void hl_backlog_commit(struct hl_backlog *b);
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
/* A run waits until it is due (steady time): it counts, and is not in the queue; or no longer. */
void hl_backlog_put_off(struct hl_backlog *b, const struct hl_queue_place *place, int64_t due_ms);
void hl_backlog_call_back(struct hl_backlog *b, const struct hl_queue_place *place);
/* The classes that wait; 0: none. */
unsigned hl_backlog_waiting(const struct hl_backlog *b);

/* One of the queued runs is to start by then, 0: at any time. */
static inline void hl_backlog_note_start_by(struct hl_backlog *b, int64_t steady_ms)
{
    if (steady_ms > 0 && steady_ms < b->expire_ms)
        b->expire_ms = steady_ms;
}

#endif
