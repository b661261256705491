/* use.h - whether somebody uses the app, or wants to: what keeps it from sleeping, and what wakes it (app/sleep.h). */
#ifndef HL_WORKER_USE_H
#define HL_WORKER_USE_H

#include <stdbool.h>
#include <stdint.h>

struct hl_service;

struct hl_app_use {
    const struct hl_service *service;
    uint64_t given;    /* hl_pool_group_given at the last look */
    bool leaves_queue; /* nothing is claimed now: queued runs are not for this app */
};

/* Control thread. The figures are others', and change meanwhile: all of them are exact when the gate is shut, each
 * worker has been told, and hl_app_use_is_settled. */

/* Calls are inside or wait, runs are queued that could start now, or some were inside since the last look. */
bool hl_app_use_look(struct hl_app_use *use);
/* No run is on its way to a worker that was claimed for the app. */
bool hl_app_use_is_settled(const struct hl_app_use *use);
/* Calls wait at the gate, or runs are queued that could start now. */
bool hl_app_use_is_wanted(const struct hl_app_use *use);

#endif
