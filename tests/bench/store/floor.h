/* floor.h - the least that a durable queue can do: records appended to a preallocated log by one
 * thread, all that is pending behind one fdatasync. It keeps nothing else: no index, no state, no
 * way to find a run again. */
#ifndef BENCH_FLOOR_H
#define BENCH_FLOOR_H

#include <semaphore.h>

#include "load.h"
#include "loop/thread.h"

struct floor {
    struct queue queue;
    struct hl_thread thread;
    struct hl_mailbox box;
    sem_t wake;
    struct hl_msg *spare; /* records that are not under way; the load's */
    atomic_bool is_stopping;
    int fd;
    uint64_t at; /* where the log goes on */
    char *batch; /* what goes into it with the next write */
};

/* Makes the log in the directory. What goes wrong ends the program. */
void floor_open(struct floor *floor, const char *dir);
void floor_close(struct floor *floor); /* the file stays */

#endif
