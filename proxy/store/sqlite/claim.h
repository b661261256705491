/* claim.h - a queued run becomes running, or goes back to the queue. The store's thread, inside a
 * transaction. */
#ifndef HL_STORE_SQLITE_CLAIM_H
#define HL_STORE_SQLITE_CLAIM_H

#include "base/err.h"
#include "base/priority.h"

struct hl_claimed;
struct hl_driver;
struct hl_release;

/* See driver.h. */
enum hl_err hl_claim_take(
    struct hl_driver *d, enum hl_priority class, int64_t now_ms, struct hl_claimed **out);
enum hl_err hl_claim_release(struct hl_driver *d, struct hl_release *r, int64_t now_ms);

#endif
