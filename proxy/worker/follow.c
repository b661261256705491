/* follow.c - see follow.h.
 * Owns: the follower of the call. Thread: the worker's.
 * Not here: what is read (body/follower.c), who may (api/rest_events.c). */
#include "worker/follow.h"

#include <stdlib.h>

#include "body/follower.h"
#include "caller/access.h"
#include "caller/client.h"
#include "caller/taker.h"
#include "http/problem.h"
#include "worker/follow_answer.h"
#include "worker/worker.h"

struct caller_follow {
    struct hl_client *client;
    struct hl_follower *follower;
    struct hl_id run_id;
};

static void follow_free(struct caller_follow *q)
{
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
    follow_free(owner);
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
    follow_free(q);
    hl_client_call_done(c, is_whole);
}

static const struct hl_follower_events events = {
    .answer = on_answer, .is_blocked = is_caller_blocked, .write = on_write, .end = on_end};

void hl_follow_begin(struct hl_client *c, struct hl_follow *grant)
{
    struct hl_worker *w = hl_worker_of(c->callers);
    struct caller_follow *q = calloc(1, sizeof(*q));
    if (q)
        q->follower = hl_follower_new(&w->desk, grant, c->minor > 0, &events, q);
    if (!q || !q->follower) {
        free(q);
        hl_follow_free(grant);
        hl_client_detach(c);
        hl_client_refuse(c, hl_refusal(HL_REFUSAL_NO_MEMORY));
        return;
    }
    q->client = c;
    q->run_id = grant->run_id;
    hl_client_give_to(c, &taker, q);
    hl_follower_start(q->follower);
}
