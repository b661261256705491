/* run_end.h - how a run ends: its result is written, its ticket goes, its delivery begins. The
 * store's thread, inside a transaction. */
#ifndef HL_STORE_SQLITE_RUN_END_H
#define HL_STORE_SQLITE_RUN_END_H

#include "base/compiler.h"
#include "base/err.h"

struct hl_database;
struct hl_finish;
struct hl_id;
struct hl_outcome;
struct hl_stored_run;

/* Final state, result, delivery; the ticket goes. `run_id` and `outcome` stay until after the
 * commit. `times`: the FINISH that says how long it took; NULL: nobody knows. */
HL_MUST_CHECK enum hl_err hl_run_end_add(struct hl_database *db, const struct hl_id *run_id,
    const struct hl_stored_run *run, const struct hl_outcome *outcome,
    const struct hl_finish *times);
/* Writes the rows that wait for the end of the transaction, those of new runs first: before anybody
 * looks for one of them. */
HL_MUST_CHECK enum hl_err hl_run_end_write(struct hl_database *db);
void hl_run_end_forget(
    struct hl_database *db); /* none waits: they were rolled back, or are wrong */
/* As hl_run_end_add, but written at once, for what does not stay. */
HL_MUST_CHECK enum hl_err hl_run_end_add_at_once(struct hl_database *db, const struct hl_id *run_id,
    const struct hl_stored_run *run, const struct hl_outcome *outcome);
/* A ticket whose run is not there: nothing can be said of it but in the log. */
HL_MUST_CHECK enum hl_err hl_run_end_drop_ticket(
    struct hl_database *db, const struct hl_id *run_id, const struct hl_stored_run *run);

#endif
