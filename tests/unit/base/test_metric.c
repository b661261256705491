#include <criterion/criterion.h>

#include "base/buf.h"
#include "base/metric.h"

struct per_thread {
    char other[40];
    struct hl_histogram h;
};

static const char *write_text(struct hl_buf *b, const char *labels, struct per_thread *t, size_t n)
{
    hl_buf_init(b, 0);
    cr_assert_eq(hl_histogram_write(b, "x_seconds", labels, &t->h, n, sizeof(*t)), HL_OK);
    cr_assert_eq(hl_buf_append(b, "", 1), HL_OK);
    return b->p;
}

Test(metric, sums_histograms_of_threads_into_cumulative_buckets)
{
    struct per_thread threads[2] = {0};
    struct hl_buf b;
    hl_histogram_add(&threads[0].h, 100); /* bounds are inclusive */
    hl_histogram_add(&threads[1].h, 101);
    hl_histogram_add(&threads[1].h, 1000000);
    hl_histogram_add(&threads[1].h, 2000000000); /* beyond the last bound */
    const char *text = write_text(&b, "mode=\"sync\"", threads, 2);
    cr_assert(strstr(text, "x_seconds_bucket{mode=\"sync\",le=\"0.0001\"} 1\n"));
    cr_assert(strstr(text, "x_seconds_bucket{mode=\"sync\",le=\"0.00025\"} 2\n"));
    cr_assert(strstr(text, "x_seconds_bucket{mode=\"sync\",le=\"0.5\"} 2\n"));
    cr_assert(strstr(text, "x_seconds_bucket{mode=\"sync\",le=\"1\"} 3\n"));
    cr_assert(strstr(text, "x_seconds_bucket{mode=\"sync\",le=\"1000\"} 3\n"));
    cr_assert(strstr(text, "x_seconds_bucket{mode=\"sync\",le=\"+Inf\"} 4\n"));
    cr_assert(strstr(text, "x_seconds_sum{mode=\"sync\"} 2001.000201\n"));
    cr_assert(strstr(text, "x_seconds_count{mode=\"sync\"} 4\n"));
    hl_buf_fini(&b);
}

Test(metric, writes_no_empty_braces_without_labels)
{
    struct per_thread thread = {0};
    struct hl_buf b;
    const char *text = write_text(&b, "", &thread, 1);
    cr_assert(strstr(text, "x_seconds_bucket{le=\"0.0001\"} 0\n"));
    cr_assert(strstr(text, "\nx_seconds_sum 0.000000\nx_seconds_count 0\n"));
    hl_buf_fini(&b);
}

Test(metric, says_when_the_text_has_no_room)
{
    struct per_thread thread = {0};
    struct hl_buf b;
    hl_buf_init(&b, 64);
    cr_assert_eq(hl_histogram_write(&b, "x", "", &thread.h, 1, sizeof(thread)), HL_ERR_TOO_LARGE);
    hl_buf_fini(&b);
}

static int bucket_of(uint64_t us)
{
    struct hl_histogram h = {0};
    hl_histogram_add(&h, us);
    cr_assert_eq(hl_counter_get(&h.sum_us), us);
    for (int i = 0; i < HL_HISTOGRAM_BUCKETS; i++)
        if (hl_counter_get(&h.bucket[i]) == 1)
            return i;
    return -1;
}

Test(metric, puts_each_measurement_below_the_next_bound)
{
    cr_assert_eq(bucket_of(0), 0);
    cr_assert_eq(bucket_of(UINT64_MAX), HL_HISTOGRAM_BUCKETS - 1);
    for (int i = 0; i < HL_HISTOGRAM_BUCKETS - 1; i++) {
        uint64_t bound = hl_histogram_bound[i];
        cr_assert_eq(bucket_of(bound - 1), i, "%d", i);
        cr_assert_eq(bucket_of(bound), i, "%d", i);
        cr_assert_eq(bucket_of(bound + 1), i + 1, "%d", i);
    }
    for (int bit = 0; bit < 64; bit++) {
        uint64_t us = (uint64_t)1 << bit;
        int i = bucket_of(us);
        cr_assert(us <= hl_histogram_bound[i]);
        cr_assert(i == 0 || us > hl_histogram_bound[i - 1], "%d", bit);
    }
}

Test(metric, counts_a_measurement_of_nothing)
{
    struct hl_histogram h = {0};
    hl_histogram_add_zero(&h);
    cr_assert_eq(hl_counter_get(&h.bucket[0]), 1);
    cr_assert_eq(hl_counter_get(&h.sum_us), 0);
}

Test(metric, counts_up_and_down)
{
    struct hl_counter c = {0};
    hl_counter_add(&c, 5);
    hl_counter_sub(&c, 2);
    cr_assert_eq(hl_counter_get(&c), 3);
}

Test(metric, finds_quantiles_within_their_bucket)
{
    uint64_t counts[HL_HISTOGRAM_BUCKETS] = {0};
    cr_assert_eq(hl_histogram_quantile(counts, 50), 0, "there are no measurements");
    counts[3] = 90;  /* 500 us to 1 ms */
    counts[12] = 10; /* 500 ms to 1 s */
    cr_assert_eq(hl_histogram_quantile(counts, 45), 750);
    cr_assert_eq(hl_histogram_quantile(counts, 90), 1000);
    cr_assert_eq(hl_histogram_quantile(counts, 99), 950000);
    cr_assert_eq(hl_histogram_quantile(counts, 100), 1000000);
}

Test(metric, takes_what_is_beyond_the_last_bound_for_that_bound)
{
    uint64_t counts[HL_HISTOGRAM_BUCKETS] = {[HL_HISTOGRAM_BUCKETS - 1] = 1};
    cr_assert_eq(hl_histogram_quantile(counts, 50), 1000000000);
}
