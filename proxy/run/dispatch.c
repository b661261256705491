/* dispatch.c - claimed runs: asks the store for as many as this worker may have, and calls the app
 * with each.
 * Owns: the worker's credit. Thread: the worker's.
 * Promise: without a limit on the app, credit stands with the store, so that a run is claimed in
 * the commit that accepts it; with one, a slot of the app is held before a run is claimed, so that
 * `running` never waits.
 * Not here: the call itself (forward.c, respond.c), its end (ending.c). */
#include "run/dispatch.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/crash_point.h"
#include "base/log.h"
#include "http/edit.h"
#include "run/ending.h"
#include "run/forward.h"

#define CHECK_NOW_MAX (16 * 1024) /* hashing this much on the loop takes 55 us */

/* One slot of the app asked for. */
struct slot_request {
    struct hl_limiter_wait wait;
    struct hl_runs *runs;
};

static bool has_limit(const struct hl_runs *runs)
{
    return runs->config->app_concurrency > 0;
}

static void give_credit(struct hl_runs *runs, uint32_t n)
{
    struct hl_credit *credit = calloc(1, sizeof(*credit));
    HL_ASSERT(credit); /* a few bytes; lost credit would idle a slot forever */
    credit->m.msg.type = HL_STORE_CREDIT;
    credit->m.reply_to = runs->box;
    credit->n = n;
    credit->returns = has_limit(runs);
    runs->dispatch.credit += n;
    enum hl_err err = hl_store_post(runs->service->store, &credit->m);
    (void)err; /* only ACCEPT and RECORD can be refused */
}

void hl_dispatch_start(struct hl_runs *runs)
{
    uint32_t workers = runs->service->worker_count, total = runs->config->async_concurrency;
    runs->dispatch.max = total / workers + (runs->index < total % workers ? 1 : 0);
    if (runs->dispatch.max > 0)
        give_credit(runs, has_limit(runs) ? 0 : runs->dispatch.max);
}

static bool on_slot(struct hl_limiter_wait *wait)
{
    struct slot_request *request = HL_CONTAINER_OF(wait, struct slot_request, wait);
    struct hl_runs *runs = request->runs;
    free(request);
    runs->dispatch.waiting--;
    if (runs->is_draining)
        hl_limiter_release(&runs->seat);
    else
        give_credit(runs, 1);
    return true;
}

/* With a limit: as many slots as there are runs waiting, within this worker's share. */
static void ask_for_slots(struct hl_runs *runs)
{
    uint64_t queued = hl_counter_get(&hl_store_gauges(runs->service->store)->queued_runs);
    while (!runs->is_draining && queued > runs->dispatch.waiting + runs->dispatch.credit &&
           runs->dispatch.running + runs->dispatch.waiting + runs->dispatch.credit <
               runs->dispatch.max) {
        struct slot_request *request = malloc(sizeof(*request));
        if (!request)
            return;
        request->runs = runs;
        hl_limiter_wait_init(&request->wait, on_slot);
        runs->dispatch.waiting++;
        hl_limiter_queue(&runs->seat, &request->wait, HL_LIMITER_ASYNC);
    }
}

/* A hint of the store is used up by the worker's next CREDIT (store.h): one of 0 says that hints
 * are wanted again. */
static void look_for_work(struct hl_runs *runs)
{
    ask_for_slots(runs);
    if (!runs->is_draining && runs->dispatch.waiting + runs->dispatch.credit == 0 &&
        runs->dispatch.running < runs->dispatch.max)
        give_credit(runs, 0);
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
static bool write_page(struct hl_run *run)
{
    struct hl_claimed *claimed = run->claimed;
    struct hl_body *body = &claimed->body;
    bool is_inline = body->where == HL_BODY_INLINE && !run->source;
    bool has_body = body->where != HL_BODY_NONE || run->method == HL_METHOD_POST ||
                    run->method == HL_METHOD_PUT || run->method == HL_METHOD_PATCH;
    size_t need = claimed->head.n + 128 + (is_inline ? (size_t)body->size : 0);
    run->page_cap = need > HL_PAGE_SIZE ? need : HL_PAGE_SIZE;
    run->page = hl_pages_get(&run->runs->pages, run->page_cap);
    if (!run->page)
        return false;
    memcpy(run->page, claimed->head.p, claimed->head.n);
    run->page_n = claimed->head.n;
    struct hl_stored_end end = {.attempt = claimed->attempt,
        .closes = !run->runs->config->app_keepalive,
        .has_body = has_body,
        .content_length = body->size};
    run->page_n += hl_edit_finish_stored(
        run->page + run->page_n, run->page_cap - run->page_n, &end, &run->deadline_at);
    run->deadline_at += claimed->head.n;
    if (is_inline) {
        memcpy(run->page + run->page_n, body->bytes, body->size);
        run->page_n += body->size;
    }
    run->has_whole_request = !run->source;
    run->request_framing = body->size > 0 ? HL_FRAMING_LENGTH : HL_FRAMING_NONE;
    return true;
}

/* What stands in the way of calling the app is ours, not the run's: it stays claimed and ends as
 * interrupted at the next start. */
static void give_up(struct hl_runs *runs, struct hl_run *run, struct hl_claimed *claimed)
{
    HL_LOG(ERROR, "a claimed run cannot be started: out of memory",
        HL_LOG_ID("run_id", &claimed->run_id));
    if (run)
        hl_run_free(run);
    else
        hl_claimed_free(claimed);
    runs->dispatch.running--;
    if (has_limit(runs))
        hl_limiter_release(&runs->seat);
}

static void begin(struct hl_run *run)
{
    const struct hl_body *body = &run->claimed->body;
    if (run->source || body->where != HL_BODY_INLINE || !run->runs->spools.data_dir ||
        hl_body_is_intact(body)) {
        hl_forward_begin(run);
        return;
    }
    HL_LOG(ERROR, "a stored request body is damaged", HL_LOG_ID("run_id", &run->id));
    hl_ending_fail(
        run, HL_RUN_FAILURE, HL_REASON_INTERRUPTED, hl_refusal(HL_REFUSAL_STORED_BODY_DAMAGED));
}

static void start_claimed(struct hl_runs *runs, struct hl_claimed *claimed)
{
    runs->dispatch.running++;
    struct hl_run *run = hl_run_new(runs, hl_clock_mono_us());
    if (!run) {
        give_up(runs, NULL, claimed);
        return;
    }
    run->id = claimed->run_id;
    run->claimed = claimed;
    run->epoch = claimed->epoch;
    run->has_webhook = claimed->has_webhook;
    run->caller_minor = 1;
    run->has_slot = true;
    run->method = read_method(claimed->head);
    run->timeout_ms = runs->config->response_grace_period_ms;
    if (claimed->timeout_ms > 0 && claimed->timeout_ms < run->timeout_ms)
        run->timeout_ms = claimed->timeout_ms;
    run->finish = calloc(1, sizeof(*run->finish));
    run->name = hl_slot_add(runs->slots, run);
    bool has_source = needs_source(runs, &claimed->body);
    if (has_source)
        run->source = hl_source_new(
            runs->loop, runs->spools.data_dir, &claimed->body, &hl_forward_source_events, run);
    if (!run->finish || run->name.generation == 0 || (has_source && !run->source) ||
        !write_page(run)) {
        give_up(runs, run, claimed);
        return;
    }
    hl_progress_record(run, HL_RECORD_OPEN);
    hl_counter_add(&runs->metrics->runs_in_flight, 1);
    begin(run);
}

void hl_dispatch_end_turn(struct hl_runs *runs)
{
    uint32_t n = runs->dispatch.ended;
    if (n == 0)
        return;
    runs->dispatch.ended = 0;
    runs->dispatch.running -= n;
    if (runs->is_draining)
        return;
    if (has_limit(runs))
        look_for_work(runs);
    else
        give_credit(runs, n);
}

static void cancel_run(struct hl_runs *runs, const struct hl_id *id)
{
    HL_LIST_EACH_SAFE (node, &runs->list) {
        struct hl_run *run = HL_CONTAINER_OF(node, struct hl_run, node);
        if (!hl_id_eq(&run->id, id))
            continue;
        hl_ending_cancel(run);
        return;
    }
}

static void take_back(struct hl_runs *runs, struct hl_credit *credit)
{
    runs->dispatch.credit -= credit->n;
    for (uint32_t i = 0; i < credit->n; i++)
        hl_limiter_release(&runs->seat);
    free(credit);
}

/* ---- the worker stops ---- */

/* The app has not been called: the run waits in the store for the next process. */
static void give_back(struct hl_runs *runs, struct hl_claimed *claimed)
{
    struct hl_release *release = hl_release_new(claimed);
    if (!release) {
        hl_claimed_free(claimed); /* it stays claimed: interrupted at the next start */
        return;
    }
    release->m.reply_to = runs->box;
    enum hl_err err = hl_store_post(runs->service->store, &release->m);
    (void)err; /* only ACCEPT and RECORD can be refused */
}

static void take_claimed(struct hl_runs *runs, struct hl_claimed *claimed)
{
    HL_ASSERT(runs->dispatch.credit > 0);
    HL_CRASH_POINT(CLAIM_COMMITTED);
    runs->dispatch.credit--;
    if (!runs->is_draining) {
        start_claimed(runs, claimed);
        return;
    }
    give_back(runs, claimed);
    if (has_limit(runs))
        hl_limiter_release(&runs->seat);
}

/* Claimed, and the app has not seen it. */
static bool is_held(const struct hl_run *run)
{
    return run->claimed && run->request == HL_REQUEST_HELD && !run->is_resent &&
           !hl_run_has_ended(run);
}

void hl_dispatch_release_held(struct hl_runs *runs)
{
    struct hl_list *node = runs->list.next;
    while (node != &runs->list) {
        struct hl_run *run = HL_CONTAINER_OF(node, struct hl_run, node);
        node = node->next;
        if (!is_held(run))
            continue;
        struct hl_claimed *claimed = run->claimed;
        run->claimed = NULL;
        hl_progress_record(run, HL_RECORD_NONE);
        hl_counter_sub(&runs->metrics->runs_in_flight, 1);
        runs->dispatch.running--;
        hl_ending_abandon(run);
        give_back(runs, claimed);
        node = runs->list.next; /* the slot it gave up may have started, even ended, others */
    }
}

/* Slots asked for are not wanted any more: nobody reads this worker's mail once it has ended. */
static void leave_queue(struct hl_runs *runs)
{
    HL_LIST_EACH_SAFE (node, &runs->seat.queue[HL_LIMITER_ASYNC]) {
        struct hl_limiter_wait *wait = HL_CONTAINER_OF(node, struct hl_limiter_wait, node);
        hl_limiter_cancel(&runs->seat, wait);
        free(HL_CONTAINER_OF(wait, struct slot_request, wait));
        runs->dispatch.waiting--;
    }
}

void hl_dispatch_stop(struct hl_runs *runs)
{
    if (runs->dispatch.is_withdrawing)
        return;
    runs->dispatch.is_withdrawing = true;
    leave_queue(runs);
    struct hl_store_msg *m = calloc(1, sizeof(*m));
    HL_ASSERT(m);
    m->msg.type = HL_STORE_WITHDRAW;
    m->reply_to = runs->box;
    enum hl_err err = hl_store_post(runs->service->store, m);
    (void)err; /* only ACCEPT and RECORD can be refused */
    hl_dispatch_release_held(runs);
}

static void on_withdrawn(struct hl_runs *runs)
{
    runs->dispatch.has_withdrawn = true;
    if (has_limit(runs))
        for (; runs->dispatch.credit > 0; runs->dispatch.credit--)
            hl_limiter_release(&runs->seat);
}

void hl_dispatch_on_message(struct hl_runs *runs, struct hl_msg *msg)
{
    switch (msg->type) {
    case HL_STORE_CLAIMED:
        take_claimed(runs, HL_CONTAINER_OF(msg, struct hl_claimed, msg));
        break;
    case HL_STORE_RELEASE:
        HL_CRASH_POINT(RELEASE_COMMITTED);
        hl_release_free(HL_CONTAINER_OF(msg, struct hl_release, m.msg));
        break;
    case HL_STORE_WITHDRAW:
        free(msg);
        on_withdrawn(runs);
        break;
    case HL_STORE_CANCEL_RUN:
        cancel_run(runs, &HL_CONTAINER_OF(msg, struct hl_cancel_run, msg)->run_id);
        free(msg);
        break;
    case HL_STORE_CREDIT_BACK:
        take_back(runs, HL_CONTAINER_OF(msg, struct hl_credit, m.msg));
        break;
    case HL_STORE_WORK:
        look_for_work(runs);
        free(msg);
        break;
    default:
        HL_ASSERT(!"a message of a type that workers know");
    }
}
