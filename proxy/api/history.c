/* history.c - the ring of figures.
 * Owns: its samples. Thread: control.
 * Promise: a fixed size; counters are never reset, a sample is a difference of two readings.
 * Not here: where the figures come from (metrics.c), when a sample is taken and how the ring is
 * shown (now.c). */
#include "api/history.h"

#include "api/metrics.h"
#include "base/assert.h"
#include "store/gauges.h"
#include "webhook/sender.h"

static uint64_t count_requests(const struct hl_worker_metrics *workers, int first_class)
{
    uint64_t n = 0;
    for (int method = 0; method < HL_METHOD_COUNT; method++)
        for (int mode = 0; mode < HL_MODE_COUNT; mode++)
            for (int code = first_class; code < HL_CODE_CLASS_COUNT; code++)
                n += hl_counter_get(&workers->requests[method][mode][code]);
    return n;
}

static void read_buckets(uint64_t *to, const struct hl_histogram *h)
{
    for (int i = 0; i < HL_HISTOGRAM_BUCKETS; i++)
        to[i] = hl_counter_get(&h->bucket[i]);
}

static void read_base(
    struct hl_history_base *base, const struct hl_figures *figures, uint64_t mono_ms)
{
    base->mono_ms = mono_ms;
    base->calls = count_requests(&figures->workers, 0);
    base->errors = count_requests(&figures->workers, 5);
    base->delivered = hl_counter_get(&figures->sender->attempts_ok);
    base->retried = hl_counter_get(&figures->sender->attempts_retry);
    base->dead = hl_counter_get(&figures->sender->attempts_dead);
    base->commits = hl_counter_get(&figures->store->commits);
    read_buckets(base->latency, &figures->workers.duration[HL_MODE_SYNC]);
    read_buckets(base->commit, &figures->store->commit_latency);
}

void hl_history_init(struct hl_history *history, const struct hl_figures *figures, uint64_t mono_ms)
{
    history->count = 0;
    read_base(&history->base, figures, mono_ms);
}

/* HL_HISTORY_NONE is not a number. */
static uint32_t clamp(uint64_t n)
{
    return n < HL_HISTORY_NONE ? (uint32_t)n : HL_HISTORY_NONE - 1;
}

/* The measurements between two readings. */
static void set_quantiles(
    struct hl_sample *sample, int p50_column, const uint64_t *before, const uint64_t *after)
{
    uint64_t counts[HL_HISTOGRAM_BUCKETS], total = 0;
    for (int i = 0; i < HL_HISTOGRAM_BUCKETS; i++)
        total += counts[i] = after[i] - before[i];
    uint32_t *values = sample->values;
    values[p50_column] = total ? clamp(hl_histogram_quantile(counts, 50)) : HL_HISTORY_NONE;
    values[p50_column + 1] = total ? clamp(hl_histogram_quantile(counts, 99)) : HL_HISTORY_NONE;
}

static void set_levels(struct hl_sample *sample, const struct hl_figures *figures)
{
    const struct hl_worker_metrics *workers = &figures->workers;
    uint32_t *values = sample->values;
    values[HL_HISTORY_IN_FLIGHT] = clamp(hl_counter_get(&workers->calls_in_flight));
    values[HL_HISTORY_RUNS] = clamp(hl_counter_get(&workers->runs_in_flight));
    values[HL_HISTORY_WAITING] = clamp(hl_figures_waiting(workers));
    values[HL_HISTORY_QUEUED] = clamp(hl_counter_get(&figures->store->queued_runs));
    values[HL_HISTORY_QUEUE_AGE_MS] =
        clamp(hl_figures_age_ms(figures->now_ms, &figures->store->oldest_queued_ms));
    values[HL_HISTORY_PENDING] = clamp(hl_counter_get(&figures->store->pending_deliveries));
    if (hl_counter_get(&figures->store->is_uncounted))
        values[HL_HISTORY_QUEUED] = values[HL_HISTORY_QUEUE_AGE_MS] = values[HL_HISTORY_PENDING] =
            HL_HISTORY_NONE;
}

void hl_history_add(struct hl_history *history, const struct hl_figures *figures, uint64_t mono_ms)
{
    struct hl_history_base after;
    const struct hl_history_base *before = &history->base;
    struct hl_sample *sample = &history->samples[history->count % HL_HISTORY_SAMPLES];
    read_base(&after, figures, mono_ms);
    sample->at_ms = figures->now_ms;
    sample->elapsed_ms = clamp(after.mono_ms - before->mono_ms);
    sample->values[HL_HISTORY_CALLS] = clamp(after.calls - before->calls);
    sample->values[HL_HISTORY_ERRORS] = clamp(after.errors - before->errors);
    sample->values[HL_HISTORY_DELIVERED] = clamp(after.delivered - before->delivered);
    sample->values[HL_HISTORY_RETRIED] = clamp(after.retried - before->retried);
    sample->values[HL_HISTORY_DEAD] = clamp(after.dead - before->dead);
    sample->values[HL_HISTORY_COMMITS] = clamp(after.commits - before->commits);
    set_levels(sample, figures);
    set_quantiles(sample, HL_HISTORY_LATENCY_P50, before->latency, after.latency);
    set_quantiles(sample, HL_HISTORY_COMMIT_P50, before->commit, after.commit);
    history->base = after;
    history->count++;
}

uint64_t hl_history_first(const struct hl_history *history)
{
    return history->count > HL_HISTORY_SAMPLES ? history->count - HL_HISTORY_SAMPLES + 1 : 1;
}

const struct hl_sample *hl_history_at(const struct hl_history *history, uint64_t number)
{
    HL_ASSERT(number >= hl_history_first(history) && number <= history->count);
    return &history->samples[(number - 1) % HL_HISTORY_SAMPLES];
}
