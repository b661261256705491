/* new_run.h - runs accepted or recorded in this transaction, whose rows are not written yet. The
 * store's thread, inside a transaction. */
#ifndef HL_STORE_SQLITE_NEW_RUN_H
#define HL_STORE_SQLITE_NEW_RUN_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/priority.h"

struct hl_accept;
struct hl_claimed;
struct hl_database;

/* A new run; `accept` stays until after the commit. */
HL_MUST_CHECK enum hl_err hl_new_run_add(
    struct hl_database *db, int64_t app_id, const struct hl_accept *accept);
/* Whether all queued runs are new ones: then hl_new_run_claim hands out the one of that class whose turn
 * it is. NOMEM: nothing was changed. */
bool hl_new_run_is_queue(const struct hl_database *db);
HL_MUST_CHECK enum hl_err hl_new_run_claim(
    struct hl_database *db, enum hl_priority class, int64_t now_ms, struct hl_claimed **out);
/* Their rows; from then on those that have begun are remembered (running_run.h). */
HL_MUST_CHECK enum hl_err hl_new_run_write(struct hl_database *db);
void hl_new_run_forget(struct hl_database *db); /* they were written, or rolled back */

#endif
