/* metric.c - histograms: their bounds, quantiles, and the Prometheus text of their sum over threads.
 * Any thread. */
#include "base/metric.h"

#include <inttypes.h>

#include "base/buf.h"

#define POWER_OF_TEN(us) us, us * 5 / 2, us * 5

const uint64_t hl_histogram_bound[HL_HISTOGRAM_BUCKETS] = {POWER_OF_TEN(UINT64_C(100)),
    POWER_OF_TEN(UINT64_C(1000)), POWER_OF_TEN(UINT64_C(10000)), POWER_OF_TEN(UINT64_C(100000)),
    POWER_OF_TEN(UINT64_C(1000000)), POWER_OF_TEN(UINT64_C(10000000)),
    POWER_OF_TEN(UINT64_C(100000000)), UINT64_C(1000000000), UINT64_MAX};

/* The same in seconds. */
static const char *const texts[HL_HISTOGRAM_BUCKETS] = {"0.0001", "0.00025", "0.0005", "0.001",
    "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10", "25",
    "50", "100", "250", "500", "1000", "+Inf"};

const uint8_t hl_histogram_start[64] = {0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 4, 5, 6, 7, 8, 9, 10, 11,
    12, 13, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22,
    22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22};

uint64_t hl_histogram_quantile(const uint64_t counts[HL_HISTOGRAM_BUCKETS], unsigned percent)
{
    double total = 0, below = 0;
    for (int i = 0; i < HL_HISTOGRAM_BUCKETS; i++)
        total += (double)counts[i];
    double rank = total * percent / 100;
    for (int i = 0; i < HL_HISTOGRAM_BUCKETS - 1; i++) {
        double here = (double)counts[i], low = i > 0 ? (double)hl_histogram_bound[i - 1] : 0;
        if (here > 0 && below + here >= rank)
            return (uint64_t)(low + ((double)hl_histogram_bound[i] - low) * (rank - below) / here);
        below += here;
    }
    return total > 0 ? hl_histogram_bound[HL_HISTOGRAM_BUCKETS - 2] : 0;
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
        err = hl_buf_printf(
            out, "%s_bucket{%s%sle=\"%s\"} %" PRIu64 "\n", name, labels, comma, texts[i], count);
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
