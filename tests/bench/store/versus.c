/* versus.c - rounds in which the floor and the store take turns, so that what disturbs the machine
 * disturbs both; figures are medians over rounds, ratios medians of the rounds' ratios. */
#include "versus.h"

#include <stdio.h>
#include <time.h>

#include "floor.h"
#include "pg_floor.h"
#include "runs.h"
#include "sample.h"

static const unsigned submitters[] = {1, 16, 256};
#define SIZES    (sizeof(submitters) / sizeof(submitters[0]))
#define CREDIT   256
#define QUIET_NS 250000000 /* after a turn the store moves its log: not into the floor's time */

struct side {
    struct sample rate, cpu, p50, p99, worst;
};

struct pair {
    struct side floor, store;
};

/* What README.md asks for; ratios are the store's to the floor's. */
struct bound {
    const char *what;
    size_t size; /* which number of submitters */
    enum { RATE, RATE_RATIO, P99_RATIO, P99_US } kind;
    double must, aim;
};

static const struct bound bounds[] = {
    {"runs/s at 16, of the floor's", 1, RATE_RATIO, 0.25, 0.45},
    {"runs/s at 256, of the floor's", 2, RATE_RATIO, 0.05, 0.12},
    {"p99 at 1, of the floor's", 0, P99_RATIO, 3, 2},
    {"p99 at 256, us", 2, P99_US, 5000, 1500},
};

static const struct bound postgres_bounds[] = {
    {"runs/s at 256", 2, RATE, 3000, 10000},
    {"p99 at 1, of the floor's", 0, P99_RATIO, 5, 3},
    {"p99 at 16, of the floor's", 1, P99_RATIO, 5, 3},
    {"p99 at 256, of the floor's", 2, P99_RATIO, 5, 3},
};
#define BOUNDS (sizeof(bounds) / sizeof(bounds[0]))
_Static_assert(BOUNDS == sizeof(postgres_bounds) / sizeof(postgres_bounds[0]), "as many of both");

static const struct bound *used_bounds(void)
{
    return runs_postgres_url() ? postgres_bounds : bounds;
}

static void play(struct load *load, struct side *side, unsigned n, double seconds)
{
    struct load_result result = load_run_for(load, n, seconds);
    sample_add(&side->rate, result.runs_per_s);
    sample_add(&side->cpu, result.cpu_us);
    sample_add(&side->p50, result.p50_us);
    sample_add(&side->p99, result.p99_us);
    sample_add(&side->worst, result.worst_us);
    nanosleep(&(struct timespec){.tv_nsec = QUIET_NS}, NULL);
}

/* Neither always goes first. */
static void play_round(
    struct load *floor, struct load *store, struct pair *pair, size_t size, int round, double s)
{
    if (round % 2)
        play(store, &pair->store, submitters[size], s);
    play(floor, &pair->floor, submitters[size], s);
    if (round % 2 == 0)
        play(store, &pair->store, submitters[size], s);
}

static double value_of(const struct bound *bound, const struct pair *pairs)
{
    const struct pair *pair = &pairs[bound->size];
    if (bound->kind == P99_US)
        return sample_median(&pair->store.p99);
    if (bound->kind == RATE)
        return sample_median(&pair->store.rate);
    return bound->kind == RATE_RATIO ? sample_median_ratio(&pair->store.rate, &pair->floor.rate)
                                     : sample_median_ratio(&pair->store.p99, &pair->floor.p99);
}

static const char *verdict_of(const struct bound *bound, double value)
{
    double sign = bound->kind <= RATE_RATIO ? 1 : -1;
    if (sign * value < sign * bound->must)
        return "missed";
    return sign * value < sign * bound->aim ? "must met" : "aim met";
}

static void print_side(const char *name, unsigned n, const struct side *side)
{
    printf("%-6s %5u %10.0f %8.0f %8.0f %8.0f %9.2f", name, n, sample_median(&side->rate),
        sample_median(&side->p50), sample_median(&side->p99), sample_median(&side->worst),
        sample_median(&side->cpu));
}

static void print_ratios(const struct sample *a, const struct sample *b)
{
    printf("   %.2f (", sample_median_ratio(a, b));
    for (int i = 0; i < a->n; i++)
        printf("%s%.2f", i ? " " : "", a->values[i] / b->values[i]);
    printf(")");
}

static void print_table(const struct pair *pairs)
{
    printf("%-6s %5s %10s %8s %8s %8s %9s   %s\n", "", "subm.", "runs/s", "p50 us", "p99 us",
        "worst us", "CPU us", "runs/s of the floor's: median (each round)");
    for (size_t i = 0; i < SIZES; i++) {
        print_side("floor", submitters[i], &pairs[i].floor);
        printf("\n");
        print_side("store", submitters[i], &pairs[i].store);
        print_ratios(&pairs[i].store.rate, &pairs[i].floor.rate);
        printf("\n");
    }
    printf("\n%-30s %8s %8s %8s\n", "", "is", "must", "aim");
    for (const struct bound *b = used_bounds(); b < used_bounds() + BOUNDS; b++)
        printf("%-30s %8.2f %8.2f %8.2f   %s\n", b->what, value_of(b, pairs), b->must, b->aim,
            verdict_of(b, value_of(b, pairs)));
}

static void print_side_json(const char *name, const struct side *side)
{
    printf("\"%s\":{\"runs_per_s\":%.0f,\"p50_us\":%.1f,\"p99_us\":%.1f,\"worst_us\":%.1f,"
           "\"cpu_us_per_run\":%.2f}",
        name, sample_median(&side->rate), sample_median(&side->p50), sample_median(&side->p99),
        sample_median(&side->worst), sample_median(&side->cpu));
}

static void print_json(const struct pair *pairs)
{
    printf("{\"rounds\":%d,\"submitters\":[", pairs[0].store.rate.n);
    for (size_t i = 0; i < SIZES; i++) {
        printf("%s{\"n\":%u,", i ? "," : "", submitters[i]);
        print_side_json("floor", &pairs[i].floor);
        printf(",");
        print_side_json("store", &pairs[i].store);
        printf(",\"rate_ratio\":%.3f,\"p99_ratio\":%.3f}",
            sample_median_ratio(&pairs[i].store.rate, &pairs[i].floor.rate),
            sample_median_ratio(&pairs[i].store.p99, &pairs[i].floor.p99));
    }
    printf("],\"bounds\":[");
    const struct bound *used = used_bounds();
    for (size_t i = 0; i < BOUNDS; i++)
        printf("%s{\"what\":\"%s\",\"is\":%.3f,\"must\":%.2f,\"aim\":%.2f}", i ? "," : "",
            used[i].what, value_of(&used[i], pairs), used[i].must, used[i].aim);
    printf("]}\n");
}

void versus(const char *dir, int rounds, double seconds, bool is_json)
{
    static struct pair pairs[SIZES];
    static struct floor floor;
    static struct pg_floor pg_floor;
    const char *url = runs_postgres_url();
    static struct runs runs;
    static struct load floor_load, store_load;

    if (url)
        pg_floor_open(&pg_floor, url);
    else
        floor_open(&floor, dir);
    runs_open(&runs, dir, 3600 * 1000, NULL);
    load_init(&floor_load, url ? &pg_floor.queue : &floor.queue);
    load_init(&store_load, &runs.queue);
    runs_give_credit(&runs, &store_load, CREDIT);
    for (int round = 0; round < rounds; round++)
        for (size_t i = 0; i < SIZES; i++)
            play_round(&floor_load, &store_load, &pairs[i], i, round, seconds);
    runs_close(&runs);
    if (url)
        pg_floor_close(&pg_floor);
    else
        floor_close(&floor);
    load_fini(&store_load);
    load_fini(&floor_load);

    if (is_json)
        print_json(pairs);
    else
        print_table(pairs);
}
