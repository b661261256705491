/* follow.c - see follow.h.
 * Owns: the follower of the call. Thread: the worker's.
 * Not here: what is read (body/follower.c), who may (api/rest_result.c). */
#include "worker/follow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auth/auth.h"
#include "body/follow_desk.h"
#include "body/follower.h"
#include "caller/access.h"
#include "caller/client.h"
#include "caller/taker.h"
#include "http/field.h"
#include "http/head.h"
#include "http/problem.h"
#include "worker/front_caller.h"
#include "worker/inquiry.h"
#include "worker/worker.h"

/* ---- what all who follow need. Any thread ---- */

void hl_last_event_read(struct hl_last_event *out, const struct hl_head *head)
{
    out->is_bad = false;
    out->n = 0;
    for (size_t i = 0; i < head->field_count; i++) {
        const struct hl_field *field = &head->fields[i];
        if (!hl_str_eq_nocase(field->name, HL_STR("last-event-id")) || field->value.n == 0)
            continue;
        if (out->n > 0 || field->value.n > sizeof(out->text)) {
            out->is_bad = true;
            return;
        }
        memcpy(out->text, field->value.p, field->value.n);
        out->n = (uint16_t)field->value.n;
    }
}

static const enum hl_refusal_cause causes[] = {
    [HL_FOLLOW_BAD_ID] = HL_REFUSAL_EVENTS_ID,
    [HL_FOLLOW_NO_STREAM] = HL_REFUSAL_EVENTS_NO_STREAM,
    [HL_FOLLOW_GONE] = HL_REFUSAL_EVENTS_GONE,
    [HL_FOLLOW_FAILED] = HL_REFUSAL_REST_STORE_FAILING,
};

void hl_follow_answer_init(struct hl_answer *answer, enum hl_follow_answer what,
    enum hl_run_state state, char fields[HL_FOLLOW_FIELDS])
{
    bool is_stream = what == HL_FOLLOW_OK;
    *answer = (struct hl_answer){.extra_fields = fields};
    fields[0] = '\0';
    if (what > HL_FOLLOW_NOTHING) {
        answer->refusal = hl_refusal_make(causes[what]);
        return;
    }
    snprintf(fields, HL_FOLLOW_FIELDS, "X-Run-State: %s\r\n%s", hl_run_state_text(state),
        is_stream ? "X-Accel-Buffering: no\r\n" : "");
    answer->status = is_stream ? 200 : 204;
    answer->content_type = HL_STR("text/event-stream; charset=utf-8");
    answer->cache_control = is_stream ? "no-cache" : NULL;
    answer->is_stream = is_stream;
}

/* ---- only as long as the token is good ---- */

static bool admits(void *keeper, const struct hl_id *account, uint64_t key)
{
    return hl_auth_admits(keeper, account, key);
}

void hl_follow_guard(struct hl_follow_desk *desk, struct hl_auth *auth)
{
    if (!auth)
        return;
    desk->admits = admits;
    desk->keeper = auth;
    hl_auth_add_bell(auth, &desk->look);
}

void hl_follow_unguard(struct hl_follow_desk *desk)
{
    if (desk->keeper)
        hl_auth_remove_bell(desk->keeper, &desk->look);
}

/* ---- one caller ---- */

struct caller_follow {
    struct hl_client *client;
    struct hl_follower *follower;
    struct hl_id run_id;
    struct hl_front_call front;
};

static void count_call(struct caller_follow *q, bool begins)
{
    struct hl_worker_metrics *m = &hl_worker_of(q->client->callers)->metrics;
    void (*count)(struct hl_counter *, uint64_t) = begins ? hl_counter_add : hl_counter_sub;
    if (!q->front.is_one)
        return;
    count(&m->calls_in_flight, 1);
    count(&m->streams_in_flight, 1);
}

static void follow_free(struct caller_follow *q)
{
    count_call(q, false);
    hl_follower_free(q->follower);
    free(q);
}

/* ---- the request has been read ---- */

static void on_failed(void *owner, const struct hl_refusal *why)
{
    struct caller_follow *q = owner;
    struct hl_client *c = q->client;
    follow_free(q);
    hl_client_detach(c);
    hl_client_refuse(c, why);
}

static void on_caller_gone(void *owner)
{
    struct caller_follow *q = owner;
    struct hl_worker *w = hl_worker_of(q->client->callers);
    if (q->front.is_one)
        hl_counter_add(&w->metrics.callers_gone, 1);
    hl_front_caller_left(w, &q->front, &q->run_id);
    follow_free(q);
}

static void on_drained(void *owner)
{
    struct caller_follow *q = owner;
    hl_follower_go_on(q->follower);
}

static bool needs_caller(void *owner)
{
    (void)owner;
    return true;
}

static const struct hl_taker taker = {.is_blocked = hl_taker_never_blocks,
    .body = hl_taker_drops,
    .body_end = hl_taker_drops,
    .failed = on_failed,
    .caller_gone = on_caller_gone,
    .drained = on_drained,
    .needs_caller = needs_caller};

/* ---- the answer ---- */

static void refuse(struct caller_follow *q, enum hl_follow_answer what, enum hl_run_state state)
{
    struct hl_client *c = q->client;
    struct hl_id id = q->run_id;
    struct hl_answer answer;
    char fields[HL_FOLLOW_FIELDS];
    follow_free(q);
    hl_follow_answer_init(&answer, what, state, fields);
    answer.run_id = &id;
    hl_client_answer(c, &answer, HL_MODE_OTHER);
}

static bool begin_stream(struct caller_follow *q, enum hl_run_state state)
{
    struct hl_client *c = q->client;
    struct hl_answer answer;
    char fields[HL_FOLLOW_FIELDS], text[2048];
    hl_follow_answer_init(&answer, HL_FOLLOW_OK, state, fields);
    answer.run_id = &q->run_id;
    answer.caller_minor = c->minor;
    answer.cors = c->cors;
    answer.closes = hl_client_closes_after(c) || c->minor == 0;
    c->must_close = answer.closes;
    c->status = 200;
    hl_access_set_run(c, &q->run_id);
    size_t n = hl_answer_write(text, sizeof(text), &answer);
    if (hl_client_write2(c, (struct hl_str){text, n}, (struct hl_str){NULL, 0}) != HL_OK)
        return false;
    if (c->method != HL_METHOD_HEAD)
        return true;
    follow_free(q);
    hl_client_call_done(c, true);
    return false;
}

static bool on_answer(void *owner, enum hl_follow_answer what, enum hl_run_state state)
{
    struct caller_follow *q = owner;
    if (what == HL_FOLLOW_OK)
        return begin_stream(q, state);
    refuse(q, what, state);
    return false;
}

static bool is_caller_blocked(void *owner)
{
    struct caller_follow *q = owner;
    return hl_stream_is_blocked(&q->client->stream);
}

static bool on_write(void *owner, struct hl_str bytes)
{
    struct caller_follow *q = owner;
    hl_access_add(q->client, bytes.n);
    return hl_client_write2(q->client, bytes, (struct hl_str){NULL, 0}) == HL_OK;
}

static void on_end(void *owner, bool is_whole)
{
    struct caller_follow *q = owner;
    struct hl_client *c = q->client;
    bool is_chunked = c->minor > 0;
    if (is_whole && is_chunked &&
        hl_client_write2(c, HL_STR("0\r\n\r\n"), (struct hl_str){NULL, 0}) != HL_OK)
        return;
    if (!is_whole) /* if the run has not ended, what comes of it is for nobody */
        hl_front_caller_left(hl_worker_of(c->callers), &q->front, &q->run_id);
    follow_free(q);
    hl_client_call_done(c, is_whole);
}

static const struct hl_follower_events events = {
    .answer = on_answer, .is_blocked = is_caller_blocked, .write = on_write, .end = on_end};

/* The head of a call's answer. False: the caller has gone, and so has all of it. */
static bool begin_answer(struct hl_client *c, struct caller_follow *q, struct hl_str head)
{
    struct hl_buf out;
    hl_buf_init(&out, 0);
    c->mode = HL_MODE_STREAM;
    enum hl_err err = hl_front_caller_write_stream(c, &q->run_id, head, &out);
    if (err) {
        follow_free(q);
        hl_client_call_done(c, false);
    } else {
        err = hl_client_write2(c, hl_buf_str(&out), (struct hl_str){NULL, 0});
    }
    hl_buf_fini(&out);
    return !err;
}

void hl_follow_begin(struct hl_client *c, struct hl_follow *grant,
    const struct hl_front_call *front, struct hl_str head)
{
    struct hl_worker *w = hl_worker_of(c->callers);
    struct caller_follow *q = calloc(1, sizeof(*q));
    if (q)
        q->follower = hl_follower_new(&w->desk, grant, c->minor > 0, &events, q);
    if (!q || !q->follower) {
        free(q);
        hl_follow_free(grant);
        hl_client_detach(c);
        hl_client_refuse(c, hl_refusal_make(HL_REFUSAL_NO_MEMORY));
        return;
    }
    q->client = c;
    q->run_id = grant->run_id;
    if (front)
        q->front = *front;
    count_call(q, true);
    hl_client_give_to(c, &taker, q);
    if (!front || begin_answer(c, q, head))
        hl_follower_start(q->follower);
}
