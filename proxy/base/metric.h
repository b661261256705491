/* metric.h - counters, gauges and histograms that one thread writes and any thread reads.
 *
 * A counter has a single writer, so adding is a relaxed load and store: no lock prefix on the warm
 * path. Sums over threads are made when /metrics is read (api/metrics.c). */
#ifndef HL_BASE_METRIC_H
#define HL_BASE_METRIC_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_buf;

struct hl_counter {
    _Atomic uint64_t v;
};

static inline void hl_counter_add(struct hl_counter *c, uint64_t n)
{
    atomic_store_explicit(
        &c->v, atomic_load_explicit(&c->v, memory_order_relaxed) + n, memory_order_relaxed);
}

static inline void hl_counter_sub(struct hl_counter *c, uint64_t n)
{
    hl_counter_add(c, (uint64_t)0 - n);
}

/* As a gauge. */
static inline void hl_counter_set(struct hl_counter *c, uint64_t v)
{
    atomic_store_explicit(&c->v, v, memory_order_relaxed);
}

static inline uint64_t hl_counter_get(const struct hl_counter *c)
{
    return atomic_load_explicit(&c->v, memory_order_relaxed);
}

/* Latency histogram: buckets at 1, 2.5, 5 times powers of ten from 100 us to 1000 s; the last one
 * is +Inf. */
#define HL_HISTOGRAM_BUCKETS 23

struct hl_histogram {
    struct hl_counter bucket[HL_HISTOGRAM_BUCKETS]; /* not cumulative */
    struct hl_counter sum_us;
};

extern const uint64_t hl_histogram_bound[HL_HISTOGRAM_BUCKETS]; /* us, inclusive */
/* The bucket of 2^i us: with one look at its bound also that of all below 2^(i+1), for no two bounds
 * lie between the two. */
extern const uint8_t hl_histogram_start[64];

static inline void hl_histogram_add(struct hl_histogram *h, uint64_t us)
{
    unsigned i = hl_histogram_start[63 - __builtin_clzll(us | 1)];
    i += us > hl_histogram_bound[i];
    hl_counter_add(&h->bucket[i], 1);
    hl_counter_add(&h->sum_us, us);
}

/* A measurement of nothing. */
static inline void hl_histogram_add_zero(struct hl_histogram *h)
{
    hl_counter_add(&h->bucket[0], 1);
}

/* The value in us that `percent` of the measurements do not exceed, as if those within a bucket
 * were spread evenly; 0 when there are none. `counts` are of a histogram's buckets, or differences
 * of them; what lies beyond the last bound counts as that bound. */
uint64_t hl_histogram_quantile(const uint64_t counts[HL_HISTOGRAM_BUCKETS], unsigned percent);

/* Adds up `n` histograms, `stride` bytes apart, and writes name_bucket{labels,le="…"}, name_sum and
 * name_count in Prometheus text form. `labels` is "" or `a="b",c="d"`. */
HL_MUST_CHECK enum hl_err hl_histogram_write(struct hl_buf *out, const char *name,
    const char *labels, const struct hl_histogram *first, size_t n, size_t stride);

#endif
