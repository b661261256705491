/* dispatch.h - claimed runs: the worker's credit with the store, and the calls that come of it. */
#ifndef HL_RUN_DISPATCH_H
#define HL_RUN_DISPATCH_H

#include <stdbool.h>

struct hl_msg;
struct hl_runs;

/* Gives the store its first credit, if the app takes calls. */
void hl_dispatch_start(struct hl_runs *runs);
void hl_dispatch_on_message(struct hl_runs *runs, struct hl_msg *msg);
/* At the end of a loop turn: what has ended in it makes room for others. */
void hl_dispatch_end_turn(struct hl_runs *runs);
/* The gate has turned (app/gate.h): claims begin, or stop; then runs that wait for the app go back to the
 * store. */
void hl_dispatch_on_gate(struct hl_runs *runs);
/* No more claims; runs that wait for the app go back to the store. */
void hl_dispatch_stop(struct hl_runs *runs);
/* runs->is_aside is another: claims end, or begin again. */
void hl_dispatch_set_aside(struct hl_runs *runs);
void hl_dispatch_release_held(struct hl_runs *runs);
/* The worker ends now: runs inside the app go back to the store as if they had not been claimed. */
void hl_dispatch_release_inside(struct hl_runs *runs);
/* Whether nothing waits for memory to be told to the store. */
bool hl_dispatch_is_settled(const struct hl_runs *runs);
/* The worker has ended: what still waits for memory ends as interrupted at the next start. */
void hl_dispatch_forget(struct hl_runs *runs);

#endif
