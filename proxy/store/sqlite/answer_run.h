/* answer_run.h - one run, or a list of them. The reader's thread, inside a transaction. */
#ifndef HL_STORE_SQLITE_ANSWER_RUN_H
#define HL_STORE_SQLITE_ANSWER_RUN_H

#include "base/compiler.h"
#include "base/err.h"

struct hl_get_run;
struct hl_list_runs;
struct hl_reading;

/* See question.h. Running ones are those that the list has picked. */
HL_MUST_CHECK enum hl_err hl_sqlite_answer_get_run(struct hl_reading *r, struct hl_get_run *g);
HL_MUST_CHECK enum hl_err hl_sqlite_answer_list_runs(struct hl_reading *r, struct hl_list_runs *l);

#endif
