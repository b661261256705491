/* tag.h - the rows by which a run is found by its tags: each of them, and its name alone. The store's thread, inside a
 * transaction. */
#ifndef HL_STORE_SQLITE_TAG_H
#define HL_STORE_SQLITE_TAG_H

#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"

struct hl_database;
struct hl_id;

HL_MUST_CHECK enum hl_err hl_stored_tags_add(
    struct hl_database *db, int64_t app_id, struct hl_str tags, const struct hl_id *run_id);
HL_MUST_CHECK enum hl_err hl_stored_tags_drop(
    struct hl_database *db, int64_t app_id, struct hl_str tags, const struct hl_id *run_id);

#endif
