/* latency.c - buckets of equal width within each power of two. */
#include "latency.h"

#define STEPS      32 /* in a power of two */
#define STEPS_LOG2 5

static unsigned bucket_of(uint64_t ns)
{
    if (ns < 2 * STEPS)
        return (unsigned)ns;
    unsigned shift = 63u - (unsigned)__builtin_clzll(ns) - STEPS_LOG2;
    return shift * STEPS + (unsigned)(ns >> shift);
}

/* The middle of a bucket, in nanoseconds. */
static double middle_of(unsigned bucket)
{
    if (bucket < 2 * STEPS)
        return bucket;
    unsigned shift = bucket / STEPS - 1;
    double width = (double)(1ull << shift);
    return ((double)(bucket - shift * STEPS) + 0.5) * width;
}

void latency_add(struct latency *l, uint64_t ns)
{
    l->buckets[bucket_of(ns)]++;
    l->n++;
}

double latency_at(const struct latency *l, double share)
{
    uint64_t rank = (uint64_t)(share * (double)l->n), seen = 0;
    for (unsigned i = 0; i < LATENCY_BUCKETS; i++) {
        seen += l->buckets[i];
        if (seen > rank)
            return middle_of(i) / 1000;
    }
    return 0;
}
