/* endpoint.c - which handler answers what.
 * Thread: control.
 * Not here: reading requests and writing responses (admin_connection.c, admin_answer.c). */
#include "api/endpoint.h"

#include "api/asset.h"
#include "api/health.h"
#include "api/method.h"
#include "api/metrics.h"
#include "api/now.h"
#include "http/problem.h"
#include "route/description.h"

/* For the dashboard: whether it has to ask for a token before it asks anything. */
static void show_door(const struct hl_api_view *view, const struct hl_api_request *request,
    struct hl_api_response *response)
{
    (void)view;
    response->status = 200;
    response->content_type = HL_STR("application/json");
    enum hl_err err = hl_buf_append_str(&response->body,
        request->is_open ? HL_STR("{\"asks_token\":false}") : HL_STR("{\"asks_token\":true}"));
    if (err != HL_OK)
        *response = (struct hl_api_response){.refusal = hl_refusal_make(HL_REFUSAL_ADMIN_MEMORY)};
}

/* The control thread's copy of what a worker answers (worker/call.c). */
static void show_description(const struct hl_api_view *view, const struct hl_api_request *request,
    struct hl_api_response *response)
{
    struct hl_answer answer = {.status = 0};
    (void)view;
    hl_description_answer(&answer, request->if_none_match);
    response->status = answer.status;
    response->content_type = answer.content_type;
    response->cache_control = answer.cache_control;
    hl_str_put(response->fields, sizeof(response->fields), answer.extra_fields);
    if (hl_buf_append_str(&response->body, answer.body) != HL_OK)
        *response = (struct hl_api_response){.refusal = hl_refusal_make(HL_REFUSAL_ADMIN_MEMORY)};
}

const struct hl_api_endpoint hl_api_endpoints[] = {
    {HL_METHOD_GET, "/healthz", hl_health_live},
    {HL_METHOD_GET, "/readyz", hl_health_ready},
    {HL_METHOD_GET, "/metrics", hl_metrics_show},
    {HL_METHOD_GET, "/door", show_door},
    {HL_METHOD_GET, "/v2/now", hl_now_show},
    {HL_METHOD_GET, HL_DESCRIPTION_PATH, show_description},
};
const size_t hl_api_endpoint_count = HL_ARRAY_LEN(hl_api_endpoints);

/* The endpoints of a path, one after the other; `from` is NULL at first. NULL: no more. */
static const struct hl_api_endpoint *next_at(struct hl_str path, const struct hl_api_endpoint *from)
{
    const struct hl_api_endpoint *end = hl_api_endpoints + hl_api_endpoint_count;
    for (const struct hl_api_endpoint *e = from ? from + 1 : hl_api_endpoints; e < end; e++) {
        if (hl_str_eq(path, hl_str_from(e->path)))
            return e;
    }
    return NULL;
}

bool hl_api_has(struct hl_str path)
{
    return next_at(path, NULL) != NULL;
}

/* RFC 9110 15.5.6. */
static void refuse_method(struct hl_str path, struct hl_api_response *response)
{
    char *at = stpcpy(response->fields, "Allow: ");
    for (const struct hl_api_endpoint *e = NULL; (e = next_at(path, e));) {
        if (at[-1] != ' ')
            at = stpcpy(at, ", ");
        at = stpcpy(at, e->method == HL_METHOD_GET ? "GET, HEAD" : hl_api_method_text(e->method));
    }
    stpcpy(at, "\r\n");
    response->refusal = hl_refusal_make(HL_REFUSAL_REST_METHOD);
}

void hl_api_answer(const struct hl_api_view *view, const struct hl_api_request *request,
    struct hl_api_response *response)
{
    enum hl_method method = request->method == HL_METHOD_HEAD ? HL_METHOD_GET : request->method;
    const struct hl_api_endpoint *e = next_at(request->path, NULL);
    if (!e && hl_asset_answer(request, response))
        return;
    if (!e) {
        response->refusal = hl_refusal_make(HL_REFUSAL_ADMIN_NOWHERE);
        return;
    }
    while (e && e->method != method)
        e = next_at(request->path, e);
    if (e)
        e->handle(view, request, response);
    else
        refuse_method(request->path, response);
}
