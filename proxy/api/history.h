/* history.h - the figures of the last hour: a ring of samples, one each HL_HISTORY_INTERVAL_MS, so
 * that the dashboard's charts need no other program (contract 13).
 *
 * Its size is fixed, about 30 KB: it is gone with the process. */
#ifndef HL_API_HISTORY_H
#define HL_API_HISTORY_H

#include "base/metric.h"

struct hl_figures;

#define HL_HISTORY_INTERVAL_MS 10000
#define HL_HISTORY_SAMPLES     360

#define HL_HISTORY_NONE UINT32_MAX /* a quantile of no measurements; a level that is not known */

/* What a sample holds. Counts are of the time since the sample before; levels of the moment. */
enum hl_history_column {
    HL_HISTORY_CALLS,        /* callers' requests that were answered */
    HL_HISTORY_ERRORS,       /* those answered with 5xx */
    HL_HISTORY_IN_FLIGHT,    /* callers' requests */
    HL_HISTORY_RUNS,         /* asynchronous runs inside the app */
    HL_HISTORY_WAITING,      /* calls that wait for a slot of the app */
    HL_HISTORY_QUEUED,       /* asynchronous runs */
    HL_HISTORY_QUEUE_AGE_MS, /* of the oldest of them */
    HL_HISTORY_LATENCY_P50,  /* of synchronous calls, us */
    HL_HISTORY_LATENCY_P99,
    HL_HISTORY_DELIVERED,  /* delivery attempts that arrived */
    HL_HISTORY_RETRIED,    /* that are tried again */
    HL_HISTORY_DEAD,       /* after which the delivery was given up */
    HL_HISTORY_PENDING,    /* deliveries */
    HL_HISTORY_COMMITS,    /* of the store */
    HL_HISTORY_COMMIT_P50, /* us */
    HL_HISTORY_COMMIT_P99,
    HL_HISTORY_COLUMNS
};

struct hl_sample {
    int64_t at_ms;       /* wall time */
    uint32_t elapsed_ms; /* since the sample before */
    uint32_t values[HL_HISTORY_COLUMNS];
};

/* The counters at one sample: what the next one is the difference to. */
struct hl_history_base {
    uint64_t mono_ms;
    uint64_t calls, errors, delivered, retried, dead, commits;
    uint64_t latency[HL_HISTOGRAM_BUCKETS], commit[HL_HISTOGRAM_BUCKETS];
};

struct hl_history {
    uint64_t count; /* samples since the start; the newest has this number */
    struct hl_history_base base;
    struct hl_sample samples[HL_HISTORY_SAMPLES];
};

/* Begins with no sample; the first one will be the difference to these figures. */
void hl_history_init(
    struct hl_history *history, const struct hl_figures *figures, uint64_t mono_ms);

/* Adds a sample: the oldest goes when the ring is full. */
void hl_history_add(struct hl_history *history, const struct hl_figures *figures, uint64_t mono_ms);

/* The number of the oldest sample that is still there; samples are numbered from 1. */
uint64_t hl_history_first(const struct hl_history *history);

/* The sample of that number, which must lie between the oldest and the newest. */
const struct hl_sample *hl_history_at(const struct hl_history *history, uint64_t number);

#endif
