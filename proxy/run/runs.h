/* runs.h - the runs of one worker, and what they share. */
#ifndef HL_RUN_RUNS_H
#define HL_RUN_RUNS_H

#include "app/limiter.h"
#include "app/pool.h"
#include "base/slab.h"
#include "body/spool.h"
#include "http/message.h"
#include "run/call_tally.h"
#include "run/page.h"
#include "run/recent_run.h"
#include "run/wait_clock.h"

struct hl_accept;
struct hl_reader;

struct hl_client;

/* What credit is out for. */
enum hl_demand_mode {
    HL_DEMAND_NOTHING, /* there is none */
    HL_DEMAND_RUNS,    /* runs to call the app with; slots may be asked for */
    HL_DEMAND_HINTS,   /* nothing: the store says when there are runs, and the app is woken */
    HL_DEMAND_DOOMED,  /* runs that have waited too long, to end them: one batch */
    HL_DEMAND_ENDING,  /* the store has been asked to take it back; its answer ends this */
};

#define HL_DISPATCH_AGAIN_MS 100

/* Asynchronous runs: dispatch.c, demand.c. */
struct hl_dispatch {
    struct hl_msg *put_off; /* struct hl_claimed by their `next`: not begun, for want of memory */
    struct hl_msg *unreleased; /* struct hl_release: the store had no memory */
    struct hl_timer again;     /* looks whether there is memory */
    uint32_t owed;             /* of `credit`, what the store could not be told */
    bool owes_credit, owes_withdrawal;
    enum hl_demand_mode mode;
    bool holds_slots;     /* credit has slots of the app, as runs then have */
    bool has_more_doomed; /* the last claim was one */
    uint32_t withdrawals; /* not answered yet */
    /* the first worker's, while the app sleeps: are those of other replicas up? */
    struct hl_timer others;
    struct hl_timer overdue; /* the first worker's, while the app takes no calls; as is */
    struct hl_wait_clock clock;
    struct hl_seen_time oldest, taken;  /* the oldest queued run; a call that an app took */
    uint32_t max;                       /* this worker's share of HOOKLINE_ASYNC_CONCURRENCY */
    uint32_t running;                   /* claimed here */
    uint32_t ended;                     /* of those, in this loop turn */
    uint32_t credit;                    /* given to the store, not yet used */
    _Atomic uint32_t claims;            /* runs that the store has claimed for it; it counts */
    uint32_t taken_claims;              /* of those, what has come */
    uint32_t waiting;                   /* slots of the app asked for */
    bool is_asking;                     /* for them, just now */
    bool is_withdrawing, has_withdrawn; /* the credit */
    _Atomic bool may_claim; /* runs may come that were claimed; others look at it: worker/use.c */
};

struct hl_runs {
    /* the worker's */
    struct hl_service *service;
    const struct hl_config *config;
    uint32_t index;
    uv_loop_t *loop;
    struct hl_wheel *wheel;
    struct hl_mailbox *box;
    struct hl_id_source *ids;
    struct hl_date *date;
    struct hl_slot_table *slots;
    struct hl_trouble *trouble;
    struct hl_worker_metrics *metrics;
    struct hl_tls_seat *tls; /* NULL: no TLS is spoken */

    struct hl_pool pool;
    struct hl_limiter_seat seat;
    struct hl_gate_seat gate;
    struct hl_spool_home spools;
    struct hl_slab memory;
    struct hl_pages pages;
    struct hl_list list;
    struct hl_list ended;    /* their memory goes at the end of the loop turn */
    struct hl_counter count; /* others look at it: worker/idle.c */
    struct hl_recent_list recent;
    struct hl_call_tally tally;
    struct hl_visits *visits; /* NULL: nobody asks */
    struct hl_dispatch dispatch;
    /* A caller waits for the response of the run that was accepted: takes the client. */
    void (*await)(struct hl_client *c, const struct hl_accept *accept, uint64_t wait_ms);
    /* Such a caller at a front has left before it could be given away. */
    void (*leave)(struct hl_runs *runs, const struct hl_accept *accept);
    struct hl_message_rules rules; /* of the app's answers */
    bool is_draining;              /* no new claims */
    bool is_aside;                 /* nor now, until that is taken back */
    bool is_cut;                   /* the worker ends now */
    bool ends_tunnels;             /* those that begin later, too */

    /* valid within one event */
    struct hl_head head; /* of an answer of the app */
    char *scratch;       /* a head and a whole read, re-framed */
    size_t scratch_cap;
};

/* What the worker lends is set. HL_ERR_NOMEM; hl_runs_fini then, too. */
HL_MUST_CHECK enum hl_err hl_runs_init(struct hl_runs *runs, struct hl_reader *reader);
void hl_runs_fini(struct hl_runs *runs); /* the loop has ended */

/* The memory of those that ended in this loop turn. */
void hl_runs_free_ended(struct hl_runs *runs);

#endif
