/* exchange.h - an app and its callers in one thread: whatever stands between them is what is
 * measured.
 *
 * A caller sends its next request when the answer to the last one is whole. All requests are the
 * same bytes, and so are all answers. What goes wrong with the machine or the network ends the
 * program with a message; what goes wrong with a call is counted in `failed`. */
#ifndef BENCH_EXCHANGE_H
#define BENCH_EXCHANGE_H

#include <stdint.h>
#include <stddef.h>

#define EXCHANGE_LATENCIES (1 << 18)

/* `text`, then as many bytes of no meaning as `filler` says: large bodies need no memory. */
struct message {
    char text[2048];
    size_t text_n;
    uint64_t filler;
};

struct exchange {
    int epoll;
    struct message request, answer;
    uint64_t calls_left; /* calls that may still be begun */
    /* calls a second that may be begun, as they fall due; 0: whenever one was answered */
    double rate;
    double due;        /* of those: what has fallen due in part */
    uint64_t paced_us; /* when that was reckoned */
    struct conn *callers;

    /* Counters, for callers to read and compare. */
    uint64_t begun;      /* answers of whose body something has come with the head */
    uint64_t answered;   /* answers that are whole */
    uint64_t served;     /* those that the app has sent, whoever asked it */
    uint64_t failed;     /* answers that were not 2xx, connections that ended */
    uint64_t body_bytes; /* received after a head, by callers and app */

    size_t latency_n; /* set it to 0 to begin anew */
    uint32_t latency_us[EXCHANGE_LATENCIES];
};

/* Returns owned; never NULL. No end of calls, nothing listens. */
struct exchange *exchange_new(void);

/* The app's sides: any number of them, with the same answer. */
void exchange_listen_tcp(struct exchange *x, int port);
void exchange_listen_unix(struct exchange *x, const char *path);

/* Opens `n` connections to the port, each of which begins with a call at once. */
void exchange_open_callers(struct exchange *x, int port, int n);
void exchange_close_callers(struct exchange *x);

/* From now on no more calls than that a second are begun. */
void exchange_pace(struct exchange *x, double rate);

/* Plays both sides until `*count` (one of the counters above) has reached `goal`, for at most
 * `seconds`. */
void exchange_run(struct exchange *x, double seconds, const uint64_t *count, uint64_t goal);
/* The same, for the whole time. */
void exchange_run_for(struct exchange *x, double seconds);

uint64_t exchange_now_us(void);

/* The latency below which `share` (0 to 1) of the recorded ones lie. Sorts them. */
uint32_t exchange_latency(struct exchange *x, double share);

#endif
