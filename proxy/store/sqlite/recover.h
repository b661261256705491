/* recover.h - cleans up what the previous process left behind. At open. */
#ifndef HL_STORE_SQLITE_RECOVER_H
#define HL_STORE_SQLITE_RECOVER_H

#include "base/compiler.h"
#include "base/err.h"

struct hl_database;

/* Releases what an earlier process had claimed and counts what waits. */
HL_MUST_CHECK enum hl_err hl_recover_all(struct hl_database *db);

#endif
