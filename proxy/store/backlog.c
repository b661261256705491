/* backlog.c - counts of what waits, and the turn of the lanes. A lane is in the ready list while it
 * may be leased from; after a lease it goes to the list's end, so that ten thousand deliveries for
 * one destination hold up a single one for another by one turn. Changes are noted and, on rollback,
 * undone backwards. */
#include "store/backlog.h"

#include <stdlib.h>

#include "base/assert.h"
#include "store/lane.h"

void hl_backlog_init(
    struct hl_backlog *b, uint32_t max_queued_runs, uint32_t max_pending, uint32_t per_lane)
{
    *b = (struct hl_backlog){.expire_ms = INT64_MAX,
        .max_queued_runs = max_queued_runs,
        .max_pending = max_pending,
        .per_lane = per_lane};
    hl_watchers_init(&b->watchers);
    hl_turns_init(&b->turns);
    hl_id_map_init(&b->lanes);
    hl_list_init(&b->ready);
}

void hl_backlog_fini(struct hl_backlog *b)
{
    for (size_t i = 0; i < b->lanes.cap; i++)
        free(b->lanes.entries[i].value);
    hl_watchers_fini(&b->watchers);
    hl_turns_fini(&b->turns);
    hl_barred_fini(&b->barred);
    hl_id_map_fini(&b->lanes);
    free(b->changes);
}

void hl_backlog_begin(struct hl_backlog *b)
{
    b->before = b->now;
    b->n_changes = 0;
    hl_turns_begin(&b->turns);
}

/* By name: a lane that several changes name is gone after the first of them. */
void hl_backlog_commit(struct hl_backlog *b)
{
    hl_turns_commit(&b->turns);
    for (size_t i = 0; i < b->n_changes; i++) {
        struct hl_id key = hl_lane_key(b->changes[i].name);
        struct hl_lane *lane = hl_id_map_find(&b->lanes, &key);
        if (lane && lane->pending == 0 && lane->leased == 0 && lane->parked == 0)
            free(hl_id_map_remove(&b->lanes, &key));
    }
    b->n_changes = 0;
}

static void settle_lane(struct hl_backlog *b, struct hl_lane *lane)
{
    bool is_ready = lane->pending > 0 && lane->leased < b->per_lane;
    bool is_at_limit = lane->pending > 0 && !is_ready;
    b->now.lanes_at_limit += is_at_limit;
    b->now.lanes_at_limit -= lane->is_at_limit;
    lane->is_at_limit = is_at_limit;
    if (!is_ready)
        hl_list_remove(&lane->ready);
    else if (!hl_list_is_linked(&lane->ready))
        hl_list_push_back(&b->ready, &lane->ready);
}

void hl_backlog_rollback(struct hl_backlog *b)
{
    hl_watchers_rollback(&b->watchers);
    hl_turns_rollback(&b->turns);
    hl_barred_forget(&b->barred);
    for (size_t i = b->n_changes; i-- > 0;) {
        struct hl_lane_change *change = &b->changes[i];
        change->lane->pending -= (uint32_t)change->pending;
        change->lane->leased -= (uint32_t)change->leased;
        change->lane->parked -= (uint32_t)change->parked;
        settle_lane(b, change->lane);
    }
    b->now = b->before;
    hl_backlog_commit(b);
}

enum hl_err hl_backlog_has_room(const struct hl_backlog *b, bool has_webhook)
{
    if (b->now.queued_runs + b->now.waiting_runs >= b->max_queued_runs)
        return HL_ERR_BUSY;
    return has_webhook && b->now.pending >= b->max_pending ? HL_ERR_BUSY : HL_OK;
}

static uint64_t queued_of(const struct hl_backlog *b, uint64_t subject)
{
    uint64_t n = 0;
    for (int i = 0; i < HL_PRIORITIES; i++)
        n += hl_turns_waiting(&b->turns, (enum hl_priority)i, subject);
    return n;
}

enum hl_err hl_backlog_admits(
    const struct hl_backlog *b, struct hl_accept *a, const struct hl_key *key)
{
    a->is_over_queued = false;
    enum hl_err err = hl_backlog_has_room(b, a->webhook_url.n > 0);
    if (err || a->is_over)
        return HL_ERR_BUSY;
    if (a->max_queued > 0)
        a->is_over_queued = queued_of(b, hl_key_subject(key, a->identity)) >= a->max_queued;
    return a->is_over_queued ? HL_ERR_BUSY : HL_OK;
}

static void count(struct hl_backlog *b, const struct hl_queue_place *place, int by)
{
    b->now.queued_runs += (uint64_t)(int64_t)by;
    b->now.queued[place->class] += (uint64_t)(int64_t)by;
    if (b->barred.n > 0 && hl_barred_has(&b->barred, place->subject))
        b->barred.queued[place->class] += (uint64_t)(int64_t)by;
}

void hl_backlog_queue(struct hl_backlog *b, struct hl_queue_place *place)
{
    place->turn = hl_turns_give(&b->turns, place->class, place->subject);
    count(b, place, 1);
}

void hl_backlog_queue_again(struct hl_backlog *b, const struct hl_queue_place *place)
{
    hl_turns_take(&b->turns, place->class, place->subject, place->turn);
    count(b, place, 1);
}

void hl_backlog_start(struct hl_backlog *b, const struct hl_queue_place *place)
{
    hl_turns_start(&b->turns, place->class, place->subject, place->turn);
    count(b, place, -1);
}

void hl_backlog_unqueue(struct hl_backlog *b, const struct hl_queue_place *place)
{
    hl_turns_leave(&b->turns, place->class, place->subject);
    count(b, place, -1);
}

void hl_backlog_forget_class(struct hl_backlog *b, enum hl_priority class)
{
    b->now.queued_runs -= b->now.queued[class] - b->barred.queued[class];
    b->now.queued[class] = b->barred.queued[class];
}

enum hl_err hl_backlog_may_start(struct hl_backlog *b, const struct hl_key *key,
    const struct hl_queue_place *place, struct hl_quota **quota)
{
    enum hl_err err = hl_barred_ask(&b->barred, key, place->subject, quota);
    if (err != HL_ERR_BUSY)
        return err;
    for (int i = 0; i < HL_PRIORITIES; i++)
        b->barred.queued[i] += hl_turns_waiting(&b->turns, (enum hl_priority)i, place->subject);
    return HL_ERR_STALE;
}

/* What is barred was counted from turns, which are forgotten where memory is short. */
uint64_t hl_backlog_ready_of(const struct hl_backlog *b, enum hl_priority class)
{
    uint64_t queued = b->now.queued[class], barred = b->barred.queued[class];
    return queued > barred ? queued - barred : 0;
}

uint64_t hl_backlog_ready(const struct hl_backlog *b)
{
    uint64_t n = 0;
    for (int i = 0; i < HL_PRIORITIES; i++)
        n += hl_backlog_ready_of(b, (enum hl_priority)i);
    return n;
}

void hl_backlog_put_off(struct hl_backlog *b, const struct hl_queue_place *place, int64_t due_ms)
{
    hl_turns_take(&b->turns, place->class, place->subject, place->turn);
    b->now.waiting_runs++;
    hl_backlog_note_start_by(b, due_ms);
}

void hl_backlog_call_back(struct hl_backlog *b, const struct hl_queue_place *place)
{
    hl_turns_leave(&b->turns, place->class, place->subject);
    b->now.waiting_runs--;
}

unsigned hl_backlog_waiting(const struct hl_backlog *b)
{
    unsigned waiting = 0;
    for (unsigned i = 0; i < HL_PRIORITIES; i++)
        if (hl_backlog_ready_of(b, (enum hl_priority)i) > 0)
            waiting |= hl_priority_bit((enum hl_priority)i);
    return waiting;
}

static struct hl_lane *lane_of(struct hl_backlog *b, uint64_t name)
{
    struct hl_id key = hl_lane_key(name);
    struct hl_lane *lane = hl_id_map_find(&b->lanes, &key);
    if (lane || hl_id_map_reserve(&b->lanes, 1) != HL_OK)
        return lane;
    lane = calloc(1, sizeof(*lane));
    if (!lane)
        return NULL;
    lane->name = name;
    hl_list_init(&lane->ready);
    hl_id_map_put(&b->lanes, &key, lane);
    return lane;
}

static bool reserve_change(struct hl_backlog *b)
{
    if (b->n_changes < b->cap_changes)
        return true;
    size_t cap = b->cap_changes ? 2 * b->cap_changes : 64;
    struct hl_lane_change *changes = realloc(b->changes, cap * sizeof(*changes));
    if (!changes)
        return false;
    b->changes = changes;
    b->cap_changes = cap;
    return true;
}

static enum hl_err change_lane(
    struct hl_backlog *b, uint64_t name, int32_t pending, int32_t leased, int32_t parked)
{
    struct hl_lane *lane = reserve_change(b) ? lane_of(b, name) : NULL;
    if (!lane)
        return HL_ERR_NOMEM;
    b->changes[b->n_changes++] = (struct hl_lane_change){lane, name, pending, leased, parked};
    lane->pending += (uint32_t)pending;
    lane->leased += (uint32_t)leased;
    lane->parked += (uint32_t)parked;
    settle_lane(b, lane);
    return HL_OK;
}

enum hl_err hl_backlog_add_pending(struct hl_backlog *b, uint64_t lane)
{
    enum hl_err err = change_lane(b, lane, 1, 0, 0);
    if (!err)
        b->now.pending++;
    return err;
}

enum hl_err hl_backlog_load(struct hl_backlog *b, uint64_t lane, uint32_t n)
{
    hl_backlog_begin(b);
    enum hl_err err = change_lane(b, lane, (int32_t)n, 0, 0);
    if (!err)
        b->now.pending += n;
    hl_backlog_commit(b);
    return err;
}

struct hl_lane *hl_backlog_next_lane(const struct hl_backlog *b)
{
    return hl_list_is_empty(&b->ready) ? NULL
                                       : HL_CONTAINER_OF(b->ready.next, struct hl_lane, ready);
}

enum hl_err hl_backlog_lease(struct hl_backlog *b, uint64_t name)
{
    enum hl_err err = change_lane(b, name, -1, 1, 0);
    if (err)
        return err;
    b->now.leased++;
    struct hl_lane *lane = b->changes[b->n_changes - 1].lane;
    if (hl_list_is_linked(&lane->ready)) {
        hl_list_remove(&lane->ready);
        hl_list_push_back(&b->ready, &lane->ready);
    }
    return HL_OK;
}

enum hl_err hl_backlog_unlease(struct hl_backlog *b, uint64_t lane, bool is_parked)
{
    enum hl_err err = change_lane(b, lane, 1, is_parked ? 0 : -1, is_parked ? -1 : 0);
    if (err)
        return err;
    b->now.leased--;
    b->now.parked -= is_parked;
    return HL_OK;
}

enum hl_err hl_backlog_park(struct hl_backlog *b, uint64_t name)
{
    struct hl_id key = hl_lane_key(name);
    const struct hl_lane *lane = hl_id_map_find(&b->lanes, &key);
    if (!lane || lane->parked >= HL_PARKED_PER_PLACE * b->per_lane ||
        b->now.parked >= HL_PARKED_MAX)
        return HL_ERR_BUSY;
    enum hl_err err = change_lane(b, name, 0, -1, 1);
    if (!err)
        b->now.parked++;
    return err;
}

enum hl_err hl_backlog_end_leased(struct hl_backlog *b, uint64_t lane, bool is_parked, bool is_dead)
{
    enum hl_err err = change_lane(b, lane, 0, is_parked ? 0 : -1, is_parked ? -1 : 0);
    if (err)
        return err;
    b->now.leased--;
    b->now.parked -= is_parked;
    b->now.pending--;
    b->now.dead += is_dead;
    return HL_OK;
}
