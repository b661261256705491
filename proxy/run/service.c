/* service.c - whether calls should come here now, and why not.
 * Thread: any.
 * Not here: what finds it out (app/readiness.c, store/), the answers (call.c, api/health.c). */
#include "run/service.h"

size_t hl_service_problems(
    const struct hl_service *service, const char *problems[HL_SERVICE_PROBLEMS_MAX])
{
    const struct hl_store_gauges *store = hl_store_gauges(service->store);
    size_t n = 0;
    if (atomic_load(&service->is_draining))
        problems[n++] = "shutting down: calls are still answered, send new ones elsewhere";
    if (hl_counter_get(&store->is_failing))
        problems[n++] = "the store is failing: asynchronous calls are refused, see the log";
    if (hl_counter_get(&store->is_full))
        problems[n++] = "the store is full: asynchronous calls are refused until space is free";
    if (!hl_readiness_is_ready(service->readiness))
        problems[n++] = hl_readiness_why(service->readiness);
    return n;
}

const char *hl_service_not_ready(const struct hl_service *service)
{
    const char *problems[HL_SERVICE_PROBLEMS_MAX];
    return hl_service_problems(service, problems) > 0 ? problems[0] : NULL;
}
