/* rest_session.c - a way in for whoever may use the control socket: the dashboard's address, and where
 * that asks for a token one of an admin that is good for an hour; or, with {"role": "invoke"}, such a
 * token for calls, where those ask for one.
 * Thread: control.
 * Not here: what the token is (auth/issuer.h), the link (cli/token.c). */
#include "api/rest_handler.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "api/json.h"
#include "auth/auth.h"
#include "auth/issuer.h"
#include "base/clock.h"
#include "config/access.h"
#include "config/config.h"
#include "net/address.h"

static void write_url(
    const struct hl_listen_address *listen, const char *scheme, char *out, size_t cap)
{
    struct sockaddr_storage addr = hl_address_reach(&listen->addr);
    char host[HL_ADDRESS_HOST];
    uint16_t port = addr.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&addr)->sin6_port
                                               : ((struct sockaddr_in *)&addr)->sin_port;
    hl_address_write_host(&addr, host);
    snprintf(out, cap, "%s://%s:%u/", scheme, host, ntohs(port));
}

/* An admin's, unless the body says otherwise. False: refused. */
static bool read_role(struct hl_rest_call *call, enum hl_role *role)
{
    *role = HL_ROLE_ADMIN;
    if (call->body.n == 0)
        return true;
    json_t *body = hl_json_read_object(call->body);
    const json_t *said = json_object_get(body, "role");
    struct hl_str text = {json_string_value(said), json_string_length(said)};
    bool is_role = text.p && json_object_size(body) == 1 && hl_role_parse(text, role);
    if (!is_role)
        hl_rest_refuse(call, body ? HL_REFUSAL_ACCOUNT_ROLE : hl_json_no_object());
    json_decref(body);
    return is_role;
}

/* No more than is needed: where calls ask for no token, the field would be the app's to read. */
static bool asks_no_token(const struct hl_config *config, enum hl_role role)
{
    return role == HL_ROLE_ADMIN ? hl_admin_access_is_open(config, &config->admin_listen.items[0])
                                 : config->auth == HL_AUTH_NONE;
}

/* With what it may, a session of an admin is a change; one that calls the app is not. */
static bool is_told(struct hl_rest_call *call, const struct hl_grant *grant)
{
    if (grant->role == HL_ROLE_INVOKE)
        return false;
    struct hl_audit *audit = hl_rest_audit(call, HL_AUDIT_SESSION_OPENED, NULL,
        HL_JSON_OBJECT({"role", json_string(hl_role_text(grant->role))},
            {"expires_at", hl_json_time(grant->expires_ms)}));
    return hl_rest_ask_audit(call, audit);
}

/* Takes the answer. Whether or not its row can be written, the line in the log is. */
static void hand_out(struct hl_rest_call *call, const struct hl_grant *grant, json_t *answer)
{
    struct hl_reply *reply = &call->reply;
    if (!is_told(call, grant)) {
        hl_rest_end_json(call, 201, answer);
        return;
    }
    reply->status = 201;
    hl_str_put(reply->content_type, sizeof(reply->content_type), "application/json");
    if (hl_json_write(answer, &reply->body) == HL_OK)
        hl_rest_then(call, hl_rest_end);
    else
        hl_rest_refuse_memory(call);
}

static void open_session(struct hl_rest_call *call)
{
    enum hl_role role;
    if (!read_role(call, &role))
        return;
    const struct hl_rest_parts *parts = hl_rest_get_parts(call);
    int64_t now_ms = hl_clock_wall_ms();
    struct hl_grant grant = {.project = hl_str_from(call->project),
        .role = role,
        .issued_ms = now_ms,
        .expires_ms = now_ms + HL_SESSION_MAX_MS};
    const struct hl_listen_address *listen = &parts->config->admin_listen.items[0];
    char url[INET6_ADDRSTRLEN + 32];
    struct hl_buf token;
    write_url(listen, parts->config->admin_tls ? "https" : "http", url, sizeof(url));
    if (asks_no_token(parts->config, role)) {
        hl_rest_end_json(call, 201, HL_JSON_OBJECT({"url", hl_json_text(hl_str_from(url))}));
        return;
    }
    if (!hl_auth_issuer(parts->auth)) {
        hl_rest_refuse(call, HL_REFUSAL_REST_STORE_FAILING);
        return;
    }
    hl_buf_init(&token, HL_OWN_TOKEN_MAX);
    if (hl_issuer_sign(hl_auth_issuer(parts->auth), &grant, &token) == HL_OK)
        hand_out(call, &grant,
            HL_JSON_OBJECT({"url", hl_json_text(hl_str_from(url))},
                {"token", hl_json_text(hl_buf_str(&token))},
                {"expires_at", hl_json_time(grant.expires_ms)}));
    else
        hl_rest_refuse_memory(call);
    hl_buf_fini(&token);
}

void hl_rest_open_session(struct hl_rest_call *call)
{
    const struct hl_rest_parts *parts = hl_rest_get_parts(call);
    if (!parts->service)
        hl_rest_refuse(call, HL_REFUSAL_NO_SIDECAR);
    else
        hl_rest_with_audit(call, HL_REST_AUDITED_NEW, open_session);
}
