/* gauges.h - a store's gauges. */
#ifndef HL_STORE_GAUGES_H
#define HL_STORE_GAUGES_H

#include "base/metric.h"
#include "base/priority.h"

/* What other threads may read at any time, written by the store's thread. */
struct hl_store_gauges {
    struct hl_counter queued_runs, pending_deliveries; /* of all replicas, where it is shared */
    struct hl_counter queued[HL_PRIORITIES];           /* of each class that may start, likewise */
    struct hl_counter leased_deliveries;
    struct hl_counter waiting_deliveries; /* for the time of their next attempt, in the store */
    struct hl_counter lanes_at_limit;     /* destinations that deliveries wait for a place at */
    struct hl_counter dead_letters;       /* since start */
    struct hl_counter oldest_queued_ms;   /* wall time of the oldest queued run; 0: none */
    struct hl_counter oldest_delivery_ms;
    struct hl_counter commits;
    struct hl_counter bytes;        /* on disk: database and bodies */
    struct hl_counter log_bytes;    /* on disk beside that: the write-ahead log */
    struct hl_counter max_bytes;    /* HOOKLINE_STORE_MAX_BYTES */
    struct hl_counter waiters;      /* callers that wait for a run's end */
    struct hl_counter expired_runs; /* since start, as the next */
    struct hl_counter waiting_runs; /* for their next attempt; they are not in queued_runs */
    struct hl_counter purged_runs, shed_runs, shed_bodies, swept_files; /* since start */
    /* kept streams of synchronous calls: what may be kept of them, and is of those that have ended */
    struct hl_counter max_stream_bytes, stream_bytes;
    struct hl_counter is_full; /* 1: accepts are refused with FULL until space is free again */
    /* 1: accepts are refused, for I/O errors or corruption; where it is shared: it has no server now */
    struct hl_counter is_failing;
    struct hl_counter is_lost; /* 1: failing for so long that the process should be started anew */
    struct hl_histogram commit_latency;
    /* 1: what is said of all replicas, of the server, of kept streams is not known: there is no connection, or it
     * is new; never where the store is not shared */
    struct hl_counter is_uncounted, is_unmeasured, is_untrimmed;
    /* of a store that is shared; else 0 */
    struct hl_counter replicas; /* alive */
    struct hl_counter others_up,
        others_waking; /* replicas whose apps take calls, or are about to after a sleep */
    struct hl_counter app_taken_ms; /* wall time at which an app of theirs took calls; 0: never */
    struct hl_counter dead_tickets, dead_delivery_tickets;
    struct hl_counter oldest_xmin_ms; /* the age of others' oldest snapshot or transaction */
    /* since start: how often it was another database, or lacked commits; runs that it was told the end of then, and
     * replicas that did not come back to tell theirs */
    struct hl_counter turns, recalled_runs, unheard_replicas;
    /* of rates that replicas share: questions about them and calls that were lent, since start */
    struct hl_counter rate_questions, lent_calls;
    struct hl_counter permit_questions; /* likewise, about calls at once */
    struct hl_counter spends_shares;    /* 1: the database does not say what is left of them */
};

/* Places of HOOKLINE_MAX_QUEUED_RUNS that are taken: what waits for its next attempt has one, too. */
static inline uint64_t hl_store_gauges_places(const struct hl_store_gauges *g)
{
    return hl_counter_get(&g->queued_runs) + hl_counter_get(&g->waiting_runs);
}

#endif
