/* rest_account.c - service accounts: listed, made with a token that is shown once, limited, revoked.
 * Thread: control.
 * Promise: a token is given out when its account is on disk, and a revocation is answered when it is
 * on disk and holds in every thread.
 * Not here: what a token is (auth/). */
#include "api/rest_handler.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "api/audit.h"
#include "api/json.h"
#include "api/rest_param.h"
#include "auth/auth.h"
#include "auth/issuer.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/priority.h"
#include "base/rate.h"
#include "base/str.h"
#include "base/utf8.h"
#include "http/refusal.h"
#include "store/account.h"

/* ---- limits as JSON: numbers, a rate, a class; null where there is none ---- */

/* ---- shown ---- */

static json_t *number_json(uint32_t number)
{
    return number > 0 ? json_integer(number) : json_null();
}

static json_t *rate_json(struct hl_rate rate)
{
    char text[HL_RATE_TEXT];
    hl_rate_format(rate, text);
    return *text ? json_string(text) : json_null();
}

/* The account's object gets their members; takes the reference. NULL: out of memory. */
static json_t *show_limits(json_t *account, const struct hl_limits *limits)
{
    json_t *values[HL_LIMIT_COUNT] = {
        [HL_LIMIT_MAX_RUNNING] = number_json(limits->max_running),
        [HL_LIMIT_MAX_QUEUED] = number_json(limits->max_queued),
        [HL_LIMIT_RATE] = rate_json(limits->rate),
        [HL_LIMIT_MAX_PRIORITY] = json_string(hl_priority_text(limits->max_priority)),
    };
    bool is_whole = account != NULL;
    for (int i = 0; i < HL_LIMIT_COUNT; i++) /* each is taken, whatever becomes of it */
        is_whole &=
            json_object_set_new_nocheck(account, hl_limit_text((enum hl_limit)i), values[i]) == 0;
    if (is_whole)
        return account;
    json_decref(account);
    return NULL;
}

/* ---- read ---- */

static enum hl_refusal_cause read_number(const json_t *value, uint32_t *out)
{
    *out = 0;
    if (json_is_null(value))
        return HL_REFUSAL_NONE;
    json_int_t number = json_integer_value(value); /* 0: it is none */
    if (number < 1 || number > HL_LIMIT_MAX)
        return HL_REFUSAL_LIMIT_NUMBER;
    *out = (uint32_t)number;
    return HL_REFUSAL_NONE;
}

static enum hl_refusal_cause read_rate(const json_t *value, struct hl_rate *out)
{
    *out = (struct hl_rate){0};
    if (json_is_null(value) || (json_is_string(value) && hl_rate_parse(hl_json_str(value), out)))
        return HL_REFUSAL_NONE;
    return HL_REFUSAL_LIMIT_RATE;
}

static enum hl_refusal_cause read_priority(const json_t *value, enum hl_priority *out)
{
    *out = HL_LIMITS_NONE.max_priority;
    if (json_is_null(value) ||
        (json_is_string(value) && hl_priority_parse(hl_json_str(value), out)))
        return HL_REFUSAL_NONE;
    return HL_REFUSAL_LIMIT_PRIORITY;
}

static enum hl_refusal_cause read_limit(
    enum hl_limit limit, const json_t *value, struct hl_limits *to)
{
    switch (limit) {
    case HL_LIMIT_MAX_RUNNING:
        return read_number(value, &to->max_running);
    case HL_LIMIT_MAX_QUEUED:
        return read_number(value, &to->max_queued);
    case HL_LIMIT_RATE:
        return read_rate(value, &to->rate);
    default:
        return read_priority(value, &to->max_priority);
    }
}

/* Reads those of the body's members that are limits; `*count`: how many. NONE, or what is wrong with the
 * member `*name`. */
static enum hl_refusal_cause read_limits(
    const json_t *body, struct hl_limits_change *change, size_t *count, const char **name)
{
    *count = 0;
    *change = (struct hl_limits_change){.to = HL_LIMITS_NONE};
    for (int i = 0; i < HL_LIMIT_COUNT; i++) {
        *name = hl_limit_text((enum hl_limit)i);
        const json_t *value = json_object_get(body, *name);
        if (!value)
            continue;
        enum hl_refusal_cause why = read_limit((enum hl_limit)i, value, &change->to);
        if (why)
            return why;
        change->which |= 1u << i;
        ++*count;
    }
    return HL_REFUSAL_NONE;
}

/* The first member that is no limit; NULL: there is none. */
static const char *other_than_limit(const json_t *body)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)body, name, value)
    {
        bool is_limit = false;
        for (int i = 0; i < HL_LIMIT_COUNT; i++)
            is_limit |= strcmp(name, hl_limit_text((enum hl_limit)i)) == 0;
        if (!is_limit)
            return name;
    }
    return NULL;
}

#define NAME_MAX_CHARACTERS 100
#define LIFETIME_MAX_MS     (HL_ACCOUNT_DAYS_MAX * INT64_C(24) * 3600 * 1000)

static json_t *account_json(const struct hl_account *a)
{
    json_t *account = HL_JSON_OBJECT({"id", hl_json_id(&a->id)},
        {"name", hl_json_text(hl_str_from(a->name))}, {"role", json_string(hl_role_text(a->role))},
        {"created_at", hl_json_time(a->created_ms)}, {"expires_at", hl_json_time(a->expires_ms)},
        {"last_used_at", hl_json_time(a->last_used_ms)},
        {"revoked_at", hl_json_time(a->revoked_ms)});
    return account ? show_limits(account, &a->limits) : NULL;
}

/* A list over all projects says which. */
static json_t *row_json(const struct hl_rest_call *call, const struct hl_account *a)
{
    json_t *row = account_json(a);
    if (*call->project || !row)
        return row;
    if (json_object_set_new_nocheck(row, "project_id", hl_json_text(hl_str_from(a->project))) == 0)
        return row;
    json_decref(row);
    return NULL;
}

/* ---- the list ---- */

static void write_list(struct hl_rest_call *call);

void hl_rest_list_accounts(struct hl_rest_call *call)
{
    struct hl_list_accounts *l = calloc(1, sizeof(*l));
    if (!l) {
        hl_rest_refuse_memory(call);
        return;
    }
    hl_str_put(l->project, sizeof(l->project), call->project);
    l->limit = call->params.limit;
    l->before = call->params.cursor;
    hl_rest_ask_store(call, HL_STORE_LIST_ACCOUNTS, &l->m);
    hl_rest_then(call, write_list);
}

static void write_list(struct hl_rest_call *call)
{
    const struct hl_list_accounts *l = (const struct hl_list_accounts *)call->answers[0];
    if (l->m.rc != HL_OK) {
        hl_rest_refuse_store(call, l->m.rc, "service account");
        return;
    }
    json_t *rows = json_array();
    bool is_whole = rows != NULL;
    for (size_t i = 0; is_whole && i < l->count; i++)
        is_whole = hl_json_push(rows, row_json(call, &l->rows[i]));
    if (!is_whole) {
        json_decref(rows);
        hl_rest_refuse_memory(call);
        return;
    }
    json_t *cursor = l->has_more ? hl_json_id(&l->next) : json_null();
    hl_rest_end_json(
        call, 200, HL_JSON_OBJECT({"service_accounts", rows}, {"next_cursor", cursor}));
}

/* ---- a new one ---- */

static void show_new(struct hl_rest_call *call);

static bool read_name(const json_t *value, char out[HL_ACCOUNT_NAME_MAX + 1])
{
    struct hl_str rest = hl_json_str(value);
    size_t n = 0;
    uint32_t code;
    if (!json_is_string(value) || rest.n > HL_ACCOUNT_NAME_MAX)
        return false;
    memcpy(out, rest.p, rest.n);
    out[rest.n] = '\0';
    for (size_t len; rest.n > 0; rest.p += len, rest.n -= len, n++) {
        len = hl_utf8_decode(rest.p, rest.n, &code);
        if (len == 0 || code < ' ' || (code >= 0x7f && code < 0xa0))
            return false;
    }
    return n >= 1 && n <= NAME_MAX_CHARACTERS;
}

static bool read_expiry(const json_t *value, int64_t now_ms, int64_t *ms)
{
    if (json_is_integer(value))
        *ms = json_integer_value(value);
    else if (!json_is_string(value) || !hl_rest_read_time(hl_json_str(value), ms))
        return false;
    return *ms > now_ms && *ms <= now_ms + LIFETIME_MAX_MS;
}

/* Why the body makes no account, for its member `*member`; NONE: it does, and `*a` is filled. */
static enum hl_refusal_cause read_body(
    const json_t *body, int64_t now_ms, struct hl_account *a, const char **member)
{
    const json_t *role = json_object_get(body, "role");
    struct hl_limits_change limits;
    size_t count;
    enum hl_refusal_cause why = read_limits(body, &limits, &count, member);
    if (why)
        return why;
    a->limits = limits.to;
    if (json_object_size(body) != (role ? 3u : 2u) + count || !json_object_get(body, "name") ||
        !json_object_get(body, "expires_at"))
        return HL_REFUSAL_ACCOUNT_MEMBERS;
    if (!read_name(json_object_get(body, "name"), a->name))
        return HL_REFUSAL_ACCOUNT_NAME;
    if (!read_expiry(json_object_get(body, "expires_at"), now_ms, &a->expires_ms))
        return HL_REFUSAL_ACCOUNT_EXPIRY;
    if (role && !(json_is_string(role) && hl_role_parse(hl_json_str(role), &a->role)))
        return HL_REFUSAL_ACCOUNT_ROLE;
    return HL_REFUSAL_NONE;
}

/* What cannot be signed yet is not made either: its token is shown this once. */
static void add_account(struct hl_rest_call *call);

void hl_rest_add_account(struct hl_rest_call *call)
{
    hl_rest_with_audit(call, HL_REST_AUDITED_NEW, add_account);
}

static json_t *made_json(const struct hl_account *a)
{
    return show_limits(HL_JSON_OBJECT({"role", json_string(hl_role_text(a->role))},
                           {"expires_at", hl_json_time(a->expires_ms)}),
        &a->limits);
}

/* Takes the message, whose account has its name, role, end and limits. False: refused, for want of memory. */
static bool ask_to_add(struct hl_rest_call *call, struct hl_add_account *add, int64_t now_ms)
{
    struct hl_id_source ids;
    hl_id_source_init(&ids);
    add->account.id = hl_id_next(&ids, now_ms);
    add->account.created_ms = now_ms;
    add->m.audit = hl_rest_audit(call, HL_AUDIT_ACCOUNT_MADE,
        hl_audit_target_json("account", &add->account.id, hl_str_from(add->account.name)),
        made_json(&add->account));
    if (!add->m.audit) {
        free(add);
        hl_rest_refuse_memory(call);
        return false;
    }
    hl_rest_ask_store(call, HL_STORE_ADD_ACCOUNT, &add->m);
    return true;
}

static void add_account(struct hl_rest_call *call)
{
    int64_t now_ms = hl_clock_wall_ms();
    struct hl_add_account *add = calloc(1, sizeof(*add));
    if (!add) {
        hl_rest_refuse_memory(call);
        return;
    }
    json_t *body = hl_json_read_object(call->body);
    const char *member = NULL;
    enum hl_refusal_cause why =
        body ? read_body(body, now_ms, &add->account, &member) : hl_json_no_object();
    json_decref(body);
    if (!why && !hl_auth_issuer(hl_rest_get_parts(call)->auth))
        why = HL_REFUSAL_REST_STORE_FAILING;
    if (why) {
        free(add);
        hl_rest_refuse_saying(call, why, member, NULL);
        return;
    }
    hl_str_put(add->account.project, sizeof(add->account.project), call->project);
    if (ask_to_add(call, add, now_ms))
        hl_rest_then(call, show_new);
}

static void show_new(struct hl_rest_call *call)
{
    const struct hl_add_account *add = (const struct hl_add_account *)call->answers[0];
    const struct hl_account *a = &add->account;
    struct hl_auth *auth = hl_rest_get_parts(call)->auth;
    if (add->m.rc != HL_OK) {
        hl_rest_refuse_store(call, add->m.rc, "service account");
        return;
    }
    struct hl_grant grant = {.account = a->id,
        .project = hl_str_from(a->project),
        .role = a->role,
        .issued_ms = a->created_ms,
        .expires_ms = a->expires_ms};
    struct hl_buf token;
    hl_buf_init(&token, HL_OWN_TOKEN_MAX);
    if (hl_issuer_sign(hl_auth_issuer(auth), &grant, &token) != HL_OK || !hl_auth_admit(auth, a)) {
        hl_buf_fini(&token);
        hl_rest_refuse_memory(call);
        return;
    }
    json_t *shown = account_json(a);
    if (shown && json_object_set_new_nocheck(shown, "token", hl_json_text(hl_buf_str(&token)))) {
        json_decref(shown);
        shown = NULL;
    }
    hl_buf_fini(&token);
    hl_rest_end_json(call, 201, shown);
}

/* ---- one that a link is of ---- */

enum hl_refusal_cause hl_rest_read_lasting(
    const json_t *body, int64_t most_ms, struct hl_account *account)
{
    int64_t now_ms = hl_clock_wall_ms();
    const json_t *name = json_object_get(body, "name");
    if (name && !read_name(name, account->name))
        return HL_REFUSAL_ACCOUNT_NAME;
    if (!read_expiry(json_object_get(body, "expires_at"), now_ms, &account->expires_ms) ||
        account->expires_ms > now_ms + most_ms)
        return HL_REFUSAL_SESSION_EXPIRY;
    return HL_REFUSAL_NONE;
}

void hl_rest_add_lasting(struct hl_rest_call *call, const struct hl_account *account,
    void (*then)(struct hl_rest_call *call))
{
    struct hl_add_account *add = calloc(1, sizeof(*add));
    if (!add) {
        hl_rest_refuse_memory(call);
        return;
    }
    add->account = *account;
    hl_str_put(add->account.project, sizeof(add->account.project), call->project);
    if (ask_to_add(call, add, hl_clock_wall_ms()))
        hl_rest_then(call, then);
}

/* ---- other limits ---- */

static void show_limited(struct hl_rest_call *call);

static enum hl_refusal_cause read_change(
    const json_t *body, struct hl_limits_change *change, const char **member)
{
    size_t count;
    enum hl_refusal_cause why = read_limits(body, change, &count, member);
    if (why)
        return why;
    *member = other_than_limit(body);
    return *member ? HL_REFUSAL_LIMIT_MEMBERS : HL_REFUSAL_NONE;
}

/* Those that are changed. */
static json_t *change_json(const struct hl_limits_change *change)
{
    json_t *all = show_limits(json_object(), &change->to);
    for (int i = 0; all && i < HL_LIMIT_COUNT; i++)
        if (!(change->which & 1u << i))
            json_object_del(all, hl_limit_text((enum hl_limit)i));
    return all;
}

static void limit_account(struct hl_rest_call *call);

void hl_rest_limit_account(struct hl_rest_call *call)
{
    hl_rest_with_audit(call, HL_REST_AUDITED_ACCOUNT, limit_account);
}

static void limit_account(struct hl_rest_call *call)
{
    struct hl_limit_account *l = calloc(1, sizeof(*l));
    if (!l) {
        hl_rest_refuse_memory(call);
        return;
    }
    json_t *body = hl_json_read_object(call->body);
    const char *member = NULL;
    enum hl_refusal_cause why = body ? read_change(body, &l->change, &member) : hl_json_no_object();
    if (why) {
        free(l);
        hl_rest_refuse_saying(call, why, member, NULL);
        json_decref(body); /* a member's name is its */
        return;
    }
    json_decref(body);
    l->id = call->id;
    hl_str_put(l->project, sizeof(l->project), call->project);
    if (l->change.which)
        l->m.audit = hl_rest_audit_target(
            call, HL_AUDIT_ACCOUNT_LIMITED, "account", change_json(&l->change));
    if (l->change.which && !l->m.audit) {
        free(l);
        hl_rest_refuse_memory(call);
        return;
    }
    hl_rest_ask_store(call, HL_STORE_LIMIT_ACCOUNT, &l->m);
    hl_rest_then(call, show_limited);
}

static void show_limited(struct hl_rest_call *call)
{
    const struct hl_limit_account *l = (const struct hl_limit_account *)call->answers[0];
    if (l->m.rc != HL_OK) {
        hl_rest_refuse_store(call, l->m.rc, "service account");
        return;
    }
    /* they hold everywhere already (rest_call.c) */
    hl_rest_end_json(call, 200, row_json(call, &l->account));
}

/* ---- the end of one ---- */

static void say_revoked(struct hl_rest_call *call);

static void revoke_account(struct hl_rest_call *call);

void hl_rest_revoke_account(struct hl_rest_call *call)
{
    hl_rest_with_audit(call, HL_REST_AUDITED_ACCOUNT, revoke_account);
}

static void revoke_account(struct hl_rest_call *call)
{
    struct hl_revoke_account *r = calloc(1, sizeof(*r));
    if (r && !call->audited.is_so)
        r->m.audit = hl_rest_audit_target(call, HL_AUDIT_ACCOUNT_REVOKED, "account", NULL);
    if (!r || (!r->m.audit && !call->audited.is_so)) {
        free(r);
        hl_rest_refuse_memory(call);
        return;
    }
    r->id = call->id;
    hl_str_put(r->project, sizeof(r->project), call->project);
    hl_rest_ask_store(call, HL_STORE_REVOKE_ACCOUNT, &r->m);
    hl_rest_then(call, say_revoked);
}

static void say_revoked(struct hl_rest_call *call)
{
    const struct hl_revoke_account *r = (const struct hl_revoke_account *)call->answers[0];
    if (r->m.rc != HL_OK) {
        hl_rest_refuse_store(call, r->m.rc, "service account");
        return;
    }
    /* it is refused everywhere already (rest_call.c) */
    call->reply.status = 204;
    hl_str_put(call->reply.content_type, sizeof(call->reply.content_type), "application/json");
    hl_rest_end(call);
}
