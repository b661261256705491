/* use.c - see use.h.
 * What counts: callers inside or waiting, tunnels, runs inside with whoever follows their streams, and queued runs that
 * may start, unless the process drains. What does not is no run: health checks, metrics, REST, deliveries, and what is
 * refused before the app would be asked; nor does a run that waits for its retry.
 * Not here: what follows (app/sleep.c). */
#include "worker/use.h"

#include "base/metric.h"
#include "run/runs.h"
#include "run/service.h"
#include "store/store.h"
#include "worker/worker.h"

static bool has_runs(const struct hl_service *service)
{
    for (uint32_t i = 0; i < service->worker_count; i++)
        if (hl_counter_get(&service->workers[i]->runs.count) > 0)
            return true;
    return false;
}

static bool has_queued(const struct hl_app_use *use)
{
    return !use->leaves_queue && hl_store_ready_runs(use->service->store) > 0;
}

bool hl_app_use_look(struct hl_app_use *use)
{
    uint64_t given = hl_pool_group_given(&use->service->connections);
    bool was_given = given != use->given;
    use->given = given;
    return was_given || has_runs(use->service) || has_queued(use);
}

bool hl_app_use_is_settled(const struct hl_app_use *use)
{
    const struct hl_service *service = use->service;
    for (uint32_t i = 0; i < service->worker_count; i++)
        if (atomic_load(&service->workers[i]->runs.dispatch.may_claim))
            return false;
    return true;
}

bool hl_app_use_is_wanted(const struct hl_app_use *use)
{
    const struct hl_service *service = use->service;
    for (uint32_t i = 0; i < service->worker_count; i++)
        if (hl_counter_get(&service->workers[i]->metrics.waiting_at_gate) > 0)
            return true;
    return has_queued(use);
}
