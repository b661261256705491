/* engine.h - the store's thread: takes requests from its mailbox, runs them in batches over a
 * driver, answers. */
#ifndef HL_STORE_ENGINE_H
#define HL_STORE_ENGINE_H

#include <semaphore.h>

#include "loop/thread.h"
#include "store/backlog.h"
#include "store/batch.h"
#include "store/clock.h"
#include "store/gauges.h"
#include "store/outage.h"
#include "store/intake.h"

struct hl_driver;
struct hl_store_msg;

/* So many questions are answered before the next batch. */
#define HL_ENGINE_MAX_ASKED 16

struct hl_engine {
    struct hl_thread thread;
    struct hl_mailbox box;
    sem_t wake;
    atomic_bool is_stopping;
    struct hl_intake intake;
    atomic_bool wants_trim; /* hl_engine_trim_streams; until the next purge step */

    /* below: the thread's own */
    struct hl_driver *driver;
    struct hl_backlog backlog;
    struct hl_batch batch;
    struct hl_store_gauges gauges;
    struct hl_msg *first, *last; /* taken from the mailbox, in order, for the next batches */

    struct hl_held_requests held;
    struct hl_store_msg *asked[HL_ENGINE_MAX_ASKED]; /* questions, for when the batch is through */
    size_t n_asked;

    enum hl_err room; /* not OK: accepts are refused; FULL, TOO_LARGE as the driver said last */
    bool is_failing;  /* nothing is written until the driver has the store anew */
    struct hl_reopening reopening;
    bool is_expiring; /* more are to be ended, and none is handed out before */
    int64_t keep_ms;  /* how soon after a commit something may be past its time */
    struct hl_clock_guard clock_guard;
    struct hl_steady_clock steady;

    /* CLOCK_MONOTONIC in microseconds */
    uint64_t retry_us;         /* nothing can be written just now: no batch before */
    struct hl_quota_bell bell; /* what is blocked may start again */
    uint64_t serve_us;         /* handing out failed: not again before; 0: it did not */
    uint64_t room_us;          /* what was last found of room holds until then */
    uint64_t purge_us;         /* the next purge step */
    uint64_t trim_us;          /* wants_trim: when it is heeded; 0: it has not been seen */
    /* runs whose time to start is over are not ended before; see backlog.expire_ms */
    uint64_t expire_us;
    uint64_t survey_us;    /* the gauges that must be looked up are renewed then */
    uint64_t recall_us;    /* deliveries that are due are not looked for before */
    uint64_t settle_us;    /* what is left for a quiet moment */
    uint64_t clock_us;     /* the wall clock is looked at and noted then */
    uint64_t shed_said_us; /* the log said that the store is at its limit; 0: never */

    uint64_t pause_us; /* how long what found no space waits: longer each time */
};

#define HL_NEVER UINT64_MAX
/* What found no space waits so long, twice as long the next time, and so on up to the second. */
#define HL_MIN_PAUSE_US 250000u
#define HL_MAX_PAUSE_US 4000000u

/* Starts the thread over an open driver, whose backlog is `&e->backlog`. errno or 0. */
int hl_engine_start(struct hl_engine *e, struct hl_driver *driver, int64_t keep_ms);
/* See hl_store_post. */
HL_MUST_CHECK enum hl_err hl_engine_post(struct hl_engine *e, struct hl_store_msg *m);
/* Kept streams that have ended are in the way of those that go on: the oldest are purged soon. Any thread. */
void hl_engine_trim_streams(struct hl_engine *e);
/* Answers everything and joins the thread. The driver stays open. */
void hl_engine_stop(struct hl_engine *e);

#endif
