/* load.h - submitters in an event loop: each enqueues a run, waits until that is acknowledged,
 * completes it, waits again, and begins with the next one. What they give their work to is a queue:
 * the store (runs.h) or the floor beside it (floor.h). */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include <stdbool.h>

#include "latency.h"
#include "loop/mailbox.h"

#define PAYLOAD 300 /* bytes that an enqueue carries, and a complete */

struct load;

struct queue {
    /* The first half of a run. Its acknowledgement comes to the load's mailbox. */
    void (*enqueue)(struct queue *queue, struct load *load);
    /* Whatever the queue sends: calls load_acknowledged for each half, load_run_ended at the end.
     */
    void (*on_message)(struct queue *queue, struct load *load, struct hl_msg *msg);
};

struct load {
    uv_loop_t loop;
    struct hl_uv_mailbox mailbox;
    uv_timer_t timer;
    struct queue *queue;
    unsigned in_flight;
    uint64_t runs_left;
    bool is_counting, is_over;

    /* Of the time that counts. */
    uint64_t began_ns, cpu_ns, runs;
    struct latency ack;
};

struct load_result {
    double runs_per_s, cpu_us; /* CPU time of the whole process for each run */
    double p50_us, p99_us, worst_us;
};

void load_init(struct load *load, struct queue *queue);
void load_fini(struct load *load); /* nothing may be under way */

/* `submitters` for `seconds`, after a warm-up that does not count. */
struct load_result load_run_for(struct load *load, unsigned submitters, double seconds);
/* That many runs, all of which count. */
struct load_result load_run(struct load *load, unsigned submitters, uint64_t runs);

/* For queues. Something that was posted then has been acknowledged. */
void load_acknowledged(struct load *load, uint64_t posted_ns);
void load_run_ended(struct load *load);

#endif
