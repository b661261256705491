/* gather.h - the body of a call that has no slot of the app yet: its first 256 KiB, or all of it. */
#ifndef HL_RUN_GATHER_H
#define HL_RUN_GATHER_H

#include "config/config.h"
#include "run/run.h"
#include "run/runs.h"

struct hl_str;

/* With HOOKLINE_APP_CONCURRENCY a caller who sends slowly, or nothing, must not keep others from the
 * app: the body comes before the slot. */
static inline bool hl_gather_is_needed(const struct hl_run *run)
{
    return run->runs->config->app_concurrency > 0 && run->client && !run->request.is_whole;
}

/* What came stands behind the head in the run's page, framed for the app. False: out of memory. */
HL_MUST_CHECK bool hl_gather_add(struct hl_run *run, struct hl_str data);
HL_MUST_CHECK bool hl_gather_add_end(struct hl_run *run, struct hl_str trailer);
/* The rest may come when the app takes it. */
bool hl_gather_is_enough(const struct hl_run *run);

#endif
