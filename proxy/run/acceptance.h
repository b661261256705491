/* acceptance.h - an asynchronous call, up to the 202. */
#ifndef HL_RUN_ACCEPTANCE_H
#define HL_RUN_ACCEPTANCE_H

#include "caller/taker.h"
#include "config/choice.h"
#include "store/record.h"

struct hl_accept;
struct hl_config;
struct hl_id;
struct hl_run;
struct hl_runs;

/* The body comes by hl_acceptance_taker; `announced`: its length, 0: unknown. */
void hl_acceptance_begin(struct hl_run *run, uint64_t announced);
extern const struct hl_taker hl_acceptance_taker; /* the owner is the run */

/* The store's answer to ACCEPT. */
void hl_acceptance_on_reply(struct hl_runs *runs, struct hl_accept *accept);

/* Of a field line with its CRLF and NUL. */
#define HL_ACCEPTANCE_LOCATION_MAX (HL_PUBLIC_URL_MAX + 2 * HL_STORE_NAME_MAX + 128)

/* Writes the Location of a 202: where the run is found in the REST interface; with HOOKLINE_PUBLIC_URL it is
 * absolute. Any thread. */
void hl_acceptance_write_location(char out[HL_ACCEPTANCE_LOCATION_MAX],
    const struct hl_config *config, struct hl_str project, struct hl_str app,
    const struct hl_id *run_id);

#endif
