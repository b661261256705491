/* due_run.h - queued runs and deliveries whose time has come: late runs expire, runs whose next
 * attempt is due go into the queue, deliveries due for their next attempt wait no more. The
 * store's thread, inside a transaction. */
#ifndef HL_STORE_SQLITE_DUE_RUN_H
#define HL_STORE_SQLITE_DUE_RUN_H

#include <stdint.h>

#include "base/err.h"

struct hl_driver;

/* See driver.h. */
enum hl_err hl_due_run_expire(struct hl_driver *d, int64_t now_ms, unsigned max, int64_t *due_ms);
enum hl_err hl_due_run_recall(struct hl_driver *d, int64_t now_ms, unsigned max, int64_t *due_ms);

#endif
