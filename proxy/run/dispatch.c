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
    struct hl_worker *worker;
};

static bool has_limit(const struct hl_worker *w)
{
    return w->config->app_concurrency > 0;
}

static void give_credit(struct hl_worker *w, uint32_t n)
{
    struct hl_credit *credit = calloc(1, sizeof(*credit));
    HL_ASSERT(credit); /* a few bytes; lost credit would idle a slot for ever */
    credit->m.msg.type = HL_STORE_CREDIT;
    credit->m.reply_to = &w->mail.box;
    credit->n = n;
    credit->returns = has_limit(w);
    w->async_credit += n;
    enum hl_err err = hl_store_post(w->service->store, &credit->m);
    (void)err; /* only ACCEPT and RECORD can be refused */
}

void hl_dispatch_start(struct hl_worker *w)
{
    uint32_t workers = w->service->worker_count, total = w->config->async_concurrency;
    w->async_max = total / workers + (w->index < total % workers ? 1 : 0);
    if (w->async_max > 0)
        give_credit(w, has_limit(w) ? 0 : w->async_max);
}

static bool on_slot(struct hl_limiter_wait *wait)
{
    struct slot_request *request = HL_CONTAINER_OF(wait, struct slot_request, wait);
    struct hl_worker *w = request->worker;
    free(request);
    w->async_waiting--;
    if (w->is_draining)
        hl_limiter_release(&w->seat);
    else
        give_credit(w, 1);
    return true;
}

/* With a limit: as many slots as there are runs waiting, within this worker's share. */
static void ask_for_slots(struct hl_worker *w)
{
    uint64_t queued = hl_counter_get(&hl_store_gauges(w->service->store)->queued_runs);
    while (!w->is_draining && queued > w->async_waiting + w->async_credit &&
           w->async_running + w->async_waiting + w->async_credit < w->async_max) {
        struct slot_request *request = malloc(sizeof(*request));
        if (!request)
            return;
        request->worker = w;
        hl_limiter_wait_init(&request->wait, on_slot);
        w->async_waiting++;
        hl_limiter_queue(&w->seat, &request->wait, HL_LIMITER_ASYNC);
    }
}

/* A hint of the store is used up by the worker's next CREDIT (store.h): one of 0 says that hints
 * are wanted again. */
static void look_for_work(struct hl_worker *w)
{
    ask_for_slots(w);
    if (!w->is_draining && w->async_waiting + w->async_credit == 0 &&
        w->async_running < w->async_max)
        give_credit(w, 0);
}

/* ---- a run arrives ---- */

static enum hl_method read_method(struct hl_str head)
{
    const char *space = memchr(head.p, ' ', head.n);
    return hl_method_lookup((struct hl_str){head.p, space ? (size_t)(space - head.p) : 0});
}

/* Bodies that were on a disk are checked as they go out: small ones here, the others piece by piece
 * in the pool. */
static bool needs_source(const struct hl_worker *w, const struct hl_body *body)
{
    return body->where == HL_BODY_FILE ||
           (body->where == HL_BODY_INLINE && w->spools.data_dir && body->size > CHECK_NOW_MAX);
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
    run->page = hl_pages_get(&run->worker->pages, run->page_cap);
    if (!run->page)
        return false;
    memcpy(run->page, claimed->head.p, claimed->head.n);
    run->page_n = claimed->head.n;
    struct hl_stored_end end = {.attempt = claimed->attempt,
        .closes = !run->worker->config->app_keepalive,
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

static void on_deadline(struct hl_timer *timer)
{
    struct hl_run *run = HL_CONTAINER_OF(timer, struct hl_run, deadline);
    hl_ending_fail(run, HL_RUN_FAILURE, HL_REASON_TIMEOUT, 504,
        "The run took longer than HOOKLINE_RESPONSE_GRACE_PERIOD.");
}

/* What stands in the way of calling the app is ours, not the run's: it stays claimed and ends as
 * interrupted at the next start. */
static void give_up(struct hl_worker *w, struct hl_run *run, struct hl_claimed *claimed)
{
    HL_LOG(ERROR, "a claimed run cannot be started: out of memory",
        HL_LOG_ID("run_id", &claimed->run_id));
    if (run)
        hl_run_free(run);
    else
        hl_claimed_free(claimed);
    w->async_running--;
    if (has_limit(w))
        hl_limiter_release(&w->seat);
}

static void begin(struct hl_run *run)
{
    const struct hl_body *body = &run->claimed->body;
    if (run->source || body->where != HL_BODY_INLINE || !run->worker->spools.data_dir ||
        hl_body_is_intact(body)) {
        hl_forward_begin(run);
        return;
    }
    HL_LOG(ERROR, "a stored request body is damaged", HL_LOG_ID("run_id", &run->id));
    hl_ending_fail(run, HL_RUN_FAILURE, HL_REASON_INTERRUPTED, 500,
        "The stored request body is not what was accepted.");
}

static void start_claimed(struct hl_worker *w, struct hl_claimed *claimed)
{
    w->async_running++;
    struct hl_run *run = hl_run_new(w, hl_clock_mono_us());
    if (!run) {
        give_up(w, NULL, claimed);
        return;
    }
    run->id = claimed->run_id;
    run->claimed = claimed;
    run->epoch = claimed->epoch;
    run->has_webhook = claimed->has_webhook;
    run->caller_minor = 1;
    run->has_slot = true;
    run->method = read_method(claimed->head);
    run->deadline.on_fire = on_deadline;
    run->finish = calloc(1, sizeof(*run->finish));
    run->name = hl_slot_add(&w->slots, run);
    bool has_source = needs_source(w, &claimed->body);
    if (has_source)
        run->source = hl_source_new(
            &w->loop, w->spools.data_dir, &claimed->body, &hl_forward_source_events, run);
    if (!run->finish || run->name.generation == 0 || (has_source && !run->source) ||
        !write_page(run)) {
        give_up(w, run, claimed);
        return;
    }
    hl_counter_add(&w->metrics.runs_in_flight, 1);
    begin(run);
}

void hl_dispatch_end_turn(struct hl_worker *w)
{
    uint32_t n = w->async_ended;
    if (n == 0)
        return;
    w->async_ended = 0;
    w->async_running -= n;
    if (w->is_draining)
        return;
    if (has_limit(w))
        look_for_work(w);
    else
        give_credit(w, n);
}

static void cancel_run(struct hl_worker *w, const struct hl_id *id)
{
    HL_LIST_EACH_SAFE (node, &w->run_list) {
        struct hl_run *run = HL_CONTAINER_OF(node, struct hl_run, node);
        if (!hl_id_eq(&run->id, id))
            continue;
        hl_ending_cancel(run);
        return;
    }
}

static void take_back(struct hl_worker *w, struct hl_credit *credit)
{
    w->async_credit -= credit->n;
    for (uint32_t i = 0; i < credit->n; i++)
        hl_limiter_release(&w->seat);
    free(credit);
}

/* ---- the worker stops ---- */

/* The app has not been called: the run waits in the store for the next process. */
static void give_back(struct hl_worker *w, struct hl_claimed *claimed)
{
    struct hl_release *release = hl_release_new(claimed);
    if (!release) {
        hl_claimed_free(claimed); /* it stays claimed: interrupted at the next start */
        return;
    }
    release->m.reply_to = &w->mail.box;
    enum hl_err err = hl_store_post(w->service->store, &release->m);
    (void)err; /* only ACCEPT and RECORD can be refused */
}

static void take_claimed(struct hl_worker *w, struct hl_claimed *claimed)
{
    HL_ASSERT(w->async_credit > 0);
    HL_CRASH_POINT(CLAIM_COMMITTED);
    w->async_credit--;
    if (!w->is_draining) {
        start_claimed(w, claimed);
        return;
    }
    give_back(w, claimed);
    if (has_limit(w))
        hl_limiter_release(&w->seat);
}

/* Claimed, and the app has not seen it. */
static bool is_held(const struct hl_run *run)
{
    return run->claimed && run->request == HL_REQUEST_HELD && !run->is_resent &&
           run->response != HL_RESPONSE_DONE;
}

void hl_dispatch_release_held(struct hl_worker *w)
{
    struct hl_list *node = w->run_list.next;
    while (node != &w->run_list) {
        struct hl_run *run = HL_CONTAINER_OF(node, struct hl_run, node);
        node = node->next;
        if (!is_held(run))
            continue;
        struct hl_claimed *claimed = run->claimed;
        run->claimed = NULL;
        hl_counter_sub(&w->metrics.runs_in_flight, 1);
        w->async_running--;
        hl_ending_abandon(run);
        give_back(w, claimed);
        node = w->run_list.next; /* the slot it gave up may have started, even ended, others */
    }
}

/* Slots asked for are not wanted any more: nobody reads this worker's mail once it has ended. */
static void leave_queue(struct hl_worker *w)
{
    HL_LIST_EACH_SAFE (node, &w->seat.queue[HL_LIMITER_ASYNC]) {
        struct hl_limiter_wait *wait = HL_CONTAINER_OF(node, struct hl_limiter_wait, node);
        hl_limiter_cancel(&w->seat, wait);
        free(HL_CONTAINER_OF(wait, struct slot_request, wait));
        w->async_waiting--;
    }
}

void hl_dispatch_stop(struct hl_worker *w)
{
    if (w->is_withdrawing || w->has_ended)
        return;
    w->is_withdrawing = true;
    leave_queue(w);
    struct hl_store_msg *m = calloc(1, sizeof(*m));
    HL_ASSERT(m);
    m->msg.type = HL_STORE_WITHDRAW;
    m->reply_to = &w->mail.box;
    enum hl_err err = hl_store_post(w->service->store, m);
    (void)err; /* only ACCEPT and RECORD can be refused */
    hl_dispatch_release_held(w);
}

static void on_withdrawn(struct hl_worker *w)
{
    w->has_withdrawn = true;
    if (has_limit(w))
        for (; w->async_credit > 0; w->async_credit--)
            hl_limiter_release(&w->seat);
}

void hl_dispatch_on_message(struct hl_worker *w, struct hl_msg *msg)
{
    switch (msg->type) {
    case HL_STORE_CLAIMED:
        take_claimed(w, HL_CONTAINER_OF(msg, struct hl_claimed, msg));
        break;
    case HL_STORE_RELEASE:
        HL_CRASH_POINT(RELEASE_COMMITTED);
        hl_release_free(HL_CONTAINER_OF(msg, struct hl_release, m.msg));
        break;
    case HL_STORE_WITHDRAW:
        free(msg);
        on_withdrawn(w);
        break;
    case HL_STORE_CANCEL_RUN:
        cancel_run(w, &HL_CONTAINER_OF(msg, struct hl_cancel_run, msg)->run_id);
        free(msg);
        break;
    case HL_STORE_CREDIT_BACK:
        take_back(w, HL_CONTAINER_OF(msg, struct hl_credit, m.msg));
        break;
    case HL_STORE_WORK:
        look_for_work(w);
        free(msg);
        break;
    default:
        HL_ASSERT(!"a message of a type that workers know");
    }
}
