/* follow.c - what it costs hookline that kept event streams are followed: memory and CPU of a
 * follower, and how late the fastest one is, alone and among many at other paces. Beside it plain
 * event streams, each with the caller that it answers.
 *
 *   follow -l PORT [-n FOLLOWERS] name:port:pid    100 followers a run
 *   follow -l PORT -e EVENTS port                  that many events of kept streams that nobody follows, for
 *                                                  a hookline whose instructions are counted */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "contender.h"
#include "crowd.h"
#include "exchange.h"
#include "sample.h"

#define OF_RUN   100 /* followers: hookline takes no more */
#define AT_ONCE  50  /* opened before the first of them are answered: below any backlog */
#define LIMIT_S  10.0
#define READY_S  1.0
#define SETTLE_S 0.5

#define BLOCKS      11
#define ROUNDS      10    /* of a block: one event on each stream */
#define UNHEARD_S   0.004 /* after a round of events that nobody receives */
#define SMALL_EVENT 100
#define LARGE_EVENT 200

#define ALONE_S   2.0
#define CROWD_S   3.0
#define OFTEN_US  2000 /* between two events of a stream */
#define SELDOM_US 20000

#define COUNTED_STREAMS 16
#define COUNTED_S       0.02 /* after an event on each: under valgrind, too, each is read by itself */

struct many {
    struct crowd_stream **streams;
    int n;
};

struct bench {
    struct crowd *crowd;
    struct contender hookline;
    int followers, runs;
};

static void write_all(struct bench *b, const struct many *to, size_t size)
{
    for (int i = 0; i < to->n; i++)
        crowd_write(b->crowd, to->streams[i], size);
}

static void end_all(const struct many *m)
{
    for (int i = 0; i < m->n; i++)
        crowd_end(m->streams[i]);
}

/* The app has been called, and has sent an event on each. */
static struct many open_many(struct bench *b, int n, bool is_kept)
{
    struct crowd *c = b->crowd;
    struct many m = {calloc((size_t)n, sizeof *m.streams), n};
    uint64_t called = c->called, received = c->received;
    for (int i = 0; i < n; i++) {
        m.streams[i] = is_kept ? crowd_call_async(c) : crowd_call(c);
        if ((i + 1) % AT_ONCE == 0 || i + 1 == n)
            crowd_run(c, LIMIT_S, &c->called, called + (uint64_t)i + 1, "calls that reach the app");
    }
    write_all(b, &m, SMALL_EVENT);
    if (!is_kept)
        crowd_run(c, LIMIT_S, &c->received, received + (uint64_t)n, "first events");
    return m;
}

/* They have all events so far: one a run. `has_small_buffers`: but for each third one. */
static void follow_all(struct bench *b, const struct many *runs, bool has_small_buffers)
{
    struct crowd *c = b->crowd;
    uint64_t received = c->received;
    for (int i = 0; i < b->followers; i++) {
        crowd_follow(c, runs->streams[i / OF_RUN], has_small_buffers && i % 3 != CROWD_FAST);
        if ((i + 1) % AT_ONCE == 0 || i + 1 == b->followers)
            crowd_run(
                c, LIMIT_S, &c->received, received + (uint64_t)i + 1, "followers' first events");
    }
}

/* ---- memory ---- */

static void print_memory(struct bench *b, const char *what, int n, double before)
{
    double after = process_rss_kib(b->hookline.pid);
    printf("%-28s %8d %12.1f %12.1f %12.2f\n", what, n, before / 1024, after / 1024,
        (after - before) / n);
}

/* Returns plain streams, as many as there are followers of the runs. */
static struct many measure_memory(struct bench *b, const struct many *runs)
{
    printf("\n%-28s %8s %12s %12s %12s\n", "own memory (RssAnon)", "n", "MiB before", "MiB after",
        "KiB each");
    crowd_run_for(b->crowd, SETTLE_S, 0, NULL, NULL);
    double before = process_rss_kib(b->hookline.pid);
    follow_all(b, runs, false);
    crowd_run_for(b->crowd, SETTLE_S, 0, NULL, NULL);
    print_memory(b, "followers", b->followers, before);

    before = process_rss_kib(b->hookline.pid);
    struct many plain = open_many(b, b->followers, false);
    crowd_run_for(b->crowd, SETTLE_S, 0, NULL, NULL);
    print_memory(b, "plain streams", b->followers, before);
    return plain;
}

/* ---- CPU ---- */

/* Of hookline in one block of rounds, for each event and reader; without readers: each event. */
static double play_block(struct bench *b, const struct many *to, int readers)
{
    struct crowd *c = b->crowd;
    double cpu = contender_cpu_us(&b->hookline);
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t goal = c->received + (uint64_t)readers;
        write_all(b, to, SMALL_EVENT);
        if (readers > 0)
            crowd_run(c, LIMIT_S, &c->received, goal, "a round's events");
        else
            crowd_run_for(c, UNHEARD_S, 0, NULL, NULL);
    }
    return (contender_cpu_us(&b->hookline) - cpu) / (ROUNDS * (readers > 0 ? readers : to->n));
}

static void measure_cpu(
    struct bench *b, const struct many *runs, const struct many *plain, const struct many *unheard)
{
    struct sample followed = {0}, passed = {0}, kept = {0};
    for (int i = 0; i < BLOCKS; i++) {
        sample_add(&followed, play_block(b, runs, b->followers));
        sample_add(&passed, play_block(b, plain, b->followers));
        sample_add(&kept, play_block(b, unheard, 0));
    }
    printf("\n%-44s %9s\n", "CPU, user and system", "us");
    printf(
        "%-44s %9.2f\n", "an event to a follower, its keeping included", sample_median(&followed));
    printf("%-44s %9.2f\n", "an event of a plain stream", sample_median(&passed));
    printf(
        "%-44s %9.2f\n", "follower against plain stream", sample_median_ratio(&followed, &passed));
    printf("%-44s %9.2f\n", "an event of a kept run that nobody follows", sample_median(&kept));
}

/* ---- latency ---- */

struct writing {
    struct bench *bench;
    const struct many *to;
    int next;
};

/* One event on one of them. */
static void on_tick(void *self)
{
    struct writing *w = self;
    crowd_write(w->bench->crowd, w->to->streams[w->next], LARGE_EVENT);
    w->next = (w->next + 1) % w->to->n;
}

static void print_latencies(const char *what, struct latencies *l)
{
    printf("%-44s %8zu %9u %9u\n", what, l->n, latencies_share(l, 0.50), latencies_share(l, 0.99));
    l->n = 0;
}

/* Each stream has an event every `every_us`, one stream after the other, until the fast have all. */
static void write_for(struct bench *b, const struct many *to, double seconds, unsigned every_us)
{
    struct crowd *c = b->crowd;
    struct writing w = {b, to, 0};
    c->times = true;
    crowd_run_for(c, seconds, every_us / (unsigned)to->n, on_tick, &w);
    crowd_run(c, LIMIT_S, &c->received, c->received + crowd_missing(c), "events of fast readers");
    c->times = false;
}

/* They have their events in turn, each alone at its time. */
static void measure_alone(struct bench *b)
{
    struct crowd *c = b->crowd;
    struct many run = open_many(b, 1, true), plain = open_many(b, 1, false);
    struct crowd_stream *both[] = {run.streams[0], plain.streams[0]};
    crowd_follow(c, run.streams[0], false);
    crowd_run_for(c, SETTLE_S, 0, NULL, NULL);
    write_for(b, &(struct many){both, 2}, ALONE_S, OFTEN_US);
    printf("\n%-44s %8s %9s %9s\n", "from the app's write to the reader", "events", "p50 us",
        "p99 us");
    print_latencies("one follower, alone", &c->fastest[true]);
    print_latencies("one plain stream, alone", &c->fastest[false]);
    end_all(&run);
    end_all(&plain);
    crowd_run(c, LIMIT_S, &c->ended, c->ended + 2, "streams that have ended");
    crowd_close_readers(c);
    free(run.streams);
    free(plain.streams);
}

static void measure_pace(struct bench *b, const struct many *to, unsigned every_us)
{
    struct crowd *c = b->crowd;
    double cpu = contender_cpu_us(&b->hookline);
    uint64_t start = exchange_now_us();
    write_for(b, to, CROWD_S, every_us);
    cpu = contender_cpu_us(&b->hookline) - cpu;
    double us = (double)(exchange_now_us() - start);
    printf("%d followers, an event every %u ms on each run: hookline uses %.2f of a core\n",
        b->followers, every_us / 1000, cpu / us);
    print_latencies("  the fastest of a run", &c->fastest[true]);
    print_latencies("  all that read at once", &c->every[true]);
    print_latencies("  one plain stream beside them", &c->fastest[false]);
}

/* The fast ones read to the end, and of the others one at each pace for each run. */
static void catch_up(struct bench *b, struct crowd_reader **followers, const struct many *to)
{
    struct crowd *c = b->crowd;
    uint64_t goal = c->ended + 1, start = exchange_now_us();
    for (int i = 0; i < b->followers; i++) {
        bool is_fast = i % 3 == CROWD_FAST;
        if (!is_fast && i % OF_RUN >= 3)
            continue;
        crowd_set_pace(c, followers[i], CROWD_FAST);
        goal++;
    }
    end_all(to);
    crowd_run(c, LIMIT_S, &c->ended, goal, "followers that have all");
    printf("  slow and silent ones, to the end at last: %.0f ms\n",
        (double)(exchange_now_us() - start) / 1000);
}

/* The runs, and a plain stream. */
static void measure_crowd(struct bench *b)
{
    struct crowd *c = b->crowd;
    struct many to = open_many(b, b->runs, true), plain = open_many(b, 1, false);
    size_t first = c->readers_n;
    follow_all(b, &to, true);
    for (int i = 0; i < b->followers; i++)
        crowd_set_pace(c, c->readers[first + (size_t)i], (enum crowd_pace)(i % 3));
    to.streams = realloc(to.streams, (size_t)(to.n + 1) * sizeof(*to.streams));
    to.streams[to.n++] = plain.streams[0];
    measure_pace(b, &to, OFTEN_US);
    measure_pace(b, &to, SELDOM_US);
    catch_up(b, c->readers + first, &to);
    crowd_close_readers(c);
    free(to.streams);
    free(plain.streams);
}

/* ---- counted events ---- */

static int count_events(struct bench *b, int events)
{
    struct crowd *c = b->crowd;
    struct many runs = open_many(b, COUNTED_STREAMS, true); /* with an event each */
    for (int i = COUNTED_STREAMS; i < events; i++) {
        if (i % COUNTED_STREAMS == 0)
            crowd_run_for(c, COUNTED_S, 0, NULL, NULL);
        crowd_write(c, runs.streams[i % COUNTED_STREAMS], SMALL_EVENT);
    }
    crowd_run_for(c, COUNTED_S, 0, NULL, NULL);
    end_all(&runs);
    free(runs.streams);
    return c->skipped > 0;
}

int main(int argc, char **argv)
{
    int port = 0, followers = 1000, events = 0;
    for (int option; (option = getopt(argc, argv, "l:n:e:")) > 0;) {
        if (option == 'l')
            port = atoi(optarg);
        else if (option == 'n')
            followers = atoi(optarg);
        else if (option == 'e')
            events = atoi(optarg);
        else
            return 2;
    }
    if (optind + 1 != argc || followers < 3)
        return 2;
    if (events > 0) {
        struct bench counted = {.crowd = crowd_new(port, atoi(argv[optind]))};
        return count_events(&counted, events);
    }
    struct contender hookline = contender_parse(argv[optind]);
    struct bench b = {
        crowd_new(port, hookline.port), hookline, followers, (followers + OF_RUN - 1) / OF_RUN};
    struct crowd *c = b.crowd;
    setvbuf(stdout, NULL, _IOLBF, 0);
    crowd_run_for(c, READY_S, 0, NULL, NULL);

    measure_alone(&b);
    struct many runs = open_many(&b, b.runs, true), unheard = open_many(&b, b.runs, true);
    struct many plain = measure_memory(&b, &runs);
    measure_cpu(&b, &runs, &plain, &unheard);
    end_all(&runs);
    end_all(&unheard);
    end_all(&plain);
    crowd_run(c, LIMIT_S, &c->ended, c->ended + 2 * (uint64_t)followers, "streams that have ended");
    crowd_close_readers(c);
    measure_crowd(&b);
    if (c->skipped > 0)
        printf("the app could not write %llu events at once\n", (unsigned long long)c->skipped);
    free(runs.streams);
    free(unheard.streams);
    free(plain.streams);
    return 0;
}
