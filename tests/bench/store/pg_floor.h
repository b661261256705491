/* pg_floor.h - the least that a queue on PostgreSQL can do: a row inserted, and deleted again, by one
 * thread over one connection in pipeline mode; all that is pending is one transaction. */
#ifndef BENCH_PG_FLOOR_H
#define BENCH_PG_FLOOR_H

#include <libpq-fe.h>
#include <semaphore.h>

#include "load.h"
#include "loop/thread.h"

struct pg_floor {
    struct queue queue;
    struct hl_thread thread;
    struct hl_mailbox box;
    sem_t wake;
    atomic_bool is_stopping;
    PGconn *conn;
    uint64_t last; /* row; the load's */
};

/* Makes its table, in a schema of its own. What goes wrong ends the program. */
void pg_floor_open(struct pg_floor *floor, const char *url);
void pg_floor_close(struct pg_floor *floor); /* drops it */

#endif
