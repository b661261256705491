/* rest_project.c - projects: which have runs; of one, who asks, which apps have runs, where runs are
 * asked for.
 * Thread: control. */
#include "api/rest_project.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "config/config.h"
#include "store/op.h"
#include "store/question.h"

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
        if (!hl_json_push(array, hl_json_text(hl_str_from(l->names[i])))) {
            json_decref(array);
            return NULL;
        }
    return array;
}

/* ---- all of them ---- */

static void show_all(struct hl_rest_call *call)
{
    const struct hl_list_apps *l = (const struct hl_list_apps *)call->answers[0];
    const struct hl_config *config = hl_rest_parts(call)->config;
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

/* ---- one ---- */

static uint16_t run_port(const struct hl_config *config)
{
    const struct sockaddr_storage *addr = &config->listen.items[0].addr;
    return ntohs(addr->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)addr)->sin6_port
                                             : ((const struct sockaddr_in *)addr)->sin_port);
}

static void show(struct hl_rest_call *call)
{
    const struct hl_list_apps *l = (const struct hl_list_apps *)call->answers[0];
    if (l->m.rc != HL_OK) {
        hl_rest_refuse_store(call, l->m.rc, "project");
        return;
    }
    const struct hl_config *config = hl_rest_parts(call)->config;
    bool is_admin = call->is_operator || call->asker.is_admin;
    hl_rest_end_json(call, 200,
        HL_JSON_OBJECT({"project_id", hl_json_text(hl_str_from(call->project))},
            {"role", json_string(hl_role_text(is_admin ? HL_ROLE_ADMIN : HL_ROLE_INVOKE))},
            {"subject", hl_json_text_or_null(hl_str_from(call->asker.subject))}, {"apps", names(l)},
            {"app_name", hl_json_text_or_null(config->app_name)},
            {"run_port", json_integer(run_port(config))}));
}

void hl_rest_show_project(struct hl_rest_call *call)
{
    ask(call, show);
}
