/* start_by.h - queued runs that must start by a given time or expire (contract 7). The store's
 * thread, inside a transaction. */
#ifndef HL_STORE_SQLITE_START_BY_H
#define HL_STORE_SQLITE_START_BY_H

#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_database;
struct hl_driver;

/* Of a ticket. 0: it has begun in time, or may at any. */
HL_MUST_CHECK enum hl_err hl_start_by_put(
    struct hl_database *db, int64_t number, int64_t steady_ms);
/* See driver.h. */
enum hl_err hl_start_by_expire(struct hl_driver *d, int64_t now_ms, unsigned max, int64_t *due_ms);

#endif
