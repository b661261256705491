/* rest_route.c - which handler answers what, and who may ask it: one table.
 * Thread: control.
 * Not here: who the asker is (the fronts find out), the handlers. */
#include "api/rest_route.h"

#include <string.h>

#include "api/method.h"
#include "api/rest_handler.h"
#include "api/rest_param.h"
#include "config/config.h"
#include "http/url.h"

#define RUN_FILTERS (HL_REST_RUN_STATE | HL_REST_ASYNC | HL_REST_TIME | HL_REST_RUN_SEARCH)
#define RUNS        (HL_REST_PAGE | RUN_FILTERS)
#define HISTOGRAM   (HL_REST_PERIOD | RUN_FILTERS)
#define DELIVERY_FILTERS                                                                           \
    (HL_REST_DELIVERY_STATE | HL_REST_TIME | HL_REST_APP | HL_REST_RUN_ID | HL_REST_DELIVERY_SEARCH)
#define DELIVERIES (HL_REST_PAGE | DELIVERY_FILTERS)
#define AUDIT      (HL_REST_PAGE | HL_REST_TIME | HL_REST_ACTION)
#define TAIL       (HL_REST_TAIL | HL_REST_APP | HL_REST_RUN_ID)
#define ERRORS     (HL_REST_PERIOD | HL_REST_TIME | HL_REST_APP)
#define OVERVIEW   (HL_REST_PERIOD | HL_REST_TIME | HL_REST_APP | HL_REST_ASYNC | HL_REST_BY)

/* clang-format off */
const struct hl_rest_route hl_rest_routes[] = {
    {HL_METHOD_GET, "/v2/projects", HL_REST_OPERATOR, 0, hl_rest_list_projects, false},
    {HL_METHOD_GET, "/v2/projects/{p}", HL_REST_READ, 0, hl_rest_show_project, false},

    {HL_METHOD_GET, "/v2/projects/{p}/service-accounts", HL_REST_READ, HL_REST_PAGE, hl_rest_list_accounts, false},
    {HL_METHOD_POST, "/v2/projects/{p}/service-accounts", HL_REST_ADMIN, 0, hl_rest_add_account, false},
    {HL_METHOD_PATCH, "/v2/projects/{p}/service-accounts/{i}", HL_REST_ADMIN, 0, hl_rest_limit_account, false},
    {HL_METHOD_DELETE, "/v2/projects/{p}/service-accounts/{i}", HL_REST_ADMIN, 0, hl_rest_revoke_account, false},

    {HL_METHOD_GET, "/v2/projects/{p}/apps/{a}/functions", HL_REST_READ, 0, hl_rest_list_functions, false},
    {HL_METHOD_GET, "/v2/projects/{p}/apps/{a}/runs", HL_REST_READ, RUNS, hl_rest_list_runs, false},
    {HL_METHOD_GET, "/v2/projects/{p}/apps/{a}/runs/{i}", HL_REST_READ, HL_REST_WAIT, hl_rest_show_run, true},
    {HL_METHOD_GET, "/v2/projects/{p}/apps/{a}/runs/{i}/result", HL_REST_READ, HL_REST_WAIT, hl_rest_show_result, true},
    {HL_METHOD_GET, "/v2/projects/{p}/apps/{a}/runs/{i}/events", HL_REST_READ, HL_REST_EVENTS, hl_rest_show_events, true},
    {HL_METHOD_GET, "/v2/projects/{p}/apps/{a}/runs/{i}/logs", HL_REST_READ, 0, hl_rest_show_log, false},
    {HL_METHOD_GET, "/v2/projects/{p}/apps/{a}/runs/{i}/request", HL_REST_READ, 0, hl_rest_show_request, false},
    {HL_METHOD_POST, "/v2/projects/{p}/apps/{a}/runs/{i}/rerun", HL_REST_RUN, 0, hl_rest_rerun, false},
    {HL_METHOD_POST, "/v2/projects/{p}/apps/{a}/runs/{i}/cancel", HL_REST_RUN, 0, hl_rest_cancel_run, true},
    {HL_METHOD_GET, "/v2/projects/{p}/runs", HL_REST_READ, RUNS | HL_REST_APP, hl_rest_list_runs, false},
    {HL_METHOD_GET, "/v2/projects/{p}/runs/histogram", HL_REST_READ, HISTOGRAM | HL_REST_APP, hl_rest_show_histogram, false},
    {HL_METHOD_GET, "/v2/projects/{p}/runs/{i}", HL_REST_READ, HL_REST_WAIT, hl_rest_show_run, true},
    {HL_METHOD_GET, "/v2/projects/{p}/runs/{i}/result", HL_REST_READ, HL_REST_WAIT, hl_rest_show_result, true},
    {HL_METHOD_GET, "/v2/projects/{p}/runs/{i}/events", HL_REST_READ, HL_REST_EVENTS, hl_rest_show_events, true},
    {HL_METHOD_GET, "/v2/projects/{p}/runs/{i}/logs", HL_REST_READ, 0, hl_rest_show_log, false},
    {HL_METHOD_GET, "/v2/projects/{p}/runs/{i}/request", HL_REST_READ, 0, hl_rest_show_request, false},
    {HL_METHOD_POST, "/v2/projects/{p}/runs/{i}/rerun", HL_REST_RUN, 0, hl_rest_rerun, false},
    {HL_METHOD_POST, "/v2/projects/{p}/runs/{i}/cancel", HL_REST_RUN, 0, hl_rest_cancel_run, true},

    {HL_METHOD_GET, "/v2/projects/{p}/deliveries", HL_REST_LOOK, DELIVERIES, hl_rest_list_deliveries, false},
    {HL_METHOD_POST, "/v2/projects/{p}/deliveries/redeliver", HL_REST_ADMIN, 0, hl_rest_redeliver_many, false},
    {HL_METHOD_GET, "/v2/projects/{p}/deliveries/count", HL_REST_LOOK, DELIVERY_FILTERS, hl_rest_count_deliveries, false},
    {HL_METHOD_GET, "/v2/projects/{p}/deliveries/{i}", HL_REST_LOOK, 0, hl_rest_show_delivery, false},
    {HL_METHOD_GET, "/v2/projects/{p}/deliveries/{i}/request", HL_REST_LOOK, 0, hl_rest_show_sent, false},
    {HL_METHOD_POST, "/v2/projects/{p}/deliveries/{i}/redeliver", HL_REST_ADMIN, 0, hl_rest_redeliver, false},

    {HL_METHOD_GET, "/v2/projects/{p}/destinations", HL_REST_LOOK, HL_REST_LANES, hl_rest_list_destinations, false},
    {HL_METHOD_POST, "/v2/projects/{p}/destinations/test", HL_REST_ADMIN, 0, hl_rest_test_destination, false},

    {HL_METHOD_GET, "/v2/projects/{p}/logs", HL_REST_READ, TAIL, hl_rest_show_tail, false},

    {HL_METHOD_GET, "/v2/projects/{p}/jobs", HL_REST_LOOK, HL_REST_PAGE, hl_rest_list_jobs, false},
    {HL_METHOD_POST, "/v2/projects/{p}/jobs", HL_REST_ADMIN, 0, hl_rest_add_job, false},
    {HL_METHOD_GET, "/v2/projects/{p}/jobs/{i}", HL_REST_LOOK, 0, hl_rest_show_job, false},
    {HL_METHOD_GET, "/v2/projects/{p}/jobs/{i}/items", HL_REST_LOOK, HL_REST_PAGE | HL_REST_OUTCOME, hl_rest_list_job_items, false},
    {HL_METHOD_POST, "/v2/projects/{p}/jobs/{i}/stop", HL_REST_ADMIN, 0, hl_rest_stop_job, false},

    {HL_METHOD_GET, "/v2/projects/{p}/overview", HL_REST_READ, OVERVIEW, hl_rest_show_overview, false},

    {HL_METHOD_GET, "/v2/projects/{p}/errors", HL_REST_READ, ERRORS, hl_rest_list_errors, false},

    {HL_METHOD_GET, "/v2/projects/{p}/audit", HL_REST_LOOK, AUDIT, hl_rest_list_audit, false},

    {HL_METHOD_GET, "/v2/projects/{p}/replicas", HL_REST_LOOK, 0, hl_rest_list_replicas, false},

    {HL_METHOD_POST, "/v2/projects/{p}/dashboard-sessions", HL_REST_OPERATOR, 0, hl_rest_open_session, false},
    {HL_METHOD_POST, "/v2/projects/{p}/dashboard-sessions/renew", HL_REST_READ, 0, hl_rest_renew_session, false},
    /* whoever may see every project needs none to find an id */
    {HL_METHOD_GET, "/v2/service-accounts", HL_REST_OPERATOR, HL_REST_PAGE, hl_rest_list_accounts, false},
    {HL_METHOD_PATCH, "/v2/service-accounts/{i}", HL_REST_OPERATOR, 0, hl_rest_limit_account, false},
    {HL_METHOD_DELETE, "/v2/service-accounts/{i}", HL_REST_OPERATOR, 0, hl_rest_revoke_account, false},
    {HL_METHOD_GET, "/v2/runs", HL_REST_OPERATOR, RUNS | HL_REST_APP, hl_rest_list_runs, false},
    {HL_METHOD_GET, "/v2/runs/{i}", HL_REST_OPERATOR, HL_REST_WAIT, hl_rest_show_run, false},
    {HL_METHOD_GET, "/v2/runs/{i}/result", HL_REST_OPERATOR, HL_REST_WAIT, hl_rest_show_result, false},
    {HL_METHOD_GET, "/v2/runs/{i}/events", HL_REST_OPERATOR, HL_REST_EVENTS, hl_rest_show_events, false},
    {HL_METHOD_GET, "/v2/runs/{i}/logs", HL_REST_OPERATOR, 0, hl_rest_show_log, false},
    {HL_METHOD_GET, "/v2/runs/{i}/request", HL_REST_OPERATOR, 0, hl_rest_show_request, false},
    {HL_METHOD_POST, "/v2/runs/{i}/rerun", HL_REST_OPERATOR, 0, hl_rest_rerun, false},
    {HL_METHOD_POST, "/v2/runs/{i}/cancel", HL_REST_OPERATOR, 0, hl_rest_cancel_run, false},
    {HL_METHOD_GET, "/v2/deliveries", HL_REST_OPERATOR, DELIVERIES, hl_rest_list_deliveries, false},
    {HL_METHOD_GET, "/v2/deliveries/count", HL_REST_OPERATOR, DELIVERY_FILTERS, hl_rest_count_deliveries, false},
    {HL_METHOD_GET, "/v2/deliveries/{i}", HL_REST_OPERATOR, 0, hl_rest_show_delivery, false},
    {HL_METHOD_GET, "/v2/deliveries/{i}/request", HL_REST_OPERATOR, 0, hl_rest_show_sent, false},
    {HL_METHOD_POST, "/v2/deliveries/{i}/redeliver", HL_REST_OPERATOR, 0, hl_rest_redeliver, false},
    {HL_METHOD_GET, "/v2/jobs", HL_REST_OPERATOR, HL_REST_PAGE, hl_rest_list_jobs, false},
    {HL_METHOD_GET, "/v2/jobs/{i}", HL_REST_OPERATOR, 0, hl_rest_show_job, false},
    {HL_METHOD_GET, "/v2/jobs/{i}/items", HL_REST_OPERATOR, HL_REST_PAGE | HL_REST_OUTCOME, hl_rest_list_job_items, false},
    {HL_METHOD_POST, "/v2/jobs/{i}/stop", HL_REST_OPERATOR, 0, hl_rest_stop_job, false},
    {HL_METHOD_GET, "/v2/logs", HL_REST_OPERATOR, TAIL, hl_rest_show_tail, false},
    {HL_METHOD_GET, "/v2/overview", HL_REST_OPERATOR, OVERVIEW, hl_rest_show_overview, false},
    {HL_METHOD_GET, "/v2/errors", HL_REST_OPERATOR, ERRORS, hl_rest_list_errors, false},
    {HL_METHOD_GET, "/v2/audit", HL_REST_OPERATOR, AUDIT, hl_rest_list_audit, false},
    {HL_METHOD_GET, "/v2/replicas", HL_REST_OPERATOR, 0, hl_rest_list_replicas, false},

    {HL_METHOD_GET, "/drain", HL_REST_PROCESS, HL_REST_DRAIN, hl_rest_show_drain, false},
    {HL_METHOD_POST, "/drain", HL_REST_PROCESS, 0, hl_rest_begin_drain, false},
    {HL_METHOD_DELETE, "/drain", HL_REST_PROCESS, 0, hl_rest_cancel_drain, false},
    {HL_METHOD_GET, "/drain/wait", HL_REST_PROCESS, HL_REST_DRAIN_WAIT, hl_rest_await_drain, false},
    {HL_METHOD_POST, "/quit", HL_REST_PROCESS, 0, hl_rest_quit, false},
};
/* clang-format on */

const size_t hl_rest_route_count = HL_ARRAY_LEN(hl_rest_routes);

struct hl_str hl_rest_project_of(struct hl_str path)
{
    static const struct hl_str prefix = {"/v2/projects/", 13};
    if (!hl_str_starts_with(path, prefix))
        return (struct hl_str){NULL, 0};
    struct hl_str rest = {path.p + prefix.n - 1, path.n - prefix.n + 1};
    return hl_path_take_segment(&rest);
}

/* ---- finding ---- */

/* What the braces of a pattern stood for. */
struct match {
    struct hl_str project, app, id;
};

static bool fits(const char *pattern, struct hl_str path, struct match *m)
{
    struct hl_str rest = hl_str_from(pattern);
    *m = (struct match){.project = {NULL, 0}};
    while (rest.n > 0 && path.n > 0) {
        struct hl_str want = hl_path_take_segment(&rest), got = hl_path_take_segment(&path);
        if (got.n == 0)
            return false;
        if (hl_str_eq(want, HL_STR("{p}")))
            m->project = got;
        else if (hl_str_eq(want, HL_STR("{a}")))
            m->app = got;
        else if (hl_str_eq(want, HL_STR("{i}")))
            m->id = got;
        else if (!hl_str_eq(want, got))
            return false;
    }
    return rest.n == 0 && path.n == 0;
}

static bool is_shown(const struct hl_rest_call *call, const struct hl_rest_route *r)
{
    if (call->asker.is_unknown)
        return r->is_by_id;
    return r->right != HL_REST_OPERATOR || call->is_operator;
}

/* The routes of the call's path, one after the other; `from` is NULL at first. NULL: no more. */
static const struct hl_rest_route *next_route(
    const struct hl_rest_call *call, const struct hl_rest_route *from, struct match *m)
{
    const struct hl_rest_route *end = hl_rest_routes + hl_rest_route_count;
    for (const struct hl_rest_route *r = from ? from + 1 : hl_rest_routes; r < end; r++)
        if (is_shown(call, r) && fits(r->path, call->path, m))
            return r;
    return NULL;
}

/* RFC 9110 15.5.6. A path may fit two patterns ("redeliver" is not an id): each method once. */
static void refuse_method(struct hl_rest_call *call)
{
    struct match m;
    char allow[128], *at = stpcpy(allow, "Allow: ");
    for (const struct hl_rest_route *r = NULL; (r = next_route(call, r, &m));) {
        struct hl_id id;
        if (m.id.n > 0 && !hl_id_parse(m.id, &id))
            continue;
        if (at[-1] != ' ')
            at = stpcpy(at, ", ");
        at = stpcpy(at, r->method == HL_METHOD_GET ? "GET, HEAD" : hl_api_method_text(r->method));
    }
    if (at[-1] == ' ') { /* no method would do: it is the id */
        hl_rest_refuse(call, HL_REFUSAL_REST_ID);
        return;
    }
    stpcpy(at, "\r\n");
    enum hl_err err = hl_buf_append_str(&call->reply.fields, hl_str_from(allow));
    (void)err; /* without memory the field is missing */
    hl_rest_refuse(call, HL_REFUSAL_REST_METHOD);
}

/* ---- checking ---- */

static bool take_name(
    struct hl_rest_call *call, struct hl_str s, char out[HL_NAME_MAX + 1], const char *what)
{
    if (s.p && !hl_path_is_name(s)) {
        hl_rest_refuse_saying(call, HL_REFUSAL_REST_NAME, what, NULL);
        return false;
    }
    if (s.n > 0)
        memcpy(out, s.p, s.n);
    out[s.n] = '\0';
    return true;
}

/* HOOKLINE_PROJECT_ID (contract 2). For an admin of every project all that is in the data directory
 * is there. */
static bool is_served_here(struct hl_rest_call *call, enum hl_rest_right right)
{
    struct hl_str only = hl_rest_get_parts(call)->config->project_id;
    const char *project = right == HL_REST_PROCESS ? call->asker.project : call->project;
    if (call->is_operator || only.n == 0 || hl_str_eq(only, hl_str_from(project)))
        return true;
    hl_rest_refuse(call, HL_REFUSAL_OTHER_PROJECT);
    return false;
}

#define INVOKE (1u << HL_ROLE_INVOKE)
#define ADMIN  (1u << HL_ROLE_ADMIN)
#define VIEWER (1u << HL_ROLE_VIEWER)

/* Which roles have a right. OPERATOR is nobody's by a token. */
static const unsigned roles_of[] = {
    [HL_REST_READ] = INVOKE | ADMIN | VIEWER,
    [HL_REST_RUN] = INVOKE | ADMIN,
    [HL_REST_LOOK] = ADMIN | VIEWER,
    [HL_REST_ADMIN] = ADMIN,
    [HL_REST_OPERATOR] = 0,
    [HL_REST_PROCESS] = ADMIN,
};

static bool is_allowed(struct hl_rest_call *call, enum hl_rest_right right)
{
    const struct hl_asker *asker = &call->asker;
    if (call->is_operator || asker->is_unknown)
        return true;
    if (right != HL_REST_PROCESS && !asker->has_all_projects &&
        strcmp(asker->project, call->project) != 0) {
        hl_rest_refuse(
            call, *asker->project ? HL_REFUSAL_REST_OTHER_PROJECT : HL_REFUSAL_REST_NO_PROJECT);
        return false;
    }
    if (!(roles_of[right] & 1u << asker->role)) {
        hl_rest_refuse(call, asker->role == HL_ROLE_VIEWER ? HL_REFUSAL_REST_VIEWER
                             : right == HL_REST_LOOK       ? HL_REFUSAL_REST_NOT_VIEWER
                                                           : HL_REFUSAL_REST_NOT_ADMIN);
        return false;
    }
    return true;
}

/* Another replica's pass is for one run's events alone. */
static bool is_in_pass(struct hl_rest_call *call, const struct hl_rest_route *r)
{
    const struct hl_id *relayed = &call->asker.relayed;
    if (hl_id_is_nil(relayed) || (r->handle == hl_rest_show_events && hl_id_eq(relayed, &call->id)))
        return true;
    hl_rest_refuse(call, HL_REFUSAL_RELAY_OTHER);
    return false;
}

static bool take_id(struct hl_rest_call *call, struct hl_str id)
{
    if (!id.p || (hl_id_parse(id, &call->id) && !hl_id_is_nil(&call->id)))
        return true;
    hl_rest_refuse(call, HL_REFUSAL_REST_ID);
    return false;
}

static void route(struct hl_rest_call *call)
{
    struct match m;
    enum hl_method method = call->method == HL_METHOD_HEAD ? HL_METHOD_GET : call->method;
    const struct hl_rest_route *r = next_route(call, NULL, &m);
    if (!r && call->asker.is_unknown) {
        hl_rest_refuse(call, HL_REFUSAL_REST_BY_ID_ONLY);
        return;
    }
    if (!r) {
        hl_rest_refuse(call, HL_REFUSAL_REST_NOWHERE);
        return;
    }
    while (r && r->method != method)
        r = next_route(call, r, &m);
    if (!r) {
        refuse_method(call);
        return;
    }
    if (take_name(call, m.project, call->project, "project") && is_served_here(call, r->right) &&
        is_allowed(call, r->right) && take_name(call, m.app, call->app, "app") &&
        take_id(call, m.id) && is_in_pass(call, r) && hl_rest_read_params(call, r->params))
        r->handle(call);
}

void hl_rest_route_call(struct hl_rest_calls *calls, struct hl_rest_call *call)
{
    if (hl_rest_call_add(calls, call))
        route(call);
    else
        hl_rest_refuse_memory(call);
}
