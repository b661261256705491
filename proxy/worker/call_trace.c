/* call_trace.c - the trace of a call, from its head.
 *
 *   caller ─▶ server span ─┬─▶ client span, whose id the app gets           (its caller waits)
 *                          ├─▶ queue span, and client span of each attempt  (asynchronous: run/call_span.c)
 *                          └─▶ client span of each webhook attempt          (webhook/attempt_span.c)
 *
 * What joins them over the queue, a restart and replicas is the traceparent that is stored: with the head of an
 * asynchronous call, and with the webhook. It names the server span. Its flag is what was decided here, so nobody
 * decides again. Without a tracer the caller's traceparent goes on as it came, or one is made whose trace has the
 * run's id.
 * Thread: the worker's. Promise: a call that is not sampled costs a look at its flag, or at its id.
 * Not here: the end of the caller's span (caller/access.c). */
#include "worker/call_trace.h"

#include <string.h>

#include "base/base64.h"
#include "caller/client.h"
#include "http/edit.h"
#include "http/url.h"
#include "route/plan.h"
#include "run/call_span.h"
#include "run/run.h"
#include "run/service.h"
#include "trace/span.h"
#include "trace/tracer.h"
#include "worker/worker.h"

/* `flags`: those that are known. */
static struct hl_str make(
    struct hl_id_source *ids, const struct hl_id *trace, int64_t now_ms, unsigned flags, char *out)
{
    struct hl_id span = hl_id_next(ids, now_ms);
    char hex[2 * sizeof(span.b)]; /* of all of it: sixteen bytes at once cost less than eight */
    hl_hex_write(hex, span.b, sizeof(span.b));
    memcpy(out, "00-", 3);
    hl_hex_write(out + 3, trace->b, 16);
    out[35] = '-';
    memcpy(out + 36, hex + sizeof(hex) / 2, 16);
    memcpy(out + 52, "-0", 2);
    out[54] = (char)('0' + flags);
    return (struct hl_str){out, HL_TRACEPARENT};
}

/* Empty: it sent none, or none that is good. */
static struct hl_str find_traceparent(const struct hl_head *head)
{
    const struct hl_field *field = hl_head_field(head, HL_FIELD_TRACEPARENT);
    bool has_one = field && hl_head_field_count(head, HL_FIELD_TRACEPARENT) == 1 &&
                   hl_is_traceparent(field->value);
    return has_one ? field->value : (struct hl_str){NULL, 0};
}

static void describe_call(
    struct hl_span *span, const struct hl_client *c, const struct hl_head *head)
{
    struct hl_target target;
    struct hl_authority server;
    const struct hl_field *agent = hl_head_find(head, HL_STR("User-Agent"));
    bool has_target = hl_target_split(head->target, &target);
    bool is_run = has_target && hl_str_starts_with(target.path, HL_STR("/v4/"));
    hl_span_add_method(span, head->method, is_run ? "/v4/{project}/{app}/{path}" : "");
    if (is_run)
        hl_span_add_text(span, "http.route", hl_str_from("/v4/{project}/{app}/{path}"));
    hl_span_add_text(span, "url.scheme", c->callers->tls ? HL_STR("https") : HL_STR("http"));
    if (has_target)
        hl_span_add_text(span, "url.path", target.path);
    if (head->host.n > 0 && hl_authority_parse(head->host, &server)) {
        hl_span_add_text(span, "server.address", server.host);
        if (server.has_port)
            hl_span_add_number(span, "server.port", server.port);
    }
    hl_span_add_text(span, "client.address", hl_str_from(c->peer));
    hl_span_add_text(
        span, "network.protocol.version", head->minor > 0 ? HL_STR("1.1") : HL_STR("1.0"));
    if (agent)
        hl_span_add_text(span, "user_agent.original", agent->value);
}

/* The caller's span; NULL: no memory. */
static struct hl_span *begin_span(struct hl_client *c, struct hl_worker *w,
    const struct hl_head *head, struct hl_str caller, const struct hl_id *run_id)
{
    struct hl_trace_context parent = {.trace_id = *run_id};
    if (caller.n > 0 && !hl_trace_context_read(caller, &parent))
        return NULL;
    struct hl_span *span =
        hl_span_begin(w->service->tracer, HL_SPAN_SERVER, &parent, &w->ids, c->begun_us);
    if (!span)
        return NULL;
    describe_call(span, c, head);
    hl_span_add_run(span, run_id);
    hl_span_drop(c->span);
    c->span = span;
    return span;
}

static HL_COLD void begin_sampled(struct hl_call_trace *trace, struct hl_client *c,
    struct hl_run *run, const struct hl_head *head, const struct hl_plan *plan)
{
    struct hl_span *span = begin_span(c, hl_worker_of(c->callers), head, trace->kept, &run->id);
    if (!span)
        return;
    hl_trace_context_write(&span->context, trace->room[0]);
    hl_span_add_tags(span, plan->tags);
    trace->keeps_state = trace->kept.n > 0;
    trace->app = trace->kept = (struct hl_str){trace->room[0], HL_TRACEPARENT};
    if (plan->is_async)
        return;
    struct hl_span *call = hl_call_span_new(run, &span->context);
    if (!call)
        return;
    hl_trace_context_write(&call->context, trace->room[1]);
    trace->app = (struct hl_str){trace->room[1], HL_TRACEPARENT};
}

/* A flag that changes has a span of its own (Trace Context 3.4); that the trace's id is random stays said. A stored
 * head has the field at a place where whoever takes the run up looks first (http/stored_head.c). */
static void begin_unsampled(
    struct hl_call_trace *trace, const struct hl_run *run, const struct hl_plan *plan)
{
    struct hl_str caller = trace->kept;
    trace->keeps_state = caller.n > 0;
    if (caller.n == 0) {
        trace->app = make(run->runs->ids, &run->id, run->times.started_ms, 0, trace->room[0]);
    } else if (hl_traceparent_is_sampled(caller)) {
        struct hl_trace_context context;
        if (!hl_trace_context_read(caller, &context))
            return;
        trace->app = make(run->runs->ids, &context.trace_id, run->times.started_ms,
            context.flags & HL_TRACE_RANDOM, trace->room[0]);
    } else if (plan->is_async) {
        trace->app = caller;
    }
    trace->kept = trace->app.n > 0 ? trace->app : caller;
}

void hl_call_trace_begin(struct hl_call_trace *trace, struct hl_client *c, struct hl_run *run,
    const struct hl_head *head, const struct hl_plan *plan)
{
    const struct hl_tracer *tracer = run->runs->service->tracer;
    trace->kept = find_traceparent(head);
    trace->app = (struct hl_str){NULL, 0};
    trace->keeps_state = false;
    if (tracer && hl_tracer_samples(tracer, trace->kept, &run->id))
        begin_sampled(trace, c, run, head, plan);
    else if (tracer)
        begin_unsampled(trace, run, plan);
    if (trace->kept.n == 0)
        trace->app = trace->kept =
            make(run->runs->ids, &run->id, run->times.started_ms, HL_TRACE_SAMPLED, trace->room[0]);
}

void hl_call_trace_refuse(
    struct hl_client *c, struct hl_worker *w, const struct hl_head *head, const struct hl_id *id)
{
    struct hl_str caller = find_traceparent(head);
    bool is_own = hl_str_starts_with(head->target, HL_STR("/v2/projects/")) ||
                  hl_str_starts_with(head->target, HL_STR("/_hookline/"));
    if (!is_own && hl_tracer_samples(w->service->tracer, caller, id))
        begin_span(c, w, head, caller, id);
}
