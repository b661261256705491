/* gate.h - whether calls go into the app, and whether queued runs are claimed for it (contract 10,
 * HOOKLINE_APP_HEALTH_GATE).
 *
 * Checks of the app (readiness.h) open it, and close it; whoever's connection is refused closes it, too; and it is shut
 * while the app sleeps (sleep.h), who is told of whoever comes then. A call looks at one atomic word. Whoever waits is
 * told by message when it has turned: each worker has a seat, and so has the control thread. */
#ifndef HL_APP_GATE_H
#define HL_APP_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "config/choice.h"
#include "loop/mailbox.h"

struct hl_cause;

enum hl_gate_state {
    HL_GATE_OPEN, /* calls go in, queued runs are claimed */
    /* Calls try the app, queued runs are claimed by nobody: the last connect failed, or there was none
     * yet. The next good one opens it. */
    HL_GATE_LOST,
    HL_GATE_SHUT, /* calls wait for a 2xx of the health path, which opens it */
    /* The app was asleep: calls wait for a good check whatever HOOKLINE_APP_HEALTH_GATE says, and for as long as
     * HOOKLINE_APP_WAKE_TIMEOUT. */
    HL_GATE_WAKING,
    HL_GATE_ASLEEP, /* no check opens it; whoever comes knocks, and waits as for WAKING */
};

#define HL_GATE_STATE_BITS 3
#define HL_GATE_STATE_MASK ((1u << HL_GATE_STATE_BITS) - 1)

struct hl_gate {
    /* What it goes by: HL_APP_GATE_OFF where there is no health path. */
    enum hl_app_gate rule;
    _Atomic uint32_t word;      /* how often it was closed, and its state in the last bits */
    _Atomic uint64_t closed_ms; /* monotonic: since when it is not open */
    struct hl_list seats;       /* complete before the threads start */
    struct hl_bell knock;       /* somebody came while the app sleeps; only rung where it may */
};

/* A thread that is told. */
struct hl_gate_seat {
    struct hl_list node;
    struct hl_gate *gate;
    struct hl_mailbox *mailbox;
    struct hl_msg turned; /* HL_GATE_TURNED */
    _Atomic bool is_told; /* `turned` is on its way */
    struct hl_list waits; /* calls, the first to come first */
};

/* Someone who waits for it to open. Embedded in the waiter. */
struct hl_gate_wait {
    struct hl_list node;
    void (*on_open)(struct hl_gate_wait *wait);
};

/* The message type; the mailboxes of those with a seat know it (worker/worker.h). */
#define HL_GATE_TURNED 202
/* That of `knock`. */
#define HL_GATE_KNOCKED 203

/* Open, and never shut: until hl_gate_close_at_start. */
void hl_gate_init(struct hl_gate *gate);
/* Before the threads start: nothing is known of the app yet. OFF: nor will anybody look. */
void hl_gate_close_at_start(struct hl_gate *gate, enum hl_app_gate rule);
void hl_gate_seat_init(struct hl_gate_seat *seat, struct hl_gate *gate, struct hl_mailbox *mailbox);

/* Any thread. */
static inline enum hl_gate_state hl_gate_state(const struct hl_gate *gate)
{
    uint32_t word = atomic_load_explicit(&gate->word, memory_order_relaxed);
    return (enum hl_gate_state)(word & HL_GATE_STATE_MASK);
}

/* Nothing may go into the app. Any thread. */
static inline bool hl_gate_is_shut(const struct hl_gate *gate)
{
    return hl_gate_state(gate) >= HL_GATE_SHUT;
}

/* Whoever waits may do so for HOOKLINE_APP_WAKE_TIMEOUT. Any thread. */
static inline bool hl_gate_has_slept(const struct hl_gate *gate)
{
    return hl_gate_state(gate) >= HL_GATE_WAKING;
}

static inline bool hl_gate_is_asleep(const struct hl_gate *gate)
{
    return hl_gate_state(gate) == HL_GATE_ASLEEP;
}

/* The app takes calls, as far as is known: runs may be claimed for it. Any thread. */
static inline bool hl_gate_is_open(const struct hl_gate *gate)
{
    return hl_gate_state(gate) == HL_GATE_OPEN;
}

/* For how long the app has not been there for calls that want it, in ms; 0: it is, or sleeps. Any thread. */
uint64_t hl_gate_closed_for(const struct hl_gate *gate);

/* A connection was refused, or the app's process has ended: what comes next is another one. `why` is
 * static, for the log; NULL: it is said already. Any thread. */
void hl_gate_close(struct hl_gate *gate, const char *why);
/* A call has its connection: an app that was only lost takes calls. Any thread. */
void hl_gate_note_connected(struct hl_gate *gate);
/* Whether a connect that ended so was refused: nobody listens there. */
bool hl_gate_is_refusal(struct hl_cause cause);

/* A check begins. What it finds counts only if the gate was not closed meanwhile. Control. */
uint32_t hl_gate_begin_check(const struct hl_gate *gate);
/* It has ended with `cause`. `is_ready`: the app still counts as ready after it (readiness.h), or it may
 * be busy. Control. */
void hl_gate_end_check(struct hl_gate *gate, uint32_t check, struct hl_cause cause, bool is_ready);

/* Nobody goes in, and nobody is lost: what the app was like before that is forgotten. Control. */
void hl_gate_put_to_sleep(struct hl_gate *gate);
/* From ASLEEP: the next good check opens it. Control. */
void hl_gate_wake(struct hl_gate *gate);
/* From ASLEEP: it was open, and the app has not gone. Control. */
void hl_gate_stay_open(struct hl_gate *gate);
/* Somebody wants the app; heard only if it sleeps (sleep.c). Any thread. */
static inline void hl_gate_knock(struct hl_gate *gate)
{
    hl_bell_ring(&gate->knock);
}
/* Each thread has seen the last turn: who looked at the gate before that has gone in, or waits. Control. */
bool hl_gate_is_told(const struct hl_gate *gate);

/* The mailbox brought HL_GATE_TURNED: whoever waits in this seat goes on, if it is open. */
void hl_gate_seat_on_turn(struct hl_gate_seat *seat);

static inline void hl_gate_wait_init(struct hl_gate_wait *wait)
{
    hl_list_init(&wait->node);
    wait->on_open = NULL;
}
/* Ends with on_open, which is not called before the return, or with hl_gate_wait_cancel. */
void hl_gate_wait_begin(struct hl_gate_wait *wait, struct hl_gate_seat *seat,
    void (*on_open)(struct hl_gate_wait *wait));
/* Harmless when it does not wait. */
void hl_gate_wait_cancel(struct hl_gate_wait *wait);

#endif
