/* call_span.h - the spans of a run's call of the app: of the wait before it, and of the call. All do nothing for a run
 * that is not sampled. */
#ifndef HL_RUN_CALL_SPAN_H
#define HL_RUN_CALL_SPAN_H

#include "run/run.h"
#include "trace/context.h"

#include "trace/span.h"

/* The call's span, a child of `parent`: it begins when the app is called. NULL: no memory. */
struct hl_span *hl_call_span_new(struct hl_run *run, const struct hl_trace_context *parent);
/* A claimed run, whose head is in its page: the head says whether it is sampled, and names the call from now on. */
void hl_call_span_claim(struct hl_run *run);

void hl_call_span_note_call(struct hl_run *run);
void hl_call_span_note_end(struct hl_run *run, enum hl_run_state state, enum hl_run_reason reason);
void hl_call_span_close(struct hl_run *run);

/* Its request goes out, perhaps not for the first time. */
static inline void hl_call_span_begin(struct hl_run *run)
{
    if (run->trace.call)
        hl_call_span_note_call(run);
}

/* It has ended, and its times are there. */
static inline void hl_call_span_end(
    struct hl_run *run, enum hl_run_state state, enum hl_run_reason reason)
{
    if (run->trace.call)
        hl_call_span_note_end(run, state, reason);
}

/* It goes away: what has ended is told. */
static inline void hl_call_span_leave(struct hl_run *run)
{
    if (run->trace.call)
        hl_call_span_close(run);
}

/* For a log line; NULL: it is not sampled. */
static inline const struct hl_id *hl_run_trace_id(const struct hl_run *run)
{
    return run->trace.call ? &run->trace.call->context.trace_id : NULL;
}

#endif
