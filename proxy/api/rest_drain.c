/* rest_drain.c - what is done with the process by a call (contract 7): it is set aside, taken back, stopped; and what is
 * left in it, now or when nothing is.
 * Owns: of a call that waits, its timer. Thread: control.
 * Promise: it is done before it is answered, and told (audit.h) whether or not the store can keep its row; nobody waits for
 * the store.
 * Not here: who may (admin_answer.c, rest_route.c), what it means (control.c). */
#include "api/rest_handler.h"

#include <string.h>

#include "api/audit.h"
#include "api/json.h"
#include "api/start_audit.h"
#include "base/clock.h"
#include "config/config.h"
#include "run/service.h"
#include "worker/left.h"

#define LOOK_MS 50

/* ---- what is left ---- */

static void answer(struct hl_rest_call *call, bool is_done_only)
{
    const struct hl_service *service = hl_rest_get_parts(call)->service;
    struct hl_left left = hl_left_count(service);
    hl_rest_end_json(call, is_done_only && !hl_left_is_done(&left) ? 202 : 200,
        HL_JSON_OBJECT({"draining", json_boolean(atomic_load(&service->is_draining))},
            {"calls", json_integer((json_int_t)left.calls)},
            {"tunnels", json_integer((json_int_t)left.tunnels)},
            {"streams", json_integer((json_int_t)left.streams)},
            {"runs", json_integer((json_int_t)left.runs)},
            {"deliveries", json_integer((json_int_t)left.deliveries)}));
}

static void answer_when_done(struct hl_rest_call *call);

static void on_look(struct hl_timer *timer)
{
    answer_when_done(HL_CONTAINER_OF(timer, struct hl_rest_call, look));
}

/* Counting costs a few loads a worker; whoever asks is no more than the admin listener's connections are. */
static void answer_when_done(struct hl_rest_call *call)
{
    struct hl_left left = hl_left_count(hl_rest_get_parts(call)->service);
    if (hl_left_is_done(&left) || hl_clock_mono_ms() >= call->until_ms)
        answer(call, true);
    else
        hl_timer_arm(&call->all->waits.wheel, &call->look, LOOK_MS);
}

static void wait_for_end(struct hl_rest_call *call)
{
    call->until_ms = hl_clock_mono_ms() + call->params.wait_ms;
    hl_timer_init(&call->look, on_look);
    answer_when_done(call);
}

void hl_rest_answer_drain(struct hl_rest_calls *calls)
{
    HL_LIST_EACH_SAFE (node, &calls->list) {
        struct hl_rest_call *call = HL_CONTAINER_OF(node, struct hl_rest_call, node);
        if (call->until_ms > 0)
            answer(call, true);
    }
}

void hl_rest_show_drain(struct hl_rest_call *call)
{
    if (hl_rest_get_parts(call)->stop)
        wait_for_end(call);
    else
        hl_rest_refuse(call, HL_REFUSAL_DRAIN_NOBODY);
}

/* ---- what is done ---- */

static void tell(struct hl_rest_call *call, enum hl_audit_action action, json_t *detail)
{
    json_t *target = hl_audit_replica_json(hl_rest_get_parts(call));
    *call->audited.project = '\0'; /* all projects share the process */
    struct hl_audit *audit = hl_rest_audit(call, action, target, detail);
    if (audit)
        hl_audit_log(audit);
    (void)hl_rest_ask_audit(call, audit); /* without memory there is the line, or nothing at all */
}

static bool set_aside(struct hl_rest_call *call)
{
    const struct hl_rest_parts *parts = hl_rest_get_parts(call);
    enum hl_err err = parts->stop->set_aside(parts->service);
    if (err == HL_ERR_NOMEM) {
        hl_rest_refuse_memory(call);
        return false;
    }
    if (err == HL_OK)
        tell(call, HL_AUDIT_DRAIN_BEGUN, NULL);
    return true;
}

static void begin_drain(struct hl_rest_call *call)
{
    if (set_aside(call))
        answer(call, false);
}

/* The row of the audit is there, or could not be kept: what waits has begun already. */
static void on_told(struct hl_rest_call *call)
{
    (void)call;
}

static void await_drain(struct hl_rest_call *call)
{
    if (!call->params.has_wait)
        call->params.wait_ms = hl_rest_get_parts(call)->config->drain_timeout_ms;
    if (!set_aside(call))
        return;
    hl_rest_then(call, on_told);
    wait_for_end(call);
}

static void cancel_drain(struct hl_rest_call *call)
{
    const struct hl_rest_parts *parts = hl_rest_get_parts(call);
    enum hl_err err = parts->stop->take_back(parts->service);
    if (err == HL_OK)
        tell(call, HL_AUDIT_DRAIN_CANCELLED, NULL);
    if (err == HL_ERR_CONFLICT)
        hl_rest_refuse(call, HL_REFUSAL_DRAIN_FINAL);
    else if (err == HL_ERR_NOMEM)
        hl_rest_refuse_memory(call);
    else
        answer(call, false);
}

static void quit(struct hl_rest_call *call)
{
    const struct hl_rest_parts *parts = hl_rest_get_parts(call);
    if (parts->stop->quit(parts->service) == HL_OK)
        tell(call, HL_AUDIT_DRAIN_BEGUN, HL_JSON_OBJECT({"call", json_string("quit")}));
    answer(call, false);
}

/* Who asks is known by a row of the store, where a token says so: that is looked for first. */
static void with_author(struct hl_rest_call *call, hl_rest_handler *then)
{
    if (hl_rest_get_parts(call)->stop)
        hl_rest_with_audit(call, HL_REST_AUDITED_NEW, then);
    else
        hl_rest_refuse(call, HL_REFUSAL_DRAIN_NOBODY);
}

void hl_rest_begin_drain(struct hl_rest_call *call)
{
    with_author(call, begin_drain);
}

void hl_rest_await_drain(struct hl_rest_call *call)
{
    with_author(call, await_drain);
}

void hl_rest_cancel_drain(struct hl_rest_call *call)
{
    with_author(call, cancel_drain);
}

void hl_rest_quit(struct hl_rest_call *call)
{
    with_author(call, quit);
}
