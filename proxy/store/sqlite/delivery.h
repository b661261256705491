/* delivery.h - a run's webhook as the store keeps it. The store's thread, inside a transaction. */
#ifndef HL_STORE_SQLITE_DELIVERY_H
#define HL_STORE_SQLITE_DELIVERY_H

#include "base/compiler.h"
#include "base/err.h"
#include "store/record.h"

struct hl_database;
struct hl_driver;
struct hl_id;
struct hl_redeliver;
struct hl_resend;
struct hl_stored_run;

struct hl_stored_delivery {
    uint64_t lane;
    enum hl_delivery_state state;
    uint32_t round, n, max_attempts;
    bool is_leased;
    int64_t due_ms; /* the next attempt is not before; 0: at any time */
};

/* The webhook of a run that ends waits for its first attempt. `outcome` stays until after the commit. */
HL_MUST_CHECK enum hl_err hl_stored_delivery_add(struct hl_database *db, const struct hl_id *run_id,
    const struct hl_stored_run *run, const struct hl_outcome *outcome);
/* `project`: whose it must be; NULL: anybody's. */
HL_MUST_CHECK enum hl_err hl_stored_delivery_find(struct hl_database *db, const struct hl_id *id,
    const char *project, struct hl_stored_delivery *out);
/* Its row; the backlog is the caller's. */
HL_MUST_CHECK enum hl_err hl_stored_delivery_end(
    struct hl_database *db, const struct hl_id *id, enum hl_delivery_state state, int64_t now_ms);
/* Those whose id cannot be read, so that nothing can be done with them: pending deliveries that are
 * leased, or those that are not. */
HL_MUST_CHECK enum hl_err hl_stored_delivery_bury_nameless(
    struct hl_database *db, bool is_leased, int64_t now_ms);

/* See driver.h. */
enum hl_err hl_stored_delivery_redeliver(
    struct hl_driver *d, struct hl_redeliver *r, unsigned max, int64_t now_ms, bool *is_done);
enum hl_err hl_stored_delivery_resend(
    struct hl_driver *d, const struct hl_resend *r, uint64_t lane, int64_t now_ms);

#endif
