/* run_field.h - the request fields X-Run-*: what a caller asks of one call. A part of making a plan. */
#ifndef HL_ROUTE_RUN_FIELD_H
#define HL_ROUTE_RUN_FIELD_H

#include "base/compiler.h"
#include "http/refusal.h"

struct hl_config;
struct hl_head;
struct hl_plan;

/* Sets the plan's terms but `wait_ms` from the fields and the settings, for what `plan->is_async` says (contract 7). A field that is there twice, is no time or number above zero, or no class, is
 * refused by name; more time than a setting allows counts as that. NONE, or what is wrong. */
HL_MUST_CHECK enum hl_refusal_cause hl_run_fields_read(
    struct hl_plan *plan, const struct hl_head *head, const struct hl_config *config);

#endif
