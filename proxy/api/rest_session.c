/* rest_session.c - a way in for whoever may use the control socket: the dashboard's address, and where
 * that asks for a token one of an admin that is good for an hour; or, with {"role": "invoke"}, such a
 * token for calls, where those ask for one. With {"role": "viewer", "expires_at"} it is a session of an account that is
 * made for it: a page renews it hour by hour while it is open, until the account ends or is revoked.
 * Thread: control.
 * Not here: what the token is (auth/issuer.h), the link (cli/token.c). */
#include "api/rest_handler.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "api/json.h"
#include "auth/auth.h"
#include "auth/claims.h"
#include "auth/issuer.h"
#include "base/clock.h"
#include "base/limits.h"
#include "config/access.h"
#include "config/config.h"
#include "http/refusal.h"
#include "net/address.h"
#include "store/account.h"

#define URL_MAX (INET6_ADDRSTRLEN + 32)

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

#define LASTING_MAX_MS (HL_LINK_DAYS_MAX * INT64_C(24) * 3600 * 1000)

/* What the body asks for: a role, an admin's unless it says otherwise; with expires_at an account, whose name has one
 * already. */
static enum hl_refusal_cause read_body(
    const json_t *body, enum hl_role *role, struct hl_account *account)
{
    const json_t *said = json_object_get(body, "role");
    struct hl_str text = hl_json_str(said);
    bool lasts = json_object_get(body, "expires_at") || json_object_get(body, "name");
    size_t known = (json_object_get(body, "expires_at") != NULL) +
                   (json_object_get(body, "name") != NULL) + 1u;
    if (!text.p || json_object_size(body) != known || !hl_role_parse(text, role))
        return HL_REFUSAL_SESSION_MEMBERS;
    if (!lasts)
        return HL_REFUSAL_NONE;
    account->role = *role;
    return *role == HL_ROLE_VIEWER ? hl_rest_read_lasting(body, LASTING_MAX_MS, account)
                                   : HL_REFUSAL_SESSION_LASTS;
}

/* False: refused. */
static bool read_wanted(struct hl_rest_call *call, enum hl_role *role, struct hl_account *account)
{
    *role = HL_ROLE_ADMIN;
    if (call->body.n == 0)
        return true;
    json_t *body = hl_json_read_object(call->body);
    enum hl_refusal_cause why = body ? read_body(body, role, account) : hl_json_no_object();
    json_decref(body);
    if (why)
        hl_rest_refuse(call, why);
    return !why;
}

/* No more than is needed: where calls ask for no token, the field would be the app's to read. */
static bool asks_no_token(const struct hl_config *config, enum hl_role role)
{
    return role == HL_ROLE_INVOKE ? config->auth == HL_AUTH_NONE
                                  : hl_admin_access_is_open(config, &config->admin_listen.items[0]);
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

static void write_own_url(const struct hl_config *config, char *out, size_t cap)
{
    write_url(&config->admin_listen.items[0], config->admin_tls ? "https" : "http", out, cap);
}

static void show_lasting(struct hl_rest_call *call);

static void open_session(struct hl_rest_call *call)
{
    enum hl_role role;
    struct hl_account account = {.name = "read-only dashboard", .limits = HL_LIMITS_NONE};
    if (!read_wanted(call, &role, &account))
        return;
    const struct hl_rest_parts *parts = hl_rest_get_parts(call);
    int64_t now_ms = hl_clock_wall_ms();
    struct hl_grant grant = {.project = hl_str_from(call->project),
        .role = role,
        .issued_ms = now_ms,
        .expires_ms = now_ms + HL_SESSION_MAX_MS};
    char url[URL_MAX];
    struct hl_buf token;
    write_own_url(parts->config, url, sizeof(url));
    if (role == HL_ROLE_VIEWER && asks_no_token(parts->config, role)) {
        hl_rest_refuse(call, HL_REFUSAL_SESSION_OPEN);
        return;
    }
    if (asks_no_token(parts->config, role)) {
        hl_rest_end_json(call, 201, HL_JSON_OBJECT({"url", hl_json_text(hl_str_from(url))}));
        return;
    }
    if (!hl_auth_issuer(parts->auth)) {
        hl_rest_refuse(call, HL_REFUSAL_REST_STORE_FAILING);
        return;
    }
    if (account.expires_ms > 0) {
        hl_rest_add_lasting(call, &account, show_lasting);
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

/* ---- one that lasts ---- */

/* An hour of the account's, or what is left of it. NULL: out of memory. */
static json_t *sign_hour(struct hl_rest_call *call, const struct hl_account *a, int64_t *expires_ms)
{
    int64_t now_ms = hl_clock_wall_ms(), hour = now_ms + HL_SESSION_MAX_MS;
    struct hl_buf token;
    json_t *text = NULL;
    *expires_ms = a->expires_ms < hour ? a->expires_ms : hour;
    struct hl_grant grant = {.account = a->id,
        .project = hl_str_from(a->project),
        .role = a->role,
        .issued_ms = now_ms,
        .expires_ms = *expires_ms};
    hl_buf_init(&token, HL_OWN_TOKEN_MAX);
    if (hl_issuer_sign(hl_auth_issuer(hl_rest_get_parts(call)->auth), &grant, &token) == HL_OK)
        text = hl_json_text(hl_buf_str(&token));
    hl_buf_fini(&token);
    return text;
}

static void show_lasting(struct hl_rest_call *call)
{
    const struct hl_add_account *add = (const struct hl_add_account *)call->answers[0];
    const struct hl_account *a = &add->account;
    char url[URL_MAX];
    int64_t hour;
    if (add->m.rc != HL_OK) {
        hl_rest_refuse_store(call, add->m.rc, "service account");
        return;
    }
    write_own_url(hl_rest_get_parts(call)->config, url, sizeof(url));
    json_t *token =
        hl_auth_admit(hl_rest_get_parts(call)->auth, a) ? sign_hour(call, a, &hour) : NULL;
    if (!token) {
        hl_rest_refuse_memory(call);
        return;
    }
    hl_rest_end_json(call, 201,
        HL_JSON_OBJECT({"url", hl_json_text(hl_str_from(url))}, {"token", token},
            {"expires_at", hl_json_time(hour)}, {"account_id", hl_json_id(&a->id)},
            {"account_expires_at", hl_json_time(a->expires_ms)}));
}

static void renew(struct hl_rest_call *call)
{
    const struct hl_account *a = hl_rest_find_account(call, &call->asker.account);
    int64_t hour, now_ms = hl_clock_wall_ms();
    if (call->answers[0]->rc != HL_OK) {
        hl_rest_refuse_store(call, call->answers[0]->rc, "service account");
        return;
    }
    if (!a || a->revoked_ms > 0 || a->expires_ms <= now_ms) {
        hl_rest_refuse(call, HL_REFUSAL_SESSION_OVER);
        return;
    }
    if (a->expires_ms / 1000 <= (call->asker.refused_from_ms - HL_CLAIM_LEEWAY_MS) / 1000) {
        hl_rest_refuse(call, HL_REFUSAL_SESSION_NOT_LASTING); /* its token lasts as long already */
        return;
    }
    json_t *token = sign_hour(call, a, &hour);
    if (token)
        hl_rest_end_json(
            call, 200, HL_JSON_OBJECT({"token", token}, {"expires_at", hl_json_time(hour)}));
    else
        hl_rest_refuse_memory(call);
}

/* Whose token has no account has a session that is no link's; whose role may change something has none that lasts. */
void hl_rest_renew_session(struct hl_rest_call *call)
{
    const struct hl_asker *asker = &call->asker;
    bool is_lasting = !hl_id_is_nil(&asker->account) && asker->role == HL_ROLE_VIEWER;
    if (!is_lasting || !hl_auth_issuer(hl_rest_get_parts(call)->auth))
        hl_rest_refuse(call, HL_REFUSAL_SESSION_NOT_LASTING);
    else if (hl_rest_ask_account(call, &asker->account, asker->project))
        hl_rest_then(call, renew);
    else
        hl_rest_refuse_memory(call);
}
