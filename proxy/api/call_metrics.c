/* call_metrics.c - what the workers have counted of calls and runs, as Prometheus text.
 * Thread: control; the workers go on counting meanwhile.
 * Promise: of method, mode and code only the combinations that have occurred. */
#include <stdio.h>

#include "api/exposition.h"
#include "api/method.h"
#include "api/metrics.h"
#include "caller/access.h"
#include "caller/metrics.h"
#include "store/record.h"

static const char *const code_classes[HL_CODE_CLASS_COUNT] = {
    "none", "1xx", "2xx", "3xx", "4xx", "5xx", "cut"};

static void write_requests(struct hl_exposition *t, const struct hl_worker_metrics *workers)
{
    static const char name[] = "hookline_http_requests_total";
    bool has_any = false;
    hl_exposition_family(t, name, "counter",
        "Callers' requests by method, mode and class of status code; cut: the response was broken "
        "off, none: the caller left before it began.");
    for (int method = 0; method < HL_METHOD_COUNT; method++) {
        for (int i = 0; i < HL_MODE_COUNT * HL_CODE_CLASS_COUNT; i++) {
            int mode = i / HL_CODE_CLASS_COUNT, code = i % HL_CODE_CLASS_COUNT;
            uint64_t n = hl_counter_get(&workers->requests[method][mode][code]);
            char labels[64];
            if (n == 0)
                continue;
            snprintf(labels, sizeof(labels), "method=\"%s\",mode=\"%s\",code=\"%s\"",
                hl_api_method_text(method), hl_mode_text(mode), code_classes[code]);
            hl_exposition_sample(t, name, labels, n);
            has_any = true;
        }
    }
    if (!has_any)
        hl_exposition_sample(t, name, "method=\"POST\",mode=\"sync\",code=\"2xx\"", 0);
}

static void write_by_mode(struct hl_exposition *t, const char *name, const char *help,
    const struct hl_histogram by_mode[HL_MODE_COUNT])
{
    hl_exposition_family(t, name, "histogram", help);
    for (int mode = 0; mode < HL_MODE_COUNT; mode++) {
        char labels[32];
        snprintf(labels, sizeof(labels), "mode=\"%s\"", hl_mode_text(mode));
        hl_exposition_histogram(t, name, labels, &by_mode[mode]);
    }
}

static void write_durations(struct hl_exposition *t, const struct hl_worker_metrics *workers)
{
    static const char run[] = "hookline_run_duration_seconds";
    write_by_mode(t, "hookline_http_request_duration_seconds",
        "Callers' requests, from the head to the end of the response (async: the 202).",
        workers->duration);
    hl_exposition_family(t, run, "histogram", "Asynchronous runs, from their start to their end.");
    hl_exposition_histogram(t, run, "mode=\"async\"", &workers->run_duration);
    write_by_mode(t, "hookline_run_queue_wait_seconds",
        "How long runs that have ended had waited for their turn: at the health gate, for a slot, "
        "in the queue.",
        workers->queue_wait);
    write_by_mode(t, "hookline_run_first_byte_seconds",
        "Runs that the app answered, from the call's head (async: their start) to the answer's.",
        workers->first_byte);
}

static void write_runs(struct hl_exposition *t, const struct hl_worker_metrics *workers)
{
    static const char name[] = "hookline_runs_total";
    hl_exposition_family(t, name, "counter",
        "Runs that have ended, by mode and state, except those that never began.");
    for (int mode = HL_MODE_SYNC; mode < HL_MODE_OTHER; mode++) {
        for (int state = HL_RUN_SUCCESS; state <= HL_RUN_CANCELLED; state++) {
            char labels[48];
            snprintf(labels, sizeof(labels), "mode=\"%s\",state=\"%s\"", hl_mode_text(mode),
                hl_run_state_text(state));
            hl_exposition_sample(
                t, name, labels, hl_counter_get(&workers->runs_finished[mode][state]));
        }
    }
}

static void write_upstream_errors(struct hl_exposition *t, const struct hl_worker_metrics *workers)
{
    static const char name[] = "hookline_upstream_errors_total";
    hl_exposition_family(t, name, "counter",
        "Calls to the app that failed, by cause: no connection, a broken one, a bad response, or "
        "none in time.");
    for (int reason = HL_REASON_TIMEOUT; reason <= HL_REASON_BAD_RESPONSE; reason++) {
        char labels[48];
        snprintf(labels, sizeof(labels), "reason=\"%s\"", hl_run_reason_text(reason));
        hl_exposition_sample(t, name, labels, hl_counter_get(&workers->upstream_errors[reason]));
    }
}

void hl_metrics_write_calls(struct hl_exposition *t, const struct hl_worker_metrics *workers)
{
    write_requests(t, workers);
    write_durations(t, workers);
    write_runs(t, workers);
    write_upstream_errors(t, workers);
}
