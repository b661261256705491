/* dispatch.c - claimed runs: calls the app with each.
 * Thread: the worker's.
 * Promise: a run that the app has not seen goes back to the store when it takes no calls any more, or
 * the worker stops.
 * Not here: which are claimed, and when (demand.c), the call itself (forward.c, respond.c), its end
 * (ending.c). */
#include "run/dispatch.h"

#include <stdlib.h>
#include <string.h>

#include "app/readiness.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/crash_point.h"
#include "base/log.h"
#include "body/spool.h"
#include "config/config.h"
#include "http/edit.h"
#include "run/call_span.h"
#include "run/demand.h"
#include "run/ending.h"
#include "run/forward.h"
#include "run/page.h"
#include "run/report.h"
#include "run/runs.h"
#include "run/service.h"
#include "run/stream.h"
#include "store/claim.h"
#include "store/store.h"

#define CHECK_NOW_MAX (16 * 1024) /* hashing this much on the loop takes 55 us */

static void give_back(struct hl_runs *runs, struct hl_claimed *claimed);
static void on_again(struct hl_timer *timer);

void hl_dispatch_start(struct hl_runs *runs)
{
    hl_timer_init(&runs->dispatch.again, on_again);
    hl_demand_start(runs);
}

/* ---- a run arrives ---- */

static enum hl_method read_method(struct hl_str head)
{
    const char *space = memchr(head.p, ' ', head.n);
    return hl_method_lookup((struct hl_str){head.p, space ? (size_t)(space - head.p) : 0});
}

/* Bodies that were on a disk are checked as they go out: small ones here, the others piece by piece
 * in the pool. */
static bool needs_source(const struct hl_runs *runs, const struct hl_body *body)
{
    return body->where == HL_BODY_FILE ||
           (body->where == HL_BODY_INLINE && runs->spools.data_dir && body->size > CHECK_NOW_MAX);
}

/* The stored head, ended, and the body behind it unless a source brings that. */
static bool write_page(struct hl_run *run, bool has_source)
{
    struct hl_claimed *claimed = run->store.claimed;
    struct hl_body *body = &claimed->body;
    bool is_inline = body->where == HL_BODY_INLINE && !has_source;
    bool has_body = body->where != HL_BODY_NONE || run->request.method == HL_METHOD_POST ||
                    run->request.method == HL_METHOD_PUT || run->request.method == HL_METHOD_PATCH;
    size_t need = claimed->head.n + 128 + (is_inline ? (size_t)body->size : 0);
    struct hl_page *page = &run->request.page;
    if (!hl_page_make(page, &run->runs->pages, need))
        return false;
    hl_page_append(page, claimed->head);
    struct hl_stored_end end = {.attempt = claimed->attempt,
        .closes = !run->runs->config->app_keepalive,
        .has_body = has_body,
        .content_length = body->size};
    page->n +=
        hl_edit_finish_stored(page->p + page->n, page->cap - page->n, &end, &page->deadline_at);
    page->deadline_at += claimed->head.n;
    if (is_inline)
        hl_page_append(page, (struct hl_str){(const char *)body->bytes, body->size});
    run->request.is_whole = !has_source;
    run->request.framing = body->size > 0 ? HL_FRAMING_LENGTH : HL_FRAMING_NONE;
    return true;
}

/* What stands in the way of calling the app is ours, not the run's: it is tried again, and keeps its
 * place and its slot. */
static void put_off(struct hl_runs *runs, struct hl_claimed *claimed)
{
    HL_LOG(WARN, "a claimed run waits for memory", HL_LOG_ID("run_id", &claimed->run_id));
    claimed->msg.next = runs->dispatch.put_off;
    runs->dispatch.put_off = &claimed->msg;
    hl_timer_arm(runs->wheel, &runs->dispatch.again, HL_DISPATCH_AGAIN_MS);
}

/* It has waited in the queue for an app that takes no calls. */
static void end_unreached(struct hl_run *run)
{
    const struct hl_readiness *readiness = run->runs->service->readiness;
    char detail[256];
    struct hl_refusal why = hl_refusal_say(
        detail, sizeof(detail), HL_REFUSAL_APP_AWAY, hl_readiness_why(readiness), NULL);
    hl_ending_fail(run, HL_RUN_FAILURE, HL_REASON_UPSTREAM_UNREACHABLE, &why);
}

static void begin(struct hl_run *run)
{
    const struct hl_body *body = &run->store.claimed->body;
    bool may_be_damaged = body->where == HL_BODY_INLINE && !run->store.claimed->is_fresh &&
                          run->runs->spools.data_dir;
    if (run->source || !may_be_damaged || hl_body_is_intact(body)) {
        hl_forward_begin(run);
        return;
    }
    HL_LOG(ERROR, "a stored request body is damaged", HL_LOG_ID("run_id", &run->id));
    hl_ending_fail(run, HL_RUN_FAILURE, HL_REASON_INTERRUPTED,
        hl_refusal_make(HL_REFUSAL_STORED_BODY_DAMAGED));
}

/* What it needs before it may begin. False: out of memory. */
static bool prepare(struct hl_run *run)
{
    struct hl_runs *runs = run->runs;
    struct hl_body *body = &run->store.claimed->body;
    bool has_source = needs_source(runs, body);
    run->store.finish = calloc(1, sizeof(*run->store.finish));
    run->name = hl_slot_add(runs->slots, run);
    if (!run->store.finish || run->name.generation == 0 || !write_page(run, has_source))
        return false;
    if (runs->service->tracer)
        hl_call_span_claim(run);
    if (has_source) /* takes the body: nothing fails behind it */
        run->source =
            hl_source_new(runs->loop, runs->spools.data_dir, body, &hl_forward_source_events, run);
    return !has_source || run->source;
}

/* NULL: out of memory. */
static struct hl_run *run_of(struct hl_runs *runs, struct hl_claimed *claimed)
{
    struct hl_run *run = hl_run_new(runs, hl_clock_mono_us());
    if (!run)
        return NULL;
    run->id = claimed->run_id;
    run->store.claimed = claimed;
    run->store.has_webhook = claimed->has_webhook;
    run->allowance = (struct hl_allowance){.quota = claimed->quota, .has_place = claimed->quota};
    claimed->quota = NULL;
    if (run->times.started_ms > claimed->created_ms)
        run->times.queued_us = (uint64_t)(run->times.started_ms - claimed->created_ms) * 1000;
    run->caller.minor = 1;
    run->request.method = read_method(claimed->head);
    run->terms.timeout_ms = runs->config->response_grace_period_ms;
    if (claimed->terms.timeout_ms > 0 && claimed->terms.timeout_ms < run->terms.timeout_ms)
        run->terms.timeout_ms = claimed->terms.timeout_ms;
    run->terms.has_caller = claimed->terms.has_caller;
    if (prepare(run))
        return run;
    claimed->quota = run->allowance.quota;
    run->allowance = (struct hl_allowance){0};
    run->store.claimed = NULL;
    hl_run_free(run);
    return NULL;
}

/* One of those that count as running here. */
static void start(struct hl_runs *runs, struct hl_claimed *claimed, bool is_too_late)
{
    struct hl_run *run = run_of(runs, claimed);
    if (!run && is_too_late) {
        runs->dispatch.running--;
        give_back(runs, claimed);
        return;
    }
    if (!run) {
        put_off(runs, claimed);
        return;
    }
    run->app.has_slot = !is_too_late;
    hl_progress_record(run, HL_RECORD_OPEN);
    hl_run_stream_begin(run, claimed->events);
    hl_counter_add(&runs->metrics->runs_in_flight, 1);
    if (claimed->is_cancelled)
        hl_ending_cancel(run);
    else if (is_too_late)
        end_unreached(run);
    else
        begin(run);
}

static void start_claimed(struct hl_runs *runs, struct hl_claimed *claimed, bool is_too_late)
{
    runs->dispatch.running++;
    start(runs, claimed, is_too_late);
}

void hl_dispatch_end_turn(struct hl_runs *runs)
{
    hl_demand_renew(runs);
}

/* One that waits for memory ends as cancelled where it would have begun. */
static void cancel_put_off(struct hl_runs *runs, const struct hl_id *id)
{
    for (struct hl_msg *msg = runs->dispatch.put_off; msg; msg = msg->next) {
        struct hl_claimed *claimed = HL_CONTAINER_OF(msg, struct hl_claimed, msg);
        claimed->is_cancelled |= hl_id_eq(&claimed->run_id, id);
    }
}

static void cancel_run(struct hl_runs *runs, const struct hl_id *id)
{
    HL_LIST_EACH_SAFE (node, &runs->list) {
        struct hl_run *run = HL_CONTAINER_OF(node, struct hl_run, node);
        if (!hl_id_eq(&run->id, id))
            continue;
        if (hl_run_has_ended(run))
            HL_LOG(INFO, "run was cancelled after its end, which is not recorded yet",
                HL_LOG_ID("run_id", id));
        hl_ending_cancel(run);
        return;
    }
    cancel_put_off(runs, id);
}

/* ---- the app takes no calls, or the worker stops ---- */

static void post_release(struct hl_runs *runs, struct hl_release *release)
{
    enum hl_err err = hl_store_post(runs->service->store, &release->m);
    (void)err; /* only ACCEPT and RECORD can be refused */
}

/* The app has not been called: the run waits in the store for the next process. */
static void give_back(struct hl_runs *runs, struct hl_claimed *claimed)
{
    hl_claimed_leave(claimed);
    struct hl_release *release = hl_release_new(claimed);
    release->m.reply_to = runs->box;
    post_release(runs, release);
}

/* A store that had no memory may have it later. */
static void on_released(struct hl_runs *runs, struct hl_release *release)
{
    HL_CRASH_POINT(RELEASE_COMMITTED);
    if (runs->is_cut || !hl_report_may_pass(release->m.rc)) {
        hl_release_free(release);
        return;
    }
    release->m.msg.next = runs->dispatch.unreleased;
    runs->dispatch.unreleased = &release->m.msg;
    hl_timer_arm(runs->wheel, &runs->dispatch.again, HL_DISPATCH_AGAIN_MS);
}

static void take_claimed(struct hl_runs *runs, struct hl_claimed *claimed)
{
    HL_CRASH_POINT(CLAIM_COMMITTED);
    enum hl_demand_verdict verdict = hl_demand_take(runs, claimed);
    if (verdict == HL_DEMAND_GIVE_BACK)
        give_back(runs, claimed);
    else
        start_claimed(runs, claimed, verdict == HL_DEMAND_TOO_LATE);
}

/* Claimed, and the app has not seen it. */
static bool is_held(const struct hl_run *run)
{
    return run->store.claimed && run->request.half == HL_REQUEST_HELD &&
           run->request.repeat != HL_REPEAT_SPENT && !hl_run_has_ended(run);
}

static struct hl_msg *pop(struct hl_msg **list)
{
    struct hl_msg *msg = *list;
    if (msg)
        *list = msg->next;
    return msg;
}

static struct hl_claimed *pop_claimed(struct hl_msg **list)
{
    struct hl_msg *msg = pop(list);
    return msg ? HL_CONTAINER_OF(msg, struct hl_claimed, msg) : NULL;
}

/* There may be memory again. */
static void on_again(struct hl_timer *timer)
{
    struct hl_runs *runs = HL_CONTAINER_OF(timer, struct hl_runs, dispatch.again);
    struct hl_msg *put_off = runs->dispatch.put_off, *unreleased = runs->dispatch.unreleased;
    struct hl_claimed *claimed;
    struct hl_msg *msg;
    runs->dispatch.put_off = runs->dispatch.unreleased = NULL;
    while ((msg = pop(&unreleased)) != NULL)
        post_release(runs, HL_CONTAINER_OF(msg, struct hl_release, m.msg));
    while ((claimed = pop_claimed(&put_off)) != NULL)
        start(runs, claimed, false);
    hl_demand_pay(runs);
}

bool hl_dispatch_is_settled(const struct hl_runs *runs)
{
    return !runs->dispatch.put_off && !runs->dispatch.unreleased;
}

void hl_dispatch_forget(struct hl_runs *runs)
{
    struct hl_claimed *claimed;
    struct hl_msg *msg;
    while ((claimed = pop_claimed(&runs->dispatch.put_off)) != NULL)
        hl_claimed_free(claimed);
    while ((msg = pop(&runs->dispatch.unreleased)) != NULL)
        hl_release_free(HL_CONTAINER_OF(msg, struct hl_release, m.msg));
}

static void release_put_off(struct hl_runs *runs)
{
    struct hl_msg *put_off = runs->dispatch.put_off;
    struct hl_claimed *claimed;
    runs->dispatch.put_off = NULL;
    while ((claimed = pop_claimed(&put_off)) != NULL) {
        runs->dispatch.running--;
        if (runs->dispatch.holds_slots)
            hl_limiter_release(&runs->seat);
        give_back(runs, claimed);
    }
}

static void release_run(struct hl_run *run)
{
    struct hl_runs *runs = run->runs;
    struct hl_claimed *claimed = run->store.claimed;
    run->store.claimed = NULL;
    hl_run_stream_close(run, false); /* before another attempt can begin */
    hl_progress_record(run, HL_RECORD_NONE);
    hl_counter_sub(&runs->metrics->runs_in_flight, 1);
    runs->dispatch.running--;
    hl_ending_abandon(run);
    give_back(runs, claimed);
}

void hl_dispatch_release_inside(struct hl_runs *runs)
{
    HL_LIST_EACH_SAFE (node, &runs->list) {
        struct hl_run *run = HL_CONTAINER_OF(node, struct hl_run, node);
        if (!hl_run_is_async(run) || run->store.record != HL_RECORD_OPEN || hl_run_has_ended(run))
            continue;
        HL_LOG(INFO, "run goes back to the queue: the end of the drain has cut it",
            HL_LOG_ID("run_id", &run->id));
        release_run(run);
    }
}

void hl_dispatch_release_held(struct hl_runs *runs)
{
    release_put_off(runs);
    struct hl_list *node = runs->list.next;
    while (node != &runs->list) {
        struct hl_run *run = HL_CONTAINER_OF(node, struct hl_run, node);
        node = node->next;
        if (!is_held(run))
            continue;
        release_run(run);
        node = runs->list.next; /* the slot it gave up may have started, even ended, others */
    }
}

void hl_dispatch_on_gate(struct hl_runs *runs)
{
    hl_demand_on_gate(runs);
    if (!hl_gate_is_open(runs->gate.gate) && !runs->is_draining)
        hl_dispatch_release_held(runs);
}

void hl_dispatch_set_aside(struct hl_runs *runs)
{
    hl_demand_on_gate(runs);
    if (runs->is_aside)
        hl_dispatch_release_held(runs);
}

void hl_dispatch_stop(struct hl_runs *runs)
{
    if (runs->dispatch.is_withdrawing)
        return;
    hl_demand_stop(runs);
    hl_dispatch_release_held(runs);
}

void hl_dispatch_on_message(struct hl_runs *runs, struct hl_msg *msg)
{
    switch (msg->type) {
    case HL_STORE_CLAIMED:
        take_claimed(runs, HL_CONTAINER_OF(msg, struct hl_claimed, msg));
        break;
    case HL_STORE_RELEASE:
        on_released(runs, HL_CONTAINER_OF(msg, struct hl_release, m.msg));
        break;
    case HL_STORE_WITHDRAW:
        free(msg);
        hl_demand_on_withdrawn(runs);
        break;
    case HL_STORE_CANCEL_RUN:
        cancel_run(runs, &HL_CONTAINER_OF(msg, struct hl_cancel_run, msg)->run_id);
        free(msg);
        break;
    case HL_STORE_CREDIT_BACK:
        hl_demand_take_back(runs, HL_CONTAINER_OF(msg, struct hl_credit, m.msg));
        break;
    case HL_STORE_WORK:
        hl_demand_look(runs);
        free(msg);
        break;
    default:
        HL_ASSERT(!"a message of a type that workers know");
    }
}
