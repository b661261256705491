/* acceptance.c - asynchronous calls, up to the 202: the body is read whole, the run is committed, then
 * the caller is answered.
 * Owns: a run from its head to the store's answer. Thread: the worker's.
 * Promise: a 202 is written only after the commit (contract 3); a refused accept leaves no trace.
 * Not here: what happens to an accepted run (dispatch.c). */
#include "run/acceptance.h"

#include <mbedtls/sha256.h>
#include <stdio.h>
#include <string.h>

#include "base/crash_point.h"
#include "body/spool.h"
#include "caller/client.h"
#include "config/config.h"
#include "http/problem.h"
#include "http/writer.h"
#include "loop/mailbox.h"
#include "loop/slot.h"
#include "run/allowance.h"
#include "run/demand.h"
#include "run/progress.h"
#include "run/run.h"
#include "run/runs.h"
#include "run/service.h"
#include "store/accept.h"
#include "store/store.h"

static void refuse_saying(struct hl_run *run, const struct hl_refusal *why)
{
    struct hl_runs *runs = run->runs;
    struct hl_client *c = run->client;
    hl_counter_sub(&runs->metrics->calls_in_flight, 1);
    hl_counter_add(&runs->metrics->async_refused, 1);
    run->client = NULL;
    hl_allowance_undo(&run->allowance);
    if (c) {
        struct hl_answer a = {.refusal = why, .run_id = &run->id};
        hl_client_answer(c, &a, run->terms.has_caller ? HL_MODE_SYNC : HL_MODE_ASYNC);
    }
    hl_run_free(run);
}

static void refuse(struct hl_run *run, enum hl_refusal_cause cause)
{
    refuse_saying(run, hl_refusal_make(cause));
}

static void on_room(void *owner)
{
    struct hl_run *run = owner;
    if (run->client)
        hl_client_resume(run->client);
}

/* The body's share of the fingerprint. */
static void end_fingerprint(struct hl_accept *a)
{
    unsigned char both[64];
    memcpy(both, a->fingerprint, 32);
    memcpy(both + 32, a->body.digest, 32);
    mbedtls_sha256_ret(both, sizeof(both), a->fingerprint, 0);
}

static void post_accept(struct hl_run *run)
{
    struct hl_runs *runs = run->runs;
    struct hl_accept *a = run->store.accept;
    if (a->idempotency_key.n > 0)
        end_fingerprint(a);
    run->name = hl_slot_add(runs->slots, run);
    a->m.msg.type = HL_STORE_ACCEPT;
    a->m.reply_to = runs->box;
    a->m.from = run->name;
    enum hl_err err =
        run->name.generation ? hl_store_post(runs->service->store, &a->m) : HL_ERR_NOMEM;
    if (err == HL_OK) {
        run->store.accept = NULL;
        hl_progress_record(run, HL_RECORD_ACCEPTING);
        return;
    }
    if (a->body.where == HL_BODY_FILE)
        hl_spool_remove_file(&runs->spools, &a->body.file);
    refuse(run, HL_REFUSAL_STORE_BUSY);
}

static void on_body_done(void *owner, struct hl_spool *spool, enum hl_err err, struct hl_body *body)
{
    (void)spool;
    struct hl_run *run = owner;
    run->spool = NULL;
    run->store.accept->body = *body;
    if (body->size == 0 && body->where == HL_BODY_INLINE) {
        hl_body_fini(&run->store.accept->body);
        run->store.accept->body.where = HL_BODY_NONE;
    }
    if (err == HL_OK) {
        post_accept(run);
        return;
    }
    if (err == HL_ERR_TOO_LARGE)
        refuse(run, HL_REFUSAL_KEPT_BODY_TOO_LARGE);
    else if (err == HL_ERR_NOMEM)
        refuse(run, HL_REFUSAL_NO_MEMORY);
    else if (err == HL_ERR_EXHAUSTED)
        refuse(run, HL_REFUSAL_NO_DESCRIPTOR);
    else
        refuse(run, HL_REFUSAL_STORE_CLOSED);
}

static const struct hl_spool_events spool_events = {.on_room = on_room, .on_done = on_body_done};

void hl_acceptance_begin(struct hl_run *run, uint64_t announced)
{
    struct hl_runs *runs = run->runs;
    struct hl_client *c = run->client;
    hl_progress_stage(run, HL_STAGE_ACCEPTING);
    run->spool = hl_spool_new(
        &runs->spools, runs->config->max_request_body, false, false, &spool_events, run);
    if (!run->spool) {
        refuse(run, HL_REFUSAL_NO_MEMORY);
        return;
    }
    if (run->store.accept->idempotency_key.n > 0)
        hl_spool_want_sha256(run->spool); /* for end_fingerprint */
    if (announced)
        hl_spool_expect(run->spool, announced);
    if (hl_client_say_continue(c) == HL_OK && c->body_done)
        hl_spool_end(run->spool);
}

/* ---- the caller's request ---- */

static bool is_blocked(void *owner)
{
    struct hl_run *run = owner;
    return hl_spool_is_full(run->spool);
}

static void on_body(void *owner, struct hl_str data)
{
    struct hl_run *run = owner;
    hl_spool_take(run->spool, data.p, data.n);
}

static void on_body_end(void *owner, struct hl_str trailer)
{
    (void)trailer;
    struct hl_run *run = owner;
    hl_spool_end(run->spool);
}

static void leave(struct hl_run *run)
{
    struct hl_runs *runs = run->runs;
    run->client = NULL;
    if (run->store.record == HL_RECORD_ACCEPTING)
        return; /* it is with the store: the answer will find nobody */
    hl_counter_sub(&runs->metrics->calls_in_flight, 1);
    hl_allowance_undo(&run->allowance);
    hl_run_free(run);
}

static void on_failed(void *owner, const struct hl_refusal *why)
{
    struct hl_run *run = owner;
    struct hl_client *c = run->client;
    leave(run);
    hl_client_detach(c);
    hl_client_refuse(c, why);
}

static void on_caller_gone(void *owner)
{
    struct hl_run *run = owner;
    hl_counter_add(&run->runs->metrics->callers_gone, 1);
    leave(run);
}

static bool needs_caller(void *owner)
{
    (void)owner;
    return false;
}

const struct hl_taker hl_acceptance_taker = {.is_blocked = is_blocked,
    .body = on_body,
    .body_end = on_body_end,
    .failed = on_failed,
    .caller_gone = on_caller_gone,
    .drained = hl_taker_ignores,
    .needs_caller = needs_caller};

/* ---- the store's answer ---- */

static enum hl_refusal_cause cause_of(enum hl_err err)
{
    switch (err) {
    case HL_ERR_CONFLICT:
        return HL_REFUSAL_KEY_REUSED;
    case HL_ERR_FULL:
        return HL_REFUSAL_STORE_FULL;
    case HL_ERR_EXHAUSTED:
        return HL_REFUSAL_NO_DESCRIPTOR;
    case HL_ERR_TIMEOUT:
        return HL_REFUSAL_STORE_UNSURE;
    default:
        return HL_REFUSAL_STORE_FAILING;
    }
}

/* One of its account's limits, or all that the store may hold. */
static void refuse_busy(struct hl_run *run, const struct hl_accept *accept)
{
    struct hl_allowance_room room;
    if (!run->allowance.is_over && !accept->is_over_queued) {
        refuse(
            run, accept->is_over_destination ? HL_REFUSAL_DESTINATION_FULL : HL_REFUSAL_RUNS_FULL);
        return;
    }
    struct hl_refusal why = hl_allowance_refusal(
        run->allowance.quota, run->allowance.is_over ? HL_LIMIT_RATE : HL_LIMIT_MAX_QUEUED, &room);
    refuse_saying(run, &why);
}

void hl_acceptance_write_location(char out[HL_ACCEPTANCE_LOCATION_MAX],
    const struct hl_config *config, struct hl_str project, struct hl_str app,
    const struct hl_id *run_id)
{
    char id[HL_ID_TEXT];
    struct hl_writer w = hl_writer_on(out, HL_ACCEPTANCE_LOCATION_MAX - 1);
    struct hl_str base = config->public_url;
    if (base.n > 0 && base.p[base.n - 1] == '/')
        base.n--;
    hl_id_format(run_id, id);
    HL_WRITE(&w, "Location: ");
    hl_write_str(&w, base);
    HL_WRITE(&w, "/v2/projects/");
    hl_write_str(&w, project);
    HL_WRITE(&w, "/apps/");
    hl_write_str(&w, app);
    HL_WRITE(&w, "/runs/");
    hl_write(&w, id, sizeof(id));
    HL_WRITE(&w, "\r\n");
    out[hl_writer_end(&w)] = '\0';
}

static void write_accepted(struct hl_run *run, struct hl_client *c, const struct hl_accept *accept)
{
    char text[] = "{\"run_id\":\"------------------------------------\"}";
    char fields[HL_ACCEPTANCE_LOCATION_MAX + 64];
    hl_id_format(&accept->run_id, text + 11);
    hl_acceptance_write_location(
        fields, run->runs->config, accept->project, accept->app, &accept->run_id);
    if (run->caller.is_preference_applied)
        snprintf(fields + strlen(fields), 64, "Preference-Applied: respond-async\r\n");
    struct hl_answer a = {.status = 202,
        .content_type = HL_STR("application/json"),
        .body = {text, sizeof(text) - 1},
        .run_id = &accept->run_id,
        .extra_fields = fields};
    hl_client_answer(c, &a, HL_MODE_ASYNC);
}

static void answer_accepted(struct hl_run *run, const struct hl_accept *accept)
{
    struct hl_runs *runs = run->runs;
    struct hl_client *c = run->client;
    HL_CRASH_POINT(ACCEPT_COMMITTED);
    hl_counter_sub(&runs->metrics->calls_in_flight, 1);
    run->client = NULL;
    if (c && run->terms.wait_ms > 0)
        runs->await(c, accept, run->terms.wait_ms);
    else if (!c && run->terms.has_caller)
        runs->leave(runs, accept);
    else if (c)
        write_accepted(run, c, accept);
    HL_CRASH_POINT(ACCEPT_ANSWERED);
    hl_run_free(run);
}

void hl_acceptance_on_reply(struct hl_runs *runs, struct hl_accept *accept)
{
    struct hl_run *run = hl_slot_find(runs->slots, accept->m.from);
    enum hl_err rc = accept->m.rc;
    if (!hl_store_keeps_file(rc) && accept->body.where == HL_BODY_FILE)
        hl_spool_remove_file(&runs->spools, &accept->body.file);
    if (run && rc == HL_ERR_EXISTS)
        hl_allowance_undo(&run->allowance);
    if (rc == HL_OK)
        hl_demand_note_accepted(runs);
    if (run && (rc == HL_OK || rc == HL_ERR_EXISTS))
        answer_accepted(run, accept);
    else if (run && rc == HL_ERR_BUSY)
        refuse_busy(run, accept);
    else if (run)
        refuse(run, cause_of(rc));
    hl_accept_free(accept);
}
