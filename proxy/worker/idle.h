/* idle.h - notices that nothing has been done for HOOKLINE_IDLE_EXIT: for platforms that start a
 * machine for a request and stop it when its process ends. */
#ifndef HL_WORKER_IDLE_H
#define HL_WORKER_IDLE_H

#include "loop/wheel.h"

struct hl_service;

struct hl_idle {
    const struct hl_service *service;
    struct hl_wheel *wheel;
    struct hl_timer timer;
    uint64_t since_ms; /* monotonic: when something was last seen to be done */
    uint64_t ended;    /* runs that had ended by then */
    void (*on_idle)(struct hl_idle *idle);
};

/* Calls `on_idle`, once, when no run was in progress, queued or waiting for delivery, and no bulk work under way, for
 * HOOKLINE_IDLE_EXIT, and it was known; never if that is 0. Health checks, REST and idle connections are not runs.
 * Control thread; borrows all. */
void hl_idle_start(struct hl_idle *idle, const struct hl_service *service, struct hl_wheel *wheel,
    void (*on_idle)(struct hl_idle *idle));
void hl_idle_close(struct hl_idle *idle); /* harmless when it was not started */

#endif
