/* context.h - where in a trace something happens: what a traceparent says (W3C Trace Context, level 2).
 * Pure. */
#ifndef HL_TRACE_CONTEXT_H
#define HL_TRACE_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/id.h"
#include "base/str.h"

#define HL_SPAN_ID     8
#define HL_TRACEPARENT 55 /* characters of version 00, without NUL */

#define HL_TRACE_SAMPLED 0x01
#define HL_TRACE_RANDOM  0x02 /* the last 7 bytes of the trace's id are random */

struct hl_trace_context {
    struct hl_id trace_id;
    uint8_t span_id[HL_SPAN_ID];
    uint8_t flags;
};

/* False: that is none, as http/edit.h: hl_is_traceparent has it. Flags that are not known are left out. */
bool hl_trace_context_read(struct hl_str traceparent, struct hl_trace_context *out);
/* Whether its flag says that it is sampled; it is a good one. */
bool hl_traceparent_is_sampled(struct hl_str traceparent);
/* Puts the span and its flags in the place of those of a good one. */
void hl_traceparent_set_span(char *traceparent, const struct hl_trace_context *span);
/* Version 00; no NUL. */
void hl_trace_context_write(const struct hl_trace_context *context, char out[HL_TRACEPARENT]);

static inline bool hl_trace_is_sampled(const struct hl_trace_context *context)
{
    return context->flags & HL_TRACE_SAMPLED;
}

/* ---- which traces are told of: OTEL_TRACES_SAMPLER ---- */

struct hl_sampler {
    bool is_parent_based; /* where there is a parent, what its flag says */
    uint64_t least;       /* else those whose random 56 bits are not below it; 0: all */
};

#define HL_SAMPLER_NONE (UINT64_C(1) << 56) /* no 56 bits are so large */

/* `share` from 0 to 1. */
uint64_t hl_sampler_least(double share);
/* `traceparent`: the caller's, which is good; empty: it sent none, and the trace is `own`. Decides alike wherever
 * the same trace comes by. */
bool hl_sampler_takes(
    const struct hl_sampler *sampler, struct hl_str traceparent, const struct hl_id *own);

#endif
