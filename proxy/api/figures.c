/* figures.c - reads what all threads count, which go on counting meanwhile.
 * Thread: control.
 * Not here: how it is told (metrics.c, now.c). */
#include "api/figures.h"

#include "api/view.h"
#include "app/gate.h"
#include "app/limiter.h"
#include "base/clock.h"
#include "body/journals.h"
#include "config/config.h"
#include "config/endpoint.h"
#include "config/option.h"
#include "loop/log_writer.h"
#include "run/service.h"
#include "store/store.h"
#include "trace/tracer.h"
#include "webhook/sender.h"
#include "worker/worker.h"

void hl_figures_add(struct hl_worker_metrics *sum, const struct hl_worker_metrics *worker)
{
    /* The struct is counters throughout: histograms are made of them. */
    _Static_assert(sizeof(*sum) % sizeof(struct hl_counter) == 0, "counters only");
    struct hl_counter *to = (struct hl_counter *)sum;
    const struct hl_counter *from = (const struct hl_counter *)worker;
    for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
        hl_counter_add(&to[i], hl_counter_get(&from[i]));
}

static void add_tokens(struct hl_auth_counts *sum, const struct hl_auth_counts *worker)
{
    hl_counter_add(&sum->cached, hl_counter_get(&worker->cached));
    hl_counter_add(&sum->checked, hl_counter_get(&worker->checked));
    hl_counter_add(&sum->refused, hl_counter_get(&worker->refused));
    hl_counter_add(&sum->overflowed, hl_counter_get(&worker->overflowed));
}

static void add_handshakes(struct hl_tls_metrics *sum, const struct hl_tls_metrics *worker)
{
    hl_counter_add(&sum->done, hl_counter_get(&worker->done));
    hl_counter_add(&sum->resumed, hl_counter_get(&worker->resumed));
    hl_counter_add(&sum->failed, hl_counter_get(&worker->failed));
    hl_counter_add(&sum->refused, hl_counter_get(&worker->refused));
    hl_counter_add(&sum->plain, hl_counter_get(&worker->plain));
}

void hl_figures_collect(struct hl_figures *figures, const struct hl_api_view *view)
{
    const struct hl_limiter *limiter = &view->service->limiter;
    *figures = (struct hl_figures){
        .app = view->service->app,
        .sleep = view->service->sleep,
        .app_slots = limiter->limit,
        .connections_max = view->service->config->max_connections,
        .app_slots_in_use = atomic_load(&limiter->in_use),
        .app_queue_age_ms = hl_limiter_queue_age_ms(limiter, hl_clock_mono_ms()),
        .store = hl_store_get_gauges(view->store),
        .sender = hl_sender_get_gauges(view->sender),
        .is_ready = !hl_service_not_ready(view->service),
        .is_gate_open = hl_gate_is_open(&view->service->connections.gate),
        .started_ms = view->started_ms,
        .now_ms = hl_clock_wall_ms(),
        .log_lines_dropped = hl_log_writer_dropped(),
        .clock_offset_ms = hl_clock_offset_ms(),
    };
    if (hl_store_is_shared(view->store))
        figures->replica = view->service->config->replica;
    figures->role = hl_replica_role_words[view->service->config->role];
    figures->traces = hl_tracer_get_counts(view->service->tracer);
    figures->has_tls = hl_service_speaks_tls(view->service->config);
    figures->has_app_tls = view->service->config->app_url.is_tls;
    if (figures->has_tls)
        figures->certificate_expires_s = hl_tls_expires_s(view->service->tls);
    figures->followers = hl_journals_followers(view->service->journals);
    if (view->service->auth)
        hl_auth_read_figures(view->service->auth, &figures->auth);
    for (uint32_t i = 0; i < view->service->worker_count; i++) {
        const struct hl_worker *w = view->service->workers[i];
        hl_figures_add(&figures->workers, &w->metrics);
        if (w->auth)
            add_tokens(&figures->tokens, hl_auth_seat_counts(w->auth));
        for (enum hl_tls_use use = 0; w->runs.tls && use < HL_TLS_USES; use++)
            add_handshakes(&figures->handshakes[use], hl_tls_seat_metrics(w->runs.tls, use));
    }
}

uint64_t hl_figures_age_ms(int64_t now_ms, const struct hl_counter *since)
{
    int64_t since_ms = (int64_t)hl_counter_get(since);
    return since_ms == 0 || since_ms > now_ms ? 0 : (uint64_t)(now_ms - since_ms);
}
