/* scale.c - one store for each size: filled with finished runs, then asked, listed, added to, and
 * purged. The runs that are to be purged are the oldest, said to have ended hours ago: the store is
 * opened again with a retention that they are beyond. */
#include "scale.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "latency.h"
#include "runs.h"

#define HOUR_MS (3600 * 1000)
#define FILLERS 256 /* submitters while filling */
#define ASKS    2000
#define LISTS   200

static struct runs runs;
static struct load load;

static double ms_since(uint64_t ns)
{
    return (double)(uv_hrtime() - ns) / 1e6;
}

static double open_with(const char *dir, int64_t retention_ms)
{
    double ms;
    runs_open(&runs, dir, (uint64_t)retention_ms, &ms);
    load_init(&load, &runs.queue);
    runs_give_credit(&runs, &load, FILLERS);
    return ms;
}

static void close_all(void)
{
    runs_close(&runs);
    load_fini(&load);
}

static void make_ended(int64_t age_ms, uint64_t n)
{
    runs.age_ms = age_ms;
    load_run(&load, FILLERS, n);
    runs.age_ms = 0;
}

static const struct hl_id *any_of(const struct hl_id *ids, uint64_t n)
{
    return &ids[(uint64_t)random() % n];
}

static void measure_asking(const struct hl_id *ids, uint64_t n)
{
    static struct latency get, list;
    get = list = (struct latency){0};
    for (int i = 0; i < ASKS; i++) {
        uint64_t began = uv_hrtime();
        runs_get(&runs, any_of(ids, n));
        latency_add(&get, uv_hrtime() - began);
    }
    for (int i = 0; i < LISTS; i++) {
        uint64_t began = uv_hrtime();
        runs_list(&runs, any_of(ids, n));
        latency_add(&list, uv_hrtime() - began);
    }
    printf(" %7.0f %7.0f %8.0f %8.0f", latency_at(&get, 0.5), latency_at(&get, 0.99),
        latency_at(&list, 0.5), latency_at(&list, 0.99));
}

static void measure_accepting(double seconds)
{
    struct load_result result = load_run_for(&load, 16, seconds);
    printf(" %9.0f %8.0f", result.runs_per_s, result.p99_us);
}

/* Until the last of them is gone; runs a second. */
static double await_purge(const struct hl_id *last, uint64_t n)
{
    uint64_t began = uv_hrtime();
    while (runs_get(&runs, last) == HL_OK)
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    return (double)n / (ms_since(began) / 1e3);
}

static void measure_size(const char *parent, uint64_t n, double seconds)
{
    char dir[4096];
    uint64_t purged = n < 20000 ? n : 20000;
    struct hl_id *ids = calloc(n + 2 * purged, sizeof(*ids));
    if (!ids)
        exit(1);
    snprintf(dir, sizeof(dir), "%s/scale-%llu", parent, (unsigned long long)n);
    if (mkdir(dir, 0700) < 0) {
        perror(dir);
        exit(1);
    }
    runs_forget();
    open_with(dir, 24 * HOUR_MS);
    runs.ended = ids;
    make_ended(6 * HOUR_MS, purged);
    make_ended(4 * HOUR_MS, purged);
    make_ended(0, n);
    runs.ended = NULL;
    printf("%9llu", (unsigned long long)n);
    measure_asking(ids + 2 * purged, n);
    measure_accepting(seconds);
    close_all();
    if (runs_postgres_url()) { /* a partition at a time, once an hour */
        printf("\n");
        free(ids);
        return;
    }

    double ms = open_with(dir, 5 * HOUR_MS);
    double rate = await_purge(&ids[purged - 1], purged);
    close_all();
    open_with(dir, 3 * HOUR_MS);
    measure_accepting(seconds);
    printf(" %9.0f %8.1f\n", rate, ms);
    fflush(stdout);
    close_all();
    free(ids);
}

void scale(const char *dir, unsigned long long most, double seconds)
{
    printf("%9s %7s %7s %8s %8s %9s %8s %9s %8s %9s %8s\n", "", "get p50", "p99", "list p50", "p99",
        "runs/s 16", "ack p99", "purging", "ack p99", "purge/s", "start ms");
    for (unsigned long long n = 1000; n <= most; n *= n < 100000 ? 100 : 10)
        measure_size(dir, n, seconds);
}
