/* acceptance.h - an asynchronous call, up to the 202. */
#ifndef HL_RUN_ACCEPTANCE_H
#define HL_RUN_ACCEPTANCE_H

#include "caller/taker.h"

struct hl_accept;
struct hl_run;
struct hl_runs;

/* The body comes by hl_acceptance_taker; `announced`: its length, 0: unknown. */
void hl_acceptance_begin(struct hl_run *run, uint64_t announced);
extern const struct hl_taker hl_acceptance_taker; /* the owner is the run */

/* The store's answer to ACCEPT. */
void hl_acceptance_on_reply(struct hl_runs *runs, struct hl_accept *accept);

#endif
