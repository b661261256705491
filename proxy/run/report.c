/* report.c - what the store is told of a run that ends, and of a synchronous one with a webhook that
 * begins.
 * Owns: a run that has ended, until the store has answered. Thread: the worker's.
 * Promise: state, kept response and webhook are one FINISH, sent once the response is durable; a
 * FINISH that the store cannot take yet is sent again until it can.
 * Not here: what a webhook looks like (webhook/), how it is stored (store/). */
#include "run/report.h"

#include <stdlib.h>

#include "base/crash_point.h"
#include "base/log.h"
#include "body/spool.h"
#include "loop/run_log.h"
#include "run/recent_run.h"
#include "run/runs.h"
#include "run/service.h"
#include "run/stream.h"
#include "store/accept.h"
#include "store/claim.h"
#include "store/store.h"

#define FINISH_AGAIN_MS 1000

/* Without memory they are not kept. */
static void take_log(struct hl_finish *f, const struct hl_id *run_id)
{
    f->log.n = 0; /* sent again it may have more */
    enum hl_err err = hl_run_log_hand_over(run_id, &f->log);
    if (err)
        hl_buf_fini(&f->log);
}

void hl_report_send(struct hl_store *store, struct hl_finish *f)
{
    if (f->outcome.state == HL_RUN_FAILURE)
        take_log(f, &f->run_id);
    enum hl_err err = hl_store_post(store, &f->m);
    (void)err; /* only ACCEPT and RECORD can be refused */
}

void hl_report_end(struct hl_run *run)
{
    struct hl_runs *runs = run->runs;
    struct hl_finish *f = run->store.finish;
    run->store.finish = NULL;
    hl_progress_record(run, HL_RECORD_FINISHING);
    f->m.msg.type = HL_STORE_FINISH;
    f->m.reply_to = runs->box;
    f->m.from = run->name;
    f->run_id = run->id;
    f->epoch = hl_run_epoch(run);
    f->has_caller = run->terms.has_caller;
    HL_CRASH_POINT(FINISH_READY);
    /* What the app said last may not be in the log yet. */
    if (f->outcome.state == HL_RUN_FAILURE && runs->service->failures && !runs->is_cut)
        hl_mailbox_post(runs->service->failures, &f->m.msg);
    else
        hl_report_send(runs->service->store, f);
    HL_CRASH_POINT(FINISH_POSTED);
}

static void on_finish_again(struct hl_timer *timer)
{
    hl_report_end(HL_CONTAINER_OF(timer, struct hl_run, timer));
}

/* The same FINISH may succeed later. A store that fails keeps it itself, and has closed in the middle of
 * that if it says so: then the run ends as interrupted. */
bool hl_report_may_pass(enum hl_err rc)
{
    return rc == HL_ERR_NOMEM || rc == HL_ERR_BUSY || rc == HL_ERR_FULL || rc == HL_ERR_EXHAUSTED;
}

static void log_unrecorded(struct hl_run *run, enum hl_err rc)
{
    if (rc == HL_OK || rc == HL_ERR_STALE)
        return;
    HL_LOG(ERROR, "a run's end is not recorded", HL_LOG_ID("run_id", &run->id),
        HL_LOG_TEXT("error", hl_err_text(rc)));
    if ((rc == HL_ERR_NOT_FOUND || rc == HL_ERR_INVALID) && run->store.has_webhook)
        hl_counter_add(&run->runs->metrics->webhooks_lost, 1);
}

void hl_report_on_finish(struct hl_runs *runs, struct hl_finish *finish)
{
    struct hl_run *run = hl_slot_find(runs->slots, finish->m.from);
    enum hl_err rc = finish->m.rc;
    HL_CRASH_POINT(FINISH_COMMITTED);
    if (run && hl_report_may_pass(rc) && !runs->is_cut) {
        HL_LOG(ERROR, "a run's end cannot be recorded yet", HL_LOG_ID("run_id", &finish->run_id),
            HL_LOG_TEXT("error", hl_err_text(rc)));
        run->store.finish = finish;
        hl_progress_record(run, HL_RECORD_AGAIN);
        run->timer.on_fire = on_finish_again;
        hl_timer_arm(runs->wheel, &run->timer, FINISH_AGAIN_MS);
        return;
    }
    bool is_file = finish->outcome.body.where == HL_BODY_FILE;
    if (!hl_store_keeps_file(rc) && is_file)
        hl_spool_remove_file(&runs->spools, &finish->outcome.body.file);
    if (run) {
        log_unrecorded(run, rc);
        hl_run_stream_close(run, is_file);
        hl_run_free(run);
    }
    hl_finish_free(finish);
}

/* ---- synchronous runs with a webhook, or with a stream that is kept ---- */

/* A stream that was to be kept goes on unkept. */
static void lose_record(struct hl_run *run, const char *why)
{
    if (run->store.has_webhook) {
        hl_counter_add(&run->runs->metrics->webhooks_lost, 1);
        HL_LOG(ERROR, "a webhook is lost: its run cannot be recorded",
            HL_LOG_ID("run_id", &run->id), HL_LOG_TEXT("error", why));
    }
    run->store.has_webhook = false;
    hl_progress_record(run, HL_RECORD_NONE);
    hl_finish_free(run->store.finish);
    run->store.finish = NULL;
}

void hl_report_begin(struct hl_run *run)
{
    struct hl_runs *runs = run->runs;
    struct hl_accept *a = run->store.accept;
    run->store.accept = NULL;
    if (run->terms.keeps_stream)
        hl_run_stream_announce(run, a);
    run->store.finish = calloc(1, sizeof(*run->store.finish));
    run->name = hl_slot_add(runs->slots, run);
    if (!run->store.finish || run->name.generation == 0) {
        hl_accept_free(a);
        lose_record(run, hl_err_text(HL_ERR_NOMEM));
        return;
    }
    a->m.msg.type = HL_STORE_RECORD;
    a->m.reply_to = runs->box;
    a->m.from = run->name;
    enum hl_err err = hl_store_post(runs->service->store, &a->m);
    if (err == HL_OK) {
        hl_progress_record(run, HL_RECORD_OPEN);
        if (run->stream)
            run->stream->record = HL_STREAM_TOLD;
        hl_recent_forget(run); /* the store lists it from here on */
        return;
    }
    hl_accept_free(a);
    lose_record(run, hl_err_text(err));
}

/* With a webhook its FINISH will not be found either, and counts the loss. */
static void refuse_record(struct hl_run *run, const struct hl_accept *accept)
{
    HL_LOG(ERROR, "a synchronous run with a webhook or a kept stream cannot be recorded",
        HL_LOG_ID("run_id", &accept->run_id), HL_LOG_TEXT("error", hl_err_text(accept->m.rc)));
    if (run && run->store.record == HL_RECORD_OPEN && !run->store.has_webhook)
        lose_record(run, hl_err_text(accept->m.rc));
}

struct hl_run *hl_report_on_record(struct hl_runs *runs, struct hl_accept *accept)
{
    HL_CRASH_POINT(RECORD_COMMITTED);
    struct hl_run *run = hl_slot_find(runs->slots, accept->m.from);
    bool is_good = accept->m.rc == HL_OK;
    if (!is_good)
        refuse_record(run, accept);
    hl_accept_free(accept);
    bool waits = run && hl_run_stream_settle(run, is_good ? HL_STREAM_RECORDED : HL_STREAM_REFUSED);
    return waits ? run : NULL;
}
