/* backlog.c - counts of what waits, and the turn of the lanes. A lane is in a ready list while something is
 * pending; after a lease it goes to the list's end, so that ten thousand deliveries for one destination hold up
 * a single one for another by one turn. Who does not answer at once stands in a list of his own, and all of
 * those together leave a quarter of the places to others, however many hang (lane.h).
 * Changes are noted and, on rollback, undone backwards. */
#include "store/backlog.h"

#include <stdlib.h>

#include "base/assert.h"
#include "store/lane.h"

void hl_backlog_init(struct hl_backlog *b, uint32_t max_queued_runs, uint32_t max_pending,
    uint32_t places, uint32_t per_lane)
{
    *b = (struct hl_backlog){.expire_ms = INT64_MAX,
        .recall_ms = INT64_MAX,
        .max_queued_runs = max_queued_runs,
        .max_pending = max_pending,
        .places = places,
        .per_lane = per_lane};
    hl_watchers_init(&b->watchers);
    hl_turns_init(&b->turns);
    hl_id_map_init(&b->lanes);
    hl_list_init(&b->ready[0]);
    hl_list_init(&b->ready[1]);
    hl_list_init(&b->idle);
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

static struct hl_lane *find_lane(const struct hl_backlog *b, uint64_t name)
{
    struct hl_id key = hl_lane_key(name);
    return hl_id_map_find(&b->lanes, &key);
}

static uint64_t sum(const struct hl_lane_counts *n)
{
    return (uint64_t)n->pending + n->leased + n->parked + n->waiting + n->accepted;
}

static uint64_t most_of_a_lane(const struct hl_backlog *b)
{
    return b->max_pending > 1 ? b->max_pending / 2 : 1;
}

/* One that finds no room is not refused: all of them together are, soon. */
static void note_full(struct hl_backlog *b, uint64_t name, bool is_full)
{
    _Atomic uint64_t *slot = NULL;
    for (size_t i = 0; i < HL_FULL_LANES; i++) {
        uint64_t there = atomic_load_explicit(&b->full[i], memory_order_relaxed);
        if (there == name) {
            slot = &b->full[i];
            break;
        }
        if (there == 0 && is_full && !slot)
            slot = &b->full[i];
    }
    if (slot)
        atomic_store_explicit(slot, is_full ? name : 0, memory_order_relaxed);
}

bool hl_backlog_is_full(const struct hl_backlog *b, uint64_t lane)
{
    for (size_t i = 0; i < HL_FULL_LANES; i++)
        if (atomic_load_explicit(&b->full[i], memory_order_relaxed) == lane)
            return true;
    return false;
}

static void forget(struct hl_backlog *b, struct hl_lane *lane)
{
    struct hl_id key = hl_lane_key(lane->name);
    if (hl_list_is_linked(&lane->idle))
        b->n_idle--;
    hl_list_remove(&lane->idle);
    free(hl_id_map_remove(&b->lanes, &key));
}

/* It has nothing: what is known of it is kept for a while. */
static void retire(struct hl_backlog *b, struct hl_lane *lane)
{
    if (lane->standing.health == HL_LANE_UNPROVEN) {
        forget(b, lane);
        return;
    }
    if (!hl_list_is_linked(&lane->idle)) {
        hl_list_push_back(&b->idle, &lane->idle);
        b->n_idle++;
    }
    if (b->n_idle > HL_IDLE_LANES_MAX)
        forget(b, HL_CONTAINER_OF(b->idle.next, struct hl_lane, idle));
}

/* By name: a lane that several changes name is gone after the first of them. */
void hl_backlog_commit(struct hl_backlog *b)
{
    hl_turns_commit(&b->turns);
    for (size_t i = 0; i < b->n_changes; i++) {
        struct hl_lane *lane = find_lane(b, b->changes[i].name);
        if (!lane)
            continue;
        note_full(b, lane->name, sum(&lane->n) >= most_of_a_lane(b));
        if (sum(&lane->n) == 0)
            retire(b, lane);
    }
    b->n_changes = 0;
}

/* What one lane can come to have. */
static uint32_t most_places(const struct hl_backlog *b)
{
    return b->per_lane > 0 ? b->per_lane : (b->places + 1) / 2;
}

static struct hl_list *list_of(struct hl_backlog *b, const struct hl_lane *lane)
{
    return &b->ready[lane->standing.health != HL_LANE_PROVEN];
}

static void settle_lane(struct hl_backlog *b, struct hl_lane *lane)
{
    uint32_t most = lane->standing.health == HL_LANE_FAILING ? 1 : most_places(b);
    bool is_at_limit = lane->n.pending > 0 && lane->n.leased >= most;
    b->now.lanes_at_limit += is_at_limit;
    b->now.lanes_at_limit -= lane->is_at_limit;
    lane->is_at_limit = is_at_limit;
    if (lane->n.pending == 0)
        hl_list_remove(&lane->ready);
    else if (!hl_list_is_linked(&lane->ready))
        hl_list_push_back(list_of(b, lane), &lane->ready);
}

static void add_counts(struct hl_lane_counts *n, const struct hl_lane_counts *by)
{
    n->pending += by->pending;
    n->leased += by->leased;
    n->parked += by->parked;
    n->waiting += by->waiting;
    n->accepted += by->accepted;
}

static void take_counts(struct hl_lane_counts *n, const struct hl_lane_counts *by)
{
    n->pending -= by->pending;
    n->leased -= by->leased;
    n->parked -= by->parked;
    n->waiting -= by->waiting;
    n->accepted -= by->accepted;
}

static void stand(struct hl_lane *lane, struct hl_lane_standing standing)
{
    if ((lane->standing.health == HL_LANE_PROVEN) != (standing.health == HL_LANE_PROVEN))
        hl_list_remove(&lane->ready);
    lane->standing = standing;
}

void hl_backlog_rollback(struct hl_backlog *b)
{
    hl_watchers_rollback(&b->watchers);
    hl_turns_rollback(&b->turns);
    hl_barred_forget(&b->barred);
    for (size_t i = b->n_changes; i-- > 0;) {
        struct hl_lane_change *change = &b->changes[i];
        take_counts(&change->lane->n, &change->by);
        stand(change->lane, change->before);
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

static bool has_its_share(const struct hl_backlog *b, uint64_t name)
{
    const struct hl_lane *lane = find_lane(b, name);
    return lane && sum(&lane->n) >= most_of_a_lane(b);
}

enum hl_err hl_backlog_admits(
    const struct hl_backlog *b, struct hl_accept *a, const struct hl_key *key)
{
    a->is_over_queued = false;
    enum hl_err err = hl_backlog_has_room(b, a->webhook_url.n > 0);
    if (err || a->is_over)
        return HL_ERR_BUSY;
    a->is_over_destination =
        a->webhook_url.n > 0 && has_its_share(b, hl_key_lane(key, a->webhook_url));
    if (a->is_over_destination)
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
    struct hl_lane *lane = find_lane(b, name);
    if (lane || hl_id_map_reserve(&b->lanes, 1) != HL_OK)
        return lane;
    lane = calloc(1, sizeof(*lane));
    if (!lane)
        return NULL;
    lane->name = name;
    hl_list_init(&lane->ready);
    hl_list_init(&lane->idle);
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

static struct hl_lane *begin_change(struct hl_backlog *b, uint64_t name)
{
    struct hl_lane *lane = reserve_change(b) ? lane_of(b, name) : NULL;
    if (!lane)
        return NULL;
    if (hl_list_is_linked(&lane->idle)) {
        hl_list_remove(&lane->idle);
        b->n_idle--;
    }
    b->changes[b->n_changes++] =
        (struct hl_lane_change){.lane = lane, .name = name, .before = lane->standing};
    return lane;
}

static enum hl_err change_lane(struct hl_backlog *b, uint64_t name, struct hl_lane_counts by)
{
    struct hl_lane *lane = begin_change(b, name);
    if (!lane)
        return HL_ERR_NOMEM;
    b->changes[b->n_changes - 1].by = by;
    add_counts(&lane->n, &by);
    if (lane->standing.health != HL_LANE_PROVEN)
        b->now.unproven += (uint64_t)(int64_t)(int32_t)by.leased;
    settle_lane(b, lane);
    return HL_OK;
}

#define LESS UINT32_MAX /* one less */

/* Of a lease that ends. */
static struct hl_lane_counts without_lease(bool is_parked)
{
    struct hl_lane_counts by = {0};
    *(is_parked ? &by.parked : &by.leased) = LESS;
    return by;
}

enum hl_err hl_backlog_expect(struct hl_backlog *b, uint64_t lane)
{
    return change_lane(b, lane, (struct hl_lane_counts){.accepted = 1});
}

enum hl_err hl_backlog_add_expected(struct hl_backlog *b, uint64_t lane)
{
    const struct hl_lane *known = find_lane(b, lane);
    struct hl_lane_counts by = {.pending = 1};
    if (known && known->n.accepted > 0)
        by.accepted = LESS;
    enum hl_err err = change_lane(b, lane, by);
    if (!err)
        b->now.pending++;
    return err;
}

enum hl_err hl_backlog_add_pending(struct hl_backlog *b, uint64_t lane)
{
    enum hl_err err = change_lane(b, lane, (struct hl_lane_counts){.pending = 1});
    if (!err)
        b->now.pending++;
    return err;
}

enum hl_err hl_backlog_load(struct hl_backlog *b, uint64_t lane, struct hl_lane_counts n)
{
    hl_backlog_begin(b);
    enum hl_err err = change_lane(b, lane, n);
    if (!err) {
        b->now.pending += n.pending + n.waiting;
        b->now.waiting += n.waiting;
    }
    hl_backlog_commit(b);
    return err;
}

static uint64_t unproven(const struct hl_backlog *b, uint64_t free)
{
    return hl_lane_unproven(b->now.unproven, b->now.leased - b->now.parked, b->places, free);
}

static bool may_lease(const struct hl_backlog *b, const struct hl_lane *lane, uint64_t free)
{
    return hl_lane_gets_place(
        lane->standing.health, b->per_lane, lane->n.leased, unproven(b, free), free);
}

/* Who is passed over has a place: there are no more of those than places. */
static struct hl_lane *first_of(const struct hl_backlog *b, unsigned which, uint64_t free)
{
    const struct hl_list *list = &b->ready[which];
    if (which == 1 &&
        !hl_lane_gets_place(HL_LANE_UNPROVEN, b->per_lane, 0, unproven(b, free), free))
        return NULL;
    for (struct hl_list *node = list->next; node != list; node = node->next) {
        struct hl_lane *lane = HL_CONTAINER_OF(node, struct hl_lane, ready);
        if (may_lease(b, lane, free))
            return lane;
    }
    return NULL;
}

struct hl_lane *hl_backlog_next_lane(const struct hl_backlog *b, uint64_t free)
{
    if (free == 0)
        return NULL;
    struct hl_lane *lane = first_of(b, b->turn, free);
    return lane ? lane : first_of(b, !b->turn, free);
}

enum hl_err hl_backlog_lease(struct hl_backlog *b, uint64_t name)
{
    enum hl_err err = change_lane(b, name, (struct hl_lane_counts){.pending = LESS, .leased = 1});
    if (err)
        return err;
    b->now.leased++;
    struct hl_lane *lane = b->changes[b->n_changes - 1].lane;
    b->turn = lane->standing.health == HL_LANE_PROVEN;
    if (hl_list_is_linked(&lane->ready)) {
        hl_list_remove(&lane->ready);
        hl_list_push_back(list_of(b, lane), &lane->ready);
    }
    return HL_OK;
}

enum hl_err hl_backlog_unlease(struct hl_backlog *b, uint64_t lane, bool is_parked)
{
    struct hl_lane_counts by = without_lease(is_parked);
    by.pending = 1;
    enum hl_err err = change_lane(b, lane, by);
    if (err)
        return err;
    b->now.leased--;
    b->now.parked -= is_parked;
    return HL_OK;
}

enum hl_err hl_backlog_put_delivery_off(
    struct hl_backlog *b, uint64_t lane, bool is_parked, int64_t due_ms)
{
    struct hl_lane_counts by = without_lease(is_parked);
    by.waiting = 1;
    enum hl_err err = change_lane(b, lane, by);
    if (err)
        return err;
    b->now.leased--;
    b->now.parked -= is_parked;
    b->now.waiting++;
    if (due_ms < b->recall_ms)
        b->recall_ms = due_ms;
    return HL_OK;
}

enum hl_err hl_backlog_recall(struct hl_backlog *b, uint64_t lane)
{
    enum hl_err err = change_lane(b, lane, (struct hl_lane_counts){.waiting = LESS, .pending = 1});
    if (!err)
        b->now.waiting--;
    return err;
}

enum hl_err hl_backlog_park(struct hl_backlog *b, uint64_t name)
{
    const struct hl_lane *lane = find_lane(b, name);
    if (!lane || lane->n.parked >= HL_PARKED_PER_PLACE * most_places(b) ||
        b->now.parked >= HL_PARKED_MAX)
        return HL_ERR_BUSY;
    enum hl_err err = change_lane(b, name, (struct hl_lane_counts){.leased = LESS, .parked = 1});
    if (!err)
        b->now.parked++;
    return err;
}

enum hl_err hl_backlog_end_leased(struct hl_backlog *b, uint64_t lane, bool is_parked, bool is_dead)
{
    enum hl_err err = change_lane(b, lane, without_lease(is_parked));
    if (err)
        return err;
    b->now.leased--;
    b->now.parked -= is_parked;
    b->now.pending--;
    b->now.dead += is_dead;
    return HL_OK;
}

enum hl_err hl_backlog_judge(
    struct hl_backlog *b, uint64_t name, struct hl_lane_standing standing, bool *has_changed)
{
    struct hl_lane *lane = begin_change(b, name);
    if (!lane)
        return HL_ERR_NOMEM;
    bool was_unproven = lane->standing.health != HL_LANE_PROVEN;
    *has_changed = lane->standing.failing_since_ms != standing.failing_since_ms;
    stand(lane, standing);
    b->now.unproven -= was_unproven ? lane->n.leased : 0;
    b->now.unproven += standing.health != HL_LANE_PROVEN ? lane->n.leased : 0;
    settle_lane(b, lane);
    return HL_OK;
}

int64_t hl_backlog_failing_since(const struct hl_backlog *b, uint64_t lane)
{
    const struct hl_lane *known = find_lane(b, lane);
    return known ? known->standing.failing_since_ms : 0;
}
