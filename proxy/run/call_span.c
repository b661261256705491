/* call_span.c - the spans of a run's call of the app.
 * Owns: the call's span until the run goes. Thread: the worker's.
 * Promise: a call that was not made has no span; a run that waited has one for that, whatever came of it.
 * Not here: the caller's span (worker/call_trace.c). */
#include "run/call_span.h"

#include <stdio.h>

#include "base/clock.h"
#include "config/config.h"
#include "http/stored_head.h"
#include "run/runs.h"
#include "run/service.h"
#include "store/claim.h"
#include "trace/tracer.h"

struct hl_span *hl_call_span_new(struct hl_run *run, const struct hl_trace_context *parent)
{
    struct hl_tracer *tracer = run->runs->service->tracer;
    run->trace.call =
        hl_span_begin(tracer, HL_SPAN_CLIENT, parent, run->runs->ids, run->times.started_us);
    return run->trace.call;
}

void hl_call_span_claim(struct hl_run *run)
{
    const struct hl_tracer *tracer = run->runs->service->tracer;
    struct hl_trace_context parent;
    struct hl_str head = {run->request.page.p, run->store.claimed->head.n};
    struct hl_str found = hl_stored_head_traceparent(head);
    if (!hl_trace_context_read(found, &parent) || !hl_tracer_samples(tracer, found, &run->id) ||
        !hl_call_span_new(run, &parent))
        return;
    hl_traceparent_set_span(run->request.page.p + (found.p - head.p), &run->trace.call->context);
}

/* ---- the wait ---- */

/* Since it was accepted, or since its last attempt; 0: it has not waited. */
static uint64_t waited_us(const struct hl_run *run)
{
    const struct hl_claimed *claimed = run->store.claimed;
    if (!claimed)
        return run->times.queued_us;
    /* Within that millisecond: it did not wait before it was there. */
    int64_t since_ms = 1 + (claimed->waits_ms > 0 ? claimed->waits_ms : claimed->created_ms);
    int64_t ms = hl_clock_wall_ms() - since_ms;
    return ms > 0 ? (uint64_t)ms * 1000 : 1;
}

/* Until now. `reason`: why it was never called; empty: it is. */
static void tell_wait(struct hl_run *run, struct hl_str reason)
{
    const struct hl_span *call = run->trace.call;
    uint64_t us = waited_us(run), now_us = hl_clock_mono_us();
    struct hl_trace_context parent = call->context;
    memcpy(parent.span_id, call->parent, sizeof(parent.span_id));
    struct hl_span *span =
        us > 0 ? hl_span_begin(call->tracer, HL_SPAN_INTERNAL, &parent, run->runs->ids, now_us)
               : NULL;
    if (!span)
        return;
    hl_span_set_age(span, us);
    hl_span_set_name(span, "queue", "");
    hl_span_add_run(span, &run->id);
    if (run->store.claimed)
        hl_span_add_number(span, "hookline.attempt", run->store.claimed->attempt);
    if (reason.n > 0)
        hl_span_fail(span, reason);
    hl_span_end(span, now_us);
}

/* ---- the call ---- */

static struct hl_str take_word(struct hl_str *line)
{
    const char *blank = memchr(line->p, ' ', line->n);
    struct hl_str word = {line->p, blank ? (size_t)(blank - line->p) : 0};
    size_t used = word.n + (blank != NULL);
    *line = (struct hl_str){line->p + used, line->n - used};
    return word;
}

static void describe_app(struct hl_span *span, const struct hl_app_url *app)
{
    hl_span_add_text(span, "url.scheme", app->is_tls ? HL_STR("https") : HL_STR("http"));
    if (app->is_unix) {
        hl_span_add_text(span, "server.address", hl_str_from(app->path));
        return;
    }
    hl_span_add_text(span, "server.address", hl_str_from(app->host));
    hl_span_add_number(span, "server.port", app->port);
}

static void describe_call(struct hl_run *run)
{
    struct hl_span *span = run->trace.call;
    struct hl_str line = {run->request.page.p, run->request.page.n};
    struct hl_str method = take_word(&line), path = take_word(&line);
    const char *query = path.n > 0 ? memchr(path.p, '?', path.n) : NULL;
    if (query)
        path.n = (size_t)(query - path.p);
    hl_span_add_method(span, method, "");
    hl_span_add_text(span, "url.path", path);
    describe_app(span, &run->runs->config->app_url);
    hl_span_add_text(span, "network.protocol.version", HL_STR("1.1"));
    hl_span_add_run(span, &run->id);
    if (run->store.claimed)
        hl_span_add_number(span, "hookline.attempt", run->store.claimed->attempt);
    hl_span_add_tags(span, hl_run_tags(run));
}

void hl_call_span_note_call(struct hl_run *run)
{
    if (run->trace.calls++ > 0)
        return;
    tell_wait(run, HL_STR(""));
    hl_span_set_began(run->trace.call, hl_clock_mono_us());
    describe_call(run);
}

/* What the app did, in a word that is one of few. */
static struct hl_str word_of(enum hl_run_state state, enum hl_run_reason reason)
{
    return hl_str_from(
        reason != HL_REASON_NONE ? hl_run_reason_text(reason) : hl_run_state_text(state));
}

void hl_call_span_note_end(struct hl_run *run, enum hl_run_state state, enum hl_run_reason reason)
{
    struct hl_span *span = run->trace.call;
    bool is_bad = state != HL_RUN_SUCCESS;
    if (run->trace.calls == 0) {
        tell_wait(run, word_of(state, reason));
        return;
    }
    if (run->trace.calls > 1)
        hl_span_add_number(span, "http.request.resend_count", run->trace.calls - 1);
    /* a response that was cut has a good status */
    if (is_bad && run->response.status < 400)
        hl_span_fail(span, word_of(state, reason));
    hl_span_add_status(span, run->response.status, 400);
    run->trace.has_ended = true;
}

void hl_call_span_close(struct hl_run *run)
{
    if (run->trace.has_ended)
        hl_span_end(run->trace.call, run->times.ended_us);
    else
        hl_span_drop(run->trace.call);
    run->trace.call = NULL;
}
