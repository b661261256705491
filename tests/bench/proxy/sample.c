/* sample.c - medians of rounds. */
#include "sample.h"

#include <stdlib.h>

void sample_add(struct sample *sample, double value)
{
    if (sample->n < SAMPLE_MAX)
        sample->values[sample->n++] = value;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double sample_median(const struct sample *sample)
{
    struct sample sorted = *sample;
    if (sorted.n == 0)
        return 0;
    qsort(sorted.values, (size_t)sorted.n, sizeof sorted.values[0], compare);
    return (sorted.values[sorted.n / 2] + sorted.values[(sorted.n - 1) / 2]) / 2;
}

double sample_median_ratio(const struct sample *a, const struct sample *b)
{
    struct sample ratio = {0};
    for (int i = 0; i < a->n && i < b->n; i++)
        if (b->values[i] > 0)
            sample_add(&ratio, a->values[i] / b->values[i]);
    return sample_median(&ratio);
}
