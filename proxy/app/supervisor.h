/* supervisor.h - the app as our child process (HOOKLINE_APP_COMMAND, contract 10): started,
 * restarted when it ends, sent signals, stopped last; and, with a process id of 1, the last parent
 * of all processes. Without a command it does the latter only. */
#ifndef HL_APP_SUPERVISOR_H
#define HL_APP_SUPERVISOR_H

#include <uv.h>

#include "app/child.h"
#include "app/launch.h"
#include "app/output.h"
#include "base/clock.h"
#include "base/metric.h"

struct hl_config;
struct hl_readiness;

#define HL_SUPERVISOR_SIGNALS 5 /* that are passed on */

/* ---- how long to wait before the app is started again ---- */

#define HL_BACKOFF_FIRST_MS   100
#define HL_BACKOFF_MOST_MS    30000
#define HL_BACKOFF_HEALTHY_MS 10000 /* who was ready, and lived this long, starts afresh */

struct hl_backoff {
    uint32_t failures; /* in a row */
};

/* The app has ended after `lived_ms`: the time to wait, twice the last one's up to the most. */
static inline uint64_t hl_backoff_next(struct hl_backoff *b, bool was_ready, uint64_t lived_ms)
{
    if (was_ready && lived_ms >= HL_BACKOFF_HEALTHY_MS)
        b->failures = 0;
    return hl_doubled_ms(HL_BACKOFF_FIRST_MS, b->failures++, HL_BACKOFF_MOST_MS);
}

/* ---- the supervisor ---- */

enum hl_supervisor_state {
    HL_SUPERVISOR_OFF,     /* there is no command, or it was not started yet */
    HL_SUPERVISOR_RUNNING, /* there is a process; its exit ends this */
    HL_SUPERVISOR_BACKOFF, /* there is none; the timer starts the next one */
    HL_SUPERVISOR_RENEWING, /* its group is to end; its exit leads to the next one, the timer kills it */
    HL_SUPERVISOR_DOZING, /* there is a process, which sleeps; hl_supervisor_rouse ends this, or its exit */
    /* Its group is to end, and then all of its making; the last exit ends this, or the timer. */
    HL_SUPERVISOR_RETIRING,
    HL_SUPERVISOR_RESTING,  /* nothing of it is left; hl_supervisor_rise starts the next one */
    HL_SUPERVISOR_STOPPING, /* its group has got SIGTERM; its exit ends this, the timer kills it */
    /* Its group has got SIGKILL, or it has ended and others of its making have not; the last exit
     * ends this, or the timer. */
    HL_SUPERVISOR_KILLED,
    HL_SUPERVISOR_STOPPED, /* nothing of it is left that we know of */
};

/* Why there is another process of the app's. */
#define HL_APP_START_MAP(X)                                                                        \
    X(FIRST, "start")                                                                              \
    X(EXIT, "exit")                                                                                \
    X(WAKE, "wake")                                                                                \
    X(UNHEALTHY, "unhealthy")         /* HOOKLINE_APP_RESTART_AFTER */                             \
    X(START_TIMEOUT, "start_timeout") /* HOOKLINE_APP_START_LIMIT */

enum hl_app_start {
#define X(name, text) HL_APP_START_##name,
    HL_APP_START_MAP(X)
#undef X
        HL_APP_START_COUNT
};

const char *hl_app_start_text(enum hl_app_start why);

/* Written by the control thread, read by /metrics. */
struct hl_app_gauges {
    struct hl_counter is_running, lines_logged, lines_dropped;
    struct hl_counter starts[HL_APP_START_COUNT];
};

struct hl_supervisor {
    const struct hl_config *config;
    uv_loop_t *loop;
    struct hl_wheel *wheel;
    struct hl_readiness *readiness;
    enum hl_supervisor_state state;

    /* how it is started */
    struct hl_launch launch;
    struct rlimit files;

    struct hl_child child;
    struct hl_output output;
    uint64_t started_ms; /* monotonic */
    struct hl_backoff backoff;
    struct hl_timer timer;  /* back-off, or the bound of a stop */
    struct hl_timer limit;  /* HOOKLINE_APP_START_LIMIT */
    enum hl_app_start next; /* why the next one is started */
    bool is_open;           /* the handles below */
    uv_signal_t on_child;   /* SIGCHLD */
    uv_signal_t passed[HL_SUPERVISOR_SIGNALS];
    void (*on_stopped)(struct hl_supervisor *s);
    void (*on_resting)(
        struct hl_supervisor *s); /* RESTING has begun; set where the app may sleep */
    void *sleeper;                /* on_resting's */
    struct hl_app_gauges gauges;
};

/* What it works with: borrowed, all but `files`. */
struct hl_supervisor_parts {
    uv_loop_t *loop;
    struct hl_wheel *wheel;
    const struct hl_config *config;
    struct hl_readiness *readiness;
    char *const *environment; /* that the process was started with */
    struct rlimit files;      /* RLIMIT_NOFILE as the process found it */
};

/* Prepares; starts nothing. Runs before other threads do. On failure `why` has one line, and
 * hl_supervisor_fini is still due. */
HL_MUST_CHECK bool hl_supervisor_init(
    struct hl_supervisor *s, const struct hl_supervisor_parts *parts, char *why, size_t why_len);

/* Starts the app, if there is a command; with or without one, orphans are seen to from now on. */
void hl_supervisor_start(struct hl_supervisor *s);

/* ---- while nobody uses it (sleep.h); where there is a command ---- */

/* As a stop, but another one follows when it is wanted. Ends with on_resting, perhaps before the return. */
void hl_supervisor_retire(struct hl_supervisor *s);
/* From RESTING. */
void hl_supervisor_rise(struct hl_supervisor *s);
/* It was asked to sleep, and does: if it ends none is started in its place, and on_resting is called. */
void hl_supervisor_doze(struct hl_supervisor *s);
/* It is to be asked to wake. False: its process has ended, and on_resting comes. */
HL_MUST_CHECK bool hl_supervisor_rouse(struct hl_supervisor *s);

/* SIGTERM to the app's process group, SIGKILL after HOOKLINE_APP_STOP_TIMEOUT. `on_stopped` is called
 * once when nothing of it is left, perhaps before the return; the handles are closing then. */
void hl_supervisor_stop(struct hl_supervisor *s, void (*on_stopped)(struct hl_supervisor *s));

/* SIGKILL at once, before or during a stop; hl_supervisor_stop is still due, for its call. */
void hl_supervisor_kill(struct hl_supervisor *s);

/* After the loop has run its close callbacks. */
void hl_supervisor_fini(struct hl_supervisor *s);

#endif
