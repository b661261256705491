/* run.c - the runs of one worker: what they share, and the memory of each, made at its head and gone at the end
 * of the loop turn in which it ended.
 * Owns: what struct hl_run and struct hl_runs point at. Thread: the worker's, but for what they share, which is
 * made and freed while no worker runs. */
#include "run/run.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/slab.h"
#include "body/source.h"
#include "body/spool.h"
#include "config/config.h"
#include "net/stream.h"
#include "run/call_span.h"
#include "run/page.h"
#include "run/recent_run.h"
#include "run/runs.h"
#include "run/service.h"
#include "run/stream.h"
#include "run/tee.h"
#include "store/accept.h"
#include "store/claim.h"
#include "store/store.h"

#define SLAB_CHUNK 64

enum hl_err hl_runs_init(struct hl_runs *runs, struct hl_reader *reader)
{
    struct hl_service *service = runs->service;
    const struct hl_config *config = runs->config;
    uint32_t workers = service->worker_count;
    hl_list_init(&runs->list);
    hl_list_init(&runs->ended);
    hl_slab_init(&runs->memory, sizeof(struct hl_run), SLAB_CHUNK);
    hl_pages_init(&runs->pages);
    runs->visits = service->visits ? service->visits[runs->index] : NULL;
    hl_recent_init(&runs->recent, &service->recent_total);
    hl_call_tally_init(&runs->tally, service->store, runs->wheel, runs->box, runs->ids);
    runs->spools = (struct hl_spool_home){.loop = runs->loop,
        .data_dir = hl_store_data_dir(service->store),
        .ids = runs->ids,
        .burst_left = HL_SPOOL_BURST / workers,
        .memory_left = &service->memory_left,
        .wants_sha256 = hl_store_is_shared(service->store)}; /* replicas of the version before */
    const struct hl_pool_parts parts = {.loop = runs->loop,
        .wheel = runs->wheel,
        .reader = reader,
        .url = &config->app_url,
        .group = &service->connections,
        .mailbox = runs->box,
        .tls = config->app_url.is_tls ? runs->tls : NULL};
    hl_pool_init(&runs->pool, &parts);
    hl_gate_seat_init(&runs->gate, &service->connections.gate, runs->box);
    hl_limiter_seat_init(&runs->seat, &service->limiter, runs->index, runs->box);
    service->seats[runs->index] = &runs->seat;
    runs->scratch_cap = HL_READ_SIZE_LONG + 2 * (size_t)config->max_head + 4096;
    runs->scratch = malloc(runs->scratch_cap);
    return runs->scratch ? HL_OK : HL_ERR_NOMEM;
}

void hl_runs_fini(struct hl_runs *runs)
{
    hl_pool_fini(&runs->pool);
    hl_recent_fini(&runs->recent);
    hl_call_tally_fini(&runs->tally);
    hl_slab_fini(&runs->memory);
    hl_pages_fini(&runs->pages);
    free(runs->scratch);
}

void hl_runs_free_ended(struct hl_runs *runs)
{
    struct hl_list *node;
    while ((node = hl_list_pop_front(&runs->ended)) != NULL)
        hl_slab_put(&runs->memory, HL_CONTAINER_OF(node, struct hl_run, node));
}

/* ---- one of them ---- */

struct hl_run *hl_run_new(struct hl_runs *runs, uint64_t started_us)
{
    struct hl_run *run = hl_slab_get_zeroed(&runs->memory);
    if (!run)
        return NULL;
    run->runs = runs;
    run->times.started_ms = hl_clock_wall_ms();
    run->id = hl_id_next(runs->ids, run->times.started_ms);
    run->times.started_us = started_us;
    hl_message_reader_init(&run->response.messages, &runs->rules);
    hl_list_init(&run->node);
    hl_list_push_back(&runs->list, &run->node);
    hl_timer_init(&run->timer, NULL);
    hl_timer_init(&run->deadline, NULL);
    hl_upstream_wait_none(&run->app.wait);
    hl_gate_wait_init(&run->app.gate_wait);
    hl_limiter_wait_init(&run->app.slot_wait, NULL);
    hl_counter_add(&runs->count, 1);
    return run;
}

void hl_run_free(struct hl_run *run)
{
    struct hl_runs *runs = run->runs;
    hl_progress_stage(run, HL_STAGE_ENDED);
    hl_progress_response(run, HL_RESPONSE_DONE);
    hl_allowance_leave(&run->allowance);
    hl_recent_end(run, HL_RUN_CANCELLED, HL_REASON_NONE, 0); /* unless it was said already */
    hl_timer_fini(runs->wheel, &run->timer);
    hl_timer_fini(runs->wheel, &run->deadline);
    hl_tee_fini(&run->tee, runs->wheel);
    hl_slot_remove(runs->slots, run->name);
    hl_page_drop(&run->request.page, &runs->pages);
    hl_buf_fini(&run->response.held);
    hl_message_reader_fini(&run->response.messages);
    hl_source_free(run->source);
    if (runs->is_cut && hl_run_stream_adds_ids(run))
        hl_spool_leave(run->spool);
    else
        hl_spool_abandon(run->spool);
    hl_run_stream_close(run, false);
    hl_call_span_leave(run);
    hl_claimed_free(run->store.claimed);
    hl_accept_free(run->store.accept);
    hl_finish_free(run->store.finish);
    if (run->tags)
        free(run->tags);
    hl_list_remove(&run->node);
    hl_list_push_back(&runs->ended, &run->node);
    hl_counter_sub(&runs->count, 1);
}

static struct hl_counter *long_calls(const struct hl_run *run)
{
    struct hl_worker_metrics *metrics = run->runs->metrics;
    return run->response.status == 101 ? &metrics->tunnels_in_flight : &metrics->streams_in_flight;
}

void hl_run_count_long(struct hl_run *run)
{
    if (hl_run_is_async(run) || run->response.is_counted_long)
        return;
    run->response.is_counted_long = true;
    hl_counter_add(long_calls(run), 1);
}

void hl_run_uncount_long(struct hl_run *run)
{
    hl_counter_sub(long_calls(run), 1);
    run->response.is_counted_long = false;
}
