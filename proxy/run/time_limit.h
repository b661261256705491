/* time_limit.h - how long a call may wait for its start, and how long it may then be inside the app
 * (contract 7). Thread: its worker's. A call without limits costs a look at two fields. */
#ifndef HL_RUN_TIME_LIMIT_H
#define HL_RUN_TIME_LIMIT_H

#include "run/run.h"

void hl_time_limit_arm_wait(struct hl_run *run);
void hl_time_limit_arm(struct hl_run *run);
void hl_time_limit_write(struct hl_run *run);

/* It begins to wait; a caller that has waited for run->terms.start_timeout_ms is refused. */
static inline void hl_time_limit_wait(struct hl_run *run)
{
    if (run->terms.start_timeout_ms > 0)
        hl_time_limit_arm_wait(run);
}

/* It is inside from here on: run->terms.timeout_ms begins. Again, for the same attempt: it goes on. */
static inline void hl_time_limit_begin(struct hl_run *run)
{
    if (run->terms.timeout_ms > 0 || run->terms.start_timeout_ms > 0)
        hl_time_limit_arm(run);
}

/* The page is about to be sent: X-Run-Deadline says until when. */
static inline void hl_time_limit_tell(struct hl_run *run)
{
    if (run->request.page.deadline_at > 0)
        hl_time_limit_write(run);
}

/* It goes on without its caller: no longer than `ms` after its beginning, or inside the app, if it is not
 * there yet. */
void hl_time_limit_leave(struct hl_run *run, uint64_t ms);

/* A tunnel has none. */
static inline void hl_time_limit_lift(struct hl_run *run)
{
    hl_timer_disarm(&run->deadline);
}

#endif
