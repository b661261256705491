/* rest.c - the REST interface's calls in flight: what they asked, and who goes on when it answered.
 * Owns: the mailbox that answers come to, and the names of the calls. Thread: control.
 * Promise: a call is answered once, or abandoned; an answer for one that has gone is freed.
 * Not here: which handler a request has (rest_route.c), what handlers do (rest_run.c, …). */
#include "api/rest.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "auth/auth.h"

struct hl_rest {
    struct hl_rest_parts parts;
    struct hl_uv_mailbox mail;
    struct hl_slot_table slots;
    struct hl_list calls;
    uint64_t ended[4]; /* a bit for each worker */
    struct hl_auth_seat *seat;
};

static void on_message(void *self, struct hl_msg *msg);

struct hl_rest *hl_rest_new(uv_loop_t *loop, const struct hl_rest_parts *parts)
{
    struct hl_rest *rest = calloc(1, sizeof(*rest));
    if (!rest || hl_uv_mailbox_init(&rest->mail, loop, on_message, rest) != 0) {
        free(rest);
        return NULL;
    }
    rest->parts = *parts;
    hl_slot_table_init(&rest->slots);
    hl_list_init(&rest->calls);
    if (!parts->auth || !hl_auth_is_asked(parts->config))
        return rest;
    rest->seat = hl_auth_seat_new(parts->auth, &rest->mail.box);
    if (rest->seat)
        return rest;
    hl_rest_close(rest); /* the memory stays until the loop is over: the process ends */
    return NULL;
}

struct hl_auth_seat *hl_rest_seat(struct hl_rest *rest)
{
    return rest->seat;
}

struct hl_mailbox *hl_rest_mailbox(struct hl_rest *rest)
{
    return &rest->mail.box;
}

const struct hl_rest_parts *hl_rest_parts(const struct hl_rest *rest)
{
    return &rest->parts;
}

void hl_rest_keep_loop(struct hl_rest *rest, bool keeps)
{
    if (keeps)
        uv_ref((uv_handle_t *)&rest->mail.async);
    else
        uv_unref((uv_handle_t *)&rest->mail.async);
}

/* ---- a call begins ---- */

void hl_rest_begin(struct hl_rest *rest, struct hl_rest_call *call)
{
    call->rest = rest;
    hl_list_push_back(&rest->calls, &call->node);
    call->name = hl_slot_add(&rest->slots, call);
    if (call->name.generation == 0)
        hl_rest_refuse_memory(call);
    else
        hl_rest_route(call);
}

/* ---- questions ---- */

void hl_rest_ask_store(struct hl_rest_call *call, uint32_t type, struct hl_store_msg *m)
{
    struct hl_rest *rest = call->rest;
    m->msg.type = type;
    m->reply_to = &rest->mail.box;
    m->from = call->name;
    call->outstanding++;
    enum hl_err err = hl_store_post(rest->parts.store, m);
    (void)err; /* only ACCEPT and RECORD can be refused */
}

void hl_rest_ask_workers(struct hl_rest_call *call, const struct hl_recent_ask *ask)
{
    struct hl_rest *rest = call->rest;
    struct hl_service *service = rest->parts.service;
    for (uint32_t i = 0; service && i < service->worker_count; i++) {
        uint64_t bit = UINT64_C(1) << i % 64;
        struct hl_recent_ask *copy = malloc(sizeof(*copy));
        if (rest->ended[i / 64] & bit || !copy) {
            free(copy);
            continue;
        }
        *copy = *ask;
        copy->reply_to = &rest->mail.box;
        copy->from = call->name;
        copy->worker = i;
        call->asked[i / 64] |= bit;
        call->outstanding++;
        hl_worker_ask(service->workers[i], copy);
    }
}

void hl_rest_then(struct hl_rest_call *call, void (*step)(struct hl_rest_call *call))
{
    call->step = step;
    if (call->outstanding == 0)
        step(call);
}

/* ---- answers ---- */

static void free_answer(struct hl_msg *msg)
{
    switch (msg->type) {
    case HL_STORE_GET_RUN:
        hl_get_run_fini((struct hl_get_run *)msg);
        break;
    case HL_STORE_LIST_RUNS:
        hl_list_runs_fini((struct hl_list_runs *)msg);
        break;
    case HL_STORE_GET_DELIVERY:
        hl_get_delivery_fini((struct hl_get_delivery *)msg);
        break;
    case HL_STORE_LIST_DELIVERIES:
        hl_list_deliveries_fini((struct hl_list_deliveries *)msg);
        break;
    case HL_STORE_LIST_APPS:
        hl_list_apps_fini((struct hl_list_apps *)msg);
        break;
    case HL_STORE_LIST_ACCOUNTS:
        hl_list_accounts_fini((struct hl_list_accounts *)msg);
        break;
    case HL_WORKER_RECENT:
        hl_recent_ask_free((struct hl_recent_ask *)msg);
        return;
    case HL_WORKER_INQUIRY:
        hl_inquiry_free((struct hl_inquiry *)msg);
        return;
    default:
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

static void take_recent(struct hl_rest *rest, struct hl_recent_ask *ask)
{
    struct hl_rest_call *call = hl_slot_find(&rest->slots, ask->from);
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

/* What the store says has happened holds, whether or not somebody still waits to hear it. */
static void apply(struct hl_rest *rest, const struct hl_store_msg *m)
{
    if (m->msg.type == HL_STORE_REVOKE_ACCOUNT && m->rc == HL_OK)
        hl_auth_revoke(rest->parts.auth, &((const struct hl_revoke_account *)m)->id);
}

static void take_stored(struct hl_rest *rest, struct hl_store_msg *m)
{
    apply(rest, m);
    struct hl_rest_call *call = hl_slot_find(&rest->slots, m->from);
    if (!call || call->answer_count == HL_REST_STORE_ANSWERS) {
        free_answer(&m->msg);
        return;
    }
    call->answers[call->answer_count++] = m;
    go_on(call);
}

static void on_message(void *self, struct hl_msg *msg)
{
    struct hl_rest *rest = self;
    if (msg->type == HL_WORKER_RECENT)
        take_recent(rest, HL_CONTAINER_OF(msg, struct hl_recent_ask, msg));
    else if (msg->type == HL_AUTH_CHECKED)
        hl_auth_seat_on_message(rest->seat, msg);
    else if (msg->type == HL_WORKER_INQUIRY)
        hl_rest_take_inquiry(rest, HL_CONTAINER_OF(msg, struct hl_inquiry, msg));
    else
        take_stored(rest, HL_CONTAINER_OF(msg, struct hl_store_msg, msg));
}

/* What it answered before it ended is in the mailbox; the word of its end came by another one. */
void hl_rest_worker_ended(struct hl_rest *rest, uint32_t index)
{
    uint64_t bit = UINT64_C(1) << index % 64;
    for (struct hl_msg *msg = hl_mailbox_take(&rest->mail.box), *next; msg; msg = next) {
        next = msg->next;
        on_message(rest, msg);
    }
    rest->ended[index / 64] |= bit;
    HL_LIST_EACH_SAFE (node, &rest->calls) {
        struct hl_rest_call *call = HL_CONTAINER_OF(node, struct hl_rest_call, node);
        if (!(call->asked[index / 64] & bit))
            continue;
        call->asked[index / 64] &= ~bit;
        go_on(call);
    }
}

/* ---- a call ends ---- */

/* All but the reply. */
static void release(struct hl_rest_call *call)
{
    hl_list_remove(&call->node);
    hl_slot_remove(&call->rest->slots, call->name);
    for (unsigned i = 0; i < call->answer_count; i++)
        free_answer(&call->answers[i]->msg);
    call->answer_count = 0;
    while (call->recent) {
        struct hl_msg *next = call->recent->next;
        free_answer(call->recent);
        call->recent = next;
    }
}

void hl_rest_end(struct hl_rest_call *call)
{
    release(call);
    call->on_reply(call);
}

void hl_rest_end_json(struct hl_rest_call *call, uint16_t status, json_t *value)
{
    call->reply.status = status;
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

void hl_rest_refuse(struct hl_rest_call *call, uint16_t status, const char *fmt, ...)
{
    char detail[HL_REPLY_DETAIL_MAX + 1];
    va_list args;
    va_start(args, fmt);
    vsnprintf(detail, sizeof(detail), fmt, args);
    va_end(args);
    hl_reply_refuse(&call->reply, status, "%s", detail);
    hl_rest_end(call);
}

/* Later may be better. */
static void refuse_now(struct hl_rest_call *call, const char *detail)
{
    enum hl_err err = hl_buf_append_str(&call->reply.fields, HL_STR("Retry-After: 5\r\n"));
    (void)err; /* without memory the field is missing */
    hl_rest_refuse(call, 503, "%s", detail);
}

void hl_rest_refuse_memory(struct hl_rest_call *call)
{
    refuse_now(call, "Out of memory; try again later.");
}

void hl_rest_refuse_store(struct hl_rest_call *call, enum hl_err rc, const char *what)
{
    switch (rc) {
    case HL_ERR_NOT_FOUND:
        hl_rest_refuse(call, 404,
            "There is no such %s here: the id is another's, or it is past HOOKLINE_RETENTION.",
            what);
        break;
    case HL_ERR_NOMEM:
        hl_rest_refuse_memory(call);
        break;
    case HL_ERR_BUSY:
        refuse_now(call, "Too much waits for the store; try again later.");
        break;
    case HL_ERR_FULL:
        refuse_now(call, "The store's volume is full: make space, then try again.");
        break;
    default:
        refuse_now(call, "The store is failing; what is wrong is in hookline's log.");
        break;
    }
}

/* ---- the end of it all ---- */

void hl_rest_close(struct hl_rest *rest)
{
    for (struct hl_msg *msg = hl_mailbox_take(&rest->mail.box), *next; msg; msg = next) {
        next = msg->next;
        if (msg->type == HL_AUTH_CHECKED)
            hl_auth_seat_on_message(rest->seat, msg);
        else
            free_answer(msg);
    }
    hl_uv_mailbox_close(&rest->mail);
}

void hl_rest_free(struct hl_rest *rest)
{
    if (!rest)
        return;
    hl_auth_seat_free(rest->seat);
    hl_slot_table_fini(&rest->slots);
    free(rest);
}
