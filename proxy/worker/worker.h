/* worker.h - one data-plane thread: a loop, its listening sockets, its callers, its connections to
 * the app, its runs. */
#ifndef HL_WORKER_WORKER_H
#define HL_WORKER_WORKER_H

#include "body/follow_desk.h"
#include "caller/callers.h"
#include "caller/metrics.h"
#include "caller/trouble.h"
#include "http/field_value.h"
#include "loop/thread.h"
#include "net/stream.h"
#include "route/plan.h"
#include "run/allowance.h"
#include "run/runs.h"
#include "store/lender.h"

struct hl_recent_ask;
struct hl_service;

/* Messages of the control thread to workers; store/store.h and app/limiter.h have the other types
 * of this mailbox. */
enum hl_worker_message {
    HL_WORKER_DRAIN =
        100,         /* go on accepting, but every response closes its connection; no new claims */
    HL_WORKER_CLOSE, /* stop accepting; end when the last run has ended */
    HL_WORKER_CLOSE_TUNNELS,
    HL_WORKER_CUT,          /* end now: runs in flight are abandoned */
    HL_WORKER_INQUIRY,      /* struct hl_inquiry: to the control thread, and back */
    HL_WORKER_INQUIRY_GONE, /* struct hl_inquiry_gone: to the control thread */
    HL_WORKER_APP_LOST,     /* the app is not ready any more: kept connections to it are closed */
    HL_WORKER_RECENT,       /* struct hl_recent_ask; comes back answered */
    HL_WORKER_ASIDE,        /* as DRAIN, for as long as nobody says otherwise: */
    HL_WORKER_BACK,
    HL_WORKER_LENT, /* the bell of its struct hl_lender_desk */
};

#define HL_WORKER_STAGES (HL_WORKER_CUT + 1 - HL_WORKER_DRAIN) /* of its end: each is told once */

struct hl_worker {
    struct hl_service *service;
    const struct hl_config *config;
    uint32_t index;
    struct hl_thread thread;
    uv_loop_t loop;
    bool has_loop;
    struct hl_wheel wheel;
    struct hl_uv_mailbox mail;
    struct hl_reader reader;
    struct hl_listener *listeners;
    size_t listener_count;
    uv_prepare_t turn_end;     /* timers and close callbacks come after a uv_check_t */
    struct hl_auth_seat *auth; /* NULL: HOOKLINE_AUTH=none */
    struct hl_id_source ids;
    struct hl_date date;
    struct hl_slot_table slots; /* who waits for the store or the control thread */
    struct hl_trouble trouble;
    struct hl_callers callers;
    struct hl_runs runs;
    struct hl_follow_desk desk;             /* callers who follow events */
    struct hl_msg stages[HL_WORKER_STAGES]; /* an end needs no memory; a type of 0: not told yet */
    bool has_ended;
    struct hl_worker_metrics metrics;

    /* what call.c knows of the head that it looks at */
    struct hl_plan plan;
    struct hl_plan_scratch plan_scratch;
    const struct hl_principal *principal; /* who calls; NULL: nobody was asked */
    struct hl_id relayed;                 /* another replica calls, for this run; nil: none does */
    struct hl_allowance allowance;        /* what the call under way has of its account's limits */
    struct hl_lender_desk lender_desk;
    struct hl_list borrowing; /* clients' waits: until it is known what is left of their rates */
};

static inline struct hl_worker *hl_worker_of(struct hl_callers *callers)
{
    return HL_CONTAINER_OF(callers, struct hl_worker, callers);
}

/* call.c, the callers' on_head: starts a run or answers. */
size_t hl_call_begin(struct hl_client *c, struct hl_str rest);
/* Who waits in `borrowing` tries again. */
void hl_call_on_lent(struct hl_worker *w);

/* Binds its sockets on the calling thread. On failure `why` has one line. */
HL_MUST_CHECK enum hl_err hl_worker_new(
    struct hl_worker **out, struct hl_service *service, uint32_t index, char *why, size_t why_len);
/* Runs the loop on its own thread. errno value or 0. */
int hl_worker_start(struct hl_worker *w);
/* The control thread, until the worker has ended. Gives `ask` away; it comes back unless the worker
 * ends meanwhile. */
void hl_worker_ask(struct hl_worker *w, struct hl_recent_ask *ask);
/* The control thread. False: out of memory, for what is no stage of its end. */
bool hl_worker_tell(struct hl_worker *w, enum hl_worker_message what);
void hl_worker_join(struct hl_worker *w);
/* After the store has closed: messages still in the mailbox are freed. */
void hl_worker_free(struct hl_worker *w);

#endif
