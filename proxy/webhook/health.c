/* health.c - see health.h. */
#include "webhook/health.h"

#include <stdlib.h>

struct entry {
    struct hl_list node;
    uint64_t lane;
    uint32_t unanswered;   /* attempts in a row */
    int64_t unanswered_ms; /* when the first of them began */
    int64_t answered_ms;   /* when the last answer came; 0: none did */
    bool is_told;          /* FAILING: the store knows */
    struct hl_health standing;
};

void hl_healths_init(struct hl_healths *all)
{
    *all = (struct hl_healths){.n = 0};
    hl_id_map_init(&all->lanes);
    hl_list_init(&all->order);
}

void hl_healths_fini(struct hl_healths *all)
{
    for (struct hl_list *node; (node = hl_list_pop_front(&all->order)) != NULL;)
        free(HL_CONTAINER_OF(node, struct entry, node));
    hl_id_map_fini(&all->lanes);
}

static struct entry *find(const struct hl_healths *all, uint64_t lane)
{
    struct hl_id key = hl_lane_key(lane);
    return hl_id_map_find(&all->lanes, &key);
}

static void forget_oldest(struct hl_healths *all)
{
    struct entry *e = HL_CONTAINER_OF(hl_list_pop_front(&all->order), struct entry, node);
    struct hl_id key = hl_lane_key(e->lane);
    hl_id_map_remove(&all->lanes, &key);
    all->failing -= e->standing.health == HL_LANE_FAILING;
    all->n--;
    free(e);
}

static struct entry *find_or_make(struct hl_healths *all, uint64_t lane)
{
    struct entry *e = find(all, lane);
    if (!e) {
        struct hl_id key = hl_lane_key(lane);
        if (hl_id_map_reserve(&all->lanes, 1) != HL_OK || !(e = calloc(1, sizeof(*e))))
            return NULL;
        e->lane = lane;
        hl_list_init(&e->node);
        hl_id_map_put(&all->lanes, &key, e);
        all->n++;
    }
    hl_list_remove(&e->node);
    hl_list_push_back(&all->order, &e->node);
    if (all->n > HL_HEALTH_LANES)
        forget_oldest(all);
    return e;
}

static void stand(struct hl_healths *all, struct entry *e, enum hl_lane_health health)
{
    all->failing -= e->standing.health == HL_LANE_FAILING;
    all->failing += health == HL_LANE_FAILING;
    e->is_told &= health == HL_LANE_FAILING;
    e->standing.health = health;
    e->standing.failing_since_ms = health == HL_LANE_FAILING ? e->unanswered_ms : 0;
}

static bool learn_of_answer(struct hl_healths *all, uint64_t lane)
{
    struct entry *e = all->failing > 0 ? find(all, lane) : NULL;
    if (!e || e->standing.health != HL_LANE_FAILING || !e->is_told)
        return false;
    e->unanswered = 0;
    stand(all, e, HL_LANE_UNPROVEN);
    return true;
}

static void confirm(struct entry *e)
{
    e->is_told = e->standing.health == HL_LANE_FAILING;
}

bool hl_healths_learn(struct hl_healths *all, uint64_t lane, int64_t failing_since_ms)
{
    if (failing_since_ms == 0)
        return learn_of_answer(all, lane);
    struct entry *e = find(all, lane);
    bool is_known =
        e && (e->standing.health == HL_LANE_FAILING || e->answered_ms >= failing_since_ms);
    if (e)
        confirm(e);
    if (is_known || (!e && !(e = find_or_make(all, lane))))
        return false;
    e->unanswered = HL_FAILING_AFTER;
    e->unanswered_ms = failing_since_ms;
    stand(all, e, HL_LANE_FAILING);
    e->is_told = true;
    return true;
}

void hl_healths_confirm(struct hl_healths *all, uint64_t lane)
{
    struct entry *e = find(all, lane);
    if (e)
        confirm(e);
}

static void note_silence(struct hl_healths *all, struct entry *e, int64_t started_ms)
{
    if (e->unanswered++ == 0)
        e->unanswered_ms = started_ms;
    stand(all, e, e->unanswered >= HL_FAILING_AFTER ? HL_LANE_FAILING : HL_LANE_UNPROVEN);
}

struct hl_health hl_healths_note(struct hl_healths *all, uint64_t lane, int64_t started_ms,
    bool is_answered, uint64_t ms, bool *was_failing)
{
    struct entry *e = find_or_make(all, lane);
    *was_failing = e && e->standing.health == HL_LANE_FAILING;
    if (!e)
        return (struct hl_health){HL_LANE_UNPROVEN, 0};
    if (is_answered) {
        e->unanswered = 0;
        e->answered_ms = started_ms + (int64_t)ms;
        stand(all, e, ms < HL_PROMPT_MS ? HL_LANE_PROVEN : HL_LANE_UNPROVEN);
    } else {
        note_silence(all, e, started_ms);
    }
    return e->standing;
}

bool hl_healths_recall(struct hl_healths *all, uint64_t lane, uint32_t n, int64_t since_ms)
{
    struct entry *e = n > 0 ? find(all, lane) : NULL;
    if (!e || e->unanswered == 0 || e->answered_ms > 0 || e->standing.health == HL_LANE_FAILING)
        return false;
    e->unanswered += n;
    e->unanswered_ms = since_ms;
    if (e->unanswered >= HL_FAILING_AFTER)
        stand(all, e, HL_LANE_FAILING);
    return e->standing.health == HL_LANE_FAILING;
}

bool hl_healths_knows(const struct hl_healths *all, uint64_t lane)
{
    return find(all, lane) != NULL;
}

struct hl_health hl_healths_find(const struct hl_healths *all, uint64_t lane)
{
    const struct entry *e = find(all, lane);
    return e ? e->standing : (struct hl_health){HL_LANE_UNPROVEN, 0};
}
