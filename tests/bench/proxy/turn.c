/* turn.c - one turn of a contender in a round of small calls. */
#include "turn.h"

#define WARM_S    0.15
#define MEASURE_S 0.40

void turn_play(
    struct exchange *x, const struct contender *contender, int callers, struct turns *turns)
{
    exchange_open_callers(x, contender->port, callers);
    exchange_run_for(x, WARM_S);
    x->latency_n = 0;
    uint64_t answered = x->answered, start = exchange_now_us();
    double cpu = contender_cpu_us(contender);
    exchange_run_for(x, MEASURE_S);
    cpu = contender_cpu_us(contender) - cpu;
    double us = (double)(exchange_now_us() - start), calls = (double)(x->answered - answered);
    exchange_close_callers(x);

    sample_add(&turns->rate, calls * 1e6 / us);
    sample_add(&turns->cpu, calls > 0 ? cpu / calls : 0);
    sample_add(&turns->busy, cpu / us);
    sample_add(&turns->p50, exchange_latency(x, 0.50));
    sample_add(&turns->p99, exchange_latency(x, 0.99));
}
