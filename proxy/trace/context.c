/* context.c - traceparents, and which traces are sampled.
 * Thread: any; no state.
 * Not here: whose traceparent goes where (worker/call.c, run/call_span.c, webhook/attempt_span.c). */
#include "trace/context.h"

#include <string.h>

#include "base/base64.h"
#include "http/edit.h"

enum { TRACE_AT = 3, SPAN_AT = 36, FLAGS_AT = 53 };
#define RANDOM 7

static uint8_t digit(char c)
{
    return (uint8_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static void read_hex(const char *p, uint8_t *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)(digit(p[2 * i]) << 4 | digit(p[2 * i + 1]));
}

bool hl_trace_context_read(struct hl_str traceparent, struct hl_trace_context *out)
{
    if (!hl_is_traceparent(traceparent))
        return false;
    read_hex(traceparent.p + TRACE_AT, out->trace_id.b, sizeof(out->trace_id.b));
    read_hex(traceparent.p + SPAN_AT, out->span_id, sizeof(out->span_id));
    read_hex(traceparent.p + FLAGS_AT, &out->flags, 1);
    out->flags &= HL_TRACE_SAMPLED | HL_TRACE_RANDOM;
    return true;
}

bool hl_traceparent_is_sampled(struct hl_str traceparent)
{
    return digit(traceparent.p[FLAGS_AT + 1]) & HL_TRACE_SAMPLED;
}

void hl_traceparent_set_span(char *traceparent, const struct hl_trace_context *span)
{
    hl_hex_write(traceparent + SPAN_AT, span->span_id, sizeof(span->span_id));
    hl_hex_write(traceparent + FLAGS_AT, &span->flags, 1);
}

void hl_trace_context_write(const struct hl_trace_context *context, char out[HL_TRACEPARENT])
{
    memcpy(out, "00-", 3);
    hl_hex_write(out + TRACE_AT, context->trace_id.b, sizeof(context->trace_id.b));
    out[SPAN_AT - 1] = out[FLAGS_AT - 1] = '-';
    hl_hex_write(out + SPAN_AT, context->span_id, sizeof(context->span_id));
    hl_hex_write(out + FLAGS_AT, &context->flags, 1);
}

/* ---- which traces are told of ---- */

uint64_t hl_sampler_least(double share)
{
    return (uint64_t)((1 - share) * (double)HL_SAMPLER_NONE);
}

/* The last 7 bytes are what W3C has be random. (The 8th of a run's id, which is the id of a trace that
 * begins here, is not: two of its bits are the UUID's variant.) */
bool hl_sampler_takes(
    const struct hl_sampler *sampler, struct hl_str traceparent, const struct hl_id *own)
{
    uint8_t said[RANDOM];
    const uint8_t *random = own->b + sizeof(own->b) - RANDOM;
    uint64_t number = 0;
    if (traceparent.n > 0 && sampler->is_parent_based)
        return hl_traceparent_is_sampled(traceparent);
    if (sampler->least == 0 || sampler->least == HL_SAMPLER_NONE)
        return sampler->least == 0;
    if (traceparent.n > 0) {
        read_hex(traceparent.p + SPAN_AT - 1 - 2 * RANDOM, said, RANDOM);
        random = said;
    }
    for (size_t i = 0; i < RANDOM; i++)
        number = number << 8 | random[i];
    return number >= sampler->least;
}
