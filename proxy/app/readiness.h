/* readiness.h - whether the app behind us takes calls: a TCP (or unix:) connect, or a 2xx from
 * HOOKLINE_APP_HEALTH_PATH, asked again and again.
 *
 * One good check makes it ready; three bad ones in a row end that, so that one lost packet or one
 * full queue does not. A check that times out and in whose time a call was inside the app says nothing: it may
 * have been busy with that. It also leaves a connection behind in the app's queue, and while the app works those
 * off, a check that times out or is cut says nothing either.
 *
 * Runs on the control thread's loop; the answer is an atomic flag. It decides what /readyz says, and
 * that kept connections are closed when it ends, and whether calls wait because a stranger listens
 * in the place of the app that we started. What else a check means for calls and for queued runs is
 * the gate's (gate.h), which each one is told to. */
#ifndef HL_APP_READINESS_H
#define HL_APP_READINESS_H

#include <stdatomic.h>
#include <uv.h>

#include "app/cause.h"
#include "app/host.h"
#include "app/occupant.h"
#include "app/warmup.h"
#include "loop/wheel.h"

struct hl_config;
struct hl_exchange;
struct hl_pool_group;
struct hl_reader;

#define HL_READINESS_SAID 8

/* A check asks the host's addresses one after the other until one is good. */
struct hl_readiness {
    const struct hl_config *config;
    uv_loop_t *loop;
    struct hl_wheel *wheel;
    struct hl_reader *reader;
    struct hl_pool_group *calls; /* the connections that calls use */
    _Atomic bool is_ready;
    _Atomic(const char *) why;               /* not ready, in words; static */
    bool is_held;                            /* it cannot be: nobody asks */
    struct hl_timer timer;                   /* the next check, or the bound of a probe */
    void (*on_lost)(struct hl_readiness *r); /* it was ready and is not any more; may be NULL */
    void (*on_hung)(struct hl_readiness *r); /* HOOKLINE_APP_RESTART_AFTER; set if that is on */
    void *owner;                             /* on_hung's */
    struct hl_host host;
    unsigned next; /* of its addresses, in the check under way */
    struct hl_exchange
        *probe;             /* under way: does the address take connections, or answer with 2xx? */
    struct hl_cause worst;  /* the most telling in this check */
    bool was_busy;          /* calls were inside when this check began */
    uint64_t given;         /* hl_pool_group_given, then */
    uint32_t gate_check;    /* of hl_gate_begin_check */
    unsigned bad_checks;    /* in a row, while ready */
    uint64_t hurried_at;    /* uv_now; 0: nobody waits */
    uv_timer_t brisk;       /* the next check, where the wheel's tick is too long a time */
    bool has_been_ready;    /* since its start */
    uint64_t bad_since;     /* uv_now; all checks since then were bad; 0: the last was not */
    uint64_t heard;         /* hl_pool_group_heard, then */
    uint64_t excused_until; /* uv_now; what checks left behind may still be in the app's queue */
    uint64_t quiet_until;   /* uv_now; a process of ours that starts needs no line */
    struct hl_occupant occupant;
    struct hl_warmup warmup;
    struct hl_tls_seat *tls; /* of its loop; NULL: the app speaks none. Set before the start */
    const char *said[HL_READINESS_SAID]; /* causes that are in the log since it was last ready */
    unsigned said_count;
    bool is_closing;
};

void hl_readiness_init(struct hl_readiness *r, uv_loop_t *loop, struct hl_wheel *wheel,
    struct hl_reader *reader, const struct hl_config *config, struct hl_pool_group *calls);
/* The first check starts at once. */
void hl_readiness_start(struct hl_readiness *r);
/* The app cannot be ready, and is not asked until the release; `why` is static. For whoever starts
 * and ends the app's process. */
void hl_readiness_hold(struct hl_readiness *r, const char *why);
/* The same for good, without a word in the log: an end in order is nothing to warn of. */
void hl_readiness_end(struct hl_readiness *r, const char *why);
void hl_readiness_release(struct hl_readiness *r, const char *why_not_yet);
/* It sleeps: as a hold, but that is no news, and a warm-up that it has had counts. `why` is static. */
void hl_readiness_rest(struct hl_readiness *r, const char *why);
/* From a rest that ended no process of ours. */
void hl_readiness_resume(struct hl_readiness *r, const char *why_not_yet);
/* Somebody waits for it: until it is ready it is asked often. */
void hl_readiness_hurry(struct hl_readiness *r);
/* While it is held: a process of ours is about to start. Who listens in its place already is not it,
 * and is neither ready nor given calls. */
void hl_readiness_note_occupant(struct hl_readiness *r);
/* The gate (gate.h) has turned: if a call found nobody there, the next check is made at once. */
void hl_readiness_on_gate(struct hl_readiness *r);
void hl_readiness_close(struct hl_readiness *r); /* `r` stays valid until the loop has ended */

/* Any thread. */
static inline bool hl_readiness_is_ready(const struct hl_readiness *r)
{
    return atomic_load_explicit(&r->is_ready, memory_order_acquire);
}

/* Why not, for people. Any thread. */
static inline const char *hl_readiness_why(const struct hl_readiness *r)
{
    return atomic_load_explicit(&r->why, memory_order_relaxed);
}

#endif
