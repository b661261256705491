/* flow.h - backpressure from a run's sinks, its caller and its spool, to its app. */
#ifndef HL_RUN_FLOW_H
#define HL_RUN_FLOW_H

struct hl_run;
struct hl_spool_events;

/* Of a run's spool, the owner of which is the run: its room is a sink's. */
extern const struct hl_spool_events hl_flow_spool_events;

/* After each write to a sink: one that lags pauses the app. */
void hl_flow_pause(struct hl_run *run);
/* A sink has room again. */
void hl_flow_resume(struct hl_run *run);

#endif
