/* idle.c - looks at the workers' and the store's figures every so often.
 * Thread: control. The figures are others' and change meanwhile; one look that finds something done
 * starts the time anew.
 * Not here: what follows (control.c). */
#include "worker/idle.h"

#include "base/clock.h"
#include "base/compiler.h"
#include "base/metric.h"
#include "body/journals.h"
#include "caller/metrics.h"
#include "config/config.h"
#include "run/runs.h"
#include "run/service.h"
#include "store/gauges.h"
#include "store/store.h"
#include "worker/worker.h"

#define LOOKS_PER_TIME 10 /* so much later at the most, in parts of the time, it is noticed */
#define LOOK_MOST_MS   1000

/* Runs and calls that have ended, and in `*now` how many there are. A run may be inside another replica: then this one
 * has only its caller, or who follows its stream. */
static uint64_t count_runs(const struct hl_service *service, uint64_t *now)
{
    uint64_t ended = 0;
    *now = hl_journals_followers(service->journals);
    for (uint32_t i = 0; i < service->worker_count; i++) {
        const struct hl_worker *w = service->workers[i];
        *now += hl_counter_get(&w->runs.count) + hl_counter_get(&w->metrics.calls_in_flight);
        ended += hl_worker_metrics_requests(&w->metrics, HL_MODE_OTHER, 0);
        for (int mode = 0; mode < HL_MODE_COUNT; mode++)
            for (int state = HL_RUN_SUCCESS; state <= HL_RUN_CANCELLED; state++)
                ended += hl_counter_get(&w->metrics.runs_finished[mode][state]);
    }
    return ended;
}

/* What a database that cannot be asked has is not nothing. */
static bool is_stored(const struct hl_store_gauges *store)
{
    return hl_store_gauges_places(store) > 0 || hl_counter_get(&store->pending_deliveries) > 0 ||
           hl_counter_get(&store->is_uncounted) > 0;
}

static bool is_busy(struct hl_idle *idle)
{
    uint64_t now, ended = count_runs(idle->service, &now);
    bool has_ended = ended != idle->ended; /* one that began and ended between two looks */
    idle->ended = ended;
    return has_ended || now > 0 || idle->service->jobs > 0 ||
           is_stored(hl_store_get_gauges(idle->service->store));
}

static void arm(struct hl_idle *idle)
{
    uint64_t ms = idle->service->config->idle_exit_ms / LOOKS_PER_TIME;
    hl_timer_arm(idle->wheel, &idle->timer, ms < LOOK_MOST_MS ? ms : LOOK_MOST_MS);
}

static void on_timer(struct hl_timer *timer)
{
    struct hl_idle *idle = HL_CONTAINER_OF(timer, struct hl_idle, timer);
    uint64_t now = hl_clock_mono_ms();
    if (is_busy(idle))
        idle->since_ms = now;
    if (now - idle->since_ms >= idle->service->config->idle_exit_ms)
        idle->on_idle(idle);
    else
        arm(idle);
}

void hl_idle_start(struct hl_idle *idle, const struct hl_service *service, struct hl_wheel *wheel,
    void (*on_idle)(struct hl_idle *idle))
{
    *idle = (struct hl_idle){
        .service = service, .wheel = wheel, .since_ms = hl_clock_mono_ms(), .on_idle = on_idle};
    hl_timer_init(&idle->timer, on_timer);
    if (service->config->idle_exit_ms > 0)
        arm(idle);
}

void hl_idle_close(struct hl_idle *idle)
{
    if (idle->wheel)
        hl_timer_fini(idle->wheel, &idle->timer);
}
