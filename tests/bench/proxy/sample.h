/* sample.h - one figure as it came out of each round, and what is said of it: medians, since single
 * rounds are disturbed by whatever else the machine does. */
#ifndef BENCH_SAMPLE_H
#define BENCH_SAMPLE_H

#define SAMPLE_MAX 99 /* rounds */

struct sample {
    int n;
    double values[SAMPLE_MAX];
};

void sample_add(struct sample *sample, double value);
double sample_median(const struct sample *sample);
/* The median of a[i] / b[i]: both contenders of a round had the same machine. */
double sample_median_ratio(const struct sample *a, const struct sample *b);

#endif
