/* rest_response.c - see rest_response.h.
 * Thread: control.
 * Not here: the waiting (rest_wait.c), sending a file (worker/inquiry.c). */
#include "api/rest_response.h"

#include <stdlib.h>

#include "api/rest_wait.h"
#include "run/acceptance.h"
#include "store/op.h"
#include "store/question.h"

static void answer(struct hl_rest_call *call);

static void ask(struct hl_rest_call *call)
{
    struct hl_get_run *g = calloc(1, sizeof(*g));
    if (!g) {
        hl_rest_refuse_memory(call);
        return;
    }
    g->run_id = call->id;
    hl_str_put(g->project, sizeof(g->project), call->project);
    hl_str_put(g->app, sizeof(g->app), call->app);
    g->with_body = true;
    hl_rest_ask_store(call, HL_STORE_GET_RUN, &g->m);
    hl_rest_then(call, answer);
}

void hl_rest_show_response(struct hl_rest_call *call)
{
    call->reply.run_id = call->id;
    hl_rest_wait(call, ask);
}

/* Short of memory the answer is without it. */
static void add_location(struct hl_rest_call *call)
{
    char line[HL_ACCEPTANCE_LOCATION_MAX];
    hl_acceptance_write_location(line, hl_rest_parts(call)->config, hl_str_from(call->project),
        hl_str_from(call->app), &call->id);
    enum hl_err err = hl_buf_append_str(&call->reply.fields, hl_str_from(line));
    (void)err;
}

/* It goes on without its caller: the run is accepted, whatever the store says now. */
static void say_accepted(struct hl_rest_call *call)
{
    char id[HL_ID_TEXT + 1] = "";
    hl_id_format(&call->id, id);
    add_location(call);
    call->reply.status = 202;
    hl_str_put(call->reply.content_type, sizeof(call->reply.content_type), "application/json");
    if (hl_buf_printf(&call->reply.body, "{\"run_id\":\"%s\"}", id) == HL_OK)
        hl_rest_end(call);
    else
        hl_rest_refuse_memory(call);
}

static void refuse_lost(struct hl_rest_call *call)
{
    add_location(call);
    hl_rest_refuse(call, HL_REFUSAL_WAITED_UNKEPT);
}

/* It has ended without a response of the app's. */
static void refuse_failed(struct hl_rest_call *call, const struct hl_outcome *o)
{
    const char *reason = hl_run_reason_text(o->reason);
    if (o->state == HL_RUN_CANCELLED)
        hl_rest_refuse(call, HL_REFUSAL_RUN_CANCELLED);
    else if (o->reason == HL_REASON_TIMEOUT || o->reason == HL_REASON_EXPIRED)
        hl_rest_refuse_saying(call, HL_REFUSAL_WAITED_LATE, reason, NULL);
    else
        hl_rest_refuse_saying(call, HL_REFUSAL_WAITED_FAILED, reason, NULL);
}

static bool has_response(const struct hl_outcome *o)
{
    return o->http_status > 0 &&
           (o->reason == HL_REASON_NONE || o->reason == HL_REASON_APP_ERROR) &&
           o->state != HL_RUN_CANCELLED;
}

static void pass_on(struct hl_rest_call *call, const struct hl_outcome *o)
{
    struct hl_reply *reply = &call->reply;
    enum hl_err err = HL_OK;
    reply->status = o->http_status;
    reply->is_of_app = true;
    hl_str_put(reply->content_type, sizeof(reply->content_type), o->content_type);
    if (*o->content_encoding)
        err = hl_buf_printf(&reply->fields, "Content-Encoding: %s\r\n", o->content_encoding);
    if (!err && o->body.where == HL_BODY_INLINE)
        err = hl_buf_append(&reply->body, o->body.bytes, (size_t)o->body.size);
    else if (o->body.where == HL_BODY_FILE)
        reply->file = o->body;
    if (err)
        hl_rest_refuse_memory(call);
    else
        hl_rest_end(call);
}

static void answer(struct hl_rest_call *call)
{
    const struct hl_get_run *g = (const struct hl_get_run *)call->answers[0];
    const struct hl_outcome *o = &g->outcome;
    bool is_known = g->m.rc == HL_OK || g->m.rc == HL_ERR_CORRUPT;
    if (!is_known || !hl_run_state_is_final(g->run.state)) {
        say_accepted(call);
        return;
    }
    enum hl_err err = hl_buf_printf(&call->reply.fields, "Preference-Applied: wait=%llu\r\n",
        (unsigned long long)(call->params.wait_ms / 1000));
    if (err)
        hl_rest_refuse_memory(call);
    else if (!has_response(o))
        refuse_failed(call, o);
    else if (g->m.rc == HL_ERR_CORRUPT || o->body.where == HL_BODY_DROPPED ||
             o->body.where == HL_BODY_UNKEPT)
        refuse_lost(call);
    else
        pass_on(call, o);
}
