/* rest_call.c - the REST interface's calls in flight: what they asked, and who goes on when it
 * answered.
 * Owns: the names of the calls. Thread: control.
 * Promise: a call is answered once, or abandoned; an answer for one that has gone is freed.
 * Not here: which handler a request has (rest_route.c), what handlers do (rest_run.c, …), the mailbox
 * (rest.c). */
#include "api/rest_call.h"

#include <stdlib.h>
#include <string.h>

#include "api/audit.h"
#include "api/json.h"
#include "app/exchange.h"
#include "auth/auth.h"
#include "run/recent_run.h"
#include "run/service.h"
#include "store/accept.h"
#include "store/account.h"
#include "store/audit.h"
#include "store/body_file.h"
#include "store/claim.h"
#include "store/job.h"
#include "store/lease.h"
#include "store/op.h"
#include "store/operation.h"
#include "store/question.h"
#include "webhook/direct.h"
#include "webhook/sender.h"
#include "worker/worker.h"

void hl_rest_calls_init(
    struct hl_rest_calls *calls, const struct hl_rest_parts *parts, struct hl_mailbox *mail)
{
    *calls = (struct hl_rest_calls){.parts = *parts, .mail = mail};
    hl_slot_table_init(&calls->slots);
    hl_list_init(&calls->list);
    hl_id_source_init(&calls->ids);
}

void hl_rest_calls_fini(struct hl_rest_calls *calls)
{
    hl_slot_table_fini(&calls->slots);
}

const struct hl_rest_parts *hl_rest_get_parts(const struct hl_rest_call *call)
{
    return &call->all->parts;
}

/* ---- a call begins ---- */

bool hl_rest_call_add(struct hl_rest_calls *calls, struct hl_rest_call *call)
{
    call->all = calls;
    hl_rest_wait_init(&call->wait);
    hl_list_push_back(&calls->list, &call->node);
    call->name = hl_slot_add(&calls->slots, call);
    return call->name.generation != 0;
}

/* ---- questions ---- */

static void keep_answer(struct hl_rest_call *call, struct hl_store_msg *m)
{
    if (!call->on_stored && call->answer_count < HL_REST_STORE_ANSWERS) {
        call->answers[call->answer_count++] = m;
        return;
    }
    if (call->on_stored)
        call->on_stored(call, m);
    hl_rest_answer_free(&m->msg);
}

static struct hl_get_run *get_run(const struct hl_rest_call *call)
{
    struct hl_get_run *g = calloc(1, sizeof(*g));
    if (!g)
        return NULL;
    g->run_id = call->id;
    hl_str_put(g->project, sizeof(g->project), call->project);
    hl_str_put(g->app, sizeof(g->app), call->app);
    return g;
}

struct hl_get_run *hl_rest_get_run(struct hl_rest_call *call)
{
    struct hl_get_run *g = get_run(call);
    if (!g)
        hl_rest_refuse_memory(call);
    return g;
}

void hl_rest_ask_store(struct hl_rest_call *call, uint32_t type, struct hl_store_msg *m)
{
    struct hl_rest_calls *all = call->all;
    m->msg.type = type;
    m->reply_to = all->mail;
    m->from = call->name;
    call->outstanding++;
    enum hl_err err = hl_store_post(all->parts.store, m);
    if (err == HL_OK)
        return;
    m->rc = err;
    call->outstanding--;
    keep_answer(call, m);
}

void hl_rest_ask_sender(struct hl_rest_call *call, struct hl_direct *direct)
{
    direct->reply_to = call->all->mail;
    direct->from = call->name;
    call->outstanding++;
    call->all->tests.under_way++;
    hl_sender_send(call->all->parts.sender, direct);
}

void hl_rest_ask_workers(struct hl_rest_call *call, const struct hl_recent_ask *ask)
{
    struct hl_rest_calls *all = call->all;
    struct hl_service *service = all->parts.service;
    for (uint32_t i = 0; service && i < service->worker_count; i++) {
        uint64_t bit = UINT64_C(1) << i % 64;
        struct hl_recent_ask *copy = malloc(sizeof(*copy));
        if (all->ended[i / 64] & bit || !copy) {
            free(copy);
            continue;
        }
        *copy = *ask;
        copy->reply_to = all->mail;
        copy->from = call->name;
        copy->worker = i;
        call->asked[i / 64] |= bit;
        call->outstanding++;
        hl_worker_ask(service->workers[i], copy);
    }
}

void hl_rest_ask_recent(struct hl_rest_call *call, void (*step)(struct hl_rest_call *call))
{
    struct hl_recent_ask ask = {.question = HL_RECENT_GET, .id = call->id};
    hl_str_put(ask.project, sizeof(ask.project), call->project);
    hl_str_put(ask.app, sizeof(ask.app), call->app);
    hl_rest_ask_workers(call, &ask);
    hl_rest_then(call, step);
}

const struct hl_recent_ask *hl_rest_recent(const struct hl_rest_call *call)
{
    for (const struct hl_msg *m = call->recent; m; m = m->next) {
        const struct hl_recent_ask *ask = (const struct hl_recent_ask *)m;
        if (ask->rc == HL_OK)
            return ask;
    }
    return NULL;
}

void hl_rest_then(struct hl_rest_call *call, void (*step)(struct hl_rest_call *call))
{
    call->step = step;
    if (call->outstanding == 0)
        step(call);
}

/* ---- answers ---- */

void hl_rest_answer_free(struct hl_msg *msg)
{
    if (msg->type != HL_WORKER_RECENT) {
        free(((struct hl_store_msg *)msg)->audit);
        ((struct hl_store_msg *)msg)->audit = NULL;
    }
    switch (msg->type) {
    case HL_STORE_ACCEPT:
        hl_accept_free((struct hl_accept *)msg);
        return;
    case HL_STORE_RESEND:
        hl_resend_free((struct hl_resend *)msg);
        return;
    case HL_STORE_CANCEL:
        free(((struct hl_run_ref *)msg)->order);
        break;
    case HL_STORE_KEEP_SETTINGS:
        hl_keep_settings_fini((struct hl_keep_settings *)msg);
        break;
    case HL_STORE_ADD_JOB:
        hl_add_job_fini((struct hl_add_job *)msg);
        break;
    case HL_STORE_KEEP_JOB:
        hl_keep_job_fini((struct hl_keep_job *)msg);
        break;
    case HL_WORKER_RECENT:
        hl_recent_ask_free((struct hl_recent_ask *)msg);
        return;
    default:
        hl_operation_clear((struct hl_store_msg *)msg);
        break;
    }
    free(msg);
}

static void go_on(struct hl_rest_call *call)
{
    call->outstanding--;
    if (call->outstanding == 0)
        call->step(call);
}

static void take_recent(struct hl_rest_calls *calls, struct hl_recent_ask *ask)
{
    struct hl_rest_call *call = hl_slot_find(&calls->slots, ask->from);
    uint64_t bit = UINT64_C(1) << ask->worker % 64;
    if (!call || !(call->asked[ask->worker / 64] & bit)) {
        hl_recent_ask_free(ask);
        return;
    }
    call->asked[ask->worker / 64] &= ~bit;
    ask->msg.next = call->recent;
    call->recent = &ask->msg;
    go_on(call);
}

static void take_direct(struct hl_rest_calls *calls, struct hl_direct *direct)
{
    struct hl_rest_call *call = hl_slot_find(&calls->slots, direct->from);
    calls->tests.under_way--;
    if (!call) {
        hl_direct_free(direct);
        return;
    }
    call->direct = direct;
    go_on(call);
}

static void drop_unkept_file(struct hl_rest_calls *calls, const struct hl_accept *a)
{
    const char *data_dir = hl_store_data_dir(calls->parts.store);
    if (data_dir && a->body.where == HL_BODY_FILE && !a->borrows_file &&
        !hl_store_keeps_file(a->m.rc))
        hl_body_file_remove(data_dir, &a->body.file);
}

/* What the store says has happened holds, whether or not somebody still waits to hear it. */
static void apply(struct hl_rest_calls *calls, struct hl_store_msg *m)
{
    if (calls->parts.service) /* a command without a sidecar has no log */
        hl_audit_log_answer(m);
    if (m->rc == HL_OK && m->msg.type == HL_STORE_REVOKE_ACCOUNT)
        hl_auth_revoke(calls->parts.auth, &((const struct hl_revoke_account *)m)->id);
    if (m->rc == HL_OK && m->msg.type == HL_STORE_LIMIT_ACCOUNT)
        hl_auth_limit(calls->parts.auth, &((const struct hl_limit_account *)m)->account);
    if (m->msg.type == HL_STORE_ACCEPT)
        drop_unkept_file(calls, (const struct hl_accept *)m);
}

void hl_rest_calls_drop(struct hl_rest_calls *calls, struct hl_msg *msg)
{
    if (msg->type == HL_DIRECT) {
        hl_direct_free(HL_CONTAINER_OF(msg, struct hl_direct, msg));
        return;
    }
    if (msg->type != HL_WORKER_RECENT && calls->parts.service)
        hl_audit_log_answer(HL_CONTAINER_OF(msg, struct hl_store_msg, msg));
    hl_rest_answer_free(msg);
}

static void take_stored(struct hl_rest_calls *calls, struct hl_store_msg *m)
{
    apply(calls, m);
    struct hl_rest_call *call = hl_slot_find(&calls->slots, m->from);
    if (m->msg.type == HL_STORE_WATCH || m->msg.type == HL_STORE_UNWATCH) {
        enum hl_err rc = m->rc;
        bool is_watch = m->msg.type == HL_STORE_WATCH;
        bool is_ours = !is_watch && hl_id_is_nil(&((const struct hl_watch *)m)->run_id);
        free(m);
        if (call && is_watch)
            hl_rest_wait_on_watch(&call->wait, rc);
        else if (call && is_ours)
            hl_rest_wait_on_watched(&call->wait);
        return;
    }
    if (!call || (!call->on_stored && call->answer_count == HL_REST_STORE_ANSWERS)) {
        hl_rest_answer_free(&m->msg);
        return;
    }
    keep_answer(call, m);
    go_on(call);
}

void hl_rest_calls_take(struct hl_rest_calls *calls, struct hl_msg *msg)
{
    if (msg->type == HL_DIRECT)
        take_direct(calls, HL_CONTAINER_OF(msg, struct hl_direct, msg));
    else if (msg->type == HL_WORKER_RECENT)
        take_recent(calls, HL_CONTAINER_OF(msg, struct hl_recent_ask, msg));
    else
        take_stored(calls, HL_CONTAINER_OF(msg, struct hl_store_msg, msg));
}

void hl_rest_calls_worker_ended(struct hl_rest_calls *calls, uint32_t index)
{
    uint64_t bit = UINT64_C(1) << index % 64;
    calls->ended[index / 64] |= bit;
    HL_LIST_EACH_SAFE (node, &calls->list) {
        struct hl_rest_call *call = HL_CONTAINER_OF(node, struct hl_rest_call, node);
        if (!(call->asked[index / 64] & bit))
            continue;
        call->asked[index / 64] &= ~bit;
        go_on(call);
    }
}

/* ---- a call ends ---- */

void hl_rest_drop_answers(struct hl_rest_call *call)
{
    for (unsigned i = 0; i < call->answer_count; i++)
        hl_rest_answer_free(&call->answers[i]->msg);
    call->answer_count = 0;
    while (call->recent) {
        struct hl_msg *next = call->recent->next;
        hl_rest_answer_free(call->recent);
        call->recent = next;
    }
}

/* All but the reply. */
static void release(struct hl_rest_call *call)
{
    hl_list_remove(&call->node);
    hl_rest_wait_leave(&call->wait);
    call->all->tails -= call->tail && call->look.on_fire;
    if (call->look.on_fire)
        hl_timer_fini(&call->all->waits.wheel, &call->look);
    call->until_ms = 0;
    call->look.on_fire = NULL;
    hl_exchange_drop(call->listing);
    call->listing = NULL;
    hl_slot_remove(&call->all->slots, call->name);
    hl_rest_drop_answers(call);
    if (call->drop)
        call->drop(call);
    call->drop = NULL;
    free(call->named);
    call->named = NULL;
    hl_direct_free(call->direct);
    call->direct = NULL;
    free(call->tail);
    call->tail = NULL;
    free(call->log_page);
    call->log_page = NULL;
    json_decref(call->audited.author);
    call->audited.author = NULL;
}

void hl_rest_end(struct hl_rest_call *call)
{
    release(call);
    call->on_reply(call);
}

void hl_rest_end_json(struct hl_rest_call *call, uint16_t status, json_t *value)
{
    call->reply.status = status;
    call->reply.is_json = true;
    hl_str_put(call->reply.content_type, sizeof(call->reply.content_type), "application/json");
    if (hl_json_write(value, &call->reply.body) == HL_OK)
        hl_rest_end(call);
    else
        hl_rest_refuse_memory(call);
}

void hl_rest_abandon(struct hl_rest_call *call)
{
    release(call);
    hl_reply_fini(&call->reply);
}

void hl_rest_refuse(struct hl_rest_call *call, enum hl_refusal_cause cause)
{
    hl_reply_refuse(&call->reply, hl_refusal_make(cause));
    hl_rest_end(call);
}

void hl_rest_refuse_saying(struct hl_rest_call *call, enum hl_refusal_cause cause, ...)
{
    char detail[HL_REPLY_DETAIL_MAX + 1];
    va_list texts;
    va_start(texts, cause);
    struct hl_refusal why = hl_refusal_vsay(detail, sizeof(detail), cause, texts);
    va_end(texts);
    hl_reply_refuse(&call->reply, &why);
    hl_rest_end(call);
}

void hl_rest_refuse_memory(struct hl_rest_call *call)
{
    hl_rest_refuse(call, HL_REFUSAL_NO_MEMORY);
}

void hl_rest_refuse_store(struct hl_rest_call *call, enum hl_err rc, const char *what)
{
    switch (rc) {
    case HL_ERR_NOT_FOUND:
        if (strcmp(what, "run") == 0 && hl_store_is_shared(hl_rest_get_parts(call)->store))
            hl_rest_refuse(call, HL_REFUSAL_REST_RUN_NOT_FOUND);
        else
            hl_rest_refuse_saying(call, HL_REFUSAL_REST_NOT_FOUND, what, NULL);
        break;
    case HL_ERR_NOMEM:
        hl_rest_refuse_memory(call);
        break;
    case HL_ERR_BUSY:
        hl_rest_refuse(call, HL_REFUSAL_REST_STORE_BUSY);
        break;
    case HL_ERR_EXHAUSTED:
        hl_rest_refuse(call, HL_REFUSAL_NO_DESCRIPTOR);
        break;
    case HL_ERR_FULL:
        hl_rest_refuse(call, HL_REFUSAL_REST_STORE_FULL);
        break;
    default:
        hl_rest_refuse(call, HL_REFUSAL_REST_STORE_FAILING);
        break;
    }
}

/* ---- waiting for the run's end before it is answered: the store has the run watched before it is asked how the
 * run stands, so that an end between the two is seen twice, never missed. Questions go another way than watches,
 * and would overtake them ---- */

static void finish(struct hl_rest_call *call)
{
    call->wait.on_over = call->wait.on_watched = NULL;
    hl_rest_wait_leave(&call->wait);
    hl_rest_drop_answers(call);
    call->after_wait(call);
}

static void on_over(struct hl_rest_wait *wait)
{
    finish(HL_CONTAINER_OF(wait, struct hl_rest_call, wait));
}

/* What is no run of the store's is not waited for: it says so itself. */
static void look(struct hl_rest_call *call)
{
    const struct hl_get_run *g = (const struct hl_get_run *)call->answers[0];
    if (g->m.rc != HL_OK || hl_run_state_is_final(g->run.state) || call->wait.is_over)
        finish(call);
    else
        call->wait.on_over = on_over;
}

static void ask(struct hl_rest_wait *wait)
{
    struct hl_rest_call *call = HL_CONTAINER_OF(wait, struct hl_rest_call, wait);
    struct hl_get_run *g = get_run(call);
    wait->on_watched = NULL;
    if (!g) {
        finish(call);
        return;
    }
    hl_rest_ask_store(call, HL_STORE_GET_RUN, &g->m);
    hl_rest_then(call, look);
}

void hl_rest_wait_for_run(struct hl_rest_call *call, hl_rest_handler *then)
{
    uint64_t ms = call->params.wait_ms;
    struct hl_str subject = hl_str_from(call->asker.subject);
    call->after_wait = then;
    call->wait.on_watched = ask;
    if (ms == 0 ||
        !hl_rest_wait_begin(&call->wait, &call->all->waits, call->name, &call->id, subject, ms))
        then(call);
    else if (call->wait.is_over)
        finish(call);
}
