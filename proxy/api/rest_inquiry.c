/* rest_inquiry.c - the front for requests that came in on the run listener: a worker's message is a
 * call, and goes back with the reply.
 * Thread: control.
 * Not here: the connection (worker/inquiry.c). */
#include "api/rest_inquiry.h"

#include <stdlib.h>

#include "api/rest_response.h"
#include "api/rest_route.h"
#include "http/url.h"

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
    call->params.wait_ms = own->inquiry->wait_ms;
    hl_str_put(call->project, sizeof(call->project), own->inquiry->asker.project);
    hl_str_put(call->app, sizeof(call->app), own->inquiry->app);
    hl_rest_show_response(call);
}

void hl_rest_drop_inquiry(struct hl_rest_calls *calls, struct hl_inquiry_gone *gone)
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

void hl_rest_take_inquiry(struct hl_rest_calls *calls, struct hl_inquiry *inquiry)
{
    struct hl_target target = {0};
    struct inquiry_call *own = calloc(1, sizeof(*own));
    bool is_call = !hl_id_is_nil(&inquiry->awaited);
    if (!own || (!is_call && !hl_target_split(hl_buf_str(&inquiry->target), &target))) {
        free(own);
        hl_reply_refuse(&inquiry->reply, hl_refusal(HL_REFUSAL_NO_MEMORY));
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
        hl_rest_route(calls, &own->call);
}
