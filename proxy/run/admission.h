/* admission.h - the gate of the app, and a slot of it, for a call: passed and taken at once, waited for,
 * or asked for when enough of the body is here. */
#ifndef HL_RUN_ADMISSION_H
#define HL_RUN_ADMISSION_H

#include <stdbool.h>

#include "base/compiler.h"

struct hl_run;
struct hl_str;

/* run->app.on_admitted is called when it has its slot and the gate is open, perhaps before the return; else
 * it ends: with 429 or 503, or with its caller. A run that has one already is admitted. Its timer is in use until then. */
void hl_admission_begin(struct hl_run *run);

/* With HOOKLINE_APP_CONCURRENCY a caller who sends slowly, or nothing, must not keep others from the app: the
 * body comes before the slot. */
bool hl_admission_needs_body(const struct hl_run *run);
/* The rest may come when the app takes it. */
bool hl_admission_has_enough(const struct hl_run *run);
/* In GATHERING: what comes of the body, and its end. May admit or end the run. */
void hl_admission_add(struct hl_run *run, struct hl_str data);
void hl_admission_add_end(struct hl_run *run, struct hl_str trailer);

/* It has waited for the gate for as long as it may. */
void hl_admission_refuse_at_gate(struct hl_run *run);

/* The run has waited: if its caller has left meanwhile it ends, and the app is not called. */
HL_MUST_CHECK bool hl_admission_ends_without_caller(struct hl_run *run);

#endif
