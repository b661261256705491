/* rest_inquiry.c - the front for requests that came in on the run listener: a worker's message is a
 * call, and goes back with the reply.
 * Thread: control.
 * Not here: the connection (worker/inquiry.c). */
#include "api/rest_inquiry.h"

#include <stdlib.h>

#include "api/rest_route.h"
#include "http/target.h"

struct visit {
    struct hl_rest_call call;
    struct hl_inquiry *inquiry;
};

static void on_reply(struct hl_rest_call *call)
{
    struct visit *visit = HL_CONTAINER_OF(call, struct visit, call);
    struct hl_inquiry *inquiry = visit->inquiry;
    inquiry->reply = call->reply;
    hl_mailbox_post(inquiry->reply_to, &inquiry->msg);
    free(visit);
}

void hl_rest_take_inquiry(struct hl_rest_calls *calls, struct hl_inquiry *inquiry)
{
    struct hl_target target;
    struct visit *visit = calloc(1, sizeof(*visit));
    bool is_target = hl_target_split(hl_buf_str(&inquiry->target), &target);
    if (!visit || !is_target) {
        free(visit);
        hl_reply_refuse(&inquiry->reply, 503, "Out of memory; try again later.");
        hl_mailbox_post(inquiry->reply_to, &inquiry->msg);
        return;
    }
    visit->inquiry = inquiry;
    visit->call.method = inquiry->method;
    visit->call.path = target.path;
    visit->call.query = target.query;
    visit->call.body = hl_buf_str(&inquiry->body);
    visit->call.asker = inquiry->asker;
    visit->call.on_reply = on_reply;
    hl_rest_route(calls, &visit->call);
}
