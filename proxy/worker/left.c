/* left.c - see left.h. */
#include "worker/left.h"

#include <stdio.h>

#include "base/compiler.h"
#include "base/metric.h"
#include "caller/metrics.h"
#include "run/service.h"
#include "store/gauges.h"
#include "store/store.h"
#include "worker/worker.h"

struct hl_left hl_left_count(const struct hl_service *service)
{
    struct hl_left left = {
        .deliveries = hl_counter_get(&hl_store_get_gauges(service->store)->pending_deliveries)};
    for (uint32_t i = 0; i < service->worker_count; i++) {
        const struct hl_worker_metrics *m = &service->workers[i]->metrics;
        uint64_t streams = hl_counter_get(&m->streams_in_flight);
        uint64_t tunnels = hl_counter_get(&m->tunnels_in_flight);
        uint64_t all = hl_counter_get(&m->calls_in_flight);
        left.streams += streams;
        left.tunnels += tunnels;
        left.calls += all > streams + tunnels ? all - streams - tunnels : 0;
        left.runs += hl_counter_get(&m->runs_in_flight);
    }
    return left;
}

bool hl_left_is_done(const struct hl_left *left)
{
    return left->calls + left->tunnels + left->streams + left->runs == 0;
}

void hl_left_write(const struct hl_left *left, char out[HL_LEFT_TEXT])
{
    const struct {
        uint64_t n;
        const char *one, *many;
    } kinds[] = {
        {left->calls, "call", "calls"},
        {left->tunnels, "tunnel", "tunnels"},
        {left->streams, "stream", "streams"},
        {left->runs, "run", "runs"},
        {left->deliveries, "delivery", "deliveries"},
    };
    size_t n = 0;
    for (size_t i = 0; i < HL_ARRAY_LEN(kinds); i++)
        if (kinds[i].n > 0)
            n += (size_t)snprintf(out + n, HL_LEFT_TEXT - n, "%s%llu %s", n > 0 ? ", " : "",
                (unsigned long long)kinds[i].n, kinds[i].n == 1 ? kinds[i].one : kinds[i].many);
    if (n == 0)
        snprintf(out, HL_LEFT_TEXT, "nothing");
}

void hl_left_write_standing(
    const struct hl_service *service, bool *is_ready, char out[HL_STANDING_TEXT])
{
    const char *line = hl_service_state(service, is_ready);
    char text[HL_LEFT_TEXT];
    if (!atomic_load(&service->is_draining)) {
        snprintf(out, HL_STANDING_TEXT, "%s", line);
        return;
    }
    struct hl_left left = hl_left_count(service);
    hl_left_write(&left, text);
    snprintf(out, HL_STANDING_TEXT, "%s (left: %s)", line, text);
}
