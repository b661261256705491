/* metrics.h - what one worker counts of its callers and runs: written by it, read by /metrics. */
#ifndef HL_CALLER_METRICS_H
#define HL_CALLER_METRICS_H

#include "base/metric.h"
#include "http/head.h"
#include "store/record.h"

/* How a call is counted. */
enum hl_mode {
    HL_MODE_SYNC,
    HL_MODE_STREAM,
    HL_MODE_ASYNC,
    HL_MODE_TUNNEL,
    HL_MODE_OTHER,
    HL_MODE_COUNT
};

#define HL_METHOD_COUNT     (HL_METHOD_TRACE + 1)
#define HL_CODE_CLASS_CUT   6 /* a response that was broken off; index 0: no response was sent */
#define HL_CODE_CLASS_COUNT (HL_CODE_CLASS_CUT + 1)

struct hl_worker_metrics {
    struct hl_counter requests[HL_METHOD_COUNT][HL_MODE_COUNT][HL_CODE_CLASS_COUNT];
    struct hl_histogram duration[HL_MODE_COUNT]; /* of those; one measurement each */
    struct hl_histogram run_duration;            /* asynchronous runs, inside this worker */
    /* Runs by hl_run_mode, OTHER: passed through; measured at their end. */
    struct hl_histogram queue_wait[HL_MODE_COUNT]; /* all of them */
    struct hl_histogram first_byte[HL_MODE_COUNT]; /* those that the app answered */
    struct hl_counter connections_open, connections_accepted, connections_shed;
    struct hl_counter calls_in_flight;                      /* callers' requests */
    struct hl_counter streams_in_flight, tunnels_in_flight; /* of those, by what the app answered */
    struct hl_counter runs_in_flight;                       /* asynchronous runs inside the app */
    /* OTHER: passed through. */
    struct hl_counter runs_finished[HL_MODE_COUNT][HL_RUN_CANCELLED + 1];
    struct hl_counter runs_retried; /* attempts that were not the last */
    struct hl_counter upstream_errors[HL_REASON_BAD_RESPONSE + 1]; /* by enum hl_run_reason */
    struct hl_counter callers_gone, upstream_resent, upstream_connects;
    struct hl_counter webhooks_lost, responses_not_kept, async_refused;
    struct hl_counter waiting_for_slot, waiting_at_gate;
};

/* Requests in a mode before `modes`, answered with a status of `first_class` or a higher one. Any thread. */
static inline uint64_t hl_worker_metrics_requests(
    const struct hl_worker_metrics *m, int modes, int first_class)
{
    uint64_t n = 0;
    for (int method = 0; method < HL_METHOD_COUNT; method++)
        for (int mode = 0; mode < modes; mode++)
            for (int code = first_class; code < HL_CODE_CLASS_COUNT; code++)
                n += hl_counter_get(&m->requests[method][mode][code]);
    return n;
}

#endif
