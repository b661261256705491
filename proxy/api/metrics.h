/* metrics.h - /metrics: all figures as Prometheus text, version 0.0.4 (contract 12).
 *
 * Labels are bounded: methods, modes, classes of status codes, states and outcomes by name, and the
 * replica's own name; never an id, a URL, or anything that a caller or the app chose. */
#ifndef HL_API_METRICS_H
#define HL_API_METRICS_H

#include "api/endpoint.h"
#include "base/compiler.h"
#include "base/err.h"

struct hl_buf;
struct hl_exposition;
struct hl_figures;
struct hl_worker_metrics;

hl_api_handler hl_metrics_show;

/* Appends all families, each with HELP and TYPE. */
HL_MUST_CHECK enum hl_err hl_metrics_write(struct hl_buf *out, const struct hl_figures *figures);
/* Those of calls and runs. */
void hl_metrics_write_calls(struct hl_exposition *t, const struct hl_worker_metrics *workers);

#endif
