/* now.h - GET /v2/now: how the process is doing, and the figures of the last hour, as
 * JSON for the dashboard.
 *
 *   {"now","started_at","version","ready":bool,"problems":[text…],
 *    "current":{"calls_in_flight",…},
 *    "interval_ms":10000,"last":n,
 *    "samples":{"at":[ms since the epoch…],"calls_per_s":[…],…}}
 *
 * Samples are numbered; `?after=n` leaves out those up to n, so that a page that stays open asks for
 * what is new. What is of all replicas is null while they are not known. Figures are of the whole process,
 * for all its projects; no ids, no URLs. */
#ifndef HL_API_NOW_H
#define HL_API_NOW_H

#include "api/endpoint.h"
#include "api/history.h"
#include "api/view.h"
#include "loop/wheel.h"

hl_api_handler hl_now_show;

/* A ring that fills itself. */
struct hl_recorder {
    struct hl_history history;
    struct hl_api_view view;
    struct hl_wheel *wheel;
    struct hl_timer timer;
};

/* Control thread: takes a sample each HL_HISTORY_INTERVAL_MS from now on. Borrows what the view and
 * `wheel` point to, until it is stopped. The view's `history` is set to its own. */
void hl_recorder_start(
    struct hl_recorder *recorder, struct hl_wheel *wheel, struct hl_api_view *view);
/* Before the wheel closes. Does nothing to one that is all zero. */
void hl_recorder_stop(struct hl_recorder *recorder);

#endif
