/* calls.c - small calls of functions behind servers, which take turns in each round.
 *
 *   calls [-r ROUNDS] [-c CALLERS] [-b BODY] name:port:pid:path…
 *
 * Prints medians over the rounds, and how the first one compares with each of the others. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "turn.h"

#define CONTENDERS_MAX 8

struct entry {
    struct contender contender;
    const char *path;
    struct turns turns;
};

struct options {
    int rounds, callers;
    const char *body;
};

static struct options read_options(int argc, char **argv)
{
    struct options options = {.rounds = 11, .callers = 16, .body = "{}"};
    for (int option; (option = getopt(argc, argv, "r:c:b:")) > 0;) {
        switch (option) {
        case 'r':
            options.rounds = atoi(optarg);
            break;
        case 'c':
            options.callers = atoi(optarg);
            break;
        case 'b':
            options.body = optarg;
            break;
        default:
            exit(2);
        }
    }
    if (optind == argc || argc - optind > CONTENDERS_MAX || options.rounds > SAMPLE_MAX)
        exit(2);
    return options;
}

static void set_request(struct exchange *x, const char *path, const char *body)
{
    int n = snprintf(x->request.text, sizeof x->request.text,
        "POST %s HTTP/1.1\r\n"
        "Host: 127.0.0.1\r\n"
        "User-Agent: calls/1\r\n"
        "Accept: */*\r\n"
        "Content-Type: application/json\r\n"
        "Content-Length: %zu\r\n"
        "\r\n%s",
        path, strlen(body), body);
    x->request.text_n = (size_t)n;
}

static void print_table(const struct entry *entries, int n)
{
    printf("%-18s %9s %12s %13s %7s %7s   %s: calls per CPU s, p50\n", "", "calls/s", "CPU us/call",
        "calls/CPU s", "p50 us", "p99 us", entries[0].contender.name);
    for (const struct entry *e = entries; e < entries + n; e++) {
        double cpu = sample_median(&e->turns.cpu);
        printf("%-18s %9.0f %12.1f %13.0f %7.0f %7.0f", e->contender.name,
            sample_median(&e->turns.rate), cpu, 1e6 / cpu, sample_median(&e->turns.p50),
            sample_median(&e->turns.p99));
        if (e > entries)
            printf("   x %.2f  x %.2f", sample_median_ratio(&e->turns.cpu, &entries[0].turns.cpu),
                sample_median_ratio(&entries[0].turns.p50, &e->turns.p50));
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    static struct entry entries[CONTENDERS_MAX];
    struct options options = read_options(argc, argv);
    struct exchange *x = exchange_new();
    int n = argc - optind;

    for (int i = 0; i < n; i++) {
        entries[i].contender = contender_parse(argv[optind + i]);
        entries[i].path = strrchr(argv[optind + i], ':') + 1;
    }
    for (int round = 0; round < options.rounds; round++)
        for (int i = 0; i < n; i++) { /* none of them always follows the same one */
            struct entry *entry = &entries[(i + round) % n];
            set_request(x, entry->path, options.body);
            turn_play(x, &entry->contender, options.callers, &entry->turns);
        }
    print_table(entries, n);
    if (x->failed > 0)
        printf("%" PRIu64 " calls failed\n", x->failed);
    return x->failed > 0;
}
