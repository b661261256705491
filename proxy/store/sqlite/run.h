/* run.h - how runs begin and end. The store's thread, inside a transaction. */
#ifndef HL_STORE_SQLITE_RUN_H
#define HL_STORE_SQLITE_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_accept;
struct hl_database;
struct hl_driver;
struct hl_finish;
struct hl_id;
struct hl_run_ref;
struct hl_stored_run;

/* By its rows, those that waited written first. NOT_FOUND: it has none. */
HL_MUST_CHECK enum hl_err hl_stored_run_find(
    struct hl_database *db, const struct hl_id *run_id, struct hl_stored_run *run);

/* See driver.h. */
enum hl_err hl_stored_run_accept(struct hl_driver *d, struct hl_accept *a, struct hl_id *existing);
enum hl_err hl_stored_run_record(struct hl_driver *d, struct hl_accept *a);
enum hl_err hl_stored_run_finish(struct hl_driver *d, struct hl_finish *f);
enum hl_err hl_stored_run_cancel(
    struct hl_driver *d, struct hl_run_ref *ref, int64_t now_ms, bool *is_running);

#endif
