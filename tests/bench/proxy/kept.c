/* kept.c - what large answers that become webhooks take of hookline's own memory: one of 64 MiB until its webhook has come, then
 * twenty of 4 MiB at once whose receiver is not there.
 *
 *   kept -l PORT -w PORT name:port:pid       the app's, and a receiver's */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "contender.h"
#include "exchange.h"

#define READY_S  1.0
#define SAMPLE_S 0.005
#define WAIT_S   60.0 /* a bound */
#define LARGE    (UINT64_C(64) << 20)
#define MEDIUM   (UINT64_C(4) << 20)
#define AT_ONCE  20

/* Sends and answers; `receiver` has a thread of its own. */
static struct exchange *x, *receiver;

static void answer_with(uint64_t filler)
{
    x->answer.text_n = (size_t)snprintf(x->answer.text, sizeof x->answer.text,
        "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: %" PRIu64
        "\r\n\r\n",
        filler);
    x->answer.filler = filler;
}

static void call_with_webhook_to(int port)
{
    x->request.text_n = (size_t)snprintf(x->request.text, sizeof x->request.text,
        "POST /v4/p/a/run?webhookEndpoint=http://127.0.0.1:%d/ HTTP/1.1\r\nHost: a\r\n"
        "Content-Length: 2\r\n\r\n{}",
        port);
}

static void *receiver_main(void *unused)
{
    (void)unused;
    exchange_run_for(receiver, 1e6);
    return NULL;
}

/* Until `count` has reached `goal`, and half a second more. MiB above `before`: the most, and at the end. */
static void watch(const char *what, const struct contender *c, double before, const uint64_t *count,
    uint64_t goal)
{
    double most = 0, now = 0;
    uint64_t end = exchange_now_us() + (uint64_t)(WAIT_S * 1e6), over = 0;
    while (exchange_now_us() < end && (over == 0 || exchange_now_us() < over)) {
        exchange_run_for(x, SAMPLE_S);
        now = process_rss_kib(c->pid) - before;
        most = now > most ? now : most;
        if (over == 0 && *(const volatile uint64_t *)count >= goal)
            over = exchange_now_us() + 500000;
    }
    if (over == 0) {
        fprintf(stderr, "%s: only %" PRIu64 " of %" PRIu64 "\n", what, *count, goal);
        exit(1);
    }
    printf("%-34s %10.1f %10.1f\n", what, most / 1024, now / 1024);
}

int main(int argc, char **argv)
{
    int port = 0, webhooks = 0;
    pthread_t thread;
    for (int option; (option = getopt(argc, argv, "l:w:")) > 0;) {
        if (option == 'l')
            port = atoi(optarg);
        else if (option == 'w')
            webhooks = atoi(optarg);
        else
            return 2;
    }
    if (optind + 1 != argc)
        return 2;
    struct contender c = contender_parse(argv[optind]);
    x = exchange_new();
    receiver = exchange_new();
    receiver->answer.text_n =
        strlen(strcpy(receiver->answer.text, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
    exchange_listen_tcp(x, port);
    exchange_listen_tcp(receiver, webhooks);
    if (pthread_create(&thread, NULL, receiver_main, NULL) != 0)
        return 1;
    exchange_run_for(x, READY_S);
    double before = process_rss_kib(c.pid);
    printf("%-34s %10s %10s\n", "MiB beyond what it had", "most", "at last");

    answer_with(LARGE);
    call_with_webhook_to(webhooks);
    x->calls_left = 1;
    exchange_open_callers(x, c.port, 1);
    watch("one of 64 MiB, and its webhook", &c, before, &receiver->served, 1);

    exchange_close_callers(x);
    answer_with(MEDIUM);
    call_with_webhook_to(1); /* nobody is there: they wait for another attempt */
    x->calls_left = AT_ONCE;
    uint64_t goal = x->answered + AT_ONCE;
    exchange_open_callers(x, c.port, AT_ONCE);
    watch("twenty of 4 MiB that wait", &c, before, &x->answered, goal);
    return x->failed > 0;
}
