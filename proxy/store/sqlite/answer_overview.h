/* answer_overview.h - OVERVIEW. The reader's thread, inside a transaction. */
#ifndef HL_STORE_SQLITE_ANSWER_OVERVIEW_H
#define HL_STORE_SQLITE_ANSWER_OVERVIEW_H

#include "base/compiler.h"
#include "base/err.h"

struct hl_overview;
struct hl_reading;

HL_MUST_CHECK enum hl_err hl_sqlite_answer_overview(struct hl_reading *r, struct hl_overview *o);

#endif
