/* turn.h - queued runs by their turns: the rows of `turn`. The store's thread, inside a transaction. */
#ifndef HL_STORE_SQLITE_TURN_H
#define HL_STORE_SQLITE_TURN_H

#include "base/compiler.h"
#include "base/err.h"
#include "store/backlog.h"

struct hl_database;
struct hl_sql_row;
struct hl_stored_run;

struct hl_turn {
    int64_t number;
    struct hl_queue_place place;
};

/* The first of a class, read at once. Those that have begun since are the first of them, and their rows go at once,
 * too: before the transaction ends. */
#define HL_TURNS_AHEAD 16
struct hl_turns_ahead {
    struct hl_turn turns[HL_TURNS_AHEAD];
    size_t n, n_begun;
};

/* A run waits; the backlog has it already. */
HL_MUST_CHECK enum hl_err hl_turn_put(
    struct hl_database *db, int64_t number, const struct hl_queue_place *place);
/* The same of several. */
HL_MUST_CHECK enum hl_err hl_turn_put_many(
    struct hl_database *db, const struct hl_turn *turns, size_t n);
/* Whose turn it is in its class. NOT_FOUND: nobody's. */
HL_MUST_CHECK enum hl_err hl_turn_next(
    struct hl_database *db, enum hl_priority class, struct hl_turn *turn);
/* A queued run begins, or does not wait any more; the backlog is told. The row of one that begins may
 * go only with hl_turn_write. */
HL_MUST_CHECK enum hl_err hl_turn_start(struct hl_database *db, const struct hl_stored_run *run);
HL_MUST_CHECK enum hl_err hl_turn_drop(struct hl_database *db, const struct hl_stored_run *run);
/* The rows of those that have begun go: before anybody else looks. */
HL_MUST_CHECK enum hl_err hl_turn_write(struct hl_database *db);
void hl_turn_forget_ahead(struct hl_database *db); /* rolled back */
/* The columns class, subject and turn. */
struct hl_queue_place hl_turn_read(struct hl_sql_row *row);

/* At open: the backlog learns what waits. */
HL_MUST_CHECK enum hl_err hl_turn_load(struct hl_database *db);
/* At open, where there are more rows, or fewer, than queued runs: made anew. */
HL_MUST_CHECK enum hl_err hl_turn_mend(struct hl_database *db);

#endif
