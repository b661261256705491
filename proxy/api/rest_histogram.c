/* rest_histogram.c - how many runs a list has, as a series by when they were accepted: what the dashboard draws above it.
 * Thread: control.
 * Promise: bounded work. Where there are more than are looked at one by one, and the filters are such as the store counts
 * by, the series is of its counts, by when runs ended (store/tally.h); else it is of the newest, and says since when.
 * Not here: the counting (store/run_curve.h, store/overview.h). */
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "api/rest_call.h"
#include "api/rest_handler.h"
#include "api/rest_param.h"
#include "api/rest_span.h"
#include "base/clock.h"
#include "config/config.h"
#include "run/recent_run.h"
#include "store/overview.h"
#include "store/question.h"

/* Runs that are looked at one by one where the store has counts of them, too; where it has none, HL_SEARCH_RECORDS. */
#define LOOKS 20000

_Static_assert(HL_REST_POINTS <= HL_RUN_CURVE_POINTS && HL_REST_POINTS <= HL_OVERVIEW_POINTS,
    "each point has a place");

/* ---- what the answer is made of ---- */

struct series {
    int64_t since_ms, until_ms, counted_ms;
    bool is_by_end;
    struct hl_run_curve curve;
    uint64_t queued, running; /* is_by_end: those of now */
};

static json_t *state_json(const struct series *s, enum hl_run_state state)
{
    json_t *array = json_array();
    for (uint32_t i = 0; array && i < s->curve.n_points; i++)
        if (!hl_json_push(array, json_integer(s->curve.counts[i][state]))) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static json_t *at_json(const struct series *s)
{
    json_t *array = json_array();
    for (uint32_t i = 0; array && i < s->curve.n_points; i++)
        if (!hl_json_push(array, hl_json_time(s->curve.first_ms + (int64_t)i * s->curve.step_ms))) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static json_t *total_json(const struct series *s)
{
    const struct hl_run_curve *h = &s->curve;
    uint64_t queued = s->queued + hl_run_curve_sum(h, HL_RUN_QUEUED);
    uint64_t running = s->running + hl_run_curve_sum(h, HL_RUN_RUNNING);
    return HL_JSON_OBJECT({"queued", json_integer((json_int_t)queued)},
        {"running", json_integer((json_int_t)running)},
        {"success", json_integer((json_int_t)hl_run_curve_sum(h, HL_RUN_SUCCESS))},
        {"failure", json_integer((json_int_t)hl_run_curve_sum(h, HL_RUN_FAILURE))},
        {"cancelled", json_integer((json_int_t)hl_run_curve_sum(h, HL_RUN_CANCELLED))});
}

static void write_series(struct hl_rest_call *call, const struct series *s)
{
    hl_rest_end_json(call, 200,
        HL_JSON_OBJECT({"since", hl_json_time(s->since_ms)}, {"until", hl_json_time(s->until_ms)},
            {"counted_by", json_string(s->is_by_end ? "finished_at" : "created_at")},
            {"counted_since", hl_json_time(s->counted_ms)},
            {"step_seconds", json_integer((json_int_t)(s->curve.step_ms / 1000))},
            {"total", total_json(s)}, {"at", at_json(s)}, {"queued", state_json(s, HL_RUN_QUEUED)},
            {"running", state_json(s, HL_RUN_RUNNING)}, {"success", state_json(s, HL_RUN_SUCCESS)},
            {"failure", state_json(s, HL_RUN_FAILURE)},
            {"cancelled", state_json(s, HL_RUN_CANCELLED)}));
}

/* ---- one by one ---- */

static void write_counted(struct hl_rest_call *call)
{
    const struct hl_list_runs *l =
        (const struct hl_list_runs *)call->answers[call->answer_count - 1];
    if (l->m.rc != HL_OK) {
        hl_rest_refuse_store(call, l->m.rc, "run");
        return;
    }
    struct series s = {.since_ms = l->since_ms,
        .until_ms = l->until_ms,
        .counted_ms = l->since_ms,
        .curve = l->curve};
    if (l->has_more && hl_id_time_ms(&l->next) > l->since_ms)
        s.counted_ms = hl_id_time_ms(&l->next);
    for (const struct hl_msg *m = call->recent; m; m = m->next)
        hl_run_curve_add_all(&s.curve, &((const struct hl_recent_ask *)m)->curve);
    write_series(call, &s);
}

static void set_points(struct hl_run_curve *h, int64_t since_ms, int64_t until_ms)
{
    h->step_ms = hl_rest_step_for(until_ms - since_ms, 1);
    h->first_ms = since_ms / h->step_ms * h->step_ms;
    h->n_points = (uint32_t)((until_ms - 1 - h->first_ms) / h->step_ms) + 1;
}

static void count_one_by_one(
    struct hl_rest_call *call, int64_t since_ms, int64_t until_ms, uint32_t looks)
{
    const struct hl_rest_params *p = &call->params;
    struct hl_list_runs *l = calloc(1, sizeof(*l));
    if (!l) {
        hl_rest_refuse_memory(call);
        return;
    }
    hl_str_put(l->project, sizeof(l->project), call->project);
    hl_str_put(l->app, sizeof(l->app), hl_rest_app_of(call));
    l->state = p->state;
    l->is_async = p->is_async;
    l->since_ms = since_ms;
    l->until_ms = until_ms;
    l->search = p->search;
    l->limit = 1;
    l->only_counts = true;
    l->looks = looks;
    set_points(&l->curve, since_ms, until_ms);
    struct hl_recent_ask ask = hl_rest_recent_ask(call, HL_RECENT_COUNT);
    ask.since_ms = since_ms;
    ask.until_ms = until_ms;
    ask.curve = l->curve;
    hl_rest_ask_store(call, HL_STORE_LIST_RUNS, &l->m);
    if (p->is_async != 1 && p->state != HL_RUN_QUEUED)
        hl_rest_ask_workers(call, &ask);
    hl_rest_then(call, write_counted);
}

/* ---- by the store's counts ---- */

/* Its counts know an end's state and reason, and no more of it. */
static bool is_tallied(const struct hl_rest_params *p)
{
    struct hl_run_search others = p->search;
    others.reason = HL_REASON_NONE;
    return p->state != HL_RUN_QUEUED && p->state != HL_RUN_RUNNING && !others.has_prefix &&
           !hl_run_search_walks(&others);
}

static uint32_t ends(
    const struct hl_rest_params *p, const struct hl_overview_figures *f, enum hl_run_state state)
{
    uint32_t n = 0;
    for (int is_async = 0; is_async < 2; is_async++)
        for (int reason = 0; reason < HL_OVERVIEW_REASONS; reason++)
            if (p->search.reason == HL_REASON_NONE || (int)p->search.reason == reason)
                n += f->ends[is_async][state][reason];
    return p->state < 0 || p->state == (int)state ? n : 0;
}

static uint64_t all_ends(const struct hl_rest_params *p, const struct hl_overview *o)
{
    uint64_t n = 0;
    for (int state = HL_RUN_SUCCESS; state <= HL_RUN_CANCELLED; state++)
        n += ends(p, &o->total, (enum hl_run_state)state);
    return n;
}

static void write_tallied(struct hl_rest_call *call, const struct hl_overview *o)
{
    const struct hl_rest_params *p = &call->params;
    bool has_open = p->state < 0 && p->search.reason == HL_REASON_NONE;
    struct series s = {.since_ms = o->since_ms,
        .until_ms = o->until_ms,
        .counted_ms = o->counted_ms,
        .is_by_end = true,
        .curve = {.first_ms = o->first_ms, .step_ms = o->step_ms},
        .queued = has_open ? o->queued : 0,
        .running = has_open ? o->running : 0};
    s.curve.n_points = (uint32_t)o->n_points;
    for (size_t i = 0; i < o->n_points; i++)
        for (int state = HL_RUN_SUCCESS; state <= HL_RUN_CANCELLED; state++)
            s.curve.counts[i][state] = ends(p, &o->points[i], (enum hl_run_state)state);
    write_series(call, &s);
}

/* What is looked at one by one is as the list has it, by when it was accepted: better, where there are few. */
static void judge_tally(struct hl_rest_call *call)
{
    const struct hl_overview *o = (const struct hl_overview *)call->answers[0];
    if (o->m.rc != HL_OK)
        hl_rest_refuse_store(call, o->m.rc, "run");
    else if (all_ends(&call->params, o) > LOOKS)
        write_tallied(call, o);
    else
        count_one_by_one(call, o->since_ms, o->until_ms, LOOKS);
}

void hl_rest_show_histogram(struct hl_rest_call *call)
{
    int64_t since_ms, until_ms;
    int64_t retention_ms = (int64_t)hl_rest_get_parts(call)->config->retention_ms;
    if (!hl_rest_read_span(call, retention_ms, &since_ms, &until_ms)) {
        write_series(call, &(struct series){.since_ms = since_ms,
                               .until_ms = since_ms,
                               .counted_ms = since_ms,
                               .curve.step_ms = 1000});
        return;
    }
    if (!is_tallied(&call->params)) {
        count_one_by_one(call, since_ms, until_ms, HL_SEARCH_RECORDS);
        return;
    }
    struct hl_overview *o = calloc(1, sizeof(*o));
    if (!o) {
        hl_rest_refuse_memory(call);
        return;
    }
    hl_str_put(o->project, sizeof(o->project), call->project);
    hl_str_put(o->app, sizeof(o->app), hl_rest_app_of(call));
    o->is_async = call->params.is_async;
    o->since_ms = since_ms;
    o->until_ms = until_ms;
    o->step_ms = hl_rest_step_for(until_ms - since_ms, HL_TALLY_MINUTE_MS);
    hl_rest_ask_store(call, HL_STORE_OVERVIEW, &o->m);
    hl_rest_then(call, judge_tally);
}
