/* mode.h - what the caller asks of a run: the parameters of the query that are hookline's, and the
 * fields that go with them. A part of making a plan. */
#ifndef HL_ROUTE_MODE_H
#define HL_ROUTE_MODE_H

#include "base/compiler.h"
#include "http/refusal.h"

struct hl_config;
struct hl_head;
struct hl_own_params;
struct hl_plan;
struct hl_plan_scratch;

/* Sets is_async, prefers_async, webhook_url, webhook_secret, idempotency_key, and what run_field.h
 * does. NONE, or what is wrong
 * with the request. `plan->is_websocket` is set already. */
HL_MUST_CHECK enum hl_refusal_cause hl_mode_read(struct hl_plan *plan, const struct hl_head *head,
    const struct hl_own_params *params, const struct hl_config *config,
    struct hl_plan_scratch *scratch);

#endif
