/* sse.c - what an idle event stream costs a proxy, or an idle connection (-k): its own memory before and after many of them are
 * open, one event or one whole answer received on each.
 *
 *   sse -l PORT [-k] [-n STREAMS] name:port:pid… */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "contender.h"
#include "exchange.h"

#define READY_S  1.0
#define OPEN_S   20.0 /* a bound */
#define SETTLE_S 0.5
#define AT_ONCE  50 /* opened before the first of them are answered: below any backlog */

static const char request[] = "POST /v4/p/a/run HTTP/1.1\r\n"
                              "Host: 127.0.0.1\r\n"
                              "Accept: text/event-stream\r\n"
                              "Content-Length: 2\r\n"
                              "\r\n{}";

static const char answer[] = "HTTP/1.1 200 OK\r\n"
                             "Content-Type: text/event-stream\r\n"
                             "Transfer-Encoding: chunked\r\n"
                             "\r\n"
                             "d\r\ndata: hello\n\n\r\n";

static const char whole_answer[] = "HTTP/1.1 200 OK\r\n"
                                   "Content-Type: application/json\r\n"
                                   "Content-Length: 2\r\n"
                                   "\r\n{}";

static void measure(struct exchange *x, const struct contender *contender, int streams)
{
    double before = process_rss_kib(contender->pid);
    x->begun = 0;
    for (int open = 0; open < streams;) {
        int n = streams - open < AT_ONCE ? streams - open : AT_ONCE;
        x->calls_left = (uint64_t)n; /* one on each */
        exchange_open_callers(x, contender->port, n);
        open += n;
        exchange_run(x, OPEN_S, &x->begun, (uint64_t)open);
    }
    exchange_run_for(x, SETTLE_S);
    double after = process_rss_kib(contender->pid);
    printf("%-14s %8" PRIu64 " %12.1f %12.1f %12.2f\n", contender->name, x->begun, before / 1024,
        after / 1024, (after - before) / (double)streams);
    exchange_close_callers(x);
    exchange_run_for(x, SETTLE_S);
}

int main(int argc, char **argv)
{
    int port = 0, streams = 2000;
    const char *say = answer;
    for (int option; (option = getopt(argc, argv, "kl:n:")) > 0;) {
        if (option == 'l')
            port = atoi(optarg);
        else if (option == 'k')
            say = whole_answer;
        else if (option == 'n')
            streams = atoi(optarg);
        else
            return 2;
    }
    struct exchange *x = exchange_new();
    x->request.text_n = strlen(strcpy(x->request.text, request));
    x->answer.text_n = strlen(strcpy(x->answer.text, say));
    exchange_listen_tcp(x, port);
    exchange_run_for(x, READY_S);
    printf("%-14s %8s %12s %12s %12s\n", "", "open", "MiB before", "MiB after", "KiB each");
    for (; optind < argc; optind++) {
        struct contender contender = contender_parse(argv[optind]);
        measure(x, &contender, streams);
    }
    return x->failed > 0;
}
