/* bodies.c - large bodies through proxies, down (answers) and up (requests), on four connections.
 *
 *   bodies -l PORT [-r ROUNDS] name:port:pid…
 *
 * Prints medians: GiB/s, the proxy's CPU time for each GiB, how the first proxy compares with each
 * of the others, and by how much the proxy's own memory ever stood above where it was at first. A
 * body is 256 MiB long: a proxy that kept one would show it there. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "contender.h"
#include "exchange.h"
#include "sample.h"

#define CONTENDERS_MAX 8
#define CALLERS        4
#define BODY           (UINT64_C(256) << 20)
#define GIB            (double)(UINT64_C(1) << 30)
#define READY_S        1.0
#define WARM_S         0.15
#define MEASURE_S      0.40

enum direction { DOWN, UP };

struct entry {
    struct contender contender;
    struct sample rate, cpu;         /* GiB/s; CPU seconds for each GiB */
    double rss_at_first, rss_growth; /* KiB */
};

static void set_message(struct message *m, const char *start_line, uint64_t filler)
{
    int n = snprintf(m->text, sizeof m->text,
        "%s\r\nHost: 127.0.0.1\r\nContent-Type: application/octet-stream\r\nContent-Length: "
        "%" PRIu64 "\r\n\r\n%s",
        start_line, filler ? filler : 2, filler ? "" : "ok");
    m->text_n = (size_t)n;
    m->filler = filler;
}

static void set_direction(struct exchange *x, enum direction direction)
{
    set_message(&x->request, "POST /v4/p/a/bodies HTTP/1.1", direction == UP ? BODY : 0);
    set_message(&x->answer, "HTTP/1.1 200 OK", direction == DOWN ? BODY : 0);
}

static void play_round(struct exchange *x, struct entry *entry)
{
    exchange_open_callers(x, entry->contender.port, CALLERS);
    exchange_run_for(x, WARM_S);
    uint64_t bytes = x->body_bytes, start = exchange_now_us();
    double cpu = contender_cpu_us(&entry->contender);
    exchange_run_for(x, MEASURE_S);
    cpu = contender_cpu_us(&entry->contender) - cpu;
    double us = (double)(exchange_now_us() - start), gib = (double)(x->body_bytes - bytes) / GIB;
    double growth = process_rss_kib(entry->contender.pid) - entry->rss_at_first;
    exchange_close_callers(x);
    exchange_run_for(x, WARM_S); /* what was on its way ends before the next one begins */

    sample_add(&entry->rate, gib * 1e6 / us);
    sample_add(&entry->cpu, gib > 0 ? cpu / 1e6 / gib : 0);
    if (growth > entry->rss_growth)
        entry->rss_growth = growth;
}

static void print_table(enum direction direction, const struct entry *entries, int n)
{
    printf("%-14s %9s %12s %12s   %s against it: CPU, GiB/s\n", direction == UP ? "up" : "down",
        "GiB/s", "CPU s/GiB", "growth MiB", entries[0].contender.name);
    for (const struct entry *e = entries; e < entries + n; e++) {
        printf("%-14s %9.2f %12.3f %12.1f", e->contender.name, sample_median(&e->rate),
            sample_median(&e->cpu), e->rss_growth / 1024);
        if (e > entries)
            printf("   %.2f  %.2f", sample_median_ratio(&entries[0].cpu, &e->cpu),
                sample_median_ratio(&entries[0].rate, &e->rate));
        printf("\n");
    }
}

static void compare(struct exchange *x, enum direction direction, int rounds, char **who, int n)
{
    struct entry entries[CONTENDERS_MAX] = {0};
    set_direction(x, direction);
    for (int i = 0; i < n; i++) {
        entries[i].contender = contender_parse(who[i]);
        entries[i].rss_at_first = process_rss_kib(entries[i].contender.pid);
    }
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < n; i++)
            play_round(x, &entries[(i + round) % n]);
    print_table(direction, entries, n);
}

int main(int argc, char **argv)
{
    int port = 0, rounds = 5;
    for (int option; (option = getopt(argc, argv, "l:r:")) > 0;) {
        if (option == 'l')
            port = atoi(optarg);
        else if (option == 'r')
            rounds = atoi(optarg);
        else
            return 2;
    }
    int n = argc - optind;
    if (n < 1 || n > CONTENDERS_MAX || rounds > SAMPLE_MAX)
        return 2;
    struct exchange *x = exchange_new();
    set_direction(x, DOWN);
    exchange_listen_tcp(x, port);
    exchange_run_for(x, READY_S);
    compare(x, DOWN, rounds, argv + optind, n);
    compare(x, UP, rounds, argv + optind, n);
    return x->failed > 0;
}
