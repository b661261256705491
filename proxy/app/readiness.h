/* readiness.h - whether the app behind us takes calls: a TCP (or unix:) connect, or a 2xx from
 * HOOKLINE_APP_HEALTH_PATH, asked again and again.
 *
 * Runs on the control thread's loop; the answer is an atomic flag. It decides what /readyz says and
 * nothing else: a call always tries the app itself. */
#ifndef HL_APP_READINESS_H
#define HL_APP_READINESS_H

#include <stdatomic.h>
#include <uv.h>

#include "config/config.h"
#include "loop/wheel.h"
#include "net/stream.h"

struct hl_readiness {
    const struct hl_config *config;
    uv_loop_t *loop;
    struct hl_wheel *wheel;
    struct hl_reader *reader;
    _Atomic bool is_ready;
    _Atomic(const char *) why; /* not ready, in words; static */
    bool is_held;              /* it cannot be: nobody asks */
    struct hl_timer timer;     /* the next probe, or the bound of this one */
    uv_getaddrinfo_t *resolving;
    struct hl_probe *probe; /* under way */
    unsigned turn;          /* which of the host's addresses is asked */
    bool is_closing;
};

void hl_readiness_init(struct hl_readiness *r, uv_loop_t *loop, struct hl_wheel *wheel,
    struct hl_reader *reader, const struct hl_config *config);
/* The first probe starts at once. */
void hl_readiness_start(struct hl_readiness *r);
/* The app cannot be ready, and is not asked until the release; `why` is static. For whoever starts
 * and ends the app's process. */
void hl_readiness_hold(struct hl_readiness *r, const char *why);
void hl_readiness_release(struct hl_readiness *r, const char *why_not_yet);
void hl_readiness_close(struct hl_readiness *r); /* `r` stays valid until the loop has ended */

/* Any thread. */
static inline bool hl_readiness_is_ready(const struct hl_readiness *r)
{
    return atomic_load_explicit(&r->is_ready, memory_order_relaxed);
}

/* Why not, for people. Any thread. */
static inline const char *hl_readiness_why(const struct hl_readiness *r)
{
    return atomic_load_explicit(&r->why, memory_order_relaxed);
}

#endif
