/* new_delivery.h - deliveries that begin in this transaction, whose rows are not written yet. The store's thread, inside a
 * transaction. */
#ifndef HL_STORE_SQLITE_NEW_DELIVERY_H
#define HL_STORE_SQLITE_NEW_DELIVERY_H

#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/id.h"

struct hl_database;
struct hl_leased;
struct hl_outcome;

/* Of a run that ends; there is room for one of each of those (hl_run_end_add). `outcome` stays until after the commit. Returns
 * its id. */
struct hl_id hl_new_delivery_add(struct hl_database *db, const struct hl_id *run_id, int64_t app_id,
    uint64_t lane, const struct hl_outcome *outcome);
/* Leases the one whose turn it is in the lane. NOT_FOUND: rows are to be looked at for that. NOMEM: nothing was changed. */
HL_MUST_CHECK enum hl_err hl_new_delivery_lease(
    struct hl_database *db, uint64_t lane, int64_t now_ms, struct hl_leased **out);
/* Their rows; those of their runs are written. */
HL_MUST_CHECK enum hl_err hl_new_delivery_write(struct hl_database *db);
void hl_new_delivery_forget(struct hl_database *db); /* they were written, or rolled back */

#endif
