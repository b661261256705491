/* metric.c - histograms: finding the bucket, quantiles, and the Prometheus text of their sum over
 * threads. hl_histogram_add runs on the histogram's one writing thread; the others on any. */
#include "base/metric.h"

#include <inttypes.h>

static const struct {
    uint64_t us;
    const char *le; /* in seconds */
} bounds[HL_HISTOGRAM_BUCKETS] = {
    {100, "0.0001"},
    {250, "0.00025"},
    {500, "0.0005"},
    {1000, "0.001"},
    {2500, "0.0025"},
    {5000, "0.005"},
    {10000, "0.01"},
    {25000, "0.025"},
    {50000, "0.05"},
    {100000, "0.1"},
    {250000, "0.25"},
    {500000, "0.5"},
    {1000000, "1"},
    {2500000, "2.5"},
    {5000000, "5"},
    {10000000, "10"},
    {25000000, "25"},
    {50000000, "50"},
    {100000000, "100"},
    {250000000, "250"},
    {500000000, "500"},
    {1000000000, "1000"},
    {UINT64_MAX, "+Inf"},
};

void hl_histogram_add(struct hl_histogram *h, uint64_t us)
{
    int i = 0;
    while (us > bounds[i].us)
        i++;
    hl_counter_add(&h->bucket[i], 1);
    hl_counter_add(&h->sum_us, us);
}

uint64_t hl_histogram_quantile(const uint64_t counts[HL_HISTOGRAM_BUCKETS], unsigned percent)
{
    double total = 0, below = 0;
    for (int i = 0; i < HL_HISTOGRAM_BUCKETS; i++)
        total += (double)counts[i];
    double rank = total * percent / 100;
    for (int i = 0; i < HL_HISTOGRAM_BUCKETS - 1; i++) {
        double here = (double)counts[i], low = i > 0 ? (double)bounds[i - 1].us : 0;
        if (here > 0 && below + here >= rank)
            return (uint64_t)(low + ((double)bounds[i].us - low) * (rank - below) / here);
        below += here;
    }
    return total > 0 ? bounds[HL_HISTOGRAM_BUCKETS - 2].us : 0;
}

enum hl_err hl_histogram_write(struct hl_buf *out, const char *name, const char *labels,
    const struct hl_histogram *first, size_t n, size_t stride)
{
    const char *comma = *labels ? "," : "";
    const char *open = *labels ? "{" : "", *close = *labels ? "}" : "";
    uint64_t count = 0, sum = 0;
    enum hl_err err = HL_OK;

    for (int i = 0; i < HL_HISTOGRAM_BUCKETS && !err; i++) {
        const char *h = (const char *)first;
        for (size_t j = 0; j < n; j++, h += stride)
            count += hl_counter_get(&((const struct hl_histogram *)(const void *)h)->bucket[i]);
        err = hl_buf_printf(out, "%s_bucket{%s%sle=\"%s\"} %" PRIu64 "\n", name, labels, comma,
            bounds[i].le, count);
    }
    const char *h = (const char *)first;
    for (size_t j = 0; j < n; j++, h += stride)
        sum += hl_counter_get(&((const struct hl_histogram *)(const void *)h)->sum_us);
    if (!err)
        err = hl_buf_printf(out, "%s_sum%s%s%s %" PRIu64 ".%06" PRIu64 "\n", name, open, labels,
            close, sum / 1000000, sum % 1000000);
    /* The count is what the buckets added up to: it always equals the +Inf bucket. */
    if (!err)
        err = hl_buf_printf(out, "%s_count%s%s%s %" PRIu64 "\n", name, open, labels, close, count);
    return err;
}
