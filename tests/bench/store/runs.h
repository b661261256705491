/* runs.h - runs through the store's own interface, as a worker makes them: ACCEPT, its reply,
 * CLAIMED, FINISH, its reply, and the credit that goes back. */
#ifndef BENCH_RUNS_H
#define BENCH_RUNS_H

#include "base/id.h"
#include "load.h"
#include "store/question.h"

#define RUNS_REPLICAS_MAX 4

struct runs {
    struct queue queue;
    struct runs_replica {
        struct runs *runs;
        struct load *load;
        struct hl_store *store;
        struct hl_uv_mailbox mail; /* what it says: a run ends where it was claimed */
    } replicas[RUNS_REPLICAS_MAX];
    unsigned n, next; /* next: takes the next run */
    struct hl_id_source ids;
    int64_t age_ms; /* how long ago a run is said to have ended */
    /* Runs have a webhook, to so many destinations in turn; its first attempt has failed, and the next one
     * is due in so long: the run has ended then. 0: they have none. */
    unsigned destinations;
    int64_t due_in_ms;

    /* Which runs have ended, in that order, if somebody wants to know. Borrowed. */
    struct hl_id *ended;
    uint64_t n_ended;
};

/* From the next opening on in this database, by so many replicas in turn, in a schema that goes with
 * the program; `url` is borrowed. */
void runs_use_postgres(const char *url, unsigned replicas);
/* NULL: it is SQLite. */
const char *runs_postgres_url(void);
/* From the next opening on; FAILED before. */
void runs_keep_requests(enum hl_keep_requests keep);
/* From the next opening on. */
void runs_use_memory(void);
/* What earlier openings left there, if it is on PostgreSQL. Nothing is open. */
void runs_forget(void);

/* Opens the store in `dir` and says in `ms`, if that is not NULL, how long that took. What goes
 * wrong ends the program. */
void runs_open(struct runs *runs, const char *dir, uint64_t retention_ms, double *ms);
void runs_close(struct runs *runs);

/* What the load may have under way at most. Once, before its first run: a store has one load, which ends
 * after it. */
void runs_give_credit(struct runs *runs, struct load *load, uint32_t n);

/* The same of deliveries. */
void runs_give_lease_credit(struct runs *runs, uint32_t n);

/* Asks for a run and waits; the rc of the answer. Any thread but the load's. */
enum hl_err runs_get(struct runs *runs, const struct hl_id *id);
/* The page of 200 runs that are older than `before`. Likewise. */
void runs_list(struct runs *runs, const struct hl_id *before);

#endif
