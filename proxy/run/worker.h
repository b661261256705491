/* worker.h - one data-plane thread: a loop, its listening sockets, its callers, its connections to
 * the app, its runs. */
#ifndef HL_RUN_WORKER_H
#define HL_RUN_WORKER_H

#include "app/limiter.h"
#include "app/pool.h"
#include "auth/auth.h"
#include "base/metric.h"
#include "base/slab.h"
#include "http/date.h"
#include "http/head.h"
#include "loop/mailbox.h"
#include "loop/slot.h"
#include "loop/thread.h"
#include "loop/wheel.h"
#include "net/listener.h"
#include "route/plan.h"
#include "run/departure.h"
#include "run/pages.h"
#include "run/recent.h"
#include "run/service.h"
#include "run/spool.h"
#include "run/trouble.h"
#include "store/store.h"

/* Messages of the control thread to workers; store/store.h and app/limiter.h have the other types
 * of this mailbox. */
enum hl_worker_message {
    HL_WORKER_DRAIN =
        100,         /* go on accepting, but every response closes its connection; no new claims */
    HL_WORKER_CLOSE, /* stop accepting; end when the last run has ended */
    HL_WORKER_CLOSE_TUNNELS,
    HL_WORKER_CUT,      /* end now: runs in flight are abandoned */
    HL_WORKER_INQUIRY,  /* struct hl_inquiry: to the control thread, and back */
    HL_WORKER_APP_LOST, /* the app is not ready any more: kept connections to it are closed */
    HL_WORKER_RECENT,   /* struct hl_recent_ask; comes back answered */
};

/* How a call is counted. */
enum hl_mode {
    HL_MODE_SYNC,
    HL_MODE_STREAM,
    HL_MODE_ASYNC,
    HL_MODE_TUNNEL,
    HL_MODE_OTHER,
    HL_MODE_COUNT
};

#define HL_METHOD_COUNT     (HL_METHOD_TRACE + 1)
#define HL_CODE_CLASS_CUT   6 /* a response that was broken off; index 0: no response was sent */
#define HL_CODE_CLASS_COUNT (HL_CODE_CLASS_CUT + 1)

/* Written by the worker, read by /metrics. */
struct hl_worker_metrics {
    struct hl_counter requests[HL_METHOD_COUNT][HL_MODE_COUNT][HL_CODE_CLASS_COUNT];
    struct hl_histogram duration[HL_MODE_COUNT]; /* of those; one measurement each */
    struct hl_histogram run_duration;            /* asynchronous runs, inside this worker */
    struct hl_counter connections_open, connections_accepted, connections_shed;
    struct hl_counter calls_in_flight,
        runs_in_flight; /* callers' requests; asynchronous runs inside the app */
    struct hl_counter runs_finished[HL_MODE_COUNT]
                                   [HL_RUN_CANCELLED + 1];         /* OTHER: passed through */
    struct hl_counter upstream_errors[HL_REASON_BAD_RESPONSE + 1]; /* by enum hl_run_reason */
    struct hl_counter callers_gone, upstream_resent, upstream_connects;
    struct hl_counter webhooks_lost, responses_not_kept, async_refused;
    struct hl_counter waiting_for_slot;
};

struct hl_client;

struct hl_worker {
    struct hl_service *service;
    const struct hl_config *config;
    uint32_t index;
    struct hl_thread thread;
    uv_loop_t loop;
    struct hl_wheel wheel;
    struct hl_uv_mailbox mail;
    struct hl_reader reader;
    struct hl_listener *listeners;
    size_t listener_count;
    struct hl_pool pool;
    struct hl_limiter_seat seat;
    struct hl_auth_seat *auth; /* NULL: HOOKLINE_AUTH=none */
    struct hl_spool_home spools;
    struct hl_id_source ids;
    struct hl_date date;
    struct hl_slab clients, runs;
    struct hl_pages pages;
    struct hl_list client_list, run_list;
    struct hl_list idle_clients; /* by struct hl_client's `idle`: the longest idle one first */
    struct hl_departures departures;
    struct hl_list ended_runs;           /* their memory goes at the end of the loop turn */
    uv_prepare_t turn_end;               /* timers and close callbacks come after a uv_check_t */
    uint32_t client_count, client_max;   /* all in client_list; how many may be open */
    uint32_t places_taken, spares_taken; /* of those that are not being closed */
    struct hl_counter run_count;         /* others look at it: run/idle.c */
    struct hl_slot_table slots;          /* runs that wait for the store */
    struct hl_recent_list recent;
    struct hl_trouble trouble;
    /* A request's head is in `request_head`; `rest` is what was read behind it. Returns how many bytes
     * of `rest` were used, or HL_CALL_LATER. */
    size_t (*on_head)(struct hl_client *c, struct hl_str rest);
    bool is_draining, is_closed, is_cut, has_ended;
    bool ends_tunnels;                  /* those that begin later, too */
    bool is_withdrawing, has_withdrawn; /* the credit for claims */

    /* asynchronous runs: run/dispatch.c */
    uint32_t async_max;     /* this worker's share of HOOKLINE_ASYNC_CONCURRENCY */
    uint32_t async_running; /* claimed here */
    uint32_t async_ended;   /* of those, in this loop turn */
    uint32_t async_credit;  /* given to the store, not yet used */
    uint32_t async_waiting; /* slots of the app asked for */

    /* scratch, valid within one event */
    struct hl_head request_head, response_head;
    struct hl_plan plan;
    struct hl_plan_scratch plan_scratch;
    const struct hl_principal *principal; /* who calls; NULL: nobody was asked */
    char *scratch;                        /* a head and a whole read, re-framed */
    size_t scratch_cap;

    struct hl_worker_metrics metrics;
};

/* Binds its sockets on the calling thread. On failure `why` has one line. */
HL_MUST_CHECK enum hl_err hl_worker_new(
    struct hl_worker **out, struct hl_service *service, uint32_t index, char *why, size_t why_len);
/* Runs the loop on its own thread. errno value or 0. */
int hl_worker_start(struct hl_worker *w);
/* The control thread, until the worker has ended. Gives `ask` away; it comes back unless the worker
 * ends meanwhile. */
void hl_worker_ask(struct hl_worker *w, struct hl_recent_ask *ask);
/* Any thread. False: out of memory. */
bool hl_worker_tell(struct hl_worker *w, enum hl_worker_message what);
void hl_worker_join(struct hl_worker *w);
/* After the store has closed: messages still in the mailbox are freed. */
void hl_worker_free(struct hl_worker *w);

#endif
