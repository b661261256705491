/* due.h - what a time says of queued runs: late ones end, those whose next attempt is due go into the queue.
 * And of deliveries that wait for their next attempt. The store's thread, inside a transaction. */
#ifndef HL_STORE_SQLITE_DUE_H
#define HL_STORE_SQLITE_DUE_H

#include <stdint.h>

#include "base/err.h"

struct hl_driver;

/* See driver.h. */
enum hl_err hl_due_expire(struct hl_driver *d, int64_t now_ms, unsigned max, int64_t *due_ms);
enum hl_err hl_due_recall(struct hl_driver *d, int64_t now_ms, unsigned max, int64_t *due_ms);

#endif
