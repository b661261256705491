/* forward.h - a run's request half: source ─▶ app. */
#ifndef HL_RUN_FORWARD_H
#define HL_RUN_FORWARD_H

#include "body/source.h"
#include "caller/taker.h"

struct hl_run;

/* Everything known of the request is in the page: takes a slot and a connection, now or later, and
 * sends. */
void hl_forward_begin(struct hl_run *run);

/* What feeds it: a caller, or a stored body. The owner is the run. */
extern const struct hl_taker hl_forward_taker;
extern const struct hl_source_events hl_forward_source_events;

#endif
