/* metrics.h - /metrics: all figures as Prometheus text, version 0.0.4 (spec 12).
 *
 * Labels are bounded: methods, modes, classes of status codes, states and outcomes by name; never
 * an id, a URL, or anything that a caller or the app chose. */
#ifndef HL_API_METRICS_H
#define HL_API_METRICS_H

#include "api/endpoint.h"
#include "api/process.h"
#include "run/worker.h"
#include "webhook/sender.h"

hl_api_handler hl_metrics_show;

/* The figures at one moment. */
struct hl_figures {
    struct hl_worker_metrics workers; /* summed over all workers */
    const struct hl_store_gauges *store;
    const struct hl_sender_gauges *sender;
    struct hl_process process;
    bool is_ready;
    int64_t started_ms, now_ms; /* wall time */
};

/* Adds one worker's figures to the sum. Any thread. */
void hl_figures_add(struct hl_worker_metrics *sum, const struct hl_worker_metrics *worker);

/* Appends all families, each with HELP and TYPE. */
HL_MUST_CHECK enum hl_err hl_figures_write(struct hl_buf *out, const struct hl_figures *figures);

#endif
