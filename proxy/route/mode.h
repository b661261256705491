/* mode.h - what the caller asks of a run: hookline's own query parameters, and the fields that go
 * with them. A part of making a plan. */
#ifndef HL_ROUTE_MODE_H
#define HL_ROUTE_MODE_H

#include "base/compiler.h"
#include "http/refusal.h"
#include "http/url.h"

struct hl_config;
struct hl_head;
struct hl_plan;
struct hl_plan_scratch;

/* ---- hookline's own parameters in a query ---- */

struct hl_hookline_params {
    struct hl_param async, webhook;
    bool has_async, has_webhook;
};

/* False: one of them is there twice. */
HL_MUST_CHECK bool hl_hookline_params_find(struct hl_str query, struct hl_hookline_params *out);

/* `query` without those that were found in it, each other byte as it is. Returns the length; out
 * has room for query.n. */
size_t hl_hookline_params_cut(
    struct hl_str query, const struct hl_hookline_params *found, char *out);

/* ---- what the caller asks of a run ---- */

/* Sets is_async, prefers_async, webhook_url, webhook_secret, idempotency_key, and what the fields X-Run-* ask for
 * (contract 7). NONE, or what is wrong with the request. `plan->is_websocket` is set already. */
/* Whether a webhook may go there: NONE, or WEBHOOK_FORM, _CREDENTIALS, _PLAIN, _ADDRESS. Names are looked up later. */
HL_MUST_CHECK enum hl_refusal_cause hl_webhook_url_judge(
    struct hl_str url, const struct hl_config *config);
/* Its parts. False: WEBHOOK_FORM, whatever the settings. */
HL_MUST_CHECK bool hl_webhook_url_parse(struct hl_str text, struct hl_url *url);

HL_MUST_CHECK enum hl_refusal_cause hl_mode_read(struct hl_plan *plan, const struct hl_head *head,
    const struct hl_hookline_params *params, const struct hl_config *config,
    struct hl_plan_scratch *scratch);

/* Sets the tags, from all fields X-Run-Tag; there is a field X-Run-*. False: `*why` names the one that is none. */
HL_MUST_CHECK bool hl_mode_read_tags(struct hl_plan *plan, const struct hl_head *head,
    struct hl_plan_scratch *scratch, struct hl_refusal *why);

#endif
