/* lanes.c - the turn of the lanes. A lane is in a ready list while something is pending; after a lease it goes to the
 * list's end, so that ten thousand deliveries for one destination hold up a single one for another by one turn. Who does
 * not answer at once stands in a list of his own, and all of those together leave a quarter of the places to others,
 * however many hang (lane.h).
 * Changes are noted and, on rollback, undone backwards. */
#include "store/lanes.h"

#include <stdlib.h>

void hl_lanes_init(struct hl_lanes *all, uint32_t max_pending, uint32_t places, uint32_t per_lane)
{
    *all = (struct hl_lanes){
        .recall_ms = INT64_MAX, .max_pending = max_pending, .places = places, .per_lane = per_lane};
    hl_id_map_init(&all->by_name);
    hl_list_init(&all->ready[0]);
    hl_list_init(&all->ready[1]);
    hl_list_init(&all->idle);
}

void hl_lanes_fini(struct hl_lanes *all)
{
    for (size_t i = 0; i < all->by_name.cap; i++)
        free(all->by_name.entries[i].value);
    hl_id_map_fini(&all->by_name);
    free(all->changes);
}

void hl_lanes_begin(struct hl_lanes *all)
{
    all->before = all->now;
    all->n_changes = 0;
}

static struct hl_lane *find_lane(const struct hl_lanes *all, uint64_t name)
{
    struct hl_id key = hl_lane_key(name);
    return hl_id_map_find(&all->by_name, &key);
}

static uint64_t sum(const struct hl_lane_counts *n)
{
    return (uint64_t)n->pending + n->leased + n->parked + n->waiting + n->accepted;
}

static uint64_t most_of_a_lane(const struct hl_lanes *all)
{
    return hl_lane_half(all->max_pending);
}

/* One that finds no room is not refused: all of them together are, soon. */
static void note_full(struct hl_lanes *all, uint64_t name, bool is_full)
{
    _Atomic uint64_t *slot = NULL;
    for (size_t i = 0; i < HL_FULL_LANES; i++) {
        uint64_t there = atomic_load_explicit(&all->full[i], memory_order_relaxed);
        if (there == name) {
            slot = &all->full[i];
            break;
        }
        if (there == 0 && is_full && !slot)
            slot = &all->full[i];
    }
    if (slot)
        atomic_store_explicit(slot, is_full ? name : 0, memory_order_relaxed);
}

bool hl_lanes_is_full(const struct hl_lanes *all, uint64_t lane)
{
    for (size_t i = 0; i < HL_FULL_LANES; i++)
        if (atomic_load_explicit(&all->full[i], memory_order_relaxed) == lane)
            return true;
    return false;
}

static void forget(struct hl_lanes *all, struct hl_lane *lane)
{
    struct hl_id key = hl_lane_key(lane->name);
    if (hl_list_is_linked(&lane->idle))
        all->n_idle--;
    hl_list_remove(&lane->idle);
    free(hl_id_map_remove(&all->by_name, &key));
}

/* It has nothing: what is known of it is kept for a while. */
static void retire(struct hl_lanes *all, struct hl_lane *lane)
{
    if (lane->standing.health == HL_LANE_UNPROVEN) {
        forget(all, lane);
        return;
    }
    if (!hl_list_is_linked(&lane->idle)) {
        hl_list_push_back(&all->idle, &lane->idle);
        all->n_idle++;
    }
    if (all->n_idle > HL_IDLE_LANES_MAX)
        forget(all, HL_CONTAINER_OF(all->idle.next, struct hl_lane, idle));
}

/* By name: a lane that several changes name is gone after the first of them. */
void hl_lanes_commit(struct hl_lanes *all)
{
    for (size_t i = 0; i < all->n_changes; i++) {
        struct hl_lane *lane = find_lane(all, all->changes[i].name);
        if (!lane)
            continue;
        note_full(all, lane->name, sum(&lane->n) >= most_of_a_lane(all));
        if (sum(&lane->n) == 0)
            retire(all, lane);
    }
    all->n_changes = 0;
}

/* What one lane can come to have. */
static uint32_t most_places(const struct hl_lanes *all)
{
    return all->per_lane > 0 ? all->per_lane : (all->places + 1) / 2;
}

static struct hl_list *list_of(struct hl_lanes *all, const struct hl_lane *lane)
{
    return &all->ready[lane->standing.health != HL_LANE_PROVEN];
}

static void settle_lane(struct hl_lanes *all, struct hl_lane *lane)
{
    uint32_t most = lane->standing.health == HL_LANE_FAILING ? 1 : most_places(all);
    bool is_at_limit = lane->n.pending > 0 && lane->n.leased >= most;
    all->now.at_limit += is_at_limit;
    all->now.at_limit -= lane->is_at_limit;
    lane->is_at_limit = is_at_limit;
    if (lane->n.pending == 0)
        hl_list_remove(&lane->ready);
    else if (!hl_list_is_linked(&lane->ready))
        hl_list_push_back(list_of(all, lane), &lane->ready);
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

void hl_lanes_rollback(struct hl_lanes *all)
{
    for (size_t i = all->n_changes; i-- > 0;) {
        struct hl_lane_change *change = &all->changes[i];
        take_counts(&change->lane->n, &change->by);
        stand(change->lane, change->before);
        settle_lane(all, change->lane);
    }
    all->now = all->before;
    hl_lanes_commit(all);
}

bool hl_lanes_have_room(const struct hl_lanes *all)
{
    return all->now.pending < all->max_pending;
}

bool hl_lanes_has_its_share(const struct hl_lanes *all, uint64_t name)
{
    const struct hl_lane *lane = find_lane(all, name);
    return lane && sum(&lane->n) >= most_of_a_lane(all);
}

static struct hl_lane *lane_of(struct hl_lanes *all, uint64_t name)
{
    struct hl_id key = hl_lane_key(name);
    struct hl_lane *lane = find_lane(all, name);
    if (lane || hl_id_map_reserve(&all->by_name, 1) != HL_OK)
        return lane;
    lane = calloc(1, sizeof(*lane));
    if (!lane)
        return NULL;
    lane->name = name;
    hl_list_init(&lane->ready);
    hl_list_init(&lane->idle);
    hl_id_map_put(&all->by_name, &key, lane);
    return lane;
}

static bool reserve_change(struct hl_lanes *all)
{
    if (all->n_changes < all->cap_changes)
        return true;
    size_t cap = all->cap_changes ? 2 * all->cap_changes : 64;
    struct hl_lane_change *changes = realloc(all->changes, cap * sizeof(*changes));
    if (!changes)
        return false;
    all->changes = changes;
    all->cap_changes = cap;
    return true;
}

static struct hl_lane *begin_change(struct hl_lanes *all, uint64_t name)
{
    struct hl_lane *lane = reserve_change(all) ? lane_of(all, name) : NULL;
    if (!lane)
        return NULL;
    if (hl_list_is_linked(&lane->idle)) {
        hl_list_remove(&lane->idle);
        all->n_idle--;
    }
    all->changes[all->n_changes++] =
        (struct hl_lane_change){.lane = lane, .name = name, .before = lane->standing};
    return lane;
}

static enum hl_err change_lane(struct hl_lanes *all, uint64_t name, struct hl_lane_counts by)
{
    struct hl_lane *lane = begin_change(all, name);
    if (!lane)
        return HL_ERR_NOMEM;
    all->changes[all->n_changes - 1].by = by;
    add_counts(&lane->n, &by);
    if (lane->standing.health != HL_LANE_PROVEN)
        all->now.unproven += (uint64_t)(int64_t)(int32_t)by.leased;
    settle_lane(all, lane);
    return HL_OK;
}

#define LESS UINT32_MAX /* one less */

enum hl_err hl_lanes_expect(struct hl_lanes *all, uint64_t lane)
{
    return change_lane(all, lane, (struct hl_lane_counts){.accepted = 1});
}

enum hl_err hl_lanes_add_expected(struct hl_lanes *all, uint64_t lane)
{
    const struct hl_lane *known = find_lane(all, lane);
    struct hl_lane_counts by = {.pending = 1};
    if (known && known->n.accepted > 0)
        by.accepted = LESS;
    enum hl_err err = change_lane(all, lane, by);
    if (!err)
        all->now.pending++;
    return err;
}

enum hl_err hl_lanes_add_pending(struct hl_lanes *all, uint64_t lane)
{
    enum hl_err err = change_lane(all, lane, (struct hl_lane_counts){.pending = 1});
    if (!err)
        all->now.pending++;
    return err;
}

enum hl_err hl_lanes_load(struct hl_lanes *all, uint64_t lane, struct hl_lane_counts n)
{
    hl_lanes_begin(all);
    enum hl_err err = change_lane(all, lane, n);
    if (!err) {
        all->now.pending += n.pending + n.waiting;
        all->now.waiting += n.waiting;
    }
    hl_lanes_commit(all);
    return err;
}

static uint64_t unproven(const struct hl_lanes *all, uint64_t free)
{
    return hl_lane_unproven(
        all->now.unproven, all->now.leased - all->now.parked, all->places, free);
}

static bool may_lease(const struct hl_lanes *all, const struct hl_lane *lane, uint64_t free)
{
    return hl_lane_gets_place(
        lane->standing.health, all->per_lane, lane->n.leased, unproven(all, free), free);
}

/* Who is passed over has a place: there are no more of those than places. */
static struct hl_lane *first_of(const struct hl_lanes *all, unsigned which, uint64_t free)
{
    const struct hl_list *list = &all->ready[which];
    if (which == 1 &&
        !hl_lane_gets_place(HL_LANE_UNPROVEN, all->per_lane, 0, unproven(all, free), free))
        return NULL;
    for (struct hl_list *node = list->next; node != list; node = node->next) {
        struct hl_lane *lane = HL_CONTAINER_OF(node, struct hl_lane, ready);
        if (may_lease(all, lane, free))
            return lane;
    }
    return NULL;
}

struct hl_lane *hl_lanes_next(const struct hl_lanes *all, uint64_t free)
{
    if (free == 0)
        return NULL;
    struct hl_lane *lane = first_of(all, all->turn, free);
    return lane ? lane : first_of(all, !all->turn, free);
}

enum hl_err hl_lanes_lease(struct hl_lanes *all, uint64_t name)
{
    enum hl_err err = change_lane(all, name, (struct hl_lane_counts){.pending = LESS, .leased = 1});
    if (err)
        return err;
    all->now.leased++;
    struct hl_lane *lane = all->changes[all->n_changes - 1].lane;
    all->turn = lane->standing.health == HL_LANE_PROVEN;
    if (hl_list_is_linked(&lane->ready)) {
        hl_list_remove(&lane->ready);
        hl_list_push_back(list_of(all, lane), &lane->ready);
    }
    return HL_OK;
}

/* A lease ends; `by` has what becomes of its delivery. */
static enum hl_err end_lease(
    struct hl_lanes *all, uint64_t lane, bool is_parked, struct hl_lane_counts by)
{
    *(is_parked ? &by.parked : &by.leased) = LESS;
    enum hl_err err = change_lane(all, lane, by);
    if (err)
        return err;
    all->now.leased--;
    all->now.parked -= is_parked;
    return HL_OK;
}

enum hl_err hl_lanes_unlease(struct hl_lanes *all, uint64_t lane, bool is_parked)
{
    return end_lease(all, lane, is_parked, (struct hl_lane_counts){.pending = 1});
}

enum hl_err hl_lanes_put_off(struct hl_lanes *all, uint64_t lane, bool is_parked, int64_t due_ms)
{
    enum hl_err err = end_lease(all, lane, is_parked, (struct hl_lane_counts){.waiting = 1});
    if (err)
        return err;
    all->now.waiting++;
    if (due_ms < all->recall_ms)
        all->recall_ms = due_ms;
    return HL_OK;
}

enum hl_err hl_lanes_recall(struct hl_lanes *all, uint64_t lane)
{
    enum hl_err err =
        change_lane(all, lane, (struct hl_lane_counts){.waiting = LESS, .pending = 1});
    if (!err)
        all->now.waiting--;
    return err;
}

enum hl_err hl_lanes_park(struct hl_lanes *all, uint64_t name)
{
    const struct hl_lane *lane = find_lane(all, name);
    if (!lane || lane->n.parked >= HL_PARKED_PER_PLACE * most_places(all) ||
        all->now.parked >= HL_PARKED_MAX)
        return HL_ERR_BUSY;
    enum hl_err err = change_lane(all, name, (struct hl_lane_counts){.leased = LESS, .parked = 1});
    if (!err)
        all->now.parked++;
    return err;
}

enum hl_err hl_lanes_end_leased(struct hl_lanes *all, uint64_t lane, bool is_parked, bool is_dead)
{
    enum hl_err err = end_lease(all, lane, is_parked, (struct hl_lane_counts){0});
    if (err)
        return err;
    all->now.pending--;
    all->now.dead += is_dead;
    return HL_OK;
}

enum hl_err hl_lanes_judge(
    struct hl_lanes *all, uint64_t name, struct hl_lane_standing standing, bool *has_changed)
{
    struct hl_lane *lane = begin_change(all, name);
    if (!lane)
        return HL_ERR_NOMEM;
    bool was_unproven = lane->standing.health != HL_LANE_PROVEN;
    *has_changed = lane->standing.failing_since_ms != standing.failing_since_ms;
    stand(lane, standing);
    all->now.unproven -= was_unproven ? lane->n.leased : 0;
    all->now.unproven += standing.health != HL_LANE_PROVEN ? lane->n.leased : 0;
    settle_lane(all, lane);
    return HL_OK;
}

uint32_t hl_lanes_pending(const struct hl_lanes *all, uint64_t lane)
{
    const struct hl_lane *known = find_lane(all, lane);
    return known ? known->n.pending : 0;
}

int64_t hl_lanes_failing_since(const struct hl_lanes *all, uint64_t lane)
{
    const struct hl_lane *known = find_lane(all, lane);
    return known ? known->standing.failing_since_ms : 0;
}
