/* tracer.h - where spans go: a thread that sends them to a collector, in batches. */
#ifndef HL_TRACE_TRACER_H
#define HL_TRACE_TRACER_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/metric.h"
#include "base/str.h"
#include "trace/context.h"

struct hl_msg;
struct hl_tracer;

struct hl_tracer_counts {
    struct hl_counter sent;    /* spans that the collector has taken */
    struct hl_counter dropped; /* spans that it has not, whatever the reason */
};

/* `*out` is NULL where OpenTelemetry's `variables` name no collector, or turn traces off, or the thread
 * cannot be had, which is logged: it keeps nobody from starting. HL_ERR_NOMEM. */
HL_MUST_CHECK enum hl_err hl_tracer_start(
    struct hl_tracer **out, char *const *variables, struct hl_str service_name);
/* Sends what is there, for at most HL_TRACER_END_MS, and ends the thread. NULL-safe, as are the others. */
#define HL_TRACER_END_MS 2000
void hl_tracer_stop(struct hl_tracer *tracer);
/* Nobody has a span of it any more. */
void hl_tracer_free(struct hl_tracer *tracer);

/* ---- any thread ---- */

/* Whether a call is told of: context.h, hl_sampler_takes. */
bool hl_tracer_samples(
    const struct hl_tracer *tracer, struct hl_str traceparent, const struct hl_id *own);
/* Takes a span (span.h: hl_span_end). It is dropped where too many wait. */
void hl_tracer_take(struct hl_tracer *tracer, struct hl_msg *span);
/* By how much the machine's clock is ahead of the monotonic one: the same for all spans, as long as nobody sets it,
 * so that a span does not begin before its parent for want of the processor between two looks at clocks. */
int64_t hl_tracer_ahead_us(const struct hl_tracer *tracer);
void hl_tracer_note_dropped(struct hl_tracer *tracer);
const struct hl_tracer_counts *hl_tracer_get_counts(const struct hl_tracer *tracer);

#endif
