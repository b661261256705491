/* minute.c - see minute.h. As many rows as one answer looks at are kept: beyond that the oldest go. */
#include "store/memory/minute.h"

#include <stdlib.h>

#include "base/compiler.h"
#include "base/list.h"
#include "base/str.h"
#include "store/claim.h"
#include "store/memory/memory.h"
#include "store/notice.h"

#define MINUTES_MAX 10000

static struct hl_memory_minute *minute_at(struct hl_list *node)
{
    return HL_CONTAINER_OF(node, struct hl_memory_minute, node);
}

static void drop(struct hl_memory *m, struct hl_memory_minute *row)
{
    int64_t end_ms = (row->minute + 1) * HL_TALLY_MINUTE_MS;
    if (m->counted_ms < end_ms)
        m->counted_ms = end_ms;
    hl_list_remove(&row->node);
    hl_tally_fini(&row->tally);
    free(row);
    m->n_minutes--;
}

static bool is_of(const struct hl_memory_minute *row, struct hl_str project, struct hl_str app)
{
    return hl_str_eq(app, hl_str_from(row->app)) && hl_str_eq(project, hl_str_from(row->project));
}

/* Nearly always among the newest. */
static struct hl_memory_minute *find(
    struct hl_memory *m, struct hl_str project, struct hl_str app, int64_t minute)
{
    for (struct hl_list *node = m->minutes.prev; node != &m->minutes; node = node->prev) {
        struct hl_memory_minute *row = minute_at(node);
        if (row->minute == minute && is_of(row, project, app))
            return row;
        if (row->minute < minute)
            return NULL;
    }
    return NULL;
}

static struct hl_memory_minute *take(
    struct hl_memory *m, struct hl_str project, struct hl_str app, int64_t minute)
{
    struct hl_memory_minute *row = find(m, project, app, minute);
    if (row)
        return row;
    row = calloc(1, sizeof(*row));
    if (!row)
        return NULL;
    row->minute = minute;
    hl_str_put_cut(row->project, sizeof(row->project), project);
    hl_str_put_cut(row->app, sizeof(row->app), app);
    if (m->n_minutes == MINUTES_MAX)
        drop(m, minute_at(m->minutes.next));
    hl_list_push_back(&m->minutes, &row->node);
    m->n_minutes++;
    return row;
}

void hl_memory_minute_add_end(
    struct hl_memory *m, const struct hl_memory_run *run, const struct hl_finish *times)
{
    const struct hl_outcome *o = &run->outcome;
    struct hl_memory_minute *row =
        take(m, run->project, run->app, o->finished_ms / HL_TALLY_MINUTE_MS);
    if (!row)
        return;
    enum hl_err err = hl_tally_add_end(&row->tally, run->is_async, o->state, o->reason,
        times ? times->run_us : -1, times ? times->queued_us : -1);
    (void)err;
}

/* Without memory some are not counted: they are not told again, for the others would count twice. */
enum hl_err hl_memory_minute_tell(struct hl_driver *d, const struct hl_told_tally *t)
{
    struct hl_memory *m = hl_memory_of(d);
    for (size_t i = 0; i < t->n; i++) {
        const struct hl_told_minute *told = &t->minutes[i];
        struct hl_memory_minute *row =
            take(m, hl_str_from(told->project), hl_str_from(told->app), told->minute);
        enum hl_err err =
            row ? hl_tally_add_all(&row->tally, told->tally.counts, told->tally.n) : HL_ERR_NOMEM;
        (void)err;
    }
    return HL_OK;
}

int64_t hl_memory_minute_purge(struct hl_memory *m, int64_t now_ms, unsigned max)
{
    unsigned n = 0;
    HL_LIST_EACH_SAFE (node, &m->minutes) {
        struct hl_memory_minute *row = minute_at(node);
        int64_t end_ms = (row->minute + 1) * HL_TALLY_MINUTE_MS + m->retention_ms;
        if (end_ms > now_ms)
            return end_ms;
        if (n++ == max)
            return now_ms;
        drop(m, row);
    }
    return INT64_MAX;
}

void hl_memory_minute_free_all(struct hl_memory *m)
{
    while (!hl_list_is_empty(&m->minutes))
        drop(m, minute_at(m->minutes.next));
}
