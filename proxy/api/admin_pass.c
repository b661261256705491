/* admin_pass.c - see admin_pass.h.
 * Owns: what goes on of the present request's head. Thread: control.
 * Promise: a call that came by here is one like any other: the run listener judges its token, its
 * limits and its webhook. Of the answer's fields those go back that say something of the run, so that
 * an app's can do nothing to the page that the dashboard is.
 * Not here: pages of other origins (admin_answer.c), the connection to the other side (app/exchange.c). */
#include "api/admin_pass.h"

#include <string.h>

#include "api/admin_connection.h"
#include "api/admin_response.h"
#include "api/method.h"
#include "api/rest.h"
#include "app/exchange.h"
#include "app/readiness.h"
#include "auth/auth.h"
#include "auth/issuer.h"
#include "base/clock.h"
#include "config/config.h"
#include "config/endpoint.h"
#include "http/body_check.h"
#include "http/problem.h"
#include "http/url.h"
#include "net/address.h"
#include "run/service.h"

#define LISTING          "/_hookline/functions" /* of the function hosts: runtime/core/directory.h */
#define LISTING_PATIENCE 5000                   /* ms */
#define HEAD_MAX         (64 * 1024)

bool hl_admin_pass_is_call(struct hl_str path)
{
    return hl_str_starts_with(path, HL_STR("/v4/"));
}

bool hl_admin_pass_is_listing(struct hl_str path)
{
    return hl_str_eq(path, HL_STR("/v2/functions"));
}

static void refuse(struct hl_admin_connection *c, enum hl_refusal_cause cause)
{
    hl_admin_response_refuse(c, hl_refusal_make(cause));
}

/* ---- what goes on of a call ---- */

static bool goes_on(const struct hl_admin_connection *c, enum hl_field_id id)
{
    switch (id) {
    case HL_FIELD_CONTENT_TYPE:
    case HL_FIELD_ACCEPT:
    case HL_FIELD_PREFER:
    case HL_FIELD_IDEMPOTENCY_KEY:
    case HL_FIELD_X_WEBHOOK_SECRET:
    case HL_FIELD_X_RUN:
        return true;
    case HL_FIELD_AUTHORIZATION: /* where calls need none it would be the app's to read */
        return !c->is_open && c->home->view.config->auth != HL_AUTH_NONE;
    default:
        return false;
    }
}

static void forget_fields(struct hl_admin_pass *pass)
{
    if (pass->fields.n > 0)
        explicit_bzero(pass->fields.p, pass->fields.n);
    hl_buf_fini(&pass->fields);
}

bool hl_admin_pass_take_head(struct hl_admin_connection *c, const struct hl_head *head)
{
    struct hl_buf *out = &c->answer.pass.fields;
    forget_fields(&c->answer.pass);
    c->max_body = HL_ADMIN_MAX_CALL_BODY;
    c->too_large = HL_REFUSAL_PASS_BODY_TOO_LARGE;
    enum hl_err err = HL_OK;
    for (size_t i = 0; !err && i < head->field_count; i++) {
        const struct hl_field *field = &head->fields[i];
        if (!field->is_hop && goes_on(c, field->id))
            err = hl_buf_append_str(out, field->line);
    }
    return err == HL_OK;
}

/* Whoever is an admin of every project without a token gets one for this call, where calls want one. */
static enum hl_err add_token(
    struct hl_admin_connection *c, struct hl_str path, struct hl_buf *request)
{
    const struct hl_config *config = c->home->view.config;
    struct hl_auth *auth = hl_rest_auth(c->home->view.rest);
    if (!c->is_open || config->auth == HL_AUTH_NONE)
        return HL_OK;
    if (!auth || !hl_auth_issuer(auth))
        return HL_ERR_UNAVAILABLE;
    struct hl_str rest = {path.p + 3, path.n - 3};
    int64_t now_ms = hl_clock_wall_ms();
    struct hl_grant grant = {.project = hl_path_take_segment(&rest),
        .role = HL_ROLE_INVOKE,
        .issued_ms = now_ms,
        .expires_ms = now_ms + HL_SESSION_MAX_MS};
    struct hl_buf token;
    hl_buf_init(&token, HL_OWN_TOKEN_MAX);
    enum hl_err err = hl_issuer_sign(hl_auth_issuer(auth), &grant, &token);
    if (!err)
        err = hl_buf_printf(
            request, "Authorization: Bearer %.*s\r\n", HL_STR_ARG(hl_buf_str(&token)));
    if (token.n > 0)
        explicit_bzero(token.p, token.n);
    hl_buf_fini(&token);
    return err;
}

static enum hl_err write_call(
    struct hl_admin_connection *c, struct hl_str path, struct hl_buf *request)
{
    const struct hl_listen_address *listen = &c->home->view.config->listen.items[0];
    enum hl_err err = hl_buf_printf(request, "%s %.*s HTTP/1.%u\r\nHost: %s\r\n",
        hl_api_method_text(c->method), HL_STR_ARG(hl_buf_str(&c->target)), c->minor, listen->text);
    if (!err && hl_service_speaks_tls(c->home->view.config))
        err = hl_buf_printf(request, HL_INNER_PASS_NAME ": %.*s\r\n", HL_INNER_PASS_DIGITS,
            c->home->view.service->inner_pass);
    if (!err)
        err = hl_buf_append_str(request, hl_buf_str(&c->answer.pass.fields));
    if (!err)
        err = add_token(c, path, request);
    if (!err && (c->body.n > 0 || c->method == HL_METHOD_POST))
        err = hl_buf_printf(request, "Content-Length: %zu\r\n", c->body.n);
    if (!err)
        err = hl_buf_append_str(request, HL_STR("Connection: close\r\n\r\n"));
    return err ? err : hl_buf_append_str(request, hl_buf_str(&c->body));
}

/* ---- the other side ---- */

static void on_head(void *owner, const struct hl_head *head);
static void on_bytes(void *owner, struct hl_str bytes);
static void on_end(void *owner, enum hl_exchange_end how, int error);

static const struct hl_exchange_events events = {.head = on_head, .bytes = on_bytes, .end = on_end};

/* `app`: NULL for our own run listener, to which plain text is spoken. */
static bool begin(struct hl_admin_connection *c, const struct sockaddr *address,
    const struct hl_app_url *app, struct hl_buf *request)
{
    const struct hl_exchange_order order = {.loop = c->home->loop,
        .wheel = c->home->wheel,
        .reader = c->home->reader,
        .address = address,
        .path = app ? app->path : NULL,
        .tls = app ? c->home->view.service->readiness->tls : NULL,
        .tls_use = HL_TLS_APP,
        .host = app ? app->host : NULL,
        .method = c->method,
        .max_head = HEAD_MAX,
        .head_ms = c->answer.pass.is_listing ? LISTING_PATIENCE : 0,
        .events = &events,
        .owner = c};
    int error;
    c->state = HL_ADMIN_ANSWER;
    c->answer.pass.has_head = false;
    c->answer.pass.other = hl_exchange_begin(&order, request, &error);
    return c->answer.pass.other != NULL;
}

void hl_admin_pass_call(struct hl_admin_connection *c, struct hl_str path)
{
    struct sockaddr_storage addr = hl_address_reach(&c->home->view.config->listen.items[0].addr);
    struct hl_buf request;
    if (c->method == HL_METHOD_OTHER || c->method == HL_METHOD_CONNECT ||
        c->method == HL_METHOD_TRACE) {
        refuse(c, HL_REFUSAL_METHOD_NEVER);
        return;
    }
    hl_buf_init(&request, 0);
    c->answer.pass.is_listing = false;
    enum hl_err err = write_call(c, path, &request);
    forget_fields(&c->answer.pass);
    if (err) {
        hl_buf_fini(&request);
        refuse(
            c, err == HL_ERR_UNAVAILABLE ? HL_REFUSAL_REST_STORE_FAILING : HL_REFUSAL_ADMIN_MEMORY);
    } else if (!begin(c, (const struct sockaddr *)&addr, NULL, &request)) {
        refuse(c, HL_REFUSAL_PASS_UNREACHABLE);
    }
}

/* ---- the app's functions ---- */

/* Asks the app at the next of its addresses. False: there is none, or it cannot be asked. */
static bool ask_app(struct hl_admin_connection *c)
{
    const struct hl_app_url *url = &c->home->view.config->app_url;
    const struct hl_host *host = &c->home->view.service->readiness->host;
    unsigned i = c->answer.pass.next++;
    struct hl_buf request;
    if (i >= (url->is_unix ? 1 : host->address_count))
        return false;
    hl_buf_init(&request, 0);
    enum hl_err err =
        hl_buf_printf(&request, "%s " LISTING " HTTP/1.1\r\n", hl_api_method_text(c->method));
    if (!err)
        err = hl_app_url_write_host(url, &request);
    if (!err)
        err = hl_buf_append_str(
            &request, HL_STR("User-Agent: hookline/" HL_VERSION "\r\nConnection: close\r\n\r\n"));
    const struct sockaddr *address =
        url->is_unix ? NULL : (const struct sockaddr *)&host->addresses[i].socket;
    if (!err)
        return begin(c, address, url, &request);
    hl_buf_fini(&request);
    return false;
}

void hl_admin_pass_list(struct hl_admin_connection *c)
{
    const struct hl_service *service = c->home->view.service;
    c->answer.pass.is_listing = true;
    c->answer.pass.next = 0;
    if (c->method != HL_METHOD_GET && c->method != HL_METHOD_HEAD)
        refuse(c, HL_REFUSAL_FUNCTIONS_METHOD);
    else if (!service || !service->readiness || !hl_readiness_is_ready(service->readiness))
        refuse(c, HL_REFUSAL_FUNCTIONS_NOT_READY);
    else if (!ask_app(c))
        refuse(c, HL_REFUSAL_PASS_UNREACHABLE);
}

static bool is_list(const struct hl_head *head)
{
    const struct hl_field *type = hl_head_field(head, HL_FIELD_CONTENT_TYPE);
    return head->status == 200 && type && hl_is_json_type(type->value.p, type->value.n);
}

/* ---- the way back ---- */

static bool comes_back(const struct hl_field *field)
{
    static const struct hl_str names[] = {{"date", 4}, {"location", 8}, {"retry-after", 11},
        {"ratelimit", 9}, {"ratelimit-policy", 16}, {"preference-applied", 18}};
    if (field->id == HL_FIELD_CONTENT_TYPE || field->id == HL_FIELD_CONTENT_ENCODING ||
        field->id == HL_FIELD_X_REQUEST_ID || field->id == HL_FIELD_X_RUN)
        return true;
    for (size_t i = 0; i < HL_ARRAY_LEN(names); i++) {
        if (hl_str_eq_nocase(field->name, names[i]))
            return true;
    }
    return false;
}

static enum hl_err write_framing(const struct hl_head *head, struct hl_buf *out)
{
    if (head->framing == HL_FRAMING_CHUNKED)
        return hl_buf_append_str(out, HL_STR("Transfer-Encoding: chunked\r\n"));
    if (head->framing == HL_FRAMING_LENGTH)
        return hl_buf_printf(
            out, "Content-Length: %llu\r\n", (unsigned long long)head->content_length);
    return HL_OK;
}

static enum hl_err write_head(const struct hl_head *head, struct hl_buf *out)
{
    enum hl_err err =
        hl_buf_printf(out, "HTTP/1.1 %u %s\r\n", head->status, hl_status_phrase(head->status));
    for (size_t i = 0; !err && i < head->field_count; i++) {
        if (!head->fields[i].is_hop && comes_back(&head->fields[i]))
            err = hl_buf_append_str(out, head->fields[i].line);
    }
    if (!err)
        err = write_framing(head, out);
    return err ? err
               : hl_buf_append_str(out, HL_STR("Cache-Control: no-store\r\n"
                                               "X-Content-Type-Options: nosniff\r\n"
                                               "Content-Disposition: attachment\r\n"
                                               "Content-Security-Policy: sandbox\r\n"
                                               "Connection: close\r\n\r\n"));
}

static void end_with(struct hl_admin_connection *c, enum hl_refusal_cause why)
{
    hl_admin_pass_drop(c);
    refuse(c, why);
    hl_admin_connection_go_on(c);
}

static void on_head(void *owner, const struct hl_head *head)
{
    struct hl_admin_connection *c = owner;
    struct hl_buf out;
    if (c->answer.pass.is_listing && !is_list(head)) {
        hl_admin_pass_drop(c);
        hl_admin_response_json(c, HL_STR("{\"functions\":null}")); /* it is no function host */
        hl_admin_connection_go_on(c);
        return;
    }
    hl_buf_init(&out, 0);
    c->answer.pass.has_head = c->must_close = true;
    enum hl_err err = write_head(head, &out);
    if (!err)
        err = hl_stream_write(&c->stream, out.p, out.n);
    hl_buf_fini(&out);
    if (err)
        hl_admin_connection_close(c);
}

static void on_bytes(void *owner, struct hl_str bytes)
{
    struct hl_admin_connection *c = owner;
    if (hl_stream_write(&c->stream, bytes.p, bytes.n) != HL_OK) {
        hl_admin_connection_close(c);
        return;
    }
    if (!hl_stream_is_blocked(&c->stream))
        return;
    hl_exchange_pause(c->answer.pass.other);
    hl_admin_connection_go_on(c); /* a deadline runs for what waits for the socket */
}

void hl_admin_pass_drained(struct hl_admin_connection *c)
{
    if (!c->answer.pass.other)
        return;
    hl_exchange_resume(c->answer.pass.other);
    hl_admin_connection_go_on(c);
}

static enum hl_refusal_cause cause_of(enum hl_exchange_end how)
{
    switch (how) {
    case HL_EXCHANGE_WHOLE:
        return HL_REFUSAL_NONE;
    case HL_EXCHANGE_UNREACHABLE:
        return HL_REFUSAL_PASS_UNREACHABLE;
    case HL_EXCHANGE_LATE:
        return HL_REFUSAL_PASS_LATE;
    case HL_EXCHANGE_NO_MEMORY:
        return HL_REFUSAL_NO_MEMORY;
    default:
        return HL_REFUSAL_PASS_UNREADABLE;
    }
}

static void on_end(void *owner, enum hl_exchange_end how, int error)
{
    struct hl_admin_connection *c = owner;
    enum hl_refusal_cause why = cause_of(how);
    (void)error;
    bool has_more = why == HL_REFUSAL_PASS_UNREACHABLE && c->answer.pass.is_listing;
    c->answer.pass.other = NULL;
    if (c->answer.pass.has_head && why == HL_REFUSAL_NONE) {
        hl_admin_response_end(c);
        hl_admin_connection_go_on(c);
    } else if (c->answer.pass.has_head) {
        hl_admin_connection_close(c);
    } else if (!has_more || !ask_app(c)) {
        end_with(c, why);
    }
}

void hl_admin_pass_drop(struct hl_admin_connection *c)
{
    hl_exchange_drop(c->answer.pass.other);
    c->answer.pass.other = NULL;
    forget_fields(&c->answer.pass);
}
