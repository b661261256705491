/* answer_overview.c - see answer_overview.h. */
#include "store/memory/answer_overview.h"

#include <stdlib.h>

#include "base/list.h"
#include "store/backlog.h"
#include "store/destination_tally.h"
#include "store/driver.h"
#include "store/memory/answer_destination.h"
#include "store/memory/delivery.h"
#include "store/memory/memory.h"
#include "store/overview.h"
#include "store/question.h"

static bool is_meant(const struct hl_overview *o, struct hl_str project, struct hl_str app)
{
    return hl_store_name_fits(project, o->project) && hl_store_name_fits(app, o->app);
}

static void add_minutes(const struct hl_memory *m, struct hl_overview *o)
{
    for (const struct hl_list *node = m->minutes.prev; node != &m->minutes; node = node->prev) {
        const struct hl_memory_minute *row = HL_CONTAINER_OF(node, struct hl_memory_minute, node);
        struct hl_str project = hl_str_from(row->project), app = hl_str_from(row->app);
        if (!is_meant(o, project, app) || row->minute < hl_overview_first_minute(o) ||
            row->minute >= hl_overview_last_minute(o))
            continue;
        for (size_t i = 0; i < row->tally.n; i++) {
            hl_overview_add_app(o, project, app, row->tally.counts[i]);
            hl_overview_add_point(o, row->minute, row->tally.counts[i]);
        }
    }
    hl_overview_begins(o, m->counted_ms);
}

static void add_runs(const struct hl_memory *m, struct hl_overview *o)
{
    unsigned looks = 0;
    for (const struct hl_list *node = m->known.prev; node != &m->known; node = node->prev) {
        const struct hl_memory_run *run = HL_CONTAINER_OF(node, struct hl_memory_run, known);
        if (looks++ == HL_OVERVIEW_COUNTED) {
            o->is_more_runs = true;
            return;
        }
        if (!run->is_async || !is_meant(o, run->project, run->app))
            continue;
        o->queued += run->outcome.state == HL_RUN_QUEUED;
        o->running += run->outcome.state == HL_RUN_RUNNING;
    }
}

static bool is_listed(const struct hl_overview *o, uint64_t lane)
{
    for (size_t i = 0; i < o->n_failing; i++)
        if (o->failing[i].row.lane == lane)
            return true;
    return false;
}

/* Into HL_OVERVIEW_LANES places. */
static void add_failing(
    const struct hl_memory *m, struct hl_overview *o, const struct hl_memory_run *run)
{
    int64_t since_ms = hl_lanes_failing_since(&m->base.backlog->lanes, run->lane);
    if (since_ms == 0 || o->n_failing == HL_OVERVIEW_LANES || is_listed(o, run->lane))
        return;
    struct hl_overview_failing *failing = &o->failing[o->n_failing++];
    failing->row.lane = run->lane;
    failing->row.failing_since_ms = since_ms;
    hl_str_put_cut(failing->project, sizeof(failing->project), run->project);
}

static void add_deliveries(const struct hl_memory *m, struct hl_overview *o)
{
    for (const struct hl_list *node = m->begun.prev; node != &m->begun; node = node->prev) {
        const struct hl_memory_run *run = HL_CONTAINER_OF(node, struct hl_memory_run, begun);
        if (!hl_store_name_fits(run->project, o->project))
            continue;
        add_failing(m, o, run);
        if (!hl_store_name_fits(run->app, o->app))
            continue;
        enum hl_delivery_state state = hl_memory_delivery_state(run);
        o->pending += state == HL_DELIVERY_PENDING;
        o->dead += state == HL_DELIVERY_DEAD;
    }
}

static int longest_first(const void *a, const void *b)
{
    const struct hl_overview_failing *one = a, *other = b;
    int64_t left = one->row.failing_since_ms, right = other->row.failing_since_ms;
    return (left > right) - (left < right);
}

static enum hl_err fill_worst(const struct hl_memory *m, struct hl_overview *o)
{
    struct hl_destination_tally *tally = malloc(sizeof(*tally));
    if (!tally)
        return HL_ERR_NOMEM;
    o->n_failing_all = o->n_failing;
    qsort(o->failing, o->n_failing, sizeof(*o->failing), longest_first);
    if (o->n_failing > HL_OVERVIEW_WORST)
        o->n_failing = HL_OVERVIEW_WORST;
    for (size_t i = 0; i < o->n_failing; i++)
        hl_memory_answer_lane(
            m, o->failing[i].project, (int64_t)o->failing[i].row.lane, &o->failing[i].row, tally);
    free(tally);
    return HL_OK;
}

enum hl_err hl_memory_answer_overview(const struct hl_memory *m, struct hl_overview *o)
{
    enum hl_err err = hl_overview_begin(o);
    if (err)
        return err;
    add_minutes(m, o);
    add_runs(m, o);
    if (!o->with_deliveries)
        return HL_OK;
    o->failing = calloc(HL_OVERVIEW_LANES, sizeof(*o->failing));
    if (!o->failing)
        return HL_ERR_NOMEM;
    add_deliveries(m, o);
    return fill_worst(m, o);
}
