/* shares.c - see shares.h. */
#include "webhook/shares.h"

#include <stdlib.h>

#include "store/lane.h"
#include "webhook/courier.h"
#include "webhook/docket.h"
#include "webhook/health.h"
#include "webhook/parcel.h"

struct share {
    struct hl_list node; /* in `lines` iff somebody is in line */
    struct hl_list line;
    uint64_t lane;
    uint32_t inside, unproven;
};

void hl_shares_init(struct hl_shares *s, uint32_t per_lane, const struct hl_healths *healths)
{
    *s = (struct hl_shares){.per_lane = per_lane, .healths = healths};
    hl_id_map_init(&s->lanes);
    hl_list_init(&s->lines[0]);
    hl_list_init(&s->lines[1]);
}

void hl_shares_fini(struct hl_shares *s)
{
    for (size_t i = 0; i < s->lanes.cap; i++)
        free(s->lanes.entries[i].value);
    hl_id_map_fini(&s->lanes);
}

static struct share *find(const struct hl_shares *s, uint64_t lane)
{
    struct hl_id key = hl_lane_key(lane);
    return hl_id_map_find(&s->lanes, &key);
}

static struct share *find_or_make(struct hl_shares *s, uint64_t lane)
{
    struct share *share = find(s, lane);
    struct hl_id key = hl_lane_key(lane);
    if (share || hl_id_map_reserve(&s->lanes, 1) != HL_OK || !(share = calloc(1, sizeof(*share))))
        return share;
    share->lane = lane;
    hl_list_init(&share->node);
    hl_list_init(&share->line);
    hl_id_map_put(&s->lanes, &key, share);
    return share;
}

static void forget_if_empty(struct hl_shares *s, struct share *share)
{
    if (hl_list_is_empty(&share->line))
        hl_list_remove(&share->node);
    if (share->inside > 0 || !hl_list_is_empty(&share->line))
        return;
    struct hl_id key = hl_lane_key(share->lane);
    free(hl_id_map_remove(&s->lanes, &key));
}

static bool may_enter(
    const struct hl_shares *s, const struct share *share, enum hl_lane_health health, uint32_t free)
{
    return hl_lane_gets_place(health, s->per_lane, share->inside, s->unproven, free);
}

static void let_in(struct hl_shares *s, struct share *share, enum hl_lane_health health)
{
    bool is_unproven = health != HL_LANE_PROVEN;
    share->inside++;
    share->unproven += is_unproven;
    s->inside++;
    s->unproven += is_unproven;
}

bool hl_shares_enter(struct hl_shares *s, uint64_t lane, uint32_t free, struct hl_list *node)
{
    enum hl_lane_health health = hl_healths_find(s->healths, lane).health;
    struct share *share = find_or_make(s, lane);
    if (!share)
        return true;
    if (hl_list_is_empty(&share->line) && may_enter(s, share, health, free)) {
        let_in(s, share, health);
        return true;
    }
    hl_list_push_back(&share->line, node);
    if (!hl_list_is_linked(&share->node))
        hl_list_push_back(&s->lines[health != HL_LANE_PROVEN], &share->node);
    return false;
}

/* Which of a lane's have left does not matter: those that were not proven go first. */
void hl_shares_leave(struct hl_shares *s, uint64_t lane)
{
    struct share *share = find(s, lane);
    if (!share || share->inside == 0)
        return;
    bool was_unproven = share->unproven > 0;
    share->inside--;
    share->unproven -= was_unproven;
    s->inside--;
    s->unproven -= was_unproven;
    forget_if_empty(s, share);
}

/* Who is passed over has somebody inside: there are no more of those than places. */
static struct hl_list *next_of(struct hl_shares *s, struct hl_list *lines, uint32_t free)
{
    HL_LIST_EACH_SAFE (node, lines) {
        struct share *share = HL_CONTAINER_OF(node, struct share, node);
        enum hl_lane_health health = hl_healths_find(s->healths, share->lane).health;
        if (hl_list_is_empty(&share->line)) { /* they were taken back */
            forget_if_empty(s, share);
            continue;
        }
        if (!may_enter(s, share, health, free))
            continue;
        struct hl_list *next = hl_list_pop_front(&share->line);
        let_in(s, share, health);
        hl_list_remove(&share->node);
        if (!hl_list_is_empty(&share->line))
            hl_list_push_back(&s->lines[health != HL_LANE_PROVEN], &share->node);
        return next;
    }
    return NULL;
}

struct hl_list *hl_shares_next(struct hl_shares *s, uint32_t free)
{
    struct hl_list *next = next_of(s, &s->lines[0], free);
    if (next || !hl_lane_gets_place(HL_LANE_UNPROVEN, s->per_lane, 0, s->unproven, free))
        return next;
    return next_of(s, &s->lines[1], free);
}

void hl_shares_note(struct hl_shares *s, uint64_t lane)
{
    struct share *share = find(s, lane);
    bool is_proven = hl_healths_find(s->healths, lane).health == HL_LANE_PROVEN;
    if (!share || !hl_list_is_linked(&share->node))
        return;
    hl_list_remove(&share->node);
    hl_list_push_back(&s->lines[!is_proven], &share->node);
}

uint32_t hl_shares_inside(const struct hl_shares *s, uint64_t lane)
{
    const struct share *share = find(s, lane);
    return share ? share->inside : 0;
}

bool hl_shares_has_line(const struct hl_shares *s, uint64_t lane)
{
    const struct share *share = find(s, lane);
    return share && !hl_list_is_empty(&share->line);
}

/* ---- parcels ---- */

/* Those for retries that nobody has or was promised. */
static uint32_t free_places(const struct hl_shares *s)
{
    uint32_t taken = s->docket->placed_retries;
    taken = taken > s->inside ? taken : s->inside;
    return taken < s->places ? s->places - taken : 0;
}

bool hl_shares_is_failing(const struct hl_shares *s, const struct hl_parcel *p)
{
    return s->healths->failing > 0 &&
           hl_healths_find(s->healths, p->lane).health == HL_LANE_FAILING;
}

void hl_shares_give_up(struct hl_shares *s, struct hl_parcel *p)
{
    if (!p->has_turn)
        return;
    p->has_turn = false;
    hl_shares_leave(s, p->lane);
}

bool hl_shares_needs_turn(const struct hl_shares *s, const struct hl_parcel *p)
{
    if (!hl_shares_is_failing(s, p))
        return p->outcome.is_parked && !p->has_turn;
    return !p->has_turn || hl_shares_inside(s, p->lane) > 1;
}

bool hl_shares_take_turn(struct hl_shares *s, struct hl_parcel *p)
{
    if (!hl_shares_needs_turn(s, p))
        return true;
    hl_shares_give_up(s, p);
    p->has_turn = hl_shares_enter(s, p->lane, free_places(s), &p->line);
    if (p->has_turn)
        return true;
    hl_courier_cut(s->courier, p); /* it may have a look-up's turn, which others wait for */
    hl_docket_move(s->docket, p, HL_PARCEL_QUEUED);
    return false;
}

void hl_shares_call_in(struct hl_shares *s)
{
    for (struct hl_list *line; (line = hl_shares_next(s, free_places(s))) != NULL;) {
        struct hl_parcel *p = HL_CONTAINER_OF(line, struct hl_parcel, line);
        p->has_turn = true;
        hl_docket_move(s->docket, p, HL_PARCEL_DUE);
    }
}
