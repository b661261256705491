/* arrival.h - the earliest time at which the bytes that a loop reads from a pipe can have been
 * written: when it last looked and found nothing. */
#ifndef HL_APP_ARRIVAL_H
#define HL_APP_ARRIVAL_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/* A loop that slept was woken by what came; it took no longer than this to wake, beside what its thread is known to
 * have waited for a processor. */
#define HL_ARRIVAL_WAKE_US 20000

/* The loop's; embedded. */
struct hl_arrival {
    uv_prepare_t before; /* its looks */
    uv_check_t after;
    uint64_t before_us, after_us; /* when the present look began, and the one before it ended */
    uint64_t waited_us; /* for a processor, in all, at noted_us: a short time before the look */
    uint64_t noted_us;
    int waits_fd; /* where the system says so; -1: it does not */
    bool is_open;
};

/* One pipe's. */
struct hl_arrival_pipe {
    uint64_t empty_us; /* it was */
    bool is_behind;    /* there may have been more since */
};

/* By the thread that runs the loop. */
void hl_arrival_open(struct hl_arrival *a, uv_loop_t *loop);
/* Harmless if it is not open. It stays valid until the loop has run its close callbacks. */
void hl_arrival_close(struct hl_arrival *a);

/* Bytes were read: the earliest time at which they can have come, monotonic us. `is_all`: the pipe had no
 * more. */
uint64_t hl_arrival_of(const struct hl_arrival *a, struct hl_arrival_pipe *pipe, bool is_all);

#endif
