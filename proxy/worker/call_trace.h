/* call_trace.h - where in a trace a call stands: what its app is told, what is kept of it, and its spans. */
#ifndef HL_WORKER_CALL_TRACE_H
#define HL_WORKER_CALL_TRACE_H

#include "trace/context.h"

struct hl_client;
struct hl_head;
struct hl_plan;
struct hl_run;
struct hl_worker;

struct hl_call_trace {
    struct hl_str app;  /* the traceparent that goes on; empty: the caller's, as it came */
    struct hl_str kept; /* the one that waits and webhooks follow */
    bool keeps_state;   /* the caller's tracestate goes along with `app` */
    char room[2][HL_TRACEPARENT];
};

/* Decides whether the call is told of; begins its span if so, and that of an app that is called while its
 * caller waits. `trace` may point into the head, and into itself. */
void hl_call_trace_begin(struct hl_call_trace *trace, struct hl_client *c, struct hl_run *run,
    const struct hl_head *head, const struct hl_plan *plan);
/* It is refused, and would have been a call. */
void hl_call_trace_refuse(
    struct hl_client *c, struct hl_worker *w, const struct hl_head *head, const struct hl_id *id);

#endif
