/* webhook.c - what webhooks cost hookline, and how late they are.
 *
 *   webhook drain [options] name:port:pid    a backlog to one receiver, in turns with a bare loop
 *   webhook delay [options] name:port:pid    delays of a healthy receiver, alone and beside bad ones
 *   webhook kinds [options] name:port:pid    what an attempt at each kind of bad receiver costs
 *   webhook bare [options]                   the bare loop with curl_multi_poll and on an epoll
 *
 *   -l PORT  the app's                   -c N    at once, of the bare loop (64)
 *   -w PORT  the good receiver's         -d MS   the good receiver answers after that long (0)
 *   -b PORT  the first bad one's         -n N    deliveries of a round (10000)
 *   -p CORE  the bare loop's             -r N    rounds (5)
 *   -s S     seconds of a delay's part   -q N    calls a second to the bad ones, all together */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bad.h"
#include "bare.h"
#include "contender.h"
#include "sample.h"
#include "stage.h"
#include "thread_cpu.h"

#define CALLERS     64
#define BAD_N       100
#define LIMIT_S     120.0
#define READY_S     0.7  /* hookline looks after the app */
#define PACE_US     5000 /* between two calls of the healthy receiver */
#define WARM_S      8.0  /* bad receivers have taken what they can get */
#define LATE_S      60.0 /* the healthy one's last webhooks are waited for */
#define KIND_N      200
#define KIND_PACE_S 0.01
#define KIND_OVER_S 3.5
#define DELIVERER   "hl-deliver"

struct options {
    int app_port, receiver_port, bad_port, concurrent, core, rounds, bad_rate;
    uint64_t n, latency_us;
    double seconds;
};

static struct options read_options(int argc, char **argv)
{
    struct options o = {
        .concurrent = 64, .core = -1, .rounds = 5, .n = 10000, .seconds = 15, .bad_rate = 500};
    for (int option; (option = getopt(argc, argv, "l:w:b:c:d:n:p:r:s:q:")) > 0;) {
        int number = optarg ? atoi(optarg) : 0;
        switch (option) {
        case 'l':
            o.app_port = number;
            break;
        case 'w':
            o.receiver_port = number;
            break;
        case 'b':
            o.bad_port = number;
            break;
        case 'c':
            o.concurrent = number;
            break;
        case 'd':
            o.latency_us = (uint64_t)number * 1000;
            break;
        case 'n':
            o.n = (uint64_t)number;
            break;
        case 'p':
            o.core = number;
            break;
        case 'r':
            o.rounds = number;
            break;
        case 's':
            o.seconds = number;
            break;
        case 'q':
            o.bad_rate = number;
            break;
        default:
            exit(2);
        }
    }
    return o;
}

static void fail(const char *what, uint64_t n, uint64_t of)
{
    fprintf(
        stderr, "webhook: %s: %llu of %llu\n", what, (unsigned long long)n, (unsigned long long)of);
    exit(1);
}

/* ---- a backlog ---- */

struct figures {
    struct sample rate, sender, process; /* deliveries/s; CPU us each */
};

static void make_backlog(struct stage *s, uint64_t n)
{
    uint64_t goal = s->answered + n, begun = 0;
    uint64_t end = wire_now_us() + (uint64_t)(LIMIT_S * 1e6);
    s->holds = true;
    while (s->answered < goal && wire_now_us() < end) {
        while (begun < n && stage_call(s, "http", s->receiver_port))
            begun++;
        stage_turn(s, 5);
    }
    if (s->answered < goal)
        fail("calls answered", s->answered, goal);
}

/* The receiver lets the runs end and their webhooks wait, then takes them all. */
static void drain(
    struct stage *s, const struct options *o, const struct contender *c, struct figures *f)
{
    uint64_t before = s->received;
    make_backlog(s, o->n);
    stage_run_for(s, 0.3);
    s->latency_us = o->latency_us;
    uint64_t first = s->received, start = wire_now_us();
    double sender = thread_cpu_us(c->pid, DELIVERER), process = contender_cpu_us(c);
    stage_release(s);
    if (!stage_run(s, LIMIT_S, &s->received, before + o->n))
        fail("webhooks received", s->received - before, o->n);
    double us = (double)(s->last_us - start), n = (double)(s->received - first);
    stage_run_for(s, 0.3 + (double)o->latency_us / 1e6);
    sample_add(&f->rate, n * 1e6 / us);
    sample_add(&f->sender, (thread_cpu_us(c->pid, DELIVERER) - sender) / n);
    sample_add(&f->process, (contender_cpu_us(c) - process) / n);
    s->latency_us = 0;
}

static void play_bare(struct stage *s, struct bare *b)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, bare_run, b) != 0)
        fail("threads", 0, 1);
    while (!atomic_load(&b->is_done))
        stage_turn(s, 1);
    pthread_join(thread, NULL);
    if (b->failed > 0)
        fail("failed deliveries of the bare loop", b->failed, b->n);
}

static void send_bare(
    struct stage *s, const struct options *o, int concurrent, bool has_epoll, struct figures *f)
{
    struct bare b = {.port = o->receiver_port,
        .concurrent = concurrent,
        .core = o->core,
        .has_epoll = has_epoll,
        .n = o->n};
    s->latency_us = o->latency_us;
    play_bare(s, &b);
    s->latency_us = 0;
    stage_run_for(s, 0.05);
    sample_add(&f->rate, (double)b.n * 1e6 / b.us);
    sample_add(&f->sender, b.cpu_us / (double)b.n);
}

static void print_figures(const char *name, struct figures *f, const struct figures *bare)
{
    printf("%-22s %11.0f %11.1f", name, sample_median(&f->rate), sample_median(&f->sender));
    if (f->process.n > 0)
        printf(" %11.1f", sample_median(&f->process));
    else
        printf(" %11s", "");
    if (bare)
        printf("   %.2f", sample_median_ratio(&f->sender, &bare->sender));
    printf("\n");
}

static void print_heading(void)
{
    printf("%-22s %11s %11s %11s   CPU of the bare loop's\n", "", "webhooks/s", "sender us",
        "process us");
}

static void measure_drain(struct stage *s, const struct options *o, const struct contender *c)
{
    struct figures hookline = {0}, bare = {0};
    char name[64];
    double rss = process_rss_kib(c->pid);
    for (int i = 0; i < o->rounds; i++) {
        drain(s, o, c, &hookline);
        send_bare(s, o, o->concurrent, false, &bare);
    }
    print_heading();
    snprintf(name, sizeof name, "bare, %d at once", o->concurrent);
    print_figures(name, &bare, NULL);
    print_figures(c->name, &hookline, &bare);
    printf("%-22s %.1f MiB, %.1f before\n", "  own memory (RssAnon)",
        process_rss_kib(c->pid) / 1024, rss / 1024);
}

static void measure_bare(struct stage *s, const struct options *o)
{
    static const int at_once[] = {64, 256, 1024};
    print_heading();
    for (size_t i = 0; i < sizeof at_once / sizeof *at_once; i++) {
        struct figures polled = {0}, on_epoll = {0};
        char name[64];
        for (int round = 0; round < o->rounds; round++) {
            send_bare(s, o, at_once[i], false, &polled);
            send_bare(s, o, at_once[i], true, &on_epoll);
        }
        snprintf(name, sizeof name, "%d, curl_multi_poll", at_once[i]);
        print_figures(name, &polled, NULL);
        snprintf(name, sizeof name, "%d, socket_action", at_once[i]);
        print_figures(name, &on_epoll, &polled);
    }
}

/* ---- delays ---- */

static const char *const schemes[] = {
#define SCHEME(name, scheme, what) scheme,
    BAD_KIND_LIST(SCHEME)
#undef SCHEME
};

/* Calls at their times, as far as callers are idle: webhooks to the healthy one and to the bad. */
struct pace {
    uint64_t every_us, next_us, begun, skipped;
};

static bool is_due(struct pace *p, uint64_t now)
{
    if (p->every_us == 0 || now < p->next_us)
        return false;
    p->next_us = p->next_us + p->every_us > now ? p->next_us + p->every_us : now + p->every_us;
    return true;
}

static void note(struct pace *p, bool is_called)
{
    p->begun += is_called;
    p->skipped += !is_called;
}

static void call_for(
    struct stage *s, const struct options *o, double seconds, struct pace *good, struct pace *bad)
{
    uint64_t end = wire_now_us() + (uint64_t)(seconds * 1e6);
    for (uint64_t now; (now = wire_now_us()) < end;) {
        if (is_due(good, now))
            note(good, stage_call(s, "http", o->receiver_port));
        if (is_due(bad, now)) {
            int i = (int)(bad->begun % BAD_N);
            note(bad, stage_call(s, schemes[i % BAD_KINDS], o->bad_port + i));
        }
        stage_turn(s, 1);
    }
}

static void print_delays(struct stage *s, const char *what, const struct pace *good, double cpu)
{
    printf("%-22s %7llu %7zu %9.2f %9.2f %9.2f %9.2f %8.2f\n", what,
        (unsigned long long)good->begun, s->delays_n, stage_delay(s, 0.5) / 1e3,
        stage_delay(s, 0.9) / 1e3, stage_delay(s, 0.99) / 1e3, stage_delay(s, 1) / 1e3, cpu);
}

static void measure_part(struct stage *s, const struct options *o, const struct contender *c,
    const char *what, struct pace *bad)
{
    struct pace good = {.every_us = PACE_US};
    uint64_t goal = s->received;
    s->delays_n = 0;
    s->times = true;
    double cpu = contender_cpu_us(c);
    call_for(s, o, o->seconds, &good, bad);
    cpu = (contender_cpu_us(c) - cpu) / (o->seconds * 1e6);
    struct pace none = {0};
    uint64_t end = wire_now_us() + (uint64_t)(LATE_S * 1e6);
    while (s->received < goal + good.begun && wire_now_us() < end)
        call_for(s, o, 0.1, &none, bad);
    s->times = false;
    print_delays(s, what, &good, cpu);
    if (good.skipped + bad->skipped > 0)
        printf("  no caller was idle for %llu calls of the healthy one, %llu of the bad\n",
            (unsigned long long)good.skipped, (unsigned long long)bad->skipped);
}

static void measure_delay(struct stage *s, const struct options *o, const struct contender *c)
{
    struct pace none = {0}, bad = {.every_us = 1000000u / (unsigned)o->bad_rate};
    char what[64];
    printf("%-22s %7s %7s %9s %9s %9s %9s %8s\n", "", "calls", "had", "p50 ms", "p90 ms", "p99 ms",
        "worst ms", "cores");
    measure_part(s, o, c, "alone", &none);
    uint64_t refused = s->refused;
    call_for(s, o, WARM_S, &none, &bad);
    for (int i = 0; i < o->rounds; i++) {
        snprintf(what, sizeof what, "beside %d bad, %d", BAD_N, i + 1);
        measure_part(s, o, c, what, &bad);
    }
    printf("%llu webhooks to the bad ones, %llu calls refused; own memory (RssAnon) %.1f MiB\n",
        (unsigned long long)bad.begun, (unsigned long long)(s->refused - refused),
        process_rss_kib(c->pid) / 1024);
}

/* ---- kinds of bad receivers ---- */

static const char *const kinds[] = {
#define WHAT(name, scheme, what) what,
    BAD_KIND_LIST(WHAT)
#undef WHAT
};

/* All calls, and the time after which each attempt is over: hookline makes one, of 2 s or less. */
static double attempt_us(
    struct stage *s, const struct options *o, const struct contender *c, int kind)
{
    double cpu = thread_cpu_us(c->pid, DELIVERER);
    uint64_t goal = s->answered + KIND_N;
    for (int i = 0; i < KIND_N; i++) {
        int which = kind + i * BAD_KINDS % (BAD_N - BAD_N % BAD_KINDS);
        while (!stage_call(s, schemes[kind], o->bad_port + which))
            stage_turn(s, 1);
        stage_run_for(s, KIND_PACE_S);
    }
    if (!stage_run(s, LIMIT_S, &s->answered, goal))
        fail("calls answered", s->answered, goal);
    stage_run_for(s, KIND_OVER_S);
    return (thread_cpu_us(c->pid, DELIVERER) - cpu) / KIND_N;
}

static void measure_kinds(struct stage *s, const struct options *o, const struct contender *c)
{
    printf("%-40s %12s\n", "a receiver that", "sender us");
    for (int kind = 0; kind < BAD_KINDS; kind++)
        printf("%-40s %12.0f\n", kinds[kind], attempt_us(s, o, c, kind));
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    const char *what = argv[1];
    struct options o = read_options(argc - 1, argv + 1);
    bool is_bare = strcmp(what, "bare") == 0;
    if (o.rounds > SAMPLE_MAX || argc - 1 - optind != !is_bare)
        return 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    struct contender c = {0};
    if (!is_bare)
        c = contender_parse(argv[argc - 1]);
    struct stage *s = stage_new(o.app_port, o.receiver_port, c.port, is_bare ? 0 : CALLERS);
    stage_run_for(s, READY_S);
    if (is_bare)
        measure_bare(s, &o);
    else if (strcmp(what, "drain") == 0)
        measure_drain(s, &o, &c);
    else if (strcmp(what, "kinds") == 0)
        measure_kinds(s, &o, &c);
    else if (strcmp(what, "delay") == 0)
        measure_delay(s, &o, &c);
    else
        return 2;
    if (s->forged > 0)
        fail("signatures that are wrong", s->forged, s->checked);
    return 0;
}
