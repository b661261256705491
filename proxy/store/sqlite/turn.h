/* turn.h - queued runs by their turns: the rows of `turn`. The store's thread, inside a transaction. */
#ifndef HL_STORE_SQLITE_TURN_H
#define HL_STORE_SQLITE_TURN_H

#include "base/compiler.h"
#include "base/err.h"
#include "store/backlog.h"

struct hl_database;
struct hl_sql_row;
struct hl_stored_run;

/* A run waits; the backlog has it already. */
HL_MUST_CHECK enum hl_err hl_turn_put(
    struct hl_database *db, int64_t number, const struct hl_queue_place *place);
/* The same of several. */
struct hl_waiting_run {
    int64_t number;
    const struct hl_queue_place *place;
};
HL_MUST_CHECK enum hl_err hl_turn_put_many(
    struct hl_database *db, const struct hl_waiting_run *runs, size_t n);
/* A queued run begins, or does not wait any more; the backlog is told. */
HL_MUST_CHECK enum hl_err hl_turn_start(struct hl_database *db, const struct hl_stored_run *run);
HL_MUST_CHECK enum hl_err hl_turn_drop(struct hl_database *db, const struct hl_stored_run *run);
/* The columns class, subject and turn. */
struct hl_queue_place hl_turn_read(struct hl_sql_row *row);

/* At open: the backlog learns what waits. */
HL_MUST_CHECK enum hl_err hl_turn_load(struct hl_database *db);
/* At open, where there are more rows, or fewer, than queued runs: made anew. */
HL_MUST_CHECK enum hl_err hl_turn_mend(struct hl_database *db);

#endif
