/* attempt_span.h - the span of a webhook's attempt: a client span in the trace of its run. */
#ifndef HL_WEBHOOK_ATTEMPT_SPAN_H
#define HL_WEBHOOK_ATTEMPT_SPAN_H

#include "trace/context.h"

struct hl_id_source;
struct hl_parcel;
struct hl_span;
struct hl_tracer;
struct hl_transfer_result;

/* What spans are made with; the sender's thread's. */
struct hl_attempt_tracing {
    struct hl_tracer *tracer; /* NULL: there are no traces */
    struct hl_id_source *ids;
};

/* The parcel's attempt begins: it gets a span if its run is sampled, and `traceparent` names it. */
void hl_attempt_span_begin(struct hl_parcel *p, const struct hl_attempt_tracing *tracing);
/* Its outcome is known; `is_good`: it was delivered. Harmless where there is no span. */
void hl_attempt_span_end(
    struct hl_parcel *p, const struct hl_transfer_result *result, bool is_good);
/* For a log line; NULL: it is not sampled. */
const struct hl_id *hl_attempt_trace_id(const struct hl_parcel *p);

#endif
