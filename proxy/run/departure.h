/* departure.h - callers who leave while nothing is read from them: reading shows a FIN only behind
 * all bytes that came before it, and those may have to wait (a body for the app, a next request). */
#ifndef HL_RUN_DEPARTURE_H
#define HL_RUN_DEPARTURE_H

#include "run/client.h"

/* Whether nobody waits for the present call any more: its caller has gone, and it is none that goes
 * on without one. One system call: for calls that had to wait. */
bool hl_departure_has_left(const struct hl_client *c);

/* Its reading has been paused inside a call: looks at it every now and then until it is read again.
 * Harmless twice. */
void hl_departure_watch(struct hl_client *c);

void hl_departure_init(struct hl_worker *w);

#endif
