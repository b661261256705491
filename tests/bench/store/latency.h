/* latency.h - how long something took, counted in buckets that are 3 % wide at most, so that a
 * million of them cost the measured program no memory. */
#ifndef BENCH_LATENCY_H
#define BENCH_LATENCY_H

#include <stdint.h>

#define LATENCY_BUCKETS 2048

struct latency {
    uint64_t n;
    uint32_t buckets[LATENCY_BUCKETS];
};

void latency_add(struct latency *l, uint64_t ns);
/* In microseconds, the one below which `share` (0 to 1) of them lie; 0 when there are none. */
double latency_at(const struct latency *l, double share);

#endif
