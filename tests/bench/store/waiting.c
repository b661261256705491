/* waiting.c - one store for each number of deliveries that wait for hours, to a thousand destinations: what it
 * has of memory once it is opened again, beside an empty one, and how long others' take meanwhile. */
#include "waiting.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "runs.h"

#define DESTINATIONS 1000
#define FILLERS      256
#define OTHERS       2000
#define HOUR_MS      (3600 * 1000)

static struct runs runs;
static struct load load;

static double open_store(const char *dir)
{
    double ms;
    runs_open(&runs, dir, 24 * HOUR_MS, &ms);
    runs.destinations = DESTINATIONS;
    runs.due_in_ms = 6 * HOUR_MS;
    load_init(&load, &runs.queue);
    runs_give_credit(&runs, &load, FILLERS);
    runs_give_lease_credit(&runs, FILLERS);
    return ms;
}

static void close_store(void)
{
    runs_close(&runs);
    load_fini(&load);
    malloc_trim(0);
}

static double own_mib(void)
{
    char line[128];
    double kib = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof(line), status))
        sscanf(line, "RssAnon: %lf", &kib);
    if (status)
        fclose(status);
    return kib / 1024;
}

static void measure(const char *parent, unsigned long long n)
{
    char dir[4096];
    snprintf(dir, sizeof(dir), "%s/waiting-%llu", parent, n);
    if (mkdir(dir, 0700) < 0) {
        perror(dir);
        exit(1);
    }
    runs_forget();
    open_store(dir);
    struct load_result filling = load_run(&load, FILLERS, n);
    close_store();

    double before = own_mib(), ms = open_store(dir), after = own_mib();
    struct load_result others = load_run(&load, 16, OTHERS);
    double busy = own_mib();
    printf("%9llu %9.0f %9.1f %9.1f %9.1f %9.0f %8.0f %8.0f\n", n, filling.runs_per_s, ms,
        after - before, busy - before, others.runs_per_s, others.p50_us, others.p99_us);
    fflush(stdout);
    close_store();
}

void waiting(const char *dir, unsigned long long most)
{
    printf("%9s %9s %9s %9s %9s %9s %8s %8s\n", "waiting", "filled/s", "open ms", "MiB", "MiB busy",
        "runs/s 16", "ack p50", "p99");
    for (unsigned long long n = 1000; n <= most; n *= n < 100000 ? 100 : 10)
        measure(dir, n);
}
