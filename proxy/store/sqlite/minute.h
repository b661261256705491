/* minute.h - how runs end, counted by minute and app (tally.h). What a transaction adds waits for its end: then each
 * row that it touches is written once. The store's thread, inside a transaction. */
#ifndef HL_STORE_SQLITE_MINUTE_H
#define HL_STORE_SQLITE_MINUTE_H

#include "base/compiler.h"
#include "base/err.h"

struct hl_database;
struct hl_driver;
struct hl_finish;
struct hl_outcome;
struct hl_stored_run;
struct hl_told_tally;

/* `times` NULL: how long it took is not known. */
HL_MUST_CHECK enum hl_err hl_minute_add_end(struct hl_database *db, const struct hl_stored_run *run,
    const struct hl_outcome *outcome, const struct hl_finish *times);
/* Of calls that have no record here. */
enum hl_err hl_minute_tell(struct hl_driver *d, const struct hl_told_tally *t);

HL_MUST_CHECK enum hl_err hl_minute_write(struct hl_database *db);
void hl_minute_forget(struct hl_database *db); /* rolled back */
void hl_minute_free(struct hl_database *db);

#endif
