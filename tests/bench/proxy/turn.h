/* turn.h - one turn of a contender in a round of small calls, and what all its turns have shown. */
#ifndef BENCH_TURN_H
#define BENCH_TURN_H

#include "contender.h"
#include "exchange.h"
#include "sample.h"

/* A value for each turn. */
struct turns {
    struct sample rate, cpu, busy, p50, p99; /* calls/s; us a call; share of a core; us */
};

/* Callers call for a moment that does not count, then for one that does, and go. */
void turn_play(
    struct exchange *x, const struct contender *contender, int callers, struct turns *turns);

#endif
