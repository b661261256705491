/* rest_front.c - the answer to a call at a front, whose run some worker has: the app's own, as soon as that has ended, or
 * as an event stream while it comes; and what becomes of the run when nobody waits for it any more (contract 17).
 * Thread: control.
 * Promise: who made the run and leaves, or waits for too long, has it cancelled, unless it is to go on without him; who
 * has only joined it leaves it alone.
 * Not here: the head that he gets (worker/front_caller.c), the events (worker/follow.c). */
#include <stdlib.h>

#include "api/rest_call.h"
#include "api/rest_handler.h"
#include "base/clock.h"
#include "body/follow.h"
#include "http/edit.h"
#include "run/service.h"
#include "store/claim.h"
#include "store/question.h"
#include "store/store.h"
#include "worker/inquiry.h"

static void wait_on(struct hl_rest_call *call);
static void answer(struct hl_rest_call *call);

void hl_rest_answer_caller(struct hl_rest_call *call)
{
    call->reply.run_id = call->id;
    call->front_until_ms = hl_clock_mono_ms() + call->params.wait_ms;
    call->wait.is_call = true;
    wait_on(call);
}

/* ---- it is waited for: the store looks whether it has ended after it was told of who waits, so none is missed ---- */

static void on_over(struct hl_rest_wait *wait)
{
    struct hl_rest_call *call = HL_CONTAINER_OF(wait, struct hl_rest_call, wait);
    wait->on_over = NULL;
    hl_rest_wait_leave(wait);
    hl_rest_drop_answers(call);
    struct hl_get_run *g = hl_rest_get_run(call);
    if (!g)
        return;
    g->with_body = g->with_head = true;
    hl_rest_ask_store(call, HL_STORE_GET_RUN, &g->m);
    hl_rest_then(call, answer);
}

/* Nobody hears of it: short of memory it goes on. */
void hl_rest_cancel_left(struct hl_rest_calls *calls, const struct hl_id *run_id)
{
    struct hl_run_ref *ref = calloc(1, sizeof(*ref));
    if (!ref)
        return;
    ref->run_id = *run_id;
    ref->m.msg.type = HL_STORE_CANCEL;
    ref->m.reply_to = calls->mail;
    enum hl_err err = hl_store_post(calls->parts.store, &ref->m);
    (void)err; /* only ACCEPT and RECORD can be refused */
}

static void give_up(struct hl_rest_call *call, enum hl_refusal_cause cause)
{
    if (!call->front->is_joined)
        hl_rest_cancel_left(call->all, &call->id);
    hl_rest_refuse(call, cause);
}

static void wait_on(struct hl_rest_call *call)
{
    uint64_t now_ms = hl_clock_mono_ms();
    uint64_t ms = call->front_until_ms > now_ms ? call->front_until_ms - now_ms : 1;
    struct hl_rest_wait *wait = &call->wait;
    wait->on_over = on_over;
    if (!hl_rest_wait_begin(wait, &call->all->waits, call->name, &call->id, HL_STR(""), ms))
        give_up(call, HL_REFUSAL_FRONT_FULL);
    else if (wait->is_over)
        on_over(wait);
}

/* ---- what there is ---- */

static bool is_stream(const struct hl_outcome *o)
{
    return o->http_status == 200 && hl_is_event_stream(hl_str_from(o->content_type)) &&
           !*o->content_encoding;
}

/* With ids, where others may follow it, too. */
static void follow(struct hl_rest_call *call, struct hl_get_run *g)
{
    struct hl_journals *journals = hl_rest_get_parts(call)->service->journals;
    struct hl_follow *follow = hl_rest_make_follow(call, g->run.state, g->run.attempt);
    if (!follow) {
        hl_rest_refuse_memory(call);
        return;
    }
    follow->is_call = follow->has_begun = true;
    follow->is_plain = !call->front->is_kept;
    if (hl_journals_enter(journals, &call->id, HL_STR(""), &follow->place) != HL_FOLLOW_GRANTED) {
        hl_follow_free(follow);
        give_up(call, HL_REFUSAL_FRONT_STREAMS);
        return;
    }
    call->reply.follow = follow;
    call->reply.head = g->answer_head;
    hl_buf_init(&g->answer_head, 0);
    hl_rest_end(call);
}

static void answer_final(struct hl_rest_call *call, struct hl_get_run *g)
{
    const struct hl_outcome *o = &g->outcome;
    bool has_ids = call->front->is_kept && g->answer_head.n > 0 && is_stream(o) &&
                   g->m.rc == HL_OK &&
                   (o->body.where == HL_BODY_INLINE || o->body.where == HL_BODY_FILE);
    if (o->reason == HL_REASON_EXPIRED)
        hl_rest_refuse(call, HL_REFUSAL_CALL_EXPIRED);
    else if (has_ids)
        follow(call, g);
    else
        hl_rest_answer_ended(call, g);
}

static void answer(struct hl_rest_call *call)
{
    struct hl_get_run *g = (struct hl_get_run *)call->answers[0];
    bool is_known = g->m.rc == HL_OK || g->m.rc == HL_ERR_CORRUPT;
    bool has_time = hl_clock_mono_ms() < call->front_until_ms;
    if (g->m.rc == HL_ERR_UNAVAILABLE && has_time)
        wait_on(call); /* the server has gone in between: the store looks again when it is back */
    else if (!is_known)
        hl_rest_refuse_store(call, g->m.rc, "run");
    else if (hl_run_state_is_final(g->run.state))
        answer_final(call, g);
    else if (g->answer_head.n > 0)
        follow(call, g);
    else if (has_time)
        wait_on(call);
    else
        give_up(call, HL_REFUSAL_FRONT_LATE);
}
