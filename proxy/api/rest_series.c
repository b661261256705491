/* rest_series.c - how runs ended and how long they took, point by point: of all, and of some apps and the rest.
 * Thread: control.
 * Promise: by app, the store is asked for a bounded number of them, and what the others have is what these leave of all.
 * Not here: the figures of the whole span (rest_overview.c). */
#include "api/rest_series.h"

#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "api/rest_call.h"
#include "base/assert.h"
#include "store/op.h"
#include "store/overview.h"
#include "store/question.h"

json_t *hl_rest_ms_json(int64_t us)
{
    return us < 0 ? json_null() : json_real((double)us / 1000);
}

/* ---- the columns ---- */

static json_t *state_json(const struct hl_overview_figures *f, enum hl_run_state state)
{
    return json_integer((json_int_t)hl_overview_count(f, -1, state, -1));
}

static json_t *success(const struct hl_overview_figures *f)
{
    return state_json(f, HL_RUN_SUCCESS);
}

static json_t *failure(const struct hl_overview_figures *f)
{
    return state_json(f, HL_RUN_FAILURE);
}

static json_t *cancelled(const struct hl_overview_figures *f)
{
    return state_json(f, HL_RUN_CANCELLED);
}

static json_t *run_p50(const struct hl_overview_figures *f)
{
    return hl_rest_ms_json(hl_overview_quantile(f->run, 50));
}

static json_t *run_p99(const struct hl_overview_figures *f)
{
    return hl_rest_ms_json(hl_overview_quantile(f->run, 99));
}

static json_t *wait_p50(const struct hl_overview_figures *f)
{
    return hl_rest_ms_json(hl_overview_quantile(f->wait, 50));
}

static json_t *wait_p99(const struct hl_overview_figures *f)
{
    return hl_rest_ms_json(hl_overview_quantile(f->wait, 99));
}

/* Takes `array`, which may be NULL. */
static bool set_array(json_t *object, const char *name, json_t *array, bool is_whole)
{
    return json_object_set_new(object, name, array) == 0 && is_whole;
}

static bool add_columns(json_t *object, const struct hl_overview_figures *points, size_t n)
{
    static const struct {
        const char *name;
        json_t *(*write)(const struct hl_overview_figures *f);
    } columns[] = {{"success", success}, {"failure", failure}, {"cancelled", cancelled},
        {"run_p50_ms", run_p50}, {"run_p99_ms", run_p99}, {"queued_p50_ms", wait_p50},
        {"queued_p99_ms", wait_p99}};
    for (size_t c = 0; c < HL_ARRAY_LEN(columns); c++) {
        json_t *array = json_array();
        bool is_whole = array != NULL;
        for (size_t i = 0; is_whole && i < n; i++)
            is_whole = hl_json_push(array, columns[c].write(&points[i]));
        if (!set_array(object, columns[c].name, array, is_whole))
            return false;
    }
    return true;
}

/* ---- of all ---- */

static bool add_times(json_t *object, const struct hl_overview *o)
{
    json_t *array = json_array();
    bool is_whole = array != NULL;
    for (size_t i = 0; is_whole && i < o->n_points; i++)
        is_whole = hl_json_push(array, hl_json_time(o->first_ms + (int64_t)i * o->step_ms));
    return set_array(object, "at", array, is_whole);
}

json_t *hl_rest_series_json(const struct hl_overview *o)
{
    json_t *series = HL_JSON_OBJECT({"step_seconds", json_integer((json_int_t)o->step_ms / 1000)});
    if (!series || !add_times(series, o) || !add_columns(series, o->points, o->n_points)) {
        json_decref(series);
        return NULL;
    }
    return series;
}

/* ---- by app ---- */

/* The apps of most runs, the first first. Answers how many there are. */
static size_t choose(const struct hl_overview *o, const struct hl_overview_app **top)
{
    uint64_t runs[HL_REST_SERIES_APPS];
    size_t n = 0;
    for (size_t i = 0; i < o->n_apps; i++) {
        uint64_t many = hl_overview_count(&o->apps[i].figures, -1, -1, -1);
        size_t at = n;
        while (at > 0 && runs[at - 1] < many)
            at--;
        if (at == HL_REST_SERIES_APPS)
            continue;
        n += n < HL_REST_SERIES_APPS;
        memmove(&top[at + 1], &top[at], (n - at - 1) * sizeof(*top));
        memmove(&runs[at + 1], &runs[at], (n - at - 1) * sizeof(*runs));
        top[at] = &o->apps[i];
        runs[at] = many;
    }
    return n;
}

/* All is asked for before any answers: what answers at once stands behind the first, too. */
bool hl_rest_ask_app_series(struct hl_rest_call *call)
{
    const struct hl_overview *all = (const struct hl_overview *)call->answers[0];
    const struct hl_overview_app *top[HL_REST_SERIES_APPS];
    struct hl_overview *asked[HL_REST_SERIES_APPS];
    size_t n = choose(all, top);
    HL_ASSERT(1 + n <= HL_REST_STORE_ANSWERS);
    for (size_t i = 0; i < n; i++) {
        struct hl_overview *o = asked[i] = calloc(1, sizeof(*o));
        if (!o) { /* the others are not asked */
            while (i > 0)
                free(asked[--i]);
            hl_rest_refuse_memory(call);
            return false;
        }
        hl_str_put(o->project, sizeof(o->project), top[i]->project);
        hl_str_put(o->app, sizeof(o->app), top[i]->app);
        o->since_ms = all->since_ms;
        o->until_ms = all->until_ms;
        o->step_ms = all->step_ms;
        o->is_async = all->is_async;
    }
    for (size_t i = 0; i < n; i++)
        hl_rest_ask_store(call, HL_STORE_OVERVIEW, &asked[i]->m);
    return true;
}

static json_t *of_app(
    const char *project, const char *app, const struct hl_overview_figures *points, size_t n)
{
    json_t *json = HL_JSON_OBJECT({"project_id", hl_json_text_or_null(hl_str_from(project))},
        {"app_name", hl_json_text_or_null(hl_str_from(app))});
    if (!json || !add_columns(json, points, n)) {
        json_decref(json);
        return NULL;
    }
    return json;
}

/* What the apps leave of all; NULL: out of memory. */
static json_t *of_rest(const struct hl_rest_call *call)
{
    const struct hl_overview *all = (const struct hl_overview *)call->answers[0];
    struct hl_overview_figures *rest = calloc(all->n_points, sizeof(*rest));
    if (!rest)
        return NULL;
    memcpy(rest, all->points, all->n_points * sizeof(*rest));
    for (unsigned i = 1; i < call->answer_count; i++) {
        const struct hl_overview *one = (const struct hl_overview *)call->answers[i];
        for (size_t at = 0; at < all->n_points && at < one->n_points; at++)
            hl_overview_subtract(&rest[at], &one->points[at]);
    }
    json_t *json = of_app("", "", rest, all->n_points);
    free(rest);
    return json;
}

json_t *hl_rest_app_series_json(const struct hl_rest_call *call)
{
    const struct hl_overview *all = (const struct hl_overview *)call->answers[0];
    json_t *array = json_array();
    bool is_whole = array != NULL;
    for (unsigned i = 1; is_whole && i < call->answer_count; i++) {
        const struct hl_overview *o = (const struct hl_overview *)call->answers[i];
        is_whole = hl_json_push(array, of_app(o->project, o->app, o->points, o->n_points));
    }
    if (is_whole && (all->n_apps > HL_REST_SERIES_APPS || all->has_more_apps))
        is_whole = hl_json_push(array, of_rest(call));
    if (is_whole)
        return array;
    json_decref(array);
    return NULL;
}
