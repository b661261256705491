/* lease.h - what is done with a delivery that is leased: its attempts and their outcomes. The
 * store's thread, inside a transaction. */
#ifndef HL_STORE_SQLITE_LEASE_H
#define HL_STORE_SQLITE_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct hl_attempt;
struct hl_attempt_outcome;
struct hl_driver;
struct hl_leased;

/* See driver.h: lease, attempt, outcome. */
enum hl_err hl_lease_take(
    struct hl_driver *d, uint64_t lane, int64_t now_ms, struct hl_leased **out);
enum hl_err hl_lease_attempt(struct hl_driver *d, struct hl_attempt *a, int64_t now_ms);
enum hl_err hl_lease_outcome(
    struct hl_driver *d, const struct hl_attempt_outcome *o, int64_t now_ms, bool *is_parked);

#endif
