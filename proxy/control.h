/* control.h - the control thread: its loop, and the order in which everything stops.
 *
 *   SERVING ──▶ DELAY ─▶ DRAINING ─▶ (CUT) ─▶ ENDING
 *     ▲ ▼         ▲         ▲
 *    ASIDE ───────┴─────────┘
 *
 * A signal begins it, `POST /quit`, HOOKLINE_IDLE_EXIT or a store that never opens, the last three without the delay;
 * further signals and deadlines hurry it. `POST /drain` sets aside, and can be taken back. Main's thread. */
#ifndef HL_CONTROL_H
#define HL_CONTROL_H

#include <sys/resource.h>

#include "alert/herald.h"
#include "api/now.h"
#include "app/gate.h"
#include "app/readiness.h"
#include "app/sleep.h"
#include "app/supervisor.h"
#include "body/journals.h"
#include "loop/mailbox.h"
#include "net/stream.h"
#include "run/service.h"
#include "worker/idle.h"
#include "worker/use.h"

enum hl_control_state {
    HL_CONTROL_SERVING,
    HL_CONTROL_ASIDE,    /* as DELAY, for as long as nobody says otherwise */
    HL_CONTROL_DELAY,    /* not ready any more, still accepting: load balancers need that long */
    HL_CONTROL_DRAINING, /* listeners closed; running calls end */
    HL_CONTROL_CUT,      /* workers end at once */
    HL_CONTROL_ENDING,   /* workers and app have ended; webhooks that are being sent end */
};

struct hl_control {
    struct hl_config *config;
    struct hl_store *store;
    struct hl_sender *sender;
    struct hl_service service;
    struct hl_journals journals;
    struct hl_readiness readiness;
    struct hl_supervisor supervisor;
    struct hl_sleep sleep;
    struct hl_app_use use; /* what its sleep asks */
    struct hl_idle idle;
    struct rlimit files; /* RLIMIT_NOFILE as it was */
    char *const *environment;
    struct hl_recorder recorder;
    struct hl_herald herald;
    struct hl_admin *admin;
    struct hl_rest *rest;
    uv_loop_t loop;
    struct hl_wheel wheel;
    struct hl_reader reader;
    struct hl_tls_seat *tls;   /* NULL: no TLS is spoken */
    struct hl_uv_mailbox mail; /* workers say here that they have ended */
    uv_signal_t sigterm, sigint;
    struct hl_gate_seat gate;
    struct hl_msg sender_ended;
    struct hl_msg *worker_ended; /* one for each worker; owned: an end is told without memory */
    struct hl_timer timer, tunnel_timer, store_timer, report_timer;
    enum hl_control_state state;
    uint64_t aside_ms;                       /* monotonic: since when, if it is */
    uint32_t started, ended;                 /* workers */
    uint64_t stayed_runs, stayed_deliveries; /* with the store, when all else had ended */
    bool has_loop;
    bool has_failed; /* it ends because it cannot do what it is for */
    bool has_cut;    /* HOOKLINE_DRAIN_TIMEOUT has ended calls or runs */
};

/* The loop with all that runs on it from the start; false: it cannot be made. */
HL_MUST_CHECK bool hl_control_open(struct hl_control *ctl);
/* Closes its handles, so that the loop ends: for a start that failed before a worker ran. In all
 * other cases they are closed when everything has stopped. */
void hl_control_close(struct hl_control *ctl);
/* Auth has not read what the store keeps: not ready until it has. */
void hl_control_await_store(struct hl_control *ctl);
/* Workers end at once, and with them all calls. */
void hl_control_cut(struct hl_control *ctl);

/* struct hl_sleep_use's; `owner` is the control. */
bool hl_control_uses_app(void *owner);
bool hl_control_is_settled(void *owner);
bool hl_control_wants_app(void *owner);
/* HOOKLINE_IDLE_EXIT is over. */
void hl_control_on_idle(struct hl_idle *idle);
/* What the REST interface asks for (api/rest_call.h). */
enum hl_err hl_control_set_aside(struct hl_service *service);
enum hl_err hl_control_take_back(struct hl_service *service);
enum hl_err hl_control_quit(struct hl_service *service);
/* On a worker's thread, its last act. */
void hl_control_on_worker_end(struct hl_service *service, uint32_t index);

#endif
