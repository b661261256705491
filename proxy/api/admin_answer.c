/* admin_answer.c - the answers on a connection of the admin listener or the control socket: an
 * endpoint's at once, the REST interface's when it is there.
 * Owns: the call of the present request. Thread: control.
 * Promise: who asks is known before anything is answered that not everybody may see.
 * Not here: reading requests (admin_connection.c), what can be asked (endpoint.c, rest_route.c), answers that
 * come in pieces (admin_response.c, admin_pass.c). */
#include "api/admin_answer.h"

#include <string.h>

#include "api/admin_connection.h"
#include "api/admin_response.h"
#include "api/endpoint.h"
#include "api/rest.h"
#include "api/rest_route.h"
#include "auth/principal.h"
#include "config/access.h"
#include "config/config.h"
#include "http/url.h"
#include "route/description.h"

static void on_checked(struct hl_auth_wait *wait);

static void begin(struct hl_admin_connection *c)
{
    hl_auth_wait_init(&c->answer.wait, on_checked);
}

/* ---- who asks ---- */

/* What a token is asked for. */
static bool is_rest(struct hl_str path)
{
    return hl_str_starts_with(path, HL_STR("/v2/")) &&
           !hl_str_eq(path, HL_STR(HL_DESCRIPTION_PATH));
}

/* What is done with the process. */
static bool is_of_process(struct hl_str path)
{
    return hl_str_eq(path, HL_STR("/drain")) || hl_str_eq(path, HL_STR("/drain/wait")) ||
           hl_str_eq(path, HL_STR("/quit"));
}

/* Whoever could end the process by a signal may by a call: nobody else's loopback addresses are these. */
static bool is_of_machine(const struct hl_admin_connection *c)
{
    struct sockaddr_storage peer;
    int n = sizeof(peer);
    struct hl_ip ip;
    return c->home->view.config->admin_auth != HL_ADMIN_AUTH_TOKEN && !c->is_local &&
           uv_tcp_getpeername(&c->stream.tcp, (struct sockaddr *)&peer, &n) == 0 &&
           hl_ip_from_sockaddr((const struct sockaddr *)&peer, &ip) && hl_ip_is_loopback(&ip);
}

static bool asks_token(const struct hl_admin_connection *c, struct hl_str path)
{
    return !c->is_open && (is_rest(path) || (is_of_process(path) && !is_of_machine(c)));
}

/* Health and figures say nothing of anybody's, and probes call them by any name. */
static bool is_public(struct hl_str path)
{
    return hl_str_eq(path, HL_STR("/healthz")) || hl_str_eq(path, HL_STR("/readyz")) ||
           hl_str_eq(path, HL_STR("/metrics"));
}

/* What stands between a page that a browser shows and this listener. What an app does when it is
 * called with GET is not known here. */
static enum hl_refusal_cause find_barrier(
    const struct hl_admin_connection *c, const struct hl_head *head, struct hl_str path)
{
    const struct hl_config *config = c->home->view.config;
    bool changes = hl_admin_pass_is_call(path) || is_of_process(path) ||
                   (head->method_id != HL_METHOD_GET && head->method_id != HL_METHOD_HEAD);
    if (c->is_local)
        return HL_REFUSAL_NONE;
    if (!hl_hookline_hosts_have(config->admin_hosts, head->host))
        return HL_REFUSAL_ADMIN_HOST;
    if (changes && hl_hookline_hosts_is_cross_site(config->admin_hosts, head))
        return HL_REFUSAL_ADMIN_CROSS_SITE;
    return HL_REFUSAL_NONE;
}

static void take_head(struct hl_admin_connection *c, const struct hl_head *head)
{
    struct hl_str token;
    struct hl_target target;
    bool has_path = hl_target_split(head->target, &target);
    struct hl_str path = has_path ? target.path : (struct hl_str){NULL, 0};
    c->answer.refusal = (struct hl_refusal){.status = 0};
    c->answer.barrier = find_barrier(c, head, path);
    c->answer.token.n = 0;
    hl_last_event_read(&c->answer.last_event, head);
    if (hl_admin_pass_is_call(path) && !hl_admin_pass_take_head(c, head))
        c->answer.barrier = HL_REFUSAL_ADMIN_MEMORY;
    if (!asks_token(c, path))
        return;
    if (hl_credential_find(head, &token, &c->answer.refusal)) {
        c->answer.refusal.status = 0;
        if (hl_buf_append_str(&c->answer.token, token) != HL_OK)
            hl_refuse(&c->answer.refusal, HL_REFUSAL_NO_MEMORY);
    }
}

static void wipe_token(struct hl_admin_connection *c)
{
    if (c->answer.token.n > 0)
        explicit_bzero(c->answer.token.p, c->answer.token.n);
    c->answer.token.n = 0;
}

static void refuse_asker(struct hl_admin_connection *c, const struct hl_refusal *why)
{
    wipe_token(c);
    hl_admin_response_refuse(c, why);
}

/* True: `asker` may ask; else it is answered, or will be. */
static bool knows_asker(struct hl_admin_connection *c, struct hl_str path, struct hl_asker *asker)
{
    struct hl_auth_seat *seat = hl_rest_seat(c->home->view.rest);
    const struct hl_principal *who;
    enum hl_auth_verdict verdict = HL_AUTH_REFUSED;
    if (c->answer.refusal.status == 0)
        verdict = hl_auth_check(seat, hl_buf_str(&c->answer.token), hl_rest_project_of(path), &who,
            &c->answer.refusal, &c->answer.wait);
    if (verdict == HL_AUTH_REFUSED)
        refuse_asker(c, &c->answer.refusal);
    else if (verdict == HL_AUTH_PENDING)
        c->state = HL_ADMIN_ANSWER;
    if (verdict != HL_AUTH_GRANTED)
        return false;
    wipe_token(c);
    hl_asker_init(asker, who);
    return true;
}

static void answer(struct hl_admin_connection *c);

static void on_checked(struct hl_auth_wait *wait)
{
    struct hl_admin_connection *c = HL_CONTAINER_OF(wait, struct hl_admin_connection, answer.wait);
    answer(c);
    hl_admin_connection_go_on(c);
}

static void ask_rest(
    struct hl_admin_connection *c, const struct hl_target *target, const struct hl_asker *asker);

/* It has a fault: nothing of it counts. */
static void refuse(struct hl_admin_connection *c, const struct hl_refusal *why)
{
    c->must_close = true;
    c->minor = 1;
    hl_admin_response_refuse(c, why);
}

static void answer(struct hl_admin_connection *c)
{
    struct hl_target target;
    struct hl_asker asker = {.role = HL_ROLE_INVOKE};
    if (!hl_target_split(hl_buf_str(&c->target), &target)) {
        refuse(c, hl_refusal_make(HL_REFUSAL_TARGET_NO_PATH));
        return;
    }
    if (c->answer.barrier != HL_REFUSAL_NONE && !is_public(target.path)) {
        refuse_asker(c, hl_refusal_make(c->answer.barrier));
        return;
    }
    if (hl_admin_pass_is_call(target.path)) {
        hl_admin_pass_call(c, target.path);
        return;
    }
    if (asks_token(c, target.path) && !knows_asker(c, target.path, &asker))
        return;
    if (hl_admin_pass_is_listing(target.path)) {
        hl_admin_pass_list(c);
        return;
    }
    struct hl_api_request request = {.method = c->method,
        .path = target.path,
        .query = target.query,
        .is_open = c->is_open,
        .accepts_gzip = c->accepts_gzip,
        .if_none_match = hl_str_from(c->tags)};
    if (is_of_process(target.path) || (is_rest(target.path) && !hl_api_has(target.path))) {
        ask_rest(c, &target, &asker);
        return;
    }
    struct hl_api_response response = {.status = 500};
    hl_api_answer(&c->home->view, &request, &response);
    hl_admin_response_write(c, &response);
    hl_buf_fini(&response.body);
}

/* ---- the REST interface ---- */

static void on_reply(struct hl_rest_call *call);

/* What stands before a proxy of ours is not known here: it is the peer. */
static void note_way(struct hl_admin_connection *c, struct hl_asker *asker)
{
    struct sockaddr_storage peer;
    int n = sizeof(peer);
    struct hl_ip ip;
    asker->via = c->is_local ? "control_socket" : "admin_listener";
    asker->has_uid = c->is_local;
    asker->uid = c->uid;
    if (!c->is_local && uv_tcp_getpeername(&c->stream.tcp, (struct sockaddr *)&peer, &n) == 0 &&
        hl_ip_from_sockaddr((const struct sockaddr *)&peer, &ip))
        hl_ip_format(&ip, asker->from);
}

static void ask_rest(
    struct hl_admin_connection *c, const struct hl_target *target, const struct hl_asker *asker)
{
    c->answer.call = (struct hl_rest_call){.method = c->method,
        .path = target->path,
        .query = target->query,
        .body = hl_buf_str(&c->body),
        .is_operator = !asks_token(c, target->path),
        .asker = *asker,
        .last_event = &c->answer.last_event,
        .on_reply = on_reply};
    note_way(c, &c->answer.call.asker);
    c->state = HL_ADMIN_ANSWER;
    c->answer.is_asking = c->answer.is_inside = true;
    hl_rest_begin(c->home->view.rest, &c->answer.call);
    c->answer.is_inside = false;
}

/* Whoever called us reads on, unless it is the mailbox. */
static void go_on(struct hl_admin_connection *c)
{
    if (!c->answer.is_inside)
        hl_admin_connection_go_on(c);
}

static void on_reply(struct hl_rest_call *call)
{
    struct hl_admin_connection *c = HL_CONTAINER_OF(call, struct hl_admin_connection, answer.call);
    struct hl_reply_writing how = {.closes = c->must_close,
        .is_head_request = c->method == HL_METHOD_HEAD,
        .caller_minor = c->minor};
    struct hl_buf out;
    hl_buf_init(&out, 0);
    c->answer.is_asking = false;
    if (call->reply.follow) {
        struct hl_follow *grant = call->reply.follow;
        call->reply.follow = NULL;
        hl_reply_fini(&call->reply);
        hl_admin_follow_begin(c, grant);
        go_on(c);
        return;
    }
    struct hl_taste taste = hl_admin_response_taste(c);
    hl_representation_choose(&call->reply, &taste);
    enum hl_err err = hl_reply_write(&call->reply, &how, &out);
    bool has_file = hl_reply_has_file(&call->reply) && !how.is_head_request;
    if (err == HL_OK && has_file) {
        hl_admin_file_begin(c, out, &call->reply.file);
        hl_reply_fini(&call->reply);
        go_on(c);
        return;
    }
    if (err == HL_OK)
        err = hl_stream_write(&c->stream, out.p, out.n);
    hl_buf_fini(&out);
    hl_reply_fini(&call->reply);
    if (err == HL_OK)
        hl_admin_response_end(c);
    else
        hl_admin_connection_close(c);
    go_on(c);
}

/* ---- others answer ---- */

static void on_drained(struct hl_admin_connection *c)
{
    hl_admin_file_drained(c);
    hl_admin_follow_drained(c);
    hl_admin_pass_drained(c);
}

static void abandon(struct hl_admin_connection *c)
{
    if (c->answer.is_asking)
        hl_rest_abandon(&c->answer.call);
    c->answer.is_asking = false;
    hl_auth_cancel(&c->answer.wait);
    wipe_token(c);
    hl_buf_fini(&c->answer.token);
    hl_admin_pass_drop(c);
    hl_admin_follow_drop(c);
    hl_admin_file_drop(c);
}

const struct hl_admin_responder hl_admin_answers = {
    .begin = begin,
    .take_head = take_head,
    .answer = answer,
    .refuse = refuse,
    .drained = on_drained,
    .abandon = abandon,
};
