/* rest.c - the REST interface as a whole, and the front for requests that came in on the run listener.
 * Owns: the mailbox that requests of workers and answers come to. Thread: control.
 * Not here: which handler a request has (rest_route.c), what became of those that asked for something
 * (rest_call.c), the run listener's connection (worker/inquiry.c). */
#include "api/rest.h"

#include <stdlib.h>

#include "api/foreman.h"
#include "api/rest_handler.h"
#include "api/rest_route.h"
#include "api/start_audit.h"
#include "auth/auth.h"
#include "auth/seat.h"
#include "body/follow_desk.h"
#include "config/config.h"
#include "http/url.h"
#include "run/service.h"
#include "worker/follow.h"
#include "worker/worker.h"

/* ---- requests that came in on the run listener: a worker's message is a call, and goes back with the reply
 * (worker/inquiry.c) ---- */

struct inquiry_call {
    struct hl_rest_call call;
    struct hl_inquiry *inquiry;
};

static void on_reply(struct hl_rest_call *call)
{
    struct inquiry_call *own = HL_CONTAINER_OF(call, struct inquiry_call, call);
    struct hl_inquiry *inquiry = own->inquiry;
    inquiry->reply = call->reply;
    hl_mailbox_post(inquiry->reply_to, &inquiry->msg);
    free(own);
}

static void begin_call(struct hl_rest_calls *calls, struct inquiry_call *own)
{
    struct hl_rest_call *call = &own->call;
    if (!hl_rest_call_add(calls, call)) {
        hl_rest_refuse_memory(call);
        return;
    }
    call->id = own->inquiry->awaited;
    call->front = own->inquiry->front.is_one ? &own->inquiry->front : NULL;
    call->params.wait_ms = own->inquiry->wait_ms;
    hl_str_put(call->project, sizeof(call->project), own->inquiry->asker.project);
    hl_str_put(call->app, sizeof(call->app), own->inquiry->app);
    if (call->front)
        hl_rest_answer_caller(call);
    else
        hl_rest_show_response(call);
}

/* Nobody waits for its answer: it is dropped if it waits. Takes the message. */
static void drop_inquiry(struct hl_rest_calls *calls, struct hl_inquiry_gone *gone)
{
    HL_LIST_EACH_SAFE (node, &calls->waits.list) {
        struct hl_rest_wait *wait = HL_CONTAINER_OF(node, struct hl_rest_wait, node);
        struct hl_rest_call *call = HL_CONTAINER_OF(wait, struct hl_rest_call, wait);
        struct inquiry_call *own = HL_CONTAINER_OF(call, struct inquiry_call, call);
        if (call->on_reply != on_reply || own->inquiry->reply_to != gone->reply_to ||
            own->inquiry->from.index != gone->from.index ||
            own->inquiry->from.generation != gone->from.generation)
            continue;
        hl_rest_abandon(call);
        hl_inquiry_free(own->inquiry);
        free(own);
        break;
    }
    free(gone);
}

static void take_inquiry(struct hl_rest_calls *calls, struct hl_inquiry *inquiry)
{
    struct hl_target target = {0};
    if (inquiry->front.has_left) {
        hl_rest_cancel_left(calls, &inquiry->awaited);
        hl_inquiry_free(inquiry);
        return;
    }
    struct inquiry_call *own = calloc(1, sizeof(*own));
    bool is_call = !hl_id_is_nil(&inquiry->awaited);
    if (!own || (!is_call && !hl_target_split(hl_buf_str(&inquiry->target), &target))) {
        free(own);
        hl_reply_refuse(&inquiry->reply, hl_refusal_make(HL_REFUSAL_NO_MEMORY));
        hl_mailbox_post(inquiry->reply_to, &inquiry->msg);
        return;
    }
    own->inquiry = inquiry;
    own->call.method = inquiry->method;
    own->call.path = target.path;
    own->call.query = target.query;
    own->call.body = hl_buf_str(&inquiry->body);
    own->call.asker = inquiry->asker;
    own->call.last_event = &inquiry->last_event;
    own->call.on_reply = on_reply;
    if (is_call)
        begin_call(calls, own);
    else
        hl_rest_route_call(calls, &own->call);
}

struct hl_rest {
    struct hl_uv_mailbox mail;
    struct hl_rest_calls calls;
    struct hl_foreman foreman;
    struct hl_auth_seat *seat;
    struct hl_follow_desk desk; /* who follows events on the admin listener */
};

static void on_message(void *self, struct hl_msg *msg);

struct hl_rest *hl_rest_new(uv_loop_t *loop, const struct hl_rest_parts *parts)
{
    struct hl_rest *rest = calloc(1, sizeof(*rest));
    if (!rest || hl_uv_mailbox_init(&rest->mail, loop, on_message, rest) != 0) {
        free(rest);
        return NULL;
    }
    hl_rest_calls_init(&rest->calls, parts, &rest->mail.box);
    rest->calls.begin = hl_rest_route_call;
    hl_foreman_init(&rest->foreman, &rest->calls);
    if (hl_rest_waits_init(
            &rest->calls.waits, loop, parts->store, &rest->mail.box, parts->config) != 0) {
        hl_rest_close(rest); /* the memory stays until the loop is over: the process ends */
        return NULL;
    }
    rest->desk = (struct hl_follow_desk){.loop = loop,
        .wheel = &rest->calls.waits.wheel,
        .reader = parts->reader,
        .store = parts->store,
        .journals = parts->service ? parts->service->journals : NULL,
        .tls = hl_service_speaks_tls(parts->config) ? parts->tls : NULL,
        .beat_ms = parts->config->sse_heartbeat_ms};
    if (hl_follow_desk_init(&rest->desk) != 0) {
        hl_rest_close(rest);
        return NULL;
    }
    if (!parts->auth || !hl_auth_is_asked(parts->config))
        return rest;
    hl_follow_guard(&rest->desk, parts->auth);
    rest->seat = hl_auth_seat_new(parts->auth, &rest->mail.box);
    if (rest->seat)
        return rest;
    hl_rest_close(rest);
    return NULL;
}

struct hl_auth_seat *hl_rest_seat(struct hl_rest *rest)
{
    return rest->seat;
}

struct hl_auth *hl_rest_auth(struct hl_rest *rest)
{
    return rest->calls.parts.auth;
}

struct hl_follow_desk *hl_rest_desk(struct hl_rest *rest)
{
    return &rest->desk;
}

struct hl_mailbox *hl_rest_mailbox(struct hl_rest *rest)
{
    return &rest->mail.box;
}

void hl_rest_keep_loop(struct hl_rest *rest, bool keeps)
{
    if (keeps)
        uv_ref((uv_handle_t *)&rest->mail.async);
    else
        uv_unref((uv_handle_t *)&rest->mail.async);
}

void hl_rest_begin(struct hl_rest *rest, struct hl_rest_call *call)
{
    hl_rest_route_call(&rest->calls, call);
}

static void on_message(void *self, struct hl_msg *msg)
{
    struct hl_rest *rest = self;
    if (msg->type == HL_AUTH_CHECKED)
        hl_auth_seat_on_message(rest->seat, msg);
    else if (msg->type == HL_WORKER_INQUIRY)
        take_inquiry(&rest->calls, HL_CONTAINER_OF(msg, struct hl_inquiry, msg));
    else if (msg->type == HL_WORKER_INQUIRY_GONE)
        drop_inquiry(&rest->calls, HL_CONTAINER_OF(msg, struct hl_inquiry_gone, msg));
    else
        hl_rest_calls_take(&rest->calls, msg);
}

/* What it answered before it ended is in the mailbox; the word of its end came by another one. */
void hl_rest_worker_ended(struct hl_rest *rest, uint32_t index)
{
    for (struct hl_msg *msg = hl_mailbox_take(&rest->mail.box), *next; msg; msg = next) {
        next = msg->next;
        on_message(rest, msg);
    }
    hl_rest_calls_worker_ended(&rest->calls, index);
}

void hl_rest_close(struct hl_rest *rest)
{
    for (struct hl_msg *msg = hl_mailbox_take(&rest->mail.box), *next; msg; msg = next) {
        next = msg->next;
        if (msg->type == HL_AUTH_CHECKED)
            hl_auth_seat_on_message(rest->seat, msg);
        else if (msg->type == HL_WORKER_INQUIRY)
            hl_inquiry_free(HL_CONTAINER_OF(msg, struct hl_inquiry, msg));
        else if (msg->type == HL_WORKER_INQUIRY_GONE)
            free(HL_CONTAINER_OF(msg, struct hl_inquiry_gone, msg));
        else
            hl_rest_calls_drop(&rest->calls, msg);
    }
    hl_foreman_close(&rest->foreman);
    hl_start_audit_drop(&rest->calls);
    hl_rest_waits_close(&rest->calls.waits);
    if (rest->desk.loop) {
        hl_follow_unguard(&rest->desk);
        hl_follow_desk_close(&rest->desk);
    }
    hl_uv_mailbox_close(&rest->mail);
}

void hl_rest_tell_start(struct hl_rest *rest)
{
    hl_start_audit_begin(&rest->calls);
    hl_foreman_start(&rest->foreman);
}

void hl_rest_tell_drain(struct hl_rest *rest, const char *via, const char *name)
{
    hl_drain_audit(&rest->calls, via, name);
}

void hl_rest_end_waits(struct hl_rest *rest)
{
    hl_foreman_end(&rest->foreman);
    hl_rest_waits_end(&rest->calls.waits);
    hl_follow_desk_drain(&rest->desk);
}

void hl_rest_tell_drained(struct hl_rest *rest)
{
    hl_rest_answer_drain(&rest->calls);
}

void hl_rest_free(struct hl_rest *rest)
{
    if (!rest)
        return;
    hl_auth_seat_free(rest->seat);
    hl_follow_desk_fini(&rest->desk);
    hl_rest_waits_fini(&rest->calls.waits);
    hl_rest_calls_fini(&rest->calls);
    free(rest);
}
