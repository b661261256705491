/* app.h - the ids of apps. The store's thread, inside a transaction. */
#ifndef HL_STORE_SQLITE_APP_H
#define HL_STORE_SQLITE_APP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_database;
struct hl_str;

/* The id of a project's app. NOT_FOUND: it was never named; `adds` makes it. */
HL_MUST_CHECK enum hl_err hl_stored_app_find_id(
    struct hl_database *db, struct hl_str project, struct hl_str name, bool adds, int64_t *app_id);

#endif
