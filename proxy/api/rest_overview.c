/* rest_overview.c - how the runs of a span of time ended and how long they took, in numbers: in all, by app, and as
 * a series of points for charts (rest_series.c). Admins also see deliveries, destinations that fail, and replicas. The lists of
 * replicas and projects.
 * Thread: control.
 * Not here: the counting (store/tally.h). */
#include "api/rest_handler.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "api/rest_param.h"
#include "api/rest_series.h"
#include "api/rest_span.h"
#include "config/config.h"
#include "run/service.h"
#include "store/op.h"
#include "store/overview.h"
#include "store/question.h"
#include "store/store.h"

/* ---- the processes that share the store; a store that one process owns has none ---- */

/* To a tenth. */
static json_t *seconds(int64_t ms)
{
    return json_real((double)((ms + 50) / 100) / 10);
}

json_t *hl_rest_replica_json(const struct hl_replica_row *r)
{
    return HL_JSON_OBJECT({"replica_id", hl_json_id(&r->id)},
        {"name", hl_json_text(hl_str_from(r->name))}, {"role", hl_json_text(hl_str_from(r->role))},
        {"version", hl_json_text(hl_str_from(r->version))},
        {"state", hl_json_text(hl_str_from(r->state))}, {"started_at", hl_json_time(r->started_ms)},
        {"age_seconds", seconds(r->age_ms)}, {"beat_seconds", seconds(r->beat_age_ms)},
        {"runs", json_integer((json_int_t)r->runs)},
        {"deliveries", json_integer((json_int_t)r->deliveries)});
}

static void end(struct hl_rest_call *call, const struct hl_list_replicas *l)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < l->count; i++)
        if (!hl_json_push(array, hl_rest_replica_json(&l->rows[i]))) {
            json_decref(array);
            array = NULL;
        }
    hl_rest_end_json(call, 200, array ? HL_JSON_OBJECT({"replicas", array}) : NULL);
}

static void show_replicas(struct hl_rest_call *call)
{
    const struct hl_list_replicas *l = (const struct hl_list_replicas *)call->answers[0];
    if (l->m.rc == HL_OK)
        end(call, l);
    else
        hl_rest_refuse_store(call, l->m.rc, "replica");
}

void hl_rest_list_replicas(struct hl_rest_call *call)
{
    static const struct hl_list_replicas none;
    if (!hl_store_is_shared(hl_rest_get_parts(call)->store)) {
        end(call, &none);
        return;
    }
    struct hl_list_replicas *l = calloc(1, sizeof(*l));
    if (!l) {
        hl_rest_refuse_memory(call);
        return;
    }
    hl_rest_ask_store(call, HL_STORE_LIST_REPLICAS, &l->m);
    hl_rest_then(call, show_replicas);
}

/* ---- projects: which have runs; of one, who asks and which apps have runs ---- */

/* The apps of the call's project; without one, the projects. */
static void ask(struct hl_rest_call *call, void (*step)(struct hl_rest_call *call))
{
    struct hl_list_apps *l = calloc(1, sizeof(*l));
    if (!l) {
        hl_rest_refuse_memory(call);
        return;
    }
    hl_str_put(l->project, sizeof(l->project), call->project);
    hl_rest_ask_store(call, HL_STORE_LIST_APPS, &l->m);
    hl_rest_then(call, step);
}

static json_t *names(const struct hl_list_apps *l)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < l->count; i++)
        if (!hl_json_push(array, hl_json_text(hl_str_from(l->rows[i].text)))) {
            json_decref(array);
            return NULL;
        }
    return array;
}

/* ---- all projects ---- */

static void show_all(struct hl_rest_call *call)
{
    const struct hl_list_apps *l = (const struct hl_list_apps *)call->answers[0];
    const struct hl_config *config = hl_rest_get_parts(call)->config;
    if (l->m.rc == HL_OK)
        hl_rest_end_json(call, 200,
            HL_JSON_OBJECT(
                {"projects", names(l)}, {"project_id", hl_json_text_or_null(config->project_id)}));
    else
        hl_rest_refuse_store(call, l->m.rc, "project");
}

void hl_rest_list_projects(struct hl_rest_call *call)
{
    ask(call, show_all);
}

/* ---- one project ---- */

static uint16_t run_port(const struct hl_config *config)
{
    const struct sockaddr_storage *addr = &config->listen.items[0].addr;
    return ntohs(addr->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)addr)->sin6_port
                                             : ((const struct sockaddr_in *)addr)->sin_port);
}

static void show_project(struct hl_rest_call *call)
{
    const struct hl_list_apps *l = (const struct hl_list_apps *)call->answers[0];
    if (l->m.rc != HL_OK) {
        hl_rest_refuse_store(call, l->m.rc, "project");
        return;
    }
    const struct hl_config *config = hl_rest_get_parts(call)->config;
    enum hl_role role = call->is_operator ? HL_ROLE_ADMIN : call->asker.role;
    hl_rest_end_json(call, 200,
        HL_JSON_OBJECT({"project_id", hl_json_text(hl_str_from(call->project))},
            {"role", json_string(hl_role_text(role))},
            {"subject", hl_json_text_or_null(hl_str_from(call->asker.subject))}, {"apps", names(l)},
            {"app_name", hl_json_text_or_null(config->app_name)},
            {"run_port", json_integer(run_port(config))},
            {"run_scheme", json_string(hl_service_speaks_tls(config) ? "https" : "http")}));
}

void hl_rest_show_project(struct hl_rest_call *call)
{
    ask(call, show_project);
}

/* ---- what is asked ---- */

static void go_on(struct hl_rest_call *call);

void hl_rest_show_overview(struct hl_rest_call *call)
{
    struct hl_overview *o = calloc(1, sizeof(*o));
    if (!o) {
        hl_rest_refuse_memory(call);
        return;
    }
    if (!hl_rest_demand_span(call, &o->since_ms, &o->until_ms)) {
        free(o);
        return;
    }
    o->step_ms = hl_rest_step_for(o->until_ms - o->since_ms, HL_TALLY_MINUTE_MS);
    hl_str_put(o->project, sizeof(o->project), call->project);
    hl_str_put(o->app, sizeof(o->app), call->params.app);
    o->is_async = call->params.is_async;
    o->with_deliveries = hl_rest_sees_all(call);
    hl_rest_ask_store(call, HL_STORE_OVERVIEW, &o->m);
    hl_rest_then(call, go_on);
}

/* ---- figures ---- */

static json_t *integer(uint64_t n)
{
    return json_integer((json_int_t)n);
}

/* NULL where it is not whole: out of memory. */
static json_t *whole(json_t *object, bool is_whole)
{
    if (is_whole)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *states_json(const struct hl_overview_figures *f)
{
    json_t *object = json_object();
    bool is_whole = true;
    for (int state = HL_RUN_SUCCESS; state <= HL_RUN_CANCELLED; state++)
        is_whole &= json_object_set_new(object, hl_run_state_text((enum hl_run_state)state),
                        integer(hl_overview_count(f, -1, state, -1))) == 0;
    return whole(object, is_whole);
}

static json_t *reasons_json(const struct hl_overview_figures *f)
{
    json_t *object = json_object();
    bool is_whole = true;
    for (int reason = HL_REASON_NONE + 1; reason <= HL_REASON_LAST; reason++)
        is_whole &= json_object_set_new(object, hl_run_reason_text((enum hl_run_reason)reason),
                        integer(hl_overview_count(f, -1, -1, reason))) == 0;
    return whole(object, is_whole);
}

static json_t *times_json(const uint32_t buckets[HL_TALLY_BUCKETS])
{
    return HL_JSON_OBJECT({"count", integer(hl_overview_sum(buckets))},
        {"p50", hl_rest_ms_json(hl_overview_quantile(buckets, 50))},
        {"p90", hl_rest_ms_json(hl_overview_quantile(buckets, 90))},
        {"p99", hl_rest_ms_json(hl_overview_quantile(buckets, 99))});
}

static json_t *figures_json(const struct hl_overview_figures *f)
{
    return HL_JSON_OBJECT({"runs", integer(hl_overview_count(f, -1, -1, -1))},
        {"sync", integer(hl_overview_count(f, 0, -1, -1))},
        {"async", integer(hl_overview_count(f, 1, -1, -1))}, {"states", states_json(f)},
        {"reasons", reasons_json(f)}, {"run_ms", times_json(f->run)},
        {"queued_ms", times_json(f->wait)});
}

static json_t *app_json(const struct hl_overview_app *a)
{
    json_t *json = figures_json(&a->figures);
    if (json && (json_object_set_new(json, "project_id", hl_json_text(hl_str_from(a->project))) ||
                    json_object_set_new(json, "app_name", hl_json_text(hl_str_from(a->app))))) {
        json_decref(json);
        return NULL;
    }
    return json;
}

static json_t *apps_json(const struct hl_overview *o)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < o->n_apps; i++)
        if (!hl_json_push(array, app_json(&o->apps[i]))) {
            json_decref(array);
            return NULL;
        }
    return array;
}

/* ---- what admins see ---- */

static json_t *deliveries_json(const struct hl_overview *o)
{
    return HL_JSON_OBJECT({"pending", integer(o->pending)}, {"dead", integer(o->dead)},
        {"is_more_pending", json_boolean(o->is_more_pending)},
        {"is_more_dead", json_boolean(o->is_more_dead)});
}

static json_t *failing_json(const struct hl_overview_failing *f)
{
    json_t *json = hl_rest_destination_json(&f->row);
    if (json && json_object_set_new(json, "project_id", hl_json_text(hl_str_from(f->project)))) {
        json_decref(json);
        return NULL;
    }
    return json;
}

static json_t *destinations_json(const struct hl_overview *o)
{
    json_t *worst = json_array();
    for (size_t i = 0; worst && i < o->n_failing; i++)
        if (!hl_json_push(worst, failing_json(&o->failing[i]))) {
            json_decref(worst);
            worst = NULL;
        }
    return HL_JSON_OBJECT({"failing", integer(o->n_failing_all)}, {"worst", worst});
}

static json_t *replicas_json(const struct hl_overview *o)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < o->n_replicas; i++)
        if (!hl_json_push(array, hl_rest_replica_json(&o->replicas[i]))) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static bool add_for_admins(json_t *json, const struct hl_overview *o)
{
    return json_object_set_new(json, "deliveries", deliveries_json(o)) == 0 &&
           json_object_set_new(json, "destinations", destinations_json(o)) == 0 &&
           json_object_set_new(json, "replicas", replicas_json(o)) == 0;
}

/* ---- the answer ---- */

static json_t *overview_json(const struct hl_overview *o)
{
    json_t *json =
        HL_JSON_OBJECT({"since", hl_json_time(o->since_ms)}, {"until", hl_json_time(o->until_ms)},
            {"counted_since", hl_json_time(o->counted_ms)}, {"queued", integer(o->queued)},
            {"running", integer(o->running)}, {"is_more_runs", json_boolean(o->is_more_runs)},
            {"total", figures_json(&o->total)}, {"apps", apps_json(o)},
            {"is_more_apps", json_boolean(o->has_more_apps)}, {"series", hl_rest_series_json(o)});
    if (json && o->with_deliveries && !add_for_admins(json, o)) {
        json_decref(json);
        return NULL;
    }
    return json;
}

static void write_overview(struct hl_rest_call *call)
{
    const struct hl_overview *o = (const struct hl_overview *)call->answers[0];
    for (unsigned i = 0; i < call->answer_count; i++)
        if (call->answers[i]->rc) {
            hl_rest_refuse_store(call, call->answers[i]->rc, "overview");
            return;
        }
    json_t *json = overview_json(o);
    if (json && call->params.is_by_app &&
        json_object_set_new(json, "series_by_app", hl_rest_app_series_json(call)) != 0) {
        json_decref(json);
        json = NULL;
    }
    hl_rest_end_json(call, 200, json);
}

static void go_on(struct hl_rest_call *call)
{
    const struct hl_overview *o = (const struct hl_overview *)call->answers[0];
    if (o->m.rc || !call->params.is_by_app || o->n_apps == 0)
        write_overview(call);
    else if (hl_rest_ask_app_series(call))
        hl_rest_then(call, write_overview);
}
