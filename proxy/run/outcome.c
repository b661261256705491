/* outcome.c - what became of a run: its end is counted, its response is put to rest, the store is
 * told.
 * Owns: a run between the end of its response and the store's answer. Thread: the worker's.
 * Promise: state, kept response and webhook are one FINISH, sent once the response is durable; a
 * FINISH that the store cannot take yet is sent again until it can.
 * Not here: what a webhook looks like (webhook/), how it is stored (store/). */
#include <stdlib.h>
#include <string.h>

#include "app/pool.h"
#include "base/clock.h"
#include "base/crash_point.h"
#include "base/log.h"
#include "run/client.h"
#include "run/source.h"

#define FINISH_AGAIN_MS 1000

static void count_end(struct hl_run *run, enum hl_run_state state, enum hl_run_reason reason)
{
    struct hl_worker_metrics *metrics = &run->worker->metrics;
    enum hl_mode mode = run->is_pass ? HL_MODE_OTHER : hl_run_mode(run);
    run->ended_us = hl_clock_mono_us();
    uint64_t us = run->ended_us - run->started_us;
    hl_counter_add(&metrics->runs_finished[mode][state], 1);
    hl_recent_end(run, state, reason, (int64_t)(us / 1000));
    if (hl_run_is_async(run)) {
        hl_histogram_add(&metrics->run_duration, us);
        hl_counter_sub(&metrics->runs_in_flight, 1);
        return;
    }
    hl_counter_sub(&metrics->calls_in_flight, 1);
}

/* Gives back what the app's side used. */
static void leave_app(struct hl_run *run, bool is_reusable)
{
    struct hl_worker *w = run->worker;
    hl_pool_cancel(&run->wait);
    if (hl_list_is_linked(&run->slot_wait.node)) {
        hl_limiter_cancel(&w->seat, &run->slot_wait);
        hl_counter_sub(&w->metrics.waiting_for_slot, 1);
    }
    if (run->upstream && is_reusable)
        hl_pool_put(run->upstream);
    else if (run->upstream)
        hl_upstream_close(run->upstream);
    run->upstream = NULL;
    hl_forward_leave_slot(run);
    hl_source_free(run->source);
    run->source = NULL;
    hl_timer_disarm(&run->timer);
    hl_timer_disarm(&run->deadline);
}

void hl_outcome_abandon(struct hl_run *run)
{
    run->response = HL_RESPONSE_DONE;
    leave_app(run, false);
    hl_run_free(run);
}

static int64_t ms_since_start(const struct hl_run *run)
{
    return (int64_t)(hl_clock_mono_us() - run->started_us) / 1000;
}

static void log_end(const struct hl_run *run)
{
    const struct hl_outcome *o = &run->finish->outcome;
    int64_t ms = ms_since_start(run);
    if (o->reason == HL_REASON_NONE)
        HL_LOG(INFO, "run finished", HL_LOG_ID("run_id", &run->id),
            HL_LOG_TEXT("state", hl_run_state_text(o->state)), HL_LOG_INT("status", o->http_status),
            HL_LOG_INT("ms", ms));
    else
        HL_LOG(INFO, "run finished", HL_LOG_ID("run_id", &run->id),
            HL_LOG_TEXT("state", hl_run_state_text(o->state)),
            HL_LOG_TEXT("reason", hl_run_reason_text(o->reason)),
            HL_LOG_INT("status", o->http_status), HL_LOG_INT("ms", ms));
}

static void post_finish(struct hl_run *run)
{
    struct hl_worker *w = run->worker;
    struct hl_finish *f = run->finish;
    run->finish = NULL;
    f->m.msg.type = HL_STORE_FINISH;
    f->m.reply_to = &w->mail.box;
    f->m.from = run->name;
    f->run_id = run->id;
    f->epoch = run->epoch;
    HL_CRASH_POINT(FINISH_READY);
    enum hl_err err = hl_store_post(w->service->store, &f->m);
    (void)err; /* only ACCEPT and RECORD can be refused */
    HL_CRASH_POINT(FINISH_POSTED);
}

void hl_outcome_conclude(
    struct hl_run *run, enum hl_run_state state, enum hl_run_reason reason, bool is_reusable)
{
    struct hl_worker *w = run->worker;
    if (run->response == HL_RESPONSE_DONE)
        return;
    run->response = HL_RESPONSE_DONE;
    count_end(run, state, reason);
    leave_app(run, is_reusable);
    if (!run->finish) {
        hl_run_free(run);
        hl_worker_check_end(w);
        return;
    }
    struct hl_outcome *o = &run->finish->outcome;
    o->state = state;
    o->reason = reason;
    o->http_status = run->status;
    o->finished_ms = run->started_ms + ms_since_start(run);
    if (hl_run_is_async(run))
        hl_dispatch_run_ended(w);
    log_end(run);
    if (run->spool)
        hl_spool_end(run->spool);
    else
        post_finish(run);
}

/* How the body stands in the envelope: found while it passed (spec 5). */
static void describe_body(struct hl_outcome *o, const struct hl_body_check *check)
{
    switch (hl_body_check_end(check)) {
    case HL_BODY_JSON:
        o->encoding = HL_ENCODING_JSON;
        break;
    case HL_BODY_TEXT:
        o->encoding = HL_ENCODING_TEXT;
        o->escaped_size = check->escaped;
        break;
    case HL_BODY_BINARY:
        o->encoding = HL_ENCODING_BASE64;
        break;
    }
}

static void on_spool_room(void *owner)
{
    hl_respond_resume(owner);
}

static void on_spool_done(
    void *owner, struct hl_spool *spool, enum hl_err err, struct hl_body *body)
{
    struct hl_run *run = owner;
    struct hl_outcome *o = &run->finish->outcome;
    run->spool = NULL;
    o->body = *body;
    if (body->where == HL_BODY_DROPPED || body->where == HL_BODY_UNKEPT)
        o->encoding = HL_ENCODING_NONE;
    else
        describe_body(o, hl_spool_check(spool));
    if (body->where == HL_BODY_UNKEPT)
        hl_counter_add(&run->worker->metrics.responses_not_kept, 1);
    if (err != HL_OK)
        HL_LOG(WARN, "a response is not kept", HL_LOG_ID("run_id", &run->id),
            HL_LOG_TEXT("error", hl_err_text(err)), HL_LOG_INT("bytes", body->size));
    post_finish(run);
}

const struct hl_spool_events hl_outcome_spool_events = {
    .on_room = on_spool_room, .on_done = on_spool_done};

static void on_finish_again(struct hl_timer *timer)
{
    post_finish(HL_CONTAINER_OF(timer, struct hl_run, timer));
}

/* The same FINISH may succeed later. A store that fails does so until it is started again: then the
 * run ends as interrupted. */
static bool may_pass(enum hl_err rc)
{
    return rc == HL_ERR_NOMEM || rc == HL_ERR_BUSY || rc == HL_ERR_FULL;
}

static void log_unrecorded(struct hl_run *run, enum hl_err rc)
{
    if (rc == HL_OK || rc == HL_ERR_STALE)
        return;
    HL_LOG(ERROR, "a run's end is not recorded", HL_LOG_ID("run_id", &run->id),
        HL_LOG_TEXT("error", hl_err_text(rc)));
    if (rc == HL_ERR_NOT_FOUND && run->has_webhook)
        hl_counter_add(&run->worker->metrics.webhooks_lost, 1);
}

void hl_outcome_on_finish_reply(struct hl_worker *w, struct hl_finish *finish)
{
    struct hl_run *run = hl_slot_find(&w->slots, finish->m.from);
    enum hl_err rc = finish->m.rc;
    HL_CRASH_POINT(FINISH_COMMITTED);
    if (run && may_pass(rc) && !w->is_cut) {
        HL_LOG(ERROR, "a run's end cannot be recorded yet", HL_LOG_ID("run_id", &finish->run_id),
            HL_LOG_TEXT("error", hl_err_text(rc)));
        run->finish = finish;
        run->timer.on_fire = on_finish_again;
        hl_timer_arm(&w->wheel, &run->timer, FINISH_AGAIN_MS);
        return;
    }
    if (!hl_store_keeps_file(rc) && finish->outcome.body.where == HL_BODY_FILE)
        hl_spool_remove_file(&w->spools, &finish->outcome.body.file);
    if (run) {
        log_unrecorded(run, rc);
        hl_run_free(run);
    }
    hl_finish_free(finish);
    hl_worker_check_end(w);
}

/* ---- synchronous runs with a webhook ---- */

static void lose_webhook(struct hl_run *run, const char *why)
{
    hl_counter_add(&run->worker->metrics.webhooks_lost, 1);
    HL_LOG(ERROR, "a webhook is lost: its run cannot be recorded", HL_LOG_ID("run_id", &run->id),
        HL_LOG_TEXT("error", why));
    run->has_webhook = false;
    hl_finish_free(run->finish);
    run->finish = NULL;
}

void hl_outcome_record(struct hl_run *run)
{
    struct hl_worker *w = run->worker;
    struct hl_accept *a = run->accept;
    run->accept = NULL;
    run->finish = calloc(1, sizeof(*run->finish));
    run->name = hl_slot_add(&w->slots, run);
    if (!run->finish || run->name.generation == 0) {
        hl_accept_free(a);
        lose_webhook(run, hl_err_text(HL_ERR_NOMEM));
        return;
    }
    a->m.msg.type = HL_STORE_RECORD;
    a->m.reply_to = &w->mail.box;
    a->m.from = run->name;
    enum hl_err err = hl_store_post(w->service->store, &a->m);
    if (err == HL_OK) {
        hl_recent_forget(run); /* the store lists it from here on */
        return;
    }
    hl_accept_free(a);
    lose_webhook(run, hl_err_text(err));
}

void hl_outcome_on_record_reply(struct hl_worker *w, struct hl_accept *accept)
{
    HL_CRASH_POINT(RECORD_COMMITTED);
    if (accept->m.rc != HL_OK)
        HL_LOG(ERROR, "a synchronous run with a webhook cannot be recorded",
            HL_LOG_ID("run_id", &accept->run_id), HL_LOG_TEXT("error", hl_err_text(accept->m.rc)));
    (void)w; /* its FINISH will not be found either, and counts the loss */
    hl_accept_free(accept);
}
