/* rest_function.c - which functions the app has, and what each takes: the app is asked, where it is one of the
 * function hosts (runtime/).
 * Owns: the exchange with the app while the call is in flight. Thread: control.
 * Promise: what is answered has the form of such a list, whatever the app answers.
 * Not here: the same for the dashboard, which is passed on as it comes (admin_pass.c). */
#include "api/rest_handler.h"

#include <string.h>

#include "app/exchange.h"
#include "app/readiness.h"
#include "config/config.h"
#include "config/endpoint.h"
#include "http/body_check.h"
#include "run/service.h"

#define PATH     "/_hookline/functions" /* runtime/core/directory.h */
#define PATIENCE 5000                   /* ms */
#define HEAD_MAX (64 * 1024)
#define LIST_MAX (4 * 1024 * 1024)

static void on_head(void *owner, const struct hl_head *head);
static void on_bytes(void *owner, struct hl_str bytes);
static void on_end(void *owner, enum hl_exchange_end how, int error);

static const struct hl_exchange_events events = {.head = on_head, .bytes = on_bytes, .end = on_end};

static bool begin(struct hl_rest_call *call, const struct sockaddr *address)
{
    const struct hl_app_url *url = &hl_rest_get_parts(call)->config->app_url;
    const struct hl_exchange_order order = {.loop = call->all->waits.wheel.loop,
        .wheel = &call->all->waits.wheel,
        .reader = hl_rest_get_parts(call)->reader,
        .address = address,
        .path = url->path,
        .tls = hl_rest_get_parts(call)->service->readiness->tls,
        .tls_use = HL_TLS_APP,
        .host = url->host,
        .method = HL_METHOD_GET,
        .max_head = HEAD_MAX,
        .is_decoded = true,
        .head_ms = PATIENCE,
        .silence_ms = PATIENCE,
        .events = &events,
        .owner = call};
    struct hl_buf request;
    int error;
    hl_buf_init(&request, 0);
    enum hl_err err = hl_buf_append_str(&request, HL_STR("GET " PATH " HTTP/1.1\r\n"));
    if (!err)
        err = hl_app_url_write_host(url, &request);
    if (!err)
        err = hl_buf_append_str(
            &request, HL_STR("User-Agent: hookline/" HL_VERSION
                             "\r\nAccept-Encoding: identity\r\nConnection: close\r\n\r\n"));
    if (err) {
        hl_buf_fini(&request);
        return false;
    }
    call->listing = hl_exchange_begin(&order, &request, &error);
    return call->listing != NULL;
}

/* Asks at the next of the app's addresses. False: there is none, or it cannot be asked. */
static bool ask_app(struct hl_rest_call *call)
{
    const struct hl_rest_parts *parts = hl_rest_get_parts(call);
    const struct hl_host *host = &parts->service->readiness->host;
    unsigned i = call->listing_address++;
    if (parts->config->app_url.is_unix)
        return i == 0 && begin(call, NULL);
    return i < host->address_count &&
           begin(call, (const struct sockaddr *)&host->addresses[i].socket);
}

void hl_rest_list_functions(struct hl_rest_call *call)
{
    const struct hl_rest_parts *parts = hl_rest_get_parts(call);
    struct hl_str mine = parts->config->app_name;
    if (mine.n > 0 && !hl_str_eq(mine, hl_str_from(call->app)))
        hl_rest_refuse(call, HL_REFUSAL_OTHER_APP);
    else if (!parts->service || !parts->service->readiness || !parts->reader ||
             !hl_readiness_is_ready(parts->service->readiness))
        hl_rest_refuse(call, HL_REFUSAL_FUNCTIONS_NOT_READY);
    else if (!ask_app(call))
        hl_rest_refuse(call, HL_REFUSAL_FUNCTIONS_UNREACHABLE);
}

/* ---- the app's answer ---- */

static void end_with(struct hl_rest_call *call, enum hl_refusal_cause why)
{
    hl_exchange_drop(call->listing);
    call->listing = NULL;
    hl_buf_fini(&call->reply.body);
    hl_rest_refuse(call, why);
}

static void on_head(void *owner, const struct hl_head *head)
{
    const struct hl_field *type = hl_head_field(head, HL_FIELD_CONTENT_TYPE);
    if (head->status != 200 || !type || !hl_is_json_type(type->value.p, type->value.n))
        end_with(owner, HL_REFUSAL_FUNCTIONS_NONE);
}

static void on_bytes(void *owner, struct hl_str bytes)
{
    struct hl_rest_call *call = owner;
    if (call->reply.body.n + bytes.n > LIST_MAX)
        end_with(call, HL_REFUSAL_FUNCTIONS_NONE);
    else if (hl_buf_append_str(&call->reply.body, bytes) != HL_OK)
        end_with(call, HL_REFUSAL_NO_MEMORY);
}

static bool is_list(struct hl_str body)
{
    json_t *answer = json_loadb(body.p ? body.p : "", body.n, 0, NULL);
    bool is = json_is_array(json_object_get(answer, "functions"));
    json_decref(answer);
    return is;
}

static void end_whole(struct hl_rest_call *call)
{
    struct hl_reply *reply = &call->reply;
    if (!is_list(hl_buf_str(&reply->body))) {
        end_with(call, HL_REFUSAL_FUNCTIONS_NONE);
        return;
    }
    reply->status = 200;
    hl_str_put(reply->content_type, sizeof(reply->content_type), "application/json");
    hl_rest_end(call);
}

static void on_end(void *owner, enum hl_exchange_end how, int error)
{
    struct hl_rest_call *call = owner;
    (void)error;
    call->listing = NULL;
    if (how == HL_EXCHANGE_WHOLE)
        end_whole(call);
    else if (how == HL_EXCHANGE_LATE)
        end_with(call, HL_REFUSAL_PASS_LATE);
    else if (how == HL_EXCHANGE_NO_MEMORY)
        end_with(call, HL_REFUSAL_NO_MEMORY);
    else if (how != HL_EXCHANGE_UNREACHABLE)
        end_with(call, HL_REFUSAL_PASS_UNREADABLE);
    else if (!ask_app(call))
        end_with(call, HL_REFUSAL_FUNCTIONS_UNREACHABLE);
}
