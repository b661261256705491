/* load.c - small calls through proxies: 200 bytes there, 300 back, on kept connections.
 *
 *   load [options] name:port:pid…    rounds in which the proxies take turns; medians, and how the
 *                                    first one compares with each of the others
 *   load -n CALLS [options] port     that many calls, for a proxy whose instructions or system
 *                                    calls are counted
 *
 *   -l PORT     where the app listens on 127.0.0.1      -r ROUNDS   default 11
 *   -u PATH     and on which unix: socket               -k          the app's answer is chunked
 *   -c CALLERS  connections, default 64                 -v          print each round
 *   -p RATE     calls a second at most                  (default: as many as are answered)
 *   -t TOKEN    each call carries it                    -q QUERY    of each call's target
 *   -s TIMES    with -n: the app is asked that often for each call, which is waited for (1): later
 *               than the caller is answered, by webhooks too */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "turn.h"

#define CONTENDERS_MAX 8
#define READY_S        1.0   /* proxies look after the app before the first round */
#define COUNTED_S      120.0 /* a bound: valgrind is slow */

struct entry {
    struct contender contender;
    struct turns turns;
};

struct options {
    int app_port, callers, rounds;
    const char *app_path, *token, *query;
    uint64_t calls, times_served;
    double rate;
    bool is_chunked, is_verbose;
};

static struct options read_options(int argc, char **argv)
{
    struct options options = {.callers = 64, .rounds = 11, .query = "", .times_served = 1};
    for (int option; (option = getopt(argc, argv, "l:u:c:r:n:p:t:q:s:kv")) > 0;) {
        switch (option) {
        case 'l':
            options.app_port = atoi(optarg);
            break;
        case 'u':
            options.app_path = optarg;
            break;
        case 'c':
            options.callers = atoi(optarg);
            break;
        case 'r':
            options.rounds = atoi(optarg);
            break;
        case 'n':
            options.calls = strtoull(optarg, NULL, 10);
            break;
        case 'p':
            options.rate = atof(optarg);
            break;
        case 't':
            options.token = optarg;
            break;
        case 'q':
            options.query = optarg;
            break;
        case 's':
            options.times_served = strtoull(optarg, NULL, 10);
            break;
        case 'k':
            options.is_chunked = true;
            break;
        case 'v':
            options.is_verbose = true;
            break;
        default:
            exit(2);
        }
    }
    if (optind == argc || argc - optind > CONTENDERS_MAX || options.rounds > SAMPLE_MAX)
        exit(2);
    return options;
}

#define X50  "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define X100 X50 X50

/* What curl sends. */
static const char target[] = "POST /v4/p/a/run";
static const char host[] = " HTTP/1.1\r\n"
                           "Host: 127.0.0.1:8080\r\n";
static const char request[] = "User-Agent: load/1\r\n"
                              "Accept: */*\r\n"
                              "Content-Type: application/json\r\n"
                              "Content-Length: 200\r\n"
                              "\r\n" X100 X100;

static const char answer[] = "HTTP/1.1 200 OK\r\n"
                             "Server: app\r\n"
                             "Date: Sat, 21 Nov 2026 08:00:00 GMT\r\n"
                             "Content-Type: application/json\r\n"
                             "Content-Length: 300\r\n"
                             "\r\n" X100 X100 X100;

/* What Node.js sends when it is not told the length. */
static const char chunked_answer[] = "HTTP/1.1 200 OK\r\n"
                                     "Content-Type: application/json\r\n"
                                     "Date: Sat, 21 Nov 2026 08:00:00 GMT\r\n"
                                     "Connection: keep-alive\r\n"
                                     "Keep-Alive: timeout=5\r\n"
                                     "Transfer-Encoding: chunked\r\n"
                                     "\r\n"
                                     "12c\r\n" X100 X100 X100 "\r\n0\r\n\r\n";

static void set_messages(struct exchange *x, const struct options *options)
{
    const char *text = options->is_chunked ? chunked_answer : answer, *token = options->token;
    int n = snprintf(x->request.text, sizeof x->request.text, "%s%s%s%s%s%s%s%s", target,
        *options->query ? "?" : "", options->query, host, token ? "Authorization: Bearer " : "",
        token ? token : "", token ? "\r\n" : "", request);
    if (n < 0 || (size_t)n >= sizeof x->request.text)
        exit(2);
    x->request.text_n = (size_t)n;
    x->answer.text_n = strlen(strcpy(x->answer.text, text));
}

static int count_calls(struct exchange *x, const struct options *options, int port)
{
    x->calls_left = options->calls;
    exchange_open_callers(x, port, options->callers);
    exchange_run(x, COUNTED_S, &x->answered, options->calls);
    exchange_run(x, COUNTED_S, &x->served, options->calls * options->times_served);
    if (x->failed == 0 && x->served == options->calls * options->times_served)
        return 0;
    fprintf(stderr, "%" PRIu64 " of %" PRIu64 " calls answered, %" PRIu64 " failed\n", x->answered,
        options->calls, x->failed);
    return 1;
}

static double latest(const struct sample *sample)
{
    return sample->values[sample->n - 1];
}

static void print_latest(const struct entry *entry)
{
    const struct turns *turns = &entry->turns;
    fprintf(stderr, "%-14s %7.0f calls/s %6.2f us CPU, busy %.2f\n", entry->contender.name,
        latest(&turns->rate), latest(&turns->cpu), latest(&turns->busy));
}

static void print_table(const struct entry *entries, int n)
{
    printf("%-14s %9s %12s %6s %7s %7s   %s against it: CPU, calls/s\n", "", "calls/s",
        "CPU us/call", "busy", "p50 us", "p99 us", entries[0].contender.name);
    for (const struct entry *e = entries; e < entries + n; e++) {
        printf("%-14s %9.0f %12.2f %6.2f %7.0f %7.0f", e->contender.name,
            sample_median(&e->turns.rate), sample_median(&e->turns.cpu),
            sample_median(&e->turns.busy), sample_median(&e->turns.p50),
            sample_median(&e->turns.p99));
        if (e > entries)
            printf("   %.2f  %.2f", sample_median_ratio(&entries[0].turns.cpu, &e->turns.cpu),
                sample_median_ratio(&entries[0].turns.rate, &e->turns.rate));
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    static struct entry entries[CONTENDERS_MAX];
    struct options options = read_options(argc, argv);
    struct exchange *x = exchange_new();
    int n = argc - optind;

    set_messages(x, &options);
    exchange_listen_tcp(x, options.app_port);
    if (options.app_path)
        exchange_listen_unix(x, options.app_path);
    if (options.calls > 0)
        return count_calls(x, &options, atoi(argv[optind]));

    for (int i = 0; i < n; i++)
        entries[i].contender = contender_parse(argv[optind + i]);
    exchange_run_for(x, READY_S);
    if (options.rate > 0)
        exchange_pace(x, options.rate);
    for (int round = 0; round < options.rounds; round++)
        for (int i = 0; i < n; i++) { /* none of them always follows the same one */
            struct entry *entry = &entries[(i + round) % n];
            turn_play(x, &entry->contender, options.callers, &entry->turns);
            if (options.is_verbose)
                print_latest(entry);
        }
    print_table(entries, n);
    if (x->failed > 0)
        printf("%" PRIu64 " calls failed\n", x->failed);
    return x->failed > 0;
}
