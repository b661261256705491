/* time_limit.h - how long a call may wait for its start, and how long it may then be inside the app
 * (contract 14). Thread: its worker's. */
#ifndef HL_RUN_TIME_LIMIT_H
#define HL_RUN_TIME_LIMIT_H

struct hl_run;

/* It begins to wait; a caller that has waited for run->start_timeout_ms is refused. */
void hl_time_limit_wait(struct hl_run *run);
/* It has its slot: run->timeout_ms begins. Again, for the same attempt: it goes on. */
void hl_time_limit_begin(struct hl_run *run);
/* The page is about to be sent: X-Run-Deadline says until when. */
void hl_time_limit_tell(struct hl_run *run);
/* A tunnel has none. */
void hl_time_limit_lift(struct hl_run *run);

#endif
