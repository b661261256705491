/* now.h - GET /v2/now: how the process is doing, and the figures of the last hour, as
 * JSON for the dashboard.
 *
 *   {"now","started_at","version","ready":bool,"problems":[text…],
 *    "current":{"calls_in_flight",…},
 *    "interval_ms":10000,"last":n,
 *    "samples":{"at":[ms since the epoch…],"calls_per_s":[…],…}}
 *
 * Samples are numbered; `?after=n` leaves out those up to n, so that a page that stays open asks for
 * what is new, `?newest=n` those before the newest n. What is of all replicas is null while they are not known. Figures are of the whole process,
 * for all its projects; no ids, no URLs. */
#ifndef HL_API_NOW_H
#define HL_API_NOW_H

#include "api/endpoint.h"
#include "api/view.h"
#include "base/metric.h"
#include "loop/wheel.h"

struct hl_figures;

/* ---- the figures of the last hour: a ring of samples, one each HL_HISTORY_INTERVAL_MS, so that the dashboard's charts
 * need no other program (contract 13). Its size is fixed, about 30 KB: it is gone with the process; counters are
 * never reset, a sample is a difference of two readings (metrics.c) ---- */

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

hl_api_handler hl_now_show;

/* A ring that fills itself. */
struct hl_recorder {
    struct hl_history history;
    struct hl_api_view view;
    struct hl_wheel *wheel;
    struct hl_timer timer;
};

/* Control thread: takes a sample each HL_HISTORY_INTERVAL_MS from now on. Borrows what the view and
 * `wheel` point to, until it is stopped. The view's `history` is set to its own. */
void hl_recorder_start(
    struct hl_recorder *recorder, struct hl_wheel *wheel, struct hl_api_view *view);
/* Before the wheel closes. Does nothing to one that is all zero. */
void hl_recorder_stop(struct hl_recorder *recorder);

#endif
