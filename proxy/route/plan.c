/* plan.c - from a head to a plan: the routes of contract 2, in the order of their checks.
 * Thread: any; no state, no allocation; makes a plan in one pass, without looking at a byte twice
 * where nothing is hookline's.
 * Not here: authentication, limits, the answer's bytes. */
#include "route/plan.h"

#include "base/compiler.h"
#include "config/choice.h"
#include "config/config.h"
#include "config/access.h"
#include "config/alert_setting.h"
#include "http/field.h"
#include "http/head.h"
#include "http/framing.h"
#include "route/description.h"
#include "route/mode.h"
#include "route/near_name.h"
#include "http/prefer.h"

bool hl_plan_refuse(struct hl_plan *plan, const struct hl_refusal *why)
{
    *plan = (struct hl_plan){.kind = HL_PLAN_REFUSED,
        .asks_token = plan->asks_token,
        .token_project = plan->token_project,
        .refusal = *why};
    return false;
}

static bool refuse(struct hl_plan *plan, enum hl_refusal_cause cause)
{
    return hl_plan_refuse(plan, hl_refusal_make(cause));
}

/* Apart: calls without tags do not pay for what it needs. */
HL_COLD static void plan_tags(
    struct hl_plan *plan, const struct hl_head *head, struct hl_plan_scratch *scratch)
{
    struct hl_refusal why;
    if (!hl_mode_read_tags(plan, head, scratch, &why))
        hl_plan_refuse(plan, &why);
}

static void plan_run(struct hl_plan *plan, const struct hl_head *head,
    const struct hl_target *target, const struct hl_config *config,
    struct hl_plan_scratch *scratch);
static void plan_rest(
    struct hl_plan *plan, const struct hl_target *target, const struct hl_config *config);
static void plan_description(struct hl_plan *plan, const struct hl_head *head);
static void plan_own(
    struct hl_plan *plan, const struct hl_head *head, const struct hl_target *target);
static void plan_pass(struct hl_plan *plan, const struct hl_head *head,
    const struct hl_target *target, const struct hl_config *config,
    struct hl_plan_scratch *scratch);

/* `path` is the reserved prefix itself, or lies under it. */
static bool is_under(struct hl_str path, struct hl_str prefix)
{
    return hl_str_starts_with(path, prefix) && (path.n == prefix.n || path.p[prefix.n] == '/');
}

/* A call that ends here although the app could answer it: Max-Forwards has been counted down to 0
 * (RFC 9110 7.6.2). It says which methods are served, as a refusal of another does. */
static void plan_last(struct hl_plan *plan)
{
    if (plan->kind == HL_PLAN_RUN || plan->kind == HL_PLAN_PASS)
        *plan = (struct hl_plan){.kind = HL_PLAN_OPTIONS,
            .asks_token = plan->asks_token,
            .token_project = plan->token_project,
            .extra_fields = hl_refusal_make(HL_REFUSAL_METHOD_NEVER)->fields};
}

struct hl_cors hl_plan_cors(const struct hl_head *head, const struct hl_config *config)
{
    const struct hl_field *origin = hl_head_field(head, HL_FIELD_ORIGIN);
    struct hl_cors cors = {.varies = !config->cors_origins.has_any};
    if (origin && hl_head_field_count(head, HL_FIELD_ORIGIN) == 1)
        cors.allowed = hl_origin_list_find(&config->cors_origins, origin->value);
    return cors;
}

/* One of an origin that is not allowed is a request like any other: the browser reads nothing of
 * the answer. */
static bool is_preflight(const struct hl_head *head, const struct hl_config *config)
{
    return config->cors_origins.n > 0 && hl_cors_is_preflight(head) &&
           hl_plan_cors(head, config).allowed.n > 0;
}

static bool reads(const struct hl_head *head);

/* More than the app's answer: by a parameter or field of ours, whatever is made of it. */
static bool asks_for_more(const struct hl_head *head)
{
    struct hl_target target;
    struct hl_hookline_params params;
    if (!hl_target_split(head->target, &target) || !is_under(target.path, HL_STR("/v4")))
        return false;
    bool is_clear = hl_hookline_params_find(target.query, &params);
    return !is_clear || params.has_async || params.has_webhook ||
           head->first[HL_FIELD_X_RUN] >= 0 || head->first[HL_FIELD_X_WEBHOOK_SECRET] >= 0 ||
           hl_prefers_ours(head);
}

/* HOOKLINE_HOSTS: what stands between a page that a browser shows and this listener. An upgrade is more than
 * reading, and so is a run that others hear of, or that stays. */
static enum hl_refusal_cause find_barrier(
    const struct hl_plan *plan, const struct hl_head *head, const struct hl_config *config)
{
    bool is_health = plan->kind == HL_PLAN_HEALTHZ || plan->kind == HL_PLAN_READYZ;
    if (config->hosts.n == 0 || is_health)
        return HL_REFUSAL_NONE;
    if (!hl_hookline_hosts_have(config->hosts, head->host))
        return HL_REFUSAL_HOST;
    bool only_reads = reads(head) && !head->is_websocket_upgrade && !asks_for_more(head);
    if (!only_reads && hl_plan_cors(head, config).allowed.n == 0 &&
        hl_hookline_hosts_is_cross_site(config->hosts, head))
        return HL_REFUSAL_CROSS_SITE;
    return HL_REFUSAL_NONE;
}

/* The app, or whatever stands before it, sends us what we sent it: each round would take a place of it, and
 * add to the head, until one of them is full. */
static bool is_loop(
    const struct hl_plan *plan, const struct hl_head *head, const struct hl_config *config)
{
    if (head->first[HL_FIELD_VIA] < 0 || config->via.n == 0)
        return false;
    bool would_go_on =
        plan->kind == HL_PLAN_RUN || plan->kind == HL_PLAN_PASS || plan->kind == HL_PLAN_REFUSED;
    return would_go_on && hl_hop_came_through(head, config->via);
}

/* Nobody is asked for a token first. */
static void refuse_unasked(struct hl_plan *plan, enum hl_refusal_cause cause)
{
    plan->asks_token = false;
    refuse(plan, cause);
}

void hl_plan_make(struct hl_plan *plan, const struct hl_head *head, const struct hl_config *config,
    struct hl_plan_scratch *scratch)
{
    struct hl_target target;
    *plan = (struct hl_plan){
        .is_websocket = head->is_websocket_upgrade, .terms = {.priority = HL_PRIORITY_NORMAL}};
    if (is_preflight(head, config))
        plan->kind = HL_PLAN_PREFLIGHT;
    else if (head->method_id == HL_METHOD_CONNECT || head->method_id == HL_METHOD_TRACE)
        refuse(plan, HL_REFUSAL_METHOD_NEVER);
    else if (!hl_target_split(head->target, &target))
        refuse(plan, HL_REFUSAL_TARGET_MALFORMED);
    else if (is_under(target.path, HL_STR("/v4")))
        plan_run(plan, head, &target, config, scratch);
    else if (is_under(target.path, HL_STR("/v2/projects")))
        plan_rest(plan, &target, config);
    else if (hl_str_eq(target.path, HL_STR(HL_DESCRIPTION_PATH)))
        plan_description(plan, head);
    else if (is_under(target.path, HL_STR("/_hookline")))
        plan_own(plan, head, &target);
    else
        plan_pass(plan, head, &target, config, scratch);
    enum hl_refusal_cause barrier = find_barrier(plan, head, config);
    if (barrier != HL_REFUSAL_NONE)
        refuse_unasked(plan, barrier);
    else if (is_loop(plan, head, config))
        refuse_unasked(plan, HL_REFUSAL_LOOP);
    else if (head->max_forwards == 0)
        plan_last(plan);
}

static bool read_names(struct hl_plan *plan, struct hl_str path, struct hl_str *rest);
static bool is_served_here(struct hl_plan *plan, const struct hl_config *config);
static bool set_target(struct hl_plan *plan, struct hl_str path, const struct hl_target *target,
    const struct hl_hookline_params *params, struct hl_plan_scratch *scratch);

/* HOOKLINE_OWN_PARAMETERS: a webhook that is asked for by the wrong name would never come, and nobody would be
 * told. */
static bool has_near_name(
    struct hl_plan *plan, struct hl_str query, struct hl_plan_scratch *scratch)
{
    struct hl_str found;
    const char *ours;
    char name[80]; /* what can be near has at most 24 bytes, perhaps all of them encoded */
    if (!hl_near_name_find(query, &found, &ours))
        return false;
    size_t n = found.n < sizeof(name) - 1 ? found.n : sizeof(name) - 1;
    memcpy(name, found.p, n);
    name[n] = '\0';
    struct hl_refusal why = hl_refusal_say(
        scratch->detail, sizeof(scratch->detail), HL_REFUSAL_PARAM_NEAR, name, ours, NULL);
    hl_plan_refuse(plan, &why);
    return true;
}

static void plan_run(struct hl_plan *plan, const struct hl_head *head,
    const struct hl_target *target, const struct hl_config *config, struct hl_plan_scratch *scratch)
{
    struct hl_str path;
    struct hl_hookline_params params;
    plan->kind = HL_PLAN_RUN;
    if (config->role == HL_REPLICA_WORKER) {
        refuse(plan, HL_REFUSAL_WORKER);
        return;
    }
    if (!read_names(plan, target->path, &path) || !is_served_here(plan, config))
        return;
    plan->asks_token = config->auth == HL_AUTH_JWT;
    plan->token_project = plan->project;
    if (hl_str_eq(path, HL_STR("/run"))) {
        if (head->method_id != HL_METHOD_POST) {
            refuse(plan, HL_REFUSAL_RUN_METHOD);
            return;
        }
        path = config->app_run_path;
    }
    if (!hl_hookline_params_find(target->query, &params)) {
        refuse(plan, HL_REFUSAL_PARAM_TWICE);
        return;
    }
    if (target->query.n > 0 && config->own_parameters &&
        has_near_name(plan, target->query, scratch))
        return;
    if (!set_target(plan, path, target, &params, scratch))
        return;
    enum hl_refusal_cause fault = hl_mode_read(plan, head, &params, config, scratch);
    if (fault != HL_REFUSAL_NONE)
        refuse(plan, fault);
    else if (head->first[HL_FIELD_X_RUN] >= 0)
        plan_tags(plan, head, scratch);
}

static bool refuse_shape(struct hl_plan *plan)
{
    return refuse(plan, HL_REFUSAL_RUN_PATH);
}

static bool read_name(struct hl_plan *plan, struct hl_str *path, struct hl_str *name)
{
    if (path->n <= 1)
        return refuse_shape(plan);
    *name = hl_path_take_segment(path);
    if (!hl_path_is_name(*name))
        return refuse(plan, HL_REFUSAL_PATH_NAME);
    return true;
}

/* "/v4/{project}/{app}/{path}": `*rest` is the path with its '/'. */
static bool read_names(struct hl_plan *plan, struct hl_str path, struct hl_str *rest)
{
    hl_path_take_segment(&path);
    if (!read_name(plan, &path, &plan->project) || !read_name(plan, &path, &plan->app))
        return false;
    if (hl_is_alert_app(plan->app))
        return refuse(plan, HL_REFUSAL_OTHER_APP);
    *rest = path;
    return path.n > 0 || refuse_shape(plan);
}

static bool is_served_here(struct hl_plan *plan, const struct hl_config *config)
{
    if (config->project_id.n > 0 && !hl_str_eq(config->project_id, plan->project))
        return refuse(plan, HL_REFUSAL_OTHER_PROJECT);
    if (plan->kind == HL_PLAN_RUN && config->app_name.n > 0 &&
        !hl_str_eq(config->app_name, plan->app))
        return refuse(plan, HL_REFUSAL_OTHER_APP);
    return true;
}

/* What the app is asked for: `path`, and the query without hookline's parameters. Bytes of the head
 * are used as they stand where path and query stand side by side in them. */
static bool set_target(struct hl_plan *plan, struct hl_str path, const struct hl_target *target,
    const struct hl_hookline_params *params, struct hl_plan_scratch *scratch)
{
    plan->target = path;
    if (!target->has_query)
        return true;
    bool is_cut = params->has_async || params->has_webhook;
    bool is_adjacent = path.p + path.n + 1 == target->query.p;
    if (!is_cut && is_adjacent) {
        plan->target.n += 1 + target->query.n;
        return true;
    }

    if (scratch->target_cap < path.n + 1 + target->query.n)
        return refuse(plan, HL_REFUSAL_TARGET_TOO_LONG);
    char *out = scratch->target;
    memcpy(out, path.p, path.n);
    out[path.n] = '?';
    size_t n = hl_hookline_params_cut(target->query, params, out + path.n + 1);
    if (!is_cut || n > 0)
        plan->target = (struct hl_str){out, path.n + 1 + n};
    return true;
}

/* "/v2/projects/{project}/…": what is asked of it is read where it is answered (api/). */
static void plan_rest(
    struct hl_plan *plan, const struct hl_target *target, const struct hl_config *config)
{
    struct hl_str path = target->path;
    plan->kind = HL_PLAN_REST;
    hl_path_take_segment(&path);
    hl_path_take_segment(&path);
    if (path.n <= 1)
        refuse(plan, HL_REFUSAL_REST_PATH);
    else if (read_name(plan, &path, &plan->project) && is_served_here(plan, config)) {
        plan->asks_token = config->auth == HL_AUTH_JWT;
        plan->token_project = plan->project;
    }
}

static bool reads(const struct hl_head *head)
{
    return head->method_id == HL_METHOD_GET || head->method_id == HL_METHOD_HEAD;
}

static void plan_description(struct hl_plan *plan, const struct hl_head *head)
{
    plan->kind = HL_PLAN_DESCRIPTION;
    if (!reads(head))
        refuse(plan, HL_REFUSAL_DESCRIPTION_METHOD);
}

static void plan_own(
    struct hl_plan *plan, const struct hl_head *head, const struct hl_target *target)
{
    if (hl_str_eq(target->path, HL_STR("/_hookline/healthz")))
        plan->kind = HL_PLAN_HEALTHZ;
    else if (hl_str_eq(target->path, HL_STR("/_hookline/readyz")))
        plan->kind = HL_PLAN_READYZ;
    else {
        refuse(plan, HL_REFUSAL_OWN_PATH);
        return;
    }
    if (!reads(head))
        refuse(plan, HL_REFUSAL_HEALTH_METHOD);
}

/* Passed on without a token; an upgrade never is. */
static bool is_public(
    const struct hl_head *head, const struct hl_target *target, const struct hl_config *config)
{
    return config->public_paths.n > 0 && !head->is_websocket_upgrade &&
           hl_public_paths_have(config->public_paths, target->path);
}

/* The bytes as they came; of an absolute form, path and query. */
static void plan_pass(struct hl_plan *plan, const struct hl_head *head,
    const struct hl_target *target, const struct hl_config *config, struct hl_plan_scratch *scratch)
{
    if (config->role == HL_REPLICA_WORKER || !config->passthrough) {
        refuse(plan, config->role == HL_REPLICA_WORKER ? HL_REFUSAL_WORKER : HL_REFUSAL_NOT_PASSED);
        return;
    }
    if (config->role == HL_REPLICA_FRONT) {
        refuse(plan, head->is_websocket_upgrade ? HL_REFUSAL_FRONT_UPGRADE : HL_REFUSAL_FRONT_PASS);
        return;
    }
    plan->asks_token = config->auth == HL_AUTH_JWT && !is_public(head, target, config);
    plan->token_project = config->project_id;
    if (plan->asks_token && plan->token_project.n == 0) {
        plan->asks_token = false;
        refuse(plan, HL_REFUSAL_NOT_PASSED_TOKEN);
        return;
    }
    plan->kind = HL_PLAN_PASS;
    plan->terms.timeout_ms = config->sync_timeout_ms;
    if (head->target.p[0] == '/') {
        plan->target = head->target;
        return;
    }
    struct hl_hookline_params none = {0};
    if (target->is_pathless && !target->has_query && head->method_id == HL_METHOD_OPTIONS)
        plan->target = HL_STR("*"); /* RFC 9112 3.2.4 */
    else
        set_target(plan, target->path, target, &none, scratch);
}
