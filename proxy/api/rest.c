/* rest.c - the REST interface as a whole.
 * Owns: the mailbox that requests of workers and answers come to. Thread: control.
 * Not here: which handler a request has (rest_route.c), what became of those that asked for something
 * (rest_call.c). */
#include "api/rest.h"

#include <stdlib.h>

#include "api/rest_inquiry.h"
#include "api/rest_route.h"
#include "auth/auth.h"
#include "auth/seat.h"
#include "body/follow_desk.h"
#include "config/config.h"
#include "run/service.h"
#include "worker/follow.h"
#include "worker/worker.h"

struct hl_rest {
    struct hl_uv_mailbox mail;
    struct hl_rest_calls calls;
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
    hl_rest_route(&rest->calls, call);
}

static void on_message(void *self, struct hl_msg *msg)
{
    struct hl_rest *rest = self;
    if (msg->type == HL_AUTH_CHECKED)
        hl_auth_seat_on_message(rest->seat, msg);
    else if (msg->type == HL_WORKER_INQUIRY)
        hl_rest_take_inquiry(&rest->calls, HL_CONTAINER_OF(msg, struct hl_inquiry, msg));
    else if (msg->type == HL_WORKER_INQUIRY_GONE)
        hl_rest_drop_inquiry(&rest->calls, HL_CONTAINER_OF(msg, struct hl_inquiry_gone, msg));
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
            hl_rest_answer_free(msg);
    }
    hl_rest_waits_close(&rest->calls.waits);
    if (rest->desk.loop) {
        hl_follow_unguard(&rest->desk);
        hl_follow_desk_close(&rest->desk);
    }
    hl_uv_mailbox_close(&rest->mail);
}

void hl_rest_end_waits(struct hl_rest *rest)
{
    hl_rest_waits_end(&rest->calls.waits);
    hl_follow_desk_drain(&rest->desk);
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
