/* memory.h - the driver that keeps nothing on disk: what its files share. The store's thread owns
 * it all. */
#ifndef HL_STORE_MEMORY_MEMORY_H
#define HL_STORE_MEMORY_MEMORY_H

#include "base/buf.h"
#include "base/heap.h"
#include "base/list.h"
#include "store/backlog.h"
#include "store/driver.h"
#include "base/id_map.h"
#include "store/key.h"
#include "store/tally.h"

enum hl_memory_delivery_state {
    HL_MEMORY_NONE,    /* the run is not final, or has no webhook */
    HL_MEMORY_PENDING, /* in its lane's list */
    HL_MEMORY_WAITING, /* for its next attempt */
    HL_MEMORY_LEASED,
    HL_MEMORY_OK,
    HL_MEMORY_DEAD,
};

struct hl_memory_run {
    struct hl_list queued;         /* linked iff queued, in the order of acceptance */
    struct hl_list final;          /* linked iff final, in the order of finishing */
    struct hl_list kept;           /* linked iff there is a result's body */
    struct hl_list asked;          /* linked iff its request is kept after its end */
    struct hl_list stream;         /* linked iff its body is a synchronous call's kept stream */
    struct hl_list due;            /* linked iff the delivery is pending */
    struct hl_list unsent;         /* linked iff the delivery is pending or leased */
    struct hl_list known;          /* always, in the order of ids */
    struct hl_list begun;          /* linked iff there is a delivery, in the order of its ids */
    struct hl_heap_node start_by;  /* in `starts` iff queued with a time to start */
    struct hl_heap_node in_turn;   /* in `turns` of its class iff queued */
    struct hl_heap_node due_again; /* in `retries` iff it waits for its next attempt */
    char *attempt_log;             /* owned; NULL: none */
    size_t attempt_log_n;
    uint32_t run_attempts; /* at most; 0: as settings say */
    struct hl_queue_place place;
    struct hl_id id;
    int64_t created_ms, started_ms, request_size;
    bool is_async;
    int64_t start_by_ms; /* 0: any */
    uint64_t timeout_ms;
    uint64_t ticket; /* its place in the order of acceptance */
    uint32_t epoch, attempt;
    /* behind it */
    struct hl_str project, app, method, path, head, url, secret, traceparent, identity;
    struct hl_body body;
    struct hl_id rerun_of;
    bool has_request;          /* head and body are those of its request */
    struct hl_outcome outcome; /* its state is the run's at any time */
    struct hl_buf log;         /* of the finish */

    struct hl_id delivery_id;
    uint64_t lane;
    enum hl_memory_delivery_state delivery;
    uint32_t round, n, max_attempts;
    bool is_open;                    /* attempt n has no outcome yet */
    struct hl_attempt_row *attempts; /* oldest first, the newest HL_ATTEMPTS_SHOWN */
    size_t n_attempts;
    uint64_t attempts_dropped;      /* older ones, to make room */
    bool is_cancel_wished;          /* the worker has been told */
    int64_t done_ms;                /* until then: since when it waits again */
    int64_t next_ms;                /* of the next attempt, as the sender said; 0: none */
    struct hl_heap_node next_again; /* in `waiting` iff WAITING */
};

struct hl_memory_lane {
    struct hl_list due;
};

struct hl_memory_key {
    struct hl_list node; /* in the order of expiry */
    struct hl_id digest; /* of app, subject and key */
    struct hl_id run_id;
    uint8_t fingerprint[32];
    int64_t expires_ms;
};

struct hl_memory_account {
    struct hl_list node; /* in the order of ids */
    struct hl_account account;
};

/* How runs of an app ended in a minute. */
struct hl_memory_minute {
    struct hl_list node; /* in the order in which they began to be counted */
    int64_t minute;
    char project[HL_STORE_NAME_MAX + 1], app[HL_STORE_NAME_MAX + 1];
    struct hl_tally tally;
};

struct hl_memory {
    struct hl_driver base;
    struct hl_list minutes;
    size_t n_minutes;
    int64_t counted_ms;          /* of what ended before nothing is known */
    struct hl_id_map runs;       /* struct hl_memory_run by run id */
    struct hl_id_map deliveries; /* struct hl_memory_run by delivery id */
    struct hl_id_map lanes;      /* struct hl_memory_lane */
    struct hl_id_map keys;       /* struct hl_memory_key */
    struct hl_list queued, final, unsent, known, begun, expiring, accounts;
    struct hl_heap starts, retries, waiting, turns[HL_PRIORITIES];
    bool keeps_request; /* of runs that have begun: for another attempt, or after their ends */
    enum hl_keep_requests keep_requests;
    struct hl_list asked; /* whose requests are kept, the oldest end first */
    struct hl_id_source ids;
    struct hl_key key; /* of lanes */
    uint64_t bytes, max_bytes, last_ticket;
    uint64_t purged_runs, shed_runs, shed_bodies; /* since the start */
    struct hl_list kept;       /* oldest first, but for those that shedding passed over */
    uint64_t n_kept, n_passed; /* how many; how many of the last were passed over in a row */
    struct hl_list streams;    /* in the order of their ends */
    uint64_t stream_bytes, max_stream_bytes;
    int64_t retention_ms, stream_retention_ms, key_ms;
    uint32_t webhook_attempts;
};

/* Kept streams of synchronous calls, with those that go on, are more than they may be. */
static inline bool hl_memory_streams_are_over(const struct hl_memory *m)
{
    return m->stream_bytes + hl_driver_live_streams(&m->base) > m->max_stream_bytes;
}

static inline struct hl_memory *hl_memory_of(struct hl_driver *d)
{
    return HL_CONTAINER_OF(d, struct hl_memory, base);
}

#endif
