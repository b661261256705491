/* report.h - what the store is told of a run that ends, and of a synchronous one with a webhook that
 * begins. */
#ifndef HL_RUN_REPORT_H
#define HL_RUN_REPORT_H

#include <stdbool.h>

#include "base/err.h"

struct hl_accept;
struct hl_finish;
struct hl_run;
struct hl_runs;
struct hl_store;

/* A synchronous run with a webhook, or with a stream that is kept, begins: the store is told, nobody waits. */
void hl_report_begin(struct hl_run *run);
/* The store's answer. Takes it; returns the run whose answer has waited for that, or NULL. */
struct hl_run *hl_report_on_record(struct hl_runs *runs, struct hl_accept *accept);

/* `run->store.finish` is complete: goes to the store. */
void hl_report_end(struct hl_run *run);
/* It does: with what is in the log about it, if it failed. Takes the message. Any thread. */
void hl_report_send(struct hl_store *store, struct hl_finish *f);
/* Whether the store may take later what it has answered so. */
bool hl_report_may_pass(enum hl_err rc);
/* The store's answer to it. */
void hl_report_on_finish(struct hl_runs *runs, struct hl_finish *finish);

#endif
