/* runs.c - the runs of one worker: what they share is made and freed.
 * Thread: the worker's, but for making and freeing. */
#include "run/runs.h"

#include "config/config.h"
#include "net/stream.h"
#include "run/run.h"
#include "run/service.h"
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
    hl_pool_init(&runs->pool, runs->loop, runs->wheel, reader, &config->app_url,
        &service->connections, runs->box);
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
