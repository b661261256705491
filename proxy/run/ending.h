/* ending.h - all the ways in which a run ends. */
#ifndef HL_RUN_ENDING_H
#define HL_RUN_ENDING_H

#include "store/record.h"

struct hl_refusal;
struct hl_run;

/* The response half is done: gives back slot and connection, counts, ends the spool, tells the
 * store. The client is detached first. Nothing happens to a run that has ENDED. */
void hl_ending_conclude(
    struct hl_run *run, enum hl_run_state state, enum hl_run_reason reason, bool is_reusable);
/* Ends a run before its response is whole: cancelled, cut by a deadline, broken. Tells the caller
 * what can still be told. Nothing happens to a run that has ENDED. */
void hl_ending_fail(struct hl_run *run, enum hl_run_state state, enum hl_run_reason reason,
    const struct hl_refusal *why);
/* Its end was asked for by somebody who may: it is cut off, and a caller who has seen nothing yet is
 * told. */
void hl_ending_cancel(struct hl_run *run);
/* Ends it without a word to the store. The client is detached first. */
void hl_ending_abandon(struct hl_run *run);

/* The app is left while the run goes on. Harmless without a slot. */
void hl_ending_leave_slot(struct hl_run *run);

#endif
