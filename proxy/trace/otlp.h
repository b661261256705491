/* otlp.h - spans as OTLP has them in JSON (ExportTraceServiceRequest), and what its answer says. Pure. */
#ifndef HL_TRACE_OTLP_H
#define HL_TRACE_OTLP_H

#include "base/buf.h"

struct hl_span;

/* Appends a string with its quotes; what is not UTF-8 in it becomes U+FFFD. */
HL_MUST_CHECK enum hl_err hl_otlp_add_string(struct hl_buf *out, struct hl_str text);
/* {"key":…,"value":{"stringValue":…}} */
HL_MUST_CHECK enum hl_err hl_otlp_add_text(
    struct hl_buf *out, struct hl_str name, struct hl_str text);

/* `resource`: its attributes, with commas between them. */
HL_MUST_CHECK enum hl_err hl_otlp_begin(struct hl_buf *out, struct hl_str resource);
HL_MUST_CHECK enum hl_err hl_otlp_add_span(
    struct hl_buf *out, const struct hl_span *span, bool is_first);
HL_MUST_CHECK enum hl_err hl_otlp_end(struct hl_buf *out);

/* How many spans a good answer did not take (ExportTracePartialSuccess); 0: it says nothing of that. */
uint64_t hl_otlp_read_rejected(struct hl_str answer);

#endif
