/* retry.h - runs that wait for their next attempt: the rows of `retry`. The store's thread, inside a
 * transaction. */
#ifndef HL_STORE_SQLITE_RETRY_H
#define HL_STORE_SQLITE_RETRY_H

#include <stdbool.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_attempt_entry;
struct hl_database;
struct hl_id;
struct hl_release;
struct hl_stored_run;

/* An attempt has ended that was not the last. */
HL_MUST_CHECK enum hl_err hl_retry_note(
    struct hl_database *db, const struct hl_id *run_id, const struct hl_attempt_entry *ended);
/* The same, and the run waits until the next one is due. */
HL_MUST_CHECK enum hl_err hl_retry_put_off(
    struct hl_database *db, const struct hl_stored_run *run, const struct hl_release *r);
/* It waits no more, if it did. */
HL_MUST_CHECK enum hl_err hl_retry_drop(
    struct hl_database *db, const struct hl_stored_run *run, bool *was_waiting);
/* At open: the backlog learns what waits. */
HL_MUST_CHECK enum hl_err hl_retry_load(struct hl_database *db);

#endif
