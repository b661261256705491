/* sleep.h - an app that nobody uses sleeps, and whoever comes wakes it (contract 10: HOOKLINE_APP_IDLE_STOP,
 * HOOKLINE_APP_IDLE_SLEEP).
 *
 *   AWAKE ──▶ SETTLING ──▶ ASKING ──▶ DOZING ──▶ CALLING ──▶ RISING ──▶ AWAKE
 *               ▼  │          ▼       │   ▲      ▲ ▼  │        ▲
 *             AWAKE│        AWAKE     │   └─── PAUSING│        │
 *                  │                  ▼               ▼        │
 *                  └───────────────▶ STOPPING ───▶ STOPPED ────┘
 *
 *   AWAKE ▶ SETTLING   unused for its time: the gate is shut
 *   SETTLING ▶ AWAKE   somebody came, or went in just before
 *   ASKING ▶ AWAKE     it would not sleep
 *   DOZING ▶ STOPPING  unused for HOOKLINE_APP_IDLE_STOP; ▶ STOPPED: it died in its sleep
 *   CALLING ▶ STOPPING it did not wake, three times; ▶ PAUSING: asked again, ▶ DOZING: or nobody waits any more
 *   CALLING, PAUSING ▶ AWAKE  it died meanwhile, and its successor is ready; PAUSING ▶ RISING: is not yet
 *
 * OVER follows all of them: hookline ends. The control thread, but for what the gauges say. */
#ifndef HL_APP_SLEEP_H
#define HL_APP_SLEEP_H

#include <uv.h>

#include "app/errand.h"
#include "base/metric.h"
#include "loop/wheel.h"

struct hl_config;
struct hl_gate;
struct hl_readiness;
struct hl_supervisor;

#define HL_SLEEP_STATE_MAP(X)                                                                      \
    X(AWAKE, "awake") /* the gate is the checks' own; the timer looks whether it is used */        \
    X(SETTLING,                                                                                    \
        "settling")     /* the gate says asleep; who looked at it before that may still go in */   \
    X(ASKING, "asking") /* HOOKLINE_APP_SLEEP_CALL is under way; nobody is inside, as below */     \
    X(DOZING, "dozing") /* it has said that it sleeps; a knock ends this, or the timer */          \
    X(STOPPING, "stopping") /* its process is being ended */                                       \
    X(STOPPED, "stopped")   /* it has none; a knock ends this */                                   \
    X(CALLING,                                                                                     \
        "calling") /* HOOKLINE_APP_WAKE_CALL is under way; the gate says waking, as below */       \
    X(PAUSING, "pausing") /* that has failed; the timer ends this */                               \
    X(RISING,                                                                                      \
        "rising")   /* it was started, or says that it is awake: a good check opens the gate */    \
    X(OVER, "over") /* hookline ends */

enum hl_sleep_state {
#define X(name, text) HL_SLEEP_##name,
    HL_SLEEP_STATE_MAP(X)
#undef X
        HL_SLEEP_STATE_COUNT
};

const char *hl_sleep_state_text(enum hl_sleep_state state);
/* Whether one may follow the other. */
bool hl_sleep_may_move(enum hl_sleep_state from, enum hl_sleep_state to);

/* What others know of who wants the app. */
struct hl_sleep_use {
    void *owner;
    /* Somebody uses it, or did since the last time that this was asked; or it is not to sleep now. */
    bool (*is_used)(void *owner);
    /* What had been claimed for it when the gate shut has come, or gone back. */
    bool (*is_settled)(void *owner);
    /* Somebody waits for it. */
    bool (*is_wanted)(void *owner);
};

/* Written by the control thread, read by /metrics and others. */
struct hl_sleep_gauges {
    _Atomic int state;         /* enum hl_sleep_state */
    _Atomic int64_t since_ms;  /* wall time: it sleeps, or wakes, since then */
    struct hl_histogram wakes; /* from their begin to the open gate */
};

struct hl_sleep {
    const struct hl_config *config;
    struct hl_wheel *wheel;
    struct hl_gate *gate;
    struct hl_readiness *readiness;
    struct hl_supervisor *supervisor;
    struct hl_sleep_use use;
    enum hl_sleep_state state;
    struct hl_errand errand;
    struct hl_timer timer;
    bool is_on;          /* one of the settings is */
    bool has_been_ready; /* since hookline's start */
    bool is_knocked;     /* somebody came while it was going to sleep */
    uint64_t used_ms;    /* monotonic: last */
    uint64_t woken_us;   /* monotonic: when it began to wake */
    uint32_t failures;   /* of wake calls, in a row */
    struct hl_sleep_gauges gauges;
};

struct hl_sleep_parts {
    uv_loop_t *loop;
    struct hl_wheel *wheel;
    struct hl_reader *reader;
    const struct hl_config *config;
    struct hl_readiness *readiness;
    struct hl_supervisor *supervisor;
    struct hl_sleep_use use;
};

/* Borrows all. */
void hl_sleep_init(struct hl_sleep *sleep, const struct hl_sleep_parts *parts);
/* The app has been started, or it is looked for. */
void hl_sleep_start(struct hl_sleep *sleep);
/* The gate has turned. */
void hl_sleep_on_gate(struct hl_sleep *sleep);
/* The gate's knock has come. */
void hl_sleep_on_knock(struct hl_sleep *sleep);
/* Before the app is stopped for good: it goes to sleep no more, and is woken no more. Twice, or without an init, is
 * harmless. */
void hl_sleep_end(struct hl_sleep *sleep);

/* ---- any thread ---- */

enum hl_sleep_look {
    HL_SLEEP_LOOK_AWAKE,
    HL_SLEEP_LOOK_GOING, /* asked to sleep, or being stopped */
    HL_SLEEP_LOOK_ASLEEP,
    HL_SLEEP_LOOK_WAKING,
};

/* NULL: it is awake, and no more is to be said. */
const char *hl_sleep_look_text(enum hl_sleep_look look);
/* `*since_ms`: wall time; NULL: nobody asks. NULL-safe. */
enum hl_sleep_look hl_sleep_look(const struct hl_sleep_gauges *gauges, int64_t *since_ms);

#endif
