/* rest_audit.c - who changed what: what is known of who asks for a change, and of what, before it is made; and the list.
 * Thread: control.
 * Promise: a change by an admin that is one of the store carries its row (store/audit.h); of any other the row is
 * written behind it, and the line in the log comes in any case.
 * Not here: which routes change something (rest_route.c), what a row is as text (audit.c). */
#include "api/rest_handler.h"

#include <stdlib.h>
#include <string.h>

#include "api/audit.h"
#include "api/json.h"
#include "base/clock.h"
#include "run/recent_run.h"
#include "store/account.h"
#include "store/question.h"

/* ---- what is known before ---- */

static void gather(struct hl_rest_call *call);

static struct hl_id behind(struct hl_id id)
{
    for (size_t i = sizeof(id.b); i-- > 0 && ++id.b[i] == 0;)
        continue;
    return id;
}

bool hl_rest_ask_account(struct hl_rest_call *call, const struct hl_id *id, const char *project)
{
    struct hl_list_accounts *l = calloc(1, sizeof(*l));
    if (!l)
        return false;
    hl_str_put(l->project, sizeof(l->project), project);
    l->limit = 1;
    l->before = behind(*id);
    hl_rest_ask_store(call, HL_STORE_LIST_ACCOUNTS, &l->m);
    return true;
}

static bool ask_run(struct hl_rest_call *call)
{
    struct hl_get_run *g = calloc(1, sizeof(*g));
    if (!g)
        return false;
    g->run_id = call->id;
    hl_str_put(g->project, sizeof(g->project), call->project);
    hl_str_put(g->app, sizeof(g->app), call->app);
    hl_rest_ask_store(call, HL_STORE_GET_RUN, &g->m);
    return true;
}

static bool ask_target(struct hl_rest_call *call)
{
    switch (call->audited.of) {
    case HL_REST_AUDITED_ACCOUNT:
        return hl_rest_ask_account(call, &call->id, call->project);
    case HL_REST_AUDITED_RUN:
        return ask_run(call);
    case HL_REST_AUDITED_DELIVERY:
        return *call->project ||
               hl_rest_ask_delivery(call, &call->id); /* else it has none that is not known */
    default:
        return true;
    }
}

void hl_rest_with_audit(
    struct hl_rest_call *call, enum hl_rest_audited_kind of, hl_rest_handler *then)
{
    const struct hl_asker *asker = &call->asker;
    if (call->part) {
        then(call);
        return;
    }
    call->audited.of = of;
    call->audited.then = then;
    hl_str_put(call->audited.project, sizeof(call->audited.project), call->project);
    bool is_asked =
        hl_id_is_nil(&asker->account) || hl_rest_ask_account(call, &asker->account, asker->project);
    call->audited.is_broken = !is_asked || !ask_target(call);
    hl_rest_then(call, gather);
}

/* What is answered of the account; NULL: it is not there. */
const struct hl_account *hl_rest_find_account(
    const struct hl_rest_call *call, const struct hl_id *id)
{
    for (unsigned i = 0; i < call->answer_count; i++) {
        const struct hl_list_accounts *l = (const struct hl_list_accounts *)call->answers[i];
        if (l->m.msg.type == HL_STORE_LIST_ACCOUNTS && l->m.rc == HL_OK && l->count > 0 &&
            hl_id_eq(&l->rows[0].id, id))
            return &l->rows[0];
    }
    return NULL;
}

static const struct hl_store_msg *find_answer(const struct hl_rest_call *call, uint32_t type)
{
    for (unsigned i = 0; i < call->answer_count; i++)
        if (call->answers[i]->msg.type == type)
            return call->answers[i];
    return NULL;
}

static void note_project(struct hl_rest_call *call, struct hl_str project)
{
    hl_str_put_cut(call->audited.project, sizeof(call->audited.project), project);
}

/* False: out of memory. */
static bool note_author(struct hl_rest_call *call)
{
    const struct hl_asker *asker = &call->asker;
    const struct hl_account *account =
        hl_id_is_nil(&asker->account) ? NULL : hl_rest_find_account(call, &asker->account);
    struct hl_audit_author author = {.account = asker->account,
        .account_name = account ? hl_str_from(account->name) : HL_STR(""),
        .subject = hl_id_is_nil(&asker->account) ? hl_str_from(asker->subject) : HL_STR(""),
        .has_uid = asker->has_uid,
        .uid = asker->uid,
        .via = asker->via ? asker->via : "command",
        .from = hl_str_from(asker->from)};
    json_decref(call->audited.author);
    call->audited.author = hl_audit_author_json(&author);
    return call->audited.author;
}

static void note_target(struct hl_rest_call *call)
{
    const struct hl_get_run *run = (const struct hl_get_run *)find_answer(call, HL_STORE_GET_RUN);
    const struct hl_get_delivery *delivery =
        (const struct hl_get_delivery *)find_answer(call, HL_STORE_GET_DELIVERY);
    const struct hl_account *account =
        call->audited.of == HL_REST_AUDITED_ACCOUNT ? hl_rest_find_account(call, &call->id) : NULL;
    struct hl_str asker = {call->asker.identity, call->asker.identity_n};
    if (account) {
        note_project(call, hl_str_from(account->project));
        hl_str_put(call->audited.name, sizeof(call->audited.name), account->name);
        call->audited.is_so = account->revoked_ms > 0;
    }
    if (run && run->m.rc == HL_OK) {
        note_project(call, run->run.project);
        hl_str_put_cut(call->audited.name, sizeof(call->audited.name), run->run.app);
        call->audited.is_own = asker.n > 0 && hl_str_eq(asker, run->run.identity);
    }
    if (delivery && delivery->m.rc == HL_OK)
        note_project(call, delivery->delivery.project);
}

static void go_on(struct hl_rest_call *call)
{
    hl_rest_drop_answers(call);
    call->audited.then(call);
}

/* A run that the store does not know may be a worker's. */
static void note_recent(struct hl_rest_call *call)
{
    const struct hl_recent_ask *found = hl_rest_recent(call);
    if (found) {
        const struct hl_recent_run *run = &found->rows[0];
        note_project(call, hl_recent_project(run));
        hl_str_put_cut(call->audited.name, sizeof(call->audited.name), hl_recent_app(run));
        call->audited.is_own = call->asker.identity_n > 0 && run->owner != 0 &&
                               call->asker.identity_hash == run->owner;
    }
    go_on(call);
}

static void gather(struct hl_rest_call *call)
{
    const struct hl_store_msg *run = find_answer(call, HL_STORE_GET_RUN);
    for (unsigned i = 0; i < call->answer_count; i++) {
        enum hl_err rc = call->answers[i]->rc;
        if (rc != HL_OK && rc != HL_ERR_NOT_FOUND) {
            hl_rest_refuse_store(call, rc, "change");
            return;
        }
    }
    if (call->audited.is_broken || !note_author(call)) {
        hl_rest_refuse_memory(call);
        return;
    }
    note_target(call);
    if (run && run->rc == HL_ERR_NOT_FOUND)
        hl_rest_ask_recent(call, note_recent);
    else
        go_on(call);
}

/* ---- rows ---- */

struct hl_audit *hl_rest_audit(
    struct hl_rest_call *call, enum hl_audit_action action, json_t *target, json_t *detail)
{
    int64_t now_ms = hl_clock_wall_ms();
    struct hl_audit what = {
        .id = hl_id_next(&call->all->ids, now_ms), .action = action, .count = -1};
    hl_str_put(what.project, sizeof(what.project), call->audited.project);
    return hl_audit_make(&what, call->audited.author, target, detail);
}

struct hl_audit *hl_rest_audit_target(
    struct hl_rest_call *call, enum hl_audit_action action, const char *kind, json_t *detail)
{
    return hl_rest_audit(call, action,
        hl_audit_target_json(kind, &call->id, hl_str_from(call->audited.name)), detail);
}

bool hl_rest_ask_audit(struct hl_rest_call *call, struct hl_audit *audit)
{
    struct hl_store_msg *m = audit ? calloc(1, sizeof(*m)) : NULL;
    if (!m) {
        free(audit);
        return false;
    }
    m->audit = audit;
    hl_rest_ask_store(call, HL_STORE_AUDIT, m);
    return true;
}

/* ---- the list ---- */

static void write_list(struct hl_rest_call *call);

void hl_rest_list_audit(struct hl_rest_call *call)
{
    const struct hl_rest_params *p = &call->params;
    struct hl_list_audit *l = calloc(1, sizeof(*l));
    if (!l) {
        hl_rest_refuse_memory(call);
        return;
    }
    hl_str_put(l->project, sizeof(l->project), call->project);
    l->action = p->action;
    l->since_ms = p->since_ms;
    l->until_ms = p->until_ms;
    l->limit = p->limit;
    l->before = p->cursor;
    hl_rest_ask_store(call, HL_STORE_LIST_AUDIT, &l->m);
    hl_rest_then(call, write_list);
}

static void write_list(struct hl_rest_call *call)
{
    const struct hl_list_audit *l = (const struct hl_list_audit *)call->answers[0];
    if (l->m.rc != HL_OK) {
        hl_rest_refuse_store(call, l->m.rc, "audit");
        return;
    }
    json_t *rows = json_array();
    bool is_whole = rows != NULL;
    for (size_t i = 0; is_whole && i < l->count; i++)
        is_whole = hl_json_push(rows, hl_audit_json(l->rows[i]));
    if (!is_whole) {
        json_decref(rows);
        hl_rest_refuse_memory(call);
        return;
    }
    json_t *cursor = l->has_more ? hl_json_id(&l->next) : json_null();
    hl_rest_end_json(call, 200, HL_JSON_OBJECT({"audit", rows}, {"next_cursor", cursor}));
}
