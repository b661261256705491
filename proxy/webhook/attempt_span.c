/* attempt_span.c - the span of a webhook's attempt.
 * Thread: the sender's.
 * Promise: of the receiver's URL it has scheme, host and port alone: the rest may be a secret.
 * Not here: what an attempt that was not made is: it has no span (parcel.c drops it). */
#include "webhook/attempt_span.h"

#include "base/clock.h"
#include "http/url.h"
#include "trace/span.h"
#include "trace/tracer.h"
#include "webhook/parcel.h"
#include "webhook/transfer_result.h"

static void describe(struct hl_span *span, const struct hl_parcel *p)
{
    struct hl_url url;
    hl_span_add_method(span, HL_STR("POST"), "webhook");
    if (hl_url_parse(p->leased->url, &url)) {
        hl_span_add_text(span, "url.scheme", url.is_https ? HL_STR("https") : HL_STR("http"));
        hl_span_add_text(span, "server.address", url.host);
        hl_span_add_number(span, "server.port", url.port);
    }
    hl_span_add_run(span, &p->leased->run_id);
    hl_span_add_number(span, "hookline.attempt", p->n);
    hl_span_add_tags(span, p->leased->tags);
    if (p->n > 1)
        hl_span_add_number(span, "http.request.resend_count", (int64_t)p->n - 1);
}

void hl_attempt_span_begin(struct hl_parcel *p, const struct hl_attempt_tracing *tracing)
{
    struct hl_trace_context parent;
    struct hl_str stored = p->leased->traceparent;
    if (!tracing->tracer || !hl_trace_context_read(stored, &parent) ||
        !hl_tracer_samples(tracing->tracer, stored, &parent.trace_id))
        return;
    p->span = hl_span_begin(tracing->tracer, HL_SPAN_CLIENT, &parent, tracing->ids, p->started_us);
    if (!p->span)
        return;
    describe(p->span, p);
    hl_trace_context_write(&p->span->context, p->traceparent);
}

void hl_attempt_span_end(struct hl_parcel *p, const struct hl_transfer_result *result, bool is_good)
{
    if (!p->span)
        return;
    hl_span_add_status(p->span, result->http_status, 400);
    if (!is_good)
        hl_span_fail(p->span, result->http_status > 0 ? HL_STR("not_a_success")
                              : result->is_ours       ? HL_STR("unsent")
                                                      : HL_STR("no_answer"));
    hl_span_end(p->span, hl_clock_mono_us());
    p->span = NULL;
}

const struct hl_id *hl_attempt_trace_id(const struct hl_parcel *p)
{
    return p->span ? &p->span->context.trace_id : NULL;
}
