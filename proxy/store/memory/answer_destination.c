/* answer_destination.c - see answer_destination.h. Whatever is here is in memory, and bounded by that: it is
 * walked over once for each lane that is shown. */
#include "store/memory/answer_destination.h"

#include <stdlib.h>

#include "base/list.h"
#include "store/backlog.h"
#include "store/destination.h"
#include "store/destination_tally.h"
#include "store/driver.h"
#include "store/memory/delivery.h"
#include "store/memory/memory.h"
#include "store/question.h"

static const struct hl_memory_run *run_at(const struct hl_list *node)
{
    return HL_CONTAINER_OF(node, struct hl_memory_run, begun);
}

/* Lanes are in the order of the numbers that databases keep: with a sign. */
static bool next_lane(
    const struct hl_memory *m, const char *project, bool has_after, int64_t after, int64_t *lane)
{
    bool is_found = false;
    for (const struct hl_list *node = m->begun.next; node != &m->begun; node = node->next) {
        int64_t there = (int64_t)run_at(node)->lane;
        if (!hl_str_eq(run_at(node)->project, hl_str_from(project)) ||
            (has_after && there <= after) || (is_found && there >= *lane))
            continue;
        *lane = there;
        is_found = true;
    }
    return is_found;
}

static void add_delivery(struct hl_destination_row *row, const struct hl_memory_run *run,
    struct hl_destination_tally *tally)
{
    enum hl_delivery_state state = hl_memory_delivery_state(run);
    if (!row->destination[0])
        row->destination[hl_destination_write(row->destination, run->url)] = '\0';
    row->pending += state == HL_DELIVERY_PENDING;
    row->dead += state == HL_DELIVERY_DEAD;
    int64_t since_ms = state == HL_DELIVERY_PENDING ? hl_memory_pending_since(run) : 0;
    if (since_ms > 0 && (row->oldest_ms == 0 || since_ms < row->oldest_ms))
        row->oldest_ms = since_ms;
    for (size_t i = 0; i < run->n_attempts; i++)
        hl_destination_tally_add(tally, row, &run->attempts[i]);
}

void hl_memory_answer_lane(const struct hl_memory *m, const char *project, int64_t lane,
    struct hl_destination_row *row, struct hl_destination_tally *tally)
{
    row->lane = (uint64_t)lane;
    row->failing_since_ms = hl_lanes_failing_since(&m->base.backlog->lanes, row->lane);
    hl_destination_tally_begin(tally, row);
    for (const struct hl_list *node = m->begun.next; node != &m->begun; node = node->next) {
        const struct hl_memory_run *run = run_at(node);
        if (run->lane == row->lane && hl_str_eq(run->project, hl_str_from(project)))
            add_delivery(row, run, tally);
    }
    hl_destination_tally_end(tally, row);
}

enum hl_err hl_memory_answer_list_destinations(
    const struct hl_memory *m, struct hl_list_destinations *l)
{
    struct hl_destination_tally *tally = malloc(sizeof(*tally));
    int64_t lane = (int64_t)l->after;
    bool has_after = l->has_after;
    l->rows = calloc(l->limit, sizeof(*l->rows));
    enum hl_err err = l->rows && tally ? HL_OK : HL_ERR_NOMEM;
    while (!err && next_lane(m, l->project, has_after, lane, &lane)) {
        has_after = true;
        if (l->count == l->limit) {
            l->has_more = true;
            break;
        }
        hl_memory_answer_lane(m, l->project, lane, &l->rows[l->count++], tally);
    }
    free(tally);
    return err;
}
