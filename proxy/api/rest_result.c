/* rest_result.c - what became of a run, to those who want its response: the kept bytes, as they were, and nothing of
 * the app's that a browser would act on (contract 8); its events, to be followed (contract 14); the answer to a call
 * that waits for its own run (contract 3).
 * Thread: control.
 * Not here: sending a file (admin_response.c, worker/inquiry.c), the waiting (rest_call.c), what a follower is
 * answered in the end, which the stream itself decides (body/follow_cursor.c). */
#include "api/rest_handler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/rest_call.h"
#include "body/follow.h"
#include "run/acceptance.h"
#include "run/recent_run.h"
#include "run/service.h"
#include "store/op.h"
#include "store/question.h"

/* ---- a run's events, to be followed (contract 14) ---- */

static void check_stored(struct hl_rest_call *call);
static void check_recent(struct hl_rest_call *call);

/* The field is what a client had last; the parameter is for those that can send none at first. */
static bool take_last_event(const struct hl_rest_call *call, struct hl_follow *grant)
{
    const struct hl_last_event *field = call->last_event;
    const struct hl_rest_params *p = &call->params;
    bool has_field = field && (field->n > 0 || field->is_bad);
    const char *text = has_field ? field->text : p->last_event_id;
    size_t n = has_field ? field->n : p->last_event_n;
    if (has_field && field->is_bad)
        return false;
    struct hl_str wanted = hl_event_id_wanted((struct hl_str){text, n});
    if (wanted.n > 0)
        memcpy(grant->wanted, wanted.p, wanted.n);
    grant->wanted_n = (uint16_t)wanted.n;
    return true;
}

void hl_rest_show_events(struct hl_rest_call *call)
{
    call->reply.run_id = call->id;
    const struct hl_rest_parts *parts = hl_rest_get_parts(call);
    if (!parts->service) {
        hl_rest_refuse(call, HL_REFUSAL_EVENTS_NO_SIDECAR);
        return;
    }
    struct hl_get_run *g = hl_rest_get_run(call);
    if (!g)
        return;
    call->is_begun =
        hl_journals_has_run(parts->service->journals, &call->id, call->project, call->app);
    hl_rest_ask_store(call, HL_STORE_GET_RUN, &g->m);
    hl_rest_then(call, check_stored);
}

static void refuse_follower(struct hl_rest_call *call, enum hl_follow_verdict verdict)
{
    if (verdict == HL_FOLLOW_RUN_FULL)
        hl_rest_refuse(call, HL_REFUSAL_FOLLOWERS_OF_RUN);
    else if (verdict == HL_FOLLOW_SUBJECT_FULL)
        hl_rest_refuse(call, HL_REFUSAL_FOLLOWERS_OF_SUBJECT);
    else
        hl_rest_refuse(call, HL_REFUSAL_FOLLOWERS_FULL);
}

struct hl_follow *hl_rest_make_follow(
    const struct hl_rest_call *call, enum hl_run_state state, uint32_t attempt)
{
    struct hl_follow *follow = calloc(1, sizeof(*follow));
    if (!follow)
        return NULL;
    follow->run_id = call->id;
    hl_str_put(follow->project, sizeof(follow->project), call->project);
    hl_str_put(follow->app, sizeof(follow->app), call->app);
    follow->state = state;
    follow->attempt = attempt;
    follow->wants_progress = call->params.wants_progress;
    follow->account = call->asker.account;
    follow->key = call->asker.key;
    follow->refused_from_ms = call->asker.refused_from_ms;
    follow->is_relayed = !hl_id_is_nil(&call->asker.relayed);
    follow->is_call = call->params.is_call;
    follow->is_plain = call->params.is_plain;
    return follow;
}

static void grant(struct hl_rest_call *call, enum hl_run_state state, uint32_t attempt)
{
    struct hl_journals *journals = hl_rest_get_parts(call)->service->journals;
    struct hl_str who = {call->asker.identity, call->asker.identity_n};
    struct hl_follow *follow = hl_rest_make_follow(call, state, attempt);
    if (!follow) {
        hl_rest_refuse_memory(call);
        return;
    }
    if (!take_last_event(call, follow)) {
        hl_follow_free(follow);
        hl_rest_refuse(call, HL_REFUSAL_EVENTS_ID_TWICE);
        return;
    }
    enum hl_follow_verdict verdict = hl_journals_enter(journals, &call->id, who, &follow->place);
    if (verdict != HL_FOLLOW_GRANTED) {
        hl_follow_free(follow);
        refuse_follower(call, verdict);
        return;
    }
    call->reply.follow = follow;
    hl_rest_end(call);
}

static void check_stored(struct hl_rest_call *call)
{
    const struct hl_get_run *g = (const struct hl_get_run *)call->answers[0];
    if (g->m.rc == HL_ERR_NOT_FOUND && call->is_begun) {
        grant(call, HL_RUN_RUNNING, 1);
    } else if (g->m.rc == HL_ERR_NOT_FOUND) {
        hl_rest_ask_recent(call, check_recent);
    } else if (g->m.rc != HL_OK) {
        hl_rest_refuse_store(call, g->m.rc, "run");
    } else {
        grant(call, g->run.state, g->run.attempt);
    }
}

static void check_recent(struct hl_rest_call *call)
{
    if (hl_rest_recent(call))
        hl_rest_refuse(call, HL_REFUSAL_EVENTS_NEVER_KEPT);
    else
        hl_rest_refuse_store(call, HL_ERR_NOT_FOUND, "run");
}

/* ---- the answer to a call that waits for its own run: `Prefer: wait` (contract 3) ---- */

static void answer(struct hl_rest_call *call);

static void ask(struct hl_rest_call *call)
{
    struct hl_get_run *g = hl_rest_get_run(call);
    if (!g)
        return;
    g->with_body = true;
    hl_rest_ask_store(call, HL_STORE_GET_RUN, &g->m);
    hl_rest_then(call, answer);
}

void hl_rest_show_response(struct hl_rest_call *call)
{
    call->reply.run_id = call->id;
    hl_rest_wait_for_run(call, ask);
}

/* Short of memory the answer is without it. */
static void add_location(struct hl_rest_call *call)
{
    char line[HL_ACCEPTANCE_LOCATION_MAX];
    hl_acceptance_write_location(line, hl_rest_get_parts(call)->config, hl_str_from(call->project),
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

static void pass_on(struct hl_rest_call *call, struct hl_get_run *g)
{
    const struct hl_outcome *o = &g->outcome;
    struct hl_reply *reply = &call->reply;
    enum hl_err err = HL_OK;
    reply->head = g->answer_head;
    hl_buf_init(&g->answer_head, 0);
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

void hl_rest_answer_ended(struct hl_rest_call *call, struct hl_get_run *g)
{
    const struct hl_outcome *o = &g->outcome;
    if (!has_response(o))
        refuse_failed(call, o);
    else if (g->m.rc == HL_ERR_CORRUPT || o->body.where == HL_BODY_DROPPED ||
             o->body.where == HL_BODY_UNKEPT)
        refuse_lost(call);
    else
        pass_on(call, g);
}

static void answer(struct hl_rest_call *call)
{
    struct hl_get_run *g = (struct hl_get_run *)call->answers[0];
    bool is_known = g->m.rc == HL_OK || g->m.rc == HL_ERR_CORRUPT;
    if (!is_known || !hl_run_state_is_final(g->run.state)) {
        say_accepted(call);
        return;
    }
    enum hl_err err = hl_buf_printf(&call->reply.fields, "Preference-Applied: wait=%llu\r\n",
        (unsigned long long)(call->params.wait_ms / 1000));
    if (err)
        hl_rest_refuse_memory(call);
    else
        hl_rest_answer_ended(call, g);
}

/* ---- the kept response of a run ---- */

static void show_now(struct hl_rest_call *call);
static void show(struct hl_rest_call *call);

void hl_rest_show_result(struct hl_rest_call *call)
{
    call->reply.run_id = call->id;
    hl_rest_wait_for_run(call, show_now);
}

static void show_now(struct hl_rest_call *call)
{
    struct hl_get_run *g = hl_rest_get_run(call);
    if (!g)
        return;
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
