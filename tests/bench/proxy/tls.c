/* tls.c - what TLS costs proxies, which take turns in each round:
 *
 *   tls -l PORT [-r ROUNDS] listener name:port:pid…    on their listeners: handshakes, small calls, large bodies, memory
 *   tls -l PORT -s PORT -C CERT -K KEY app name:port:pid…
 *                                                      towards the app: memory of a call in flight; some of them ask
 *                                                      the app without TLS (-l) and others that with it (-s)
 *
 * Callers are OpenSSL's, one thread that waits for each answer: it is the proxies' CPU time that is read. */
#include <openssl/evp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "contender.h"
#include "exchange.h"
#include "sample.h"
#include "tls_app.h"
#include "tls_caller.h"

#define CONTENDERS_MAX 8
#define HANDSHAKES     40 /* of a turn */
#define CALLERS        64
#define CALLS          1280 /* of a turn */
#define BODY           (UINT64_C(32) << 20)
#define PIECE          (256 << 10)
#define IDLE           1000 /* connections */
#define STREAMS        500
#define AT_ONCE        50 /* below any backlog */
#define SETTLE_US      100000
#define READY_S        1.0
#define OPEN_S         30.0 /* a bound */
#define GIB            (double)(UINT64_C(1) << 30)

static struct exchange *app;
static SSL_CTX *callers;
static char piece[PIECE];

static struct entry {
    struct contender contender;
    struct sample full, resumed, call, down, up; /* CPU: us, us, us, s/GiB, s/GiB */
    double idle_small, idle_used;                /* KiB a connection */
} entries[CONTENDERS_MAX];

/* ---- one thing that a turn does; each returns how many there were ---- */

static double shake_hands(const struct contender *c)
{
    for (int i = 0; i < HANDSHAKES; i++) {
        struct tls_caller caller;
        tls_caller_open(&caller, callers, c->port, NULL);
        tls_caller_close(&caller);
    }
    return HANDSHAKES;
}

static SSL_SESSION *session; /* of the contender whose turn it is */

static double take_up_sessions(const struct contender *c)
{
    for (int i = 0; i < HANDSHAKES; i++) {
        struct tls_caller caller;
        tls_caller_open(&caller, callers, c->port, session);
        tls_caller_close(&caller);
    }
    return HANDSHAKES;
}

#define X50  "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define X100 X50 X50
static const char small_call[] = "POST /v4/p/a/run HTTP/1.1\r\n"
                                 "Host: 127.0.0.1:8080\r\n"
                                 "User-Agent: load/1\r\n"
                                 "Accept: */*\r\n"
                                 "Content-Type: application/json\r\n"
                                 "Content-Length: 200\r\n"
                                 "\r\n" X100 X100;
static const char small_answer[] = "HTTP/1.1 200 OK\r\n"
                                   "Server: app\r\n"
                                   "Date: Sat, 21 Nov 2026 08:00:00 GMT\r\n"
                                   "Content-Type: application/json\r\n"
                                   "Content-Length: 300\r\n"
                                   "\r\n" X100 X100 X100;

static struct tls_caller open_ones[IDLE];

static double call(const struct contender *c)
{
    (void)c;
    for (int done = 0; done < CALLS; done += CALLERS) {
        for (int i = 0; i < CALLERS; i++)
            tls_caller_send(&open_ones[i], small_call, sizeof small_call - 1);
        for (int i = 0; i < CALLERS; i++)
            tls_caller_receive(&open_ones[i]);
    }
    return CALLS;
}

static void send_body(struct tls_caller *caller, uint64_t n)
{
    char head[256];
    int head_n = snprintf(head, sizeof head,
        "POST /v4/p/a/bodies HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %llu\r\n\r\n",
        (unsigned long long)n);
    tls_caller_send(caller, head, (size_t)head_n);
    for (size_t part; n > 0; n -= part) {
        part = n < sizeof piece ? n : sizeof piece;
        tls_caller_send(caller, piece, part);
    }
}

/* Of the one direction or the other: the app answers as `answer_with` said. */
static double move_body(const struct contender *c)
{
    (void)c;
    bool is_down = app->answer.filler > 0;
    send_body(&open_ones[0], is_down ? 2 : BODY);
    tls_caller_receive(&open_ones[0]);
    return (double)BODY / GIB;
}

/* ---- what is read of it ---- */

static double cpu_of_each(const struct contender *c, double (*act)(const struct contender *))
{
    double cpu = contender_cpu_us(c), n = act(c);
    usleep(SETTLE_US); /* an end that nobody waits for */
    return (contender_cpu_us(c) - cpu) / n;
}

/* Before anybody calls: the app's thread reads it. */
static void answer_with(const char *text, uint64_t filler)
{
    if (text)
        app->answer.text_n = strlen(strcpy(app->answer.text, text));
    else
        app->answer.text_n = (size_t)snprintf(app->answer.text, sizeof app->answer.text,
            "HTTP/1.1 200 OK\r\nContent-Length: %llu\r\n\r\n%s",
            (unsigned long long)(filler ? filler : 2), filler ? "" : "ok");
    app->answer.filler = filler;
}

static void open_some(int n, const struct contender *c)
{
    for (int i = 0; i < n; i++)
        tls_caller_open(&open_ones[i], callers, c->port, NULL);
}

static void close_some(int n)
{
    for (int i = 0; i < n; i++)
        tls_caller_close(&open_ones[i]);
}

static void play_handshakes(struct entry *e)
{
    struct tls_caller first;
    sample_add(&e->full, cpu_of_each(&e->contender, shake_hands));
    tls_caller_open(&first, callers, e->contender.port, NULL);
    session = SSL_get1_session(first.ssl);
    tls_caller_close(&first);
    sample_add(&e->resumed, cpu_of_each(&e->contender, take_up_sessions));
    SSL_SESSION_free(session);
}

static void play_calls(struct entry *e)
{
    open_some(CALLERS, &e->contender);
    call(&e->contender); /* warm */
    sample_add(&e->call, cpu_of_each(&e->contender, call));
    close_some(CALLERS);
}

static void play_bodies(struct entry *e, struct sample *sample)
{
    open_some(1, &e->contender);
    move_body(&e->contender); /* warm */
    sample_add(sample, cpu_of_each(&e->contender, move_body) / 1e6);
    close_some(1);
}

static void play_down(struct entry *e)
{
    play_bodies(e, &e->down);
}

static void play_up(struct entry *e)
{
    play_bodies(e, &e->up);
}

/* None of them always follows the same one. */
static void play_rounds(int rounds, int n, void (*play)(struct entry *))
{
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < n; i++)
            play(&entries[(i + round) % n]);
}

static void measure_idle(struct entry *e)
{
    double before = process_rss_kib(e->contender.pid);
    answer_with(small_answer, 0);
    open_some(IDLE, &e->contender);
    for (int i = 0; i < IDLE; i++) {
        tls_caller_send(&open_ones[i], small_call, sizeof small_call - 1);
        tls_caller_receive(&open_ones[i]);
    }
    e->idle_small = (process_rss_kib(e->contender.pid) - before) / IDLE;
    answer_with(NULL, 100 << 10);
    for (int i = 0; i < IDLE; i++) {
        send_body(&open_ones[i], 100 << 10);
        tls_caller_receive(&open_ones[i]);
    }
    usleep(SETTLE_US);
    e->idle_used = (process_rss_kib(e->contender.pid) - before) / IDLE;
    close_some(IDLE);
}

/* ---- tables ---- */

static void print_row(const char *what, size_t offset, double unit, int n)
{
    const struct sample *first = (const void *)((const char *)&entries[0] + offset);
    printf("%-34s", what);
    for (int i = 0; i < n; i++) {
        const struct sample *s = (const void *)((const char *)&entries[i] + offset);
        printf(" %12.3f", sample_median(s) / unit);
    }
    for (int i = 1; i < n; i++)
        printf("   %.2f",
            sample_median_ratio(first, (const void *)((const char *)&entries[i] + offset)));
    printf("\n");
}

static void print_listener(int n)
{
    printf("%-34s", "CPU of the proxy");
    for (int i = 0; i < n; i++)
        printf(" %12s", entries[i].contender.name);
    printf("   %s against each\n", entries[0].contender.name);
    print_row("a handshake, ms", offsetof(struct entry, full), 1000, n);
    print_row("a resumed one, ms", offsetof(struct entry, resumed), 1000, n);
    print_row("a warm call, us", offsetof(struct entry, call), 1, n);
    print_row("a large answer, s/GiB", offsetof(struct entry, down), 1, n);
    print_row("a large request, s/GiB", offsetof(struct entry, up), 1, n);
    printf("%-34s", "handshakes in a second of CPU");
    for (int i = 0; i < n; i++)
        printf(" %12.0f", 1e6 / sample_median(&entries[i].full));
    printf("\n%-34s", "resumed ones");
    for (int i = 0; i < n; i++)
        printf(" %12.0f", 1e6 / sample_median(&entries[i].resumed));
    printf("\n%-34s", "idle after a small call, KiB");
    for (int i = 0; i < n; i++)
        printf(" %12.1f", entries[i].idle_small);
    printf("\n%-34s", "idle after 100 KiB each way, KiB");
    for (int i = 0; i < n; i++)
        printf(" %12.1f", entries[i].idle_used);
    printf("\n");
}

static void *app_main(void *unused)
{
    (void)unused;
    exchange_run_for(app, 1e6);
    return NULL;
}

static void measure_listener(int rounds, int n)
{
    pthread_t thread;
    callers = tls_callers_new();
    answer_with(small_answer, 0);
    if (pthread_create(&thread, NULL, app_main, NULL) != 0)
        exit(1);
    usleep((useconds_t)(READY_S * 1e6)); /* proxies look after the app before the first round */
    for (int i = 0; i < n; i++)          /* first: later there is memory that was used before */
        measure_idle(&entries[i]);
    answer_with(small_answer, 0);
    play_rounds(rounds, n, play_handshakes);
    play_rounds(rounds, n, play_calls);
    answer_with(NULL, BODY);
    play_rounds(rounds, n, play_down);
    answer_with(NULL, 0);
    play_rounds(rounds, n, play_up);
    print_listener(n);
}

/* ---- towards the app ---- */

static void measure_stream(struct exchange *x, const struct contender *c)
{
    double before = process_rss_kib(c->pid), cpu = contender_cpu_us(c);
    x->begun = 0;
    for (int open = 0; open < STREAMS; open += AT_ONCE) {
        exchange_open_callers(x, c->port, AT_ONCE);
        exchange_run(x, OPEN_S, &x->begun, (uint64_t)(open + AT_ONCE));
    }
    exchange_run_for(x, READY_S / 2);
    printf("%-20s %8llu %12.1f %12.3f\n", c->name, (unsigned long long)x->begun,
        (process_rss_kib(c->pid) - before) / STREAMS, (contender_cpu_us(c) - cpu) / 1e3 / STREAMS);
    exchange_close_callers(x);
    exchange_run_for(x, READY_S / 2);
}

static void measure_app(int n)
{
    static const char request[] = "POST /v4/p/a/run HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                                  "Accept: text/event-stream\r\nContent-Length: 2\r\n\r\n{}";
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                                 "Transfer-Encoding: chunked\r\n\r\nd\r\ndata: hello\n\n\r\n";
    app->request.text_n = strlen(strcpy(app->request.text, request));
    answer_with(answer, 0);
    exchange_run_for(app, READY_S);
    printf("%-20s %8s %12s %12s\n", "", "calls", "KiB each", "CPU ms each");
    for (int i = 0; i < n; i++)
        measure_stream(app, &entries[i].contender);
}

int main(int argc, char **argv)
{
    const char *cert = NULL, *key = NULL;
    int port = 0, tls_port = 0, rounds = 7;
    for (int option; (option = getopt(argc, argv, "l:s:r:C:K:")) > 0;) {
        if (option == 'l')
            port = atoi(optarg);
        else if (option == 's')
            tls_port = atoi(optarg);
        else if (option == 'r')
            rounds = atoi(optarg);
        else if (option == 'C')
            cert = optarg;
        else if (option == 'K')
            key = optarg;
        else
            return 2;
    }
    int n = argc - optind - 1;
    if (n < 1 || n > CONTENDERS_MAX || rounds > SAMPLE_MAX)
        return 2;
    for (int i = 0; i < n; i++)
        entries[i].contender = contender_parse(argv[optind + 1 + i]);
    app = exchange_new();
    exchange_listen_tcp(app, port);
    if (tls_port > 0)
        tls_app_start(tls_port, cert, key);
    if (strcmp(argv[optind], "app") == 0)
        measure_app(n);
    else
        measure_listener(rounds, n);
    return 0;
}
