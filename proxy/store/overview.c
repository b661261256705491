/* overview.c - see overview.h. */
#include "store/overview.h"

#include <stdlib.h>
#include <string.h>

#include "store/question.h"

enum hl_err hl_overview_begin(struct hl_overview *o)
{
    int64_t span_ms = o->until_ms - o->since_ms;
    if (o->step_ms < HL_TALLY_MINUTE_MS || span_ms <= 0)
        return HL_ERR_INVALID;
    o->first_ms = o->since_ms / o->step_ms * o->step_ms;
    o->n_points = (size_t)((o->until_ms - 1 - o->first_ms) / o->step_ms) + 1;
    if (o->n_points > HL_OVERVIEW_POINTS)
        return HL_ERR_INVALID;
    o->apps = calloc(HL_LIST_MAX, sizeof(*o->apps));
    o->points = calloc(o->n_points, sizeof(*o->points));
    o->counted_ms = hl_overview_first_minute(o) * HL_TALLY_MINUTE_MS;
    return o->apps && o->points ? HL_OK : HL_ERR_NOMEM;
}

void hl_overview_fini(struct hl_overview *o)
{
    free(o->apps);
    free(o->points);
    free(o->failing);
    free(o->replicas);
    o->apps = NULL;
    o->points = NULL;
    o->failing = NULL;
    o->replicas = NULL;
    o->n_apps = o->n_points = o->n_failing = o->n_replicas = 0;
}

int64_t hl_overview_first_minute(const struct hl_overview *o)
{
    return o->since_ms / HL_TALLY_MINUTE_MS;
}

int64_t hl_overview_last_minute(const struct hl_overview *o)
{
    return (o->until_ms + HL_TALLY_MINUTE_MS - 1) / HL_TALLY_MINUTE_MS;
}

static bool is_meant(const struct hl_overview *o, uint32_t key)
{
    return o->is_async < 0 || (int)hl_tally_is_async(key) == o->is_async;
}

static void add(struct hl_overview_figures *f, uint64_t count)
{
    uint32_t key = hl_tally_count_key(count), low = hl_tally_low(key), n;
    n = (uint32_t)hl_tally_count_n(count);
    bool is_async = hl_tally_is_async(key);
    uint32_t state = hl_tally_state(key), reason = hl_tally_reason(key);
    switch (hl_tally_kind_of(key)) {
    case HL_TALLY_END:
        if (state <= HL_RUN_CANCELLED && reason < HL_OVERVIEW_REASONS)
            f->ends[is_async][state][reason] += n;
        break;
    case HL_TALLY_RUN:
        if (low < HL_TALLY_BUCKETS)
            f->run[low] += n;
        break;
    case HL_TALLY_WAIT:
        if (low < HL_TALLY_BUCKETS)
            f->wait[low] += n;
        break;
    default: /* of a newer hookline */
        break;
    }
}

static bool is_app(const struct hl_overview_app *a, struct hl_str project, struct hl_str app)
{
    return hl_str_eq(app, hl_str_from(a->app)) && hl_str_eq(project, hl_str_from(a->project));
}

/* Rows come with the apps in much the same order each minute. NULL: there are too many. */
static struct hl_overview_figures *figures_of(
    struct hl_overview *o, struct hl_str project, struct hl_str app)
{
    for (size_t i = 0; i < o->n_apps; i++) {
        size_t at = (o->last_app + i) % o->n_apps;
        if (!is_app(&o->apps[at], project, app))
            continue;
        o->last_app = at;
        return &o->apps[at].figures;
    }
    if (o->n_apps == HL_LIST_MAX) {
        o->has_more_apps = true;
        return NULL;
    }
    struct hl_overview_app *fresh = &o->apps[o->n_apps];
    o->last_app = o->n_apps++;
    hl_str_put_cut(fresh->project, sizeof(fresh->project), project);
    hl_str_put_cut(fresh->app, sizeof(fresh->app), app);
    return &fresh->figures;
}

static void add_to(struct hl_overview *o, struct hl_overview_figures *app, uint64_t count)
{
    if (!is_meant(o, hl_tally_count_key(count)))
        return;
    add(&o->total, count);
    if (app)
        add(app, count);
}

void hl_overview_add_app(
    struct hl_overview *o, struct hl_str project, struct hl_str app, uint64_t count)
{
    add_to(o, figures_of(o, project, app), count);
}

void hl_overview_add_point(struct hl_overview *o, int64_t minute, uint64_t count)
{
    int64_t at = (minute * HL_TALLY_MINUTE_MS - o->first_ms) / o->step_ms;
    if (at >= 0 && (size_t)at < o->n_points && is_meant(o, hl_tally_count_key(count)))
        add(&o->points[at], count);
}

void hl_overview_add_row(struct hl_overview *o, struct hl_str project, struct hl_str app,
    int64_t minute, struct hl_str counts)
{
    struct hl_overview_figures *of_app = figures_of(o, project, app);
    for (size_t i = 0; i + 8 <= counts.n; i += 8) {
        uint64_t count = hl_tally_read_one(counts.p + i);
        add_to(o, of_app, count);
        hl_overview_add_point(o, minute, count);
    }
}

void hl_overview_begins(struct hl_overview *o, int64_t ms)
{
    if (o->counted_ms < ms)
        o->counted_ms = ms;
}

uint64_t hl_overview_count(const struct hl_overview_figures *f, int is_async, int state, int reason)
{
    uint64_t n = 0;
    for (int a = 0; a < 2; a++)
        for (int s = 0; s <= HL_RUN_CANCELLED; s++)
            for (int r = 0; r < HL_OVERVIEW_REASONS; r++)
                if ((is_async < 0 || a == is_async) && (state < 0 || s == state) &&
                    (reason < 0 || r == reason))
                    n += f->ends[a][s][r];
    return n;
}

static void subtract(uint32_t *from, const uint32_t *part, size_t n)
{
    for (size_t i = 0; i < n; i++)
        from[i] -= part[i] < from[i] ? part[i] : from[i];
}

void hl_overview_subtract(struct hl_overview_figures *f, const struct hl_overview_figures *part)
{
    subtract(&f->ends[0][0][0], &part->ends[0][0][0], sizeof(f->ends) / sizeof(uint32_t));
    subtract(f->run, part->run, HL_TALLY_BUCKETS);
    subtract(f->wait, part->wait, HL_TALLY_BUCKETS);
}

uint64_t hl_overview_sum(const uint32_t buckets[HL_TALLY_BUCKETS])
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < HL_TALLY_BUCKETS; i++)
        n += buckets[i];
    return n;
}

int64_t hl_overview_quantile(const uint32_t buckets[HL_TALLY_BUCKETS], unsigned p)
{
    uint64_t rank = (hl_overview_sum(buckets) * p + 99) / 100, seen = 0;
    for (uint32_t i = 0; i < HL_TALLY_BUCKETS; i++) {
        seen += buckets[i];
        if (seen > 0 && seen >= rank)
            return (int64_t)hl_tally_bucket_us(i);
    }
    return -1;
}
