/* departure.h - detects callers who leave while nothing is read from them: a read shows a FIN only
 * after all bytes before it, and those may have to wait (a body for the app, a next request). */
#ifndef HL_CALLER_DEPARTURE_H
#define HL_CALLER_DEPARTURE_H

#include "loop/wheel.h"

struct hl_client;

/* One worker's callers whose reading is paused inside a call. */
struct hl_departures {
    struct hl_list paused; /* by struct hl_client's `paused` */
    struct hl_timer timer;
    struct hl_wheel *wheel;
    void (*on_left)(struct hl_client *c);
};

void hl_departures_init(
    struct hl_departures *departures, struct hl_wheel *wheel, void (*on_left)(struct hl_client *c));

/* Looks every now and then whether this one has left, until it is read again. Harmless twice. */
void hl_departures_watch(struct hl_departures *departures, struct hl_client *c);

/* Whether nobody waits for the present call any more: its caller has gone, and it does not go
 * on without one. One system call: for calls that had to wait. */
bool hl_client_has_left(const struct hl_client *c);

#endif
