/* rest_result.c - the kept response of a run: its bytes, as they were, and nothing of the app's that
 * a browser would act on (contract 8).
 * Thread: control.
 * Not here: sending a file (admin_connection.c, worker/inquiry.c). */
#include "api/rest_result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/rest_wait.h"
#include "run/recent.h"
#include "store/op.h"
#include "store/question.h"

static void show_now(struct hl_rest_call *call);
static void show(struct hl_rest_call *call);

void hl_rest_show_result(struct hl_rest_call *call)
{
    call->reply.run_id = call->id;
    hl_rest_wait(call, show_now);
}

static void show_now(struct hl_rest_call *call)
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
    hl_rest_then(call, show);
}

/* A synchronous run of lately is there, and its response is its caller's. */
static void say_recent(struct hl_rest_call *call)
{
    const struct hl_recent_ask *recent = hl_rest_recent(call);
    if (!recent)
        hl_rest_refuse_store(call, HL_ERR_NOT_FOUND, "run");
    else if (hl_run_state_is_final(recent->rows[0].state))
        hl_rest_refuse(call, HL_REFUSAL_RESULT_NEVER_KEPT);
    else
        hl_rest_refuse(call, HL_REFUSAL_RUN_UNFINISHED);
}

/* A response that there was and that is not kept. */
static void refuse_gone(
    struct hl_rest_call *call, enum hl_refusal_cause cause, const struct hl_body *body)
{
    char size[24];
    snprintf(size, sizeof(size), "%llu", (unsigned long long)body->size);
    hl_rest_refuse_saying(call, cause, size, NULL);
}

/* There never was one, or one without a body. */
static void refuse_empty(struct hl_rest_call *call, const struct hl_get_run *g)
{
    char status[8];
    snprintf(status, sizeof(status), "%u", g->outcome.http_status);
    if (g->outcome.http_status == 0)
        hl_rest_refuse_saying(call, HL_REFUSAL_RESULT_NO_ANSWER, hl_run_state_text(g->run.state),
            g->run.reason ? ", reason " : "", hl_run_reason_text(g->run.reason), NULL);
    else
        hl_rest_refuse_saying(call, HL_REFUSAL_RESULT_NO_BODY, status, NULL);
}

static bool refuse_unkept(struct hl_rest_call *call, const struct hl_get_run *g)
{
    const struct hl_body *body = &g->outcome.body;
    if (!hl_run_state_is_final(g->run.state))
        hl_rest_refuse_saying(
            call, HL_REFUSAL_RUN_UNFINISHED_IN, hl_run_state_text(g->run.state), NULL);
    else if (g->m.rc == HL_ERR_CORRUPT)
        hl_rest_refuse(call, HL_REFUSAL_RESULT_DAMAGED);
    else if (body->where == HL_BODY_DROPPED)
        refuse_gone(call, HL_REFUSAL_RESULT_DROPPED, body);
    else if (body->where == HL_BODY_UNKEPT)
        refuse_gone(call, HL_REFUSAL_RESULT_NOT_TAKEN, body);
    else if (body->where == HL_BODY_NONE)
        refuse_empty(call, g);
    else
        return false;
    return true;
}

static enum hl_err write_fields(struct hl_reply *reply, const struct hl_outcome *o)
{
    enum hl_err err = hl_buf_printf(&reply->fields,
        "X-Run-Status-Code: %u\r\n"
        "X-Content-Type-Options: nosniff\r\n"
        "Content-Disposition: attachment\r\n"
        "Content-Security-Policy: sandbox\r\n",
        o->http_status);
    if (err == HL_OK && *o->content_encoding)
        err = hl_buf_printf(&reply->fields, "Content-Encoding: %s\r\n", o->content_encoding);
    return err;
}

static void show(struct hl_rest_call *call)
{
    struct hl_get_run *g = (struct hl_get_run *)call->answers[0];
    if (g->m.rc == HL_ERR_NOT_FOUND) {
        hl_rest_ask_recent(call, say_recent);
        return;
    }
    if (g->m.rc != HL_OK && g->m.rc != HL_ERR_CORRUPT) {
        hl_rest_refuse_store(call, g->m.rc, "run");
        return;
    }
    if (refuse_unkept(call, g))
        return;
    const struct hl_outcome *o = &g->outcome;
    struct hl_reply *reply = &call->reply;
    reply->status = 200;
    hl_str_put(reply->content_type, sizeof(reply->content_type),
        *o->content_type ? o->content_type : "application/octet-stream");
    enum hl_err err = write_fields(reply, o);
    if (err == HL_OK && o->body.where == HL_BODY_INLINE)
        err = hl_buf_append(&reply->body, o->body.bytes, (size_t)o->body.size);
    else
        reply->file = o->body;
    if (err == HL_OK)
        hl_rest_end(call);
    else
        hl_rest_refuse_memory(call);
}
