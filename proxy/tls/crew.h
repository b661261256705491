/* crew.h - the threads that do the public-key work of handshakes, step by step, so that no loop has to.
 * They never wait for a peer: a handshake comes to them when all of a message is there. */
#ifndef HL_TLS_CREW_H
#define HL_TLS_CREW_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "loop/thread.h"

#define HL_TLS_CREW_THREADS 2
/* Handshakes whose first step waits: a second's work for the threads. */
#define HL_TLS_CREW_WAITING_MAX 512

struct hl_tls_step {
    struct hl_list node;
    /* On one of the threads; gives the step away. `is_late`: the threads end, nothing is to be done. */
    void (*run)(struct hl_tls_step *step, bool is_late);
};

struct hl_tls_crew {
    pthread_mutex_t lock; /* around what follows, for a few loads and stores */
    pthread_cond_t wake;
    struct hl_list first, further; /* steps that wait */
    uint32_t first_n;
    bool stops;
    struct hl_thread threads[HL_TLS_CREW_THREADS];
    uint32_t started;
    /* About every HL_TLS_CREW_TICK_MS, on one of the threads. */
    void (*on_tick)(void *arg);
    void *arg;
    uint64_t tick_due_ms;
};

#define HL_TLS_CREW_TICK_MS 500

/* `on_tick` and `arg` are set. 0 or an errno value; hl_tls_crew_stop is still to be called then. */
int hl_tls_crew_start(struct hl_tls_crew *crew);
/* Gives back all steps that wait and joins the threads. Harmless when it was never started. */
void hl_tls_crew_stop(struct hl_tls_crew *crew);

/* Any thread. Gives `step` away. False: too many handshakes wait for their first one; a further step is
 * always taken, and comes before all first ones: what was begun is ended first. */
bool hl_tls_crew_take(struct hl_tls_crew *crew, struct hl_tls_step *step, bool is_first);

#endif
