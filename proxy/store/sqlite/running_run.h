/* running_run.h - runs that have begun, remembered so that ending them needs no read of their rows. The
 * store's thread. */
#ifndef HL_STORE_SQLITE_RUNNING_RUN_H
#define HL_STORE_SQLITE_RUNNING_RUN_H

#include "base/id.h"
#include "store/backlog.h"
#include "store/record.h"

struct hl_database;

/* A run as the store's thread knows it. */
struct hl_stored_run {
    int64_t app_id, number;
    enum hl_run_state state;
    uint32_t epoch, attempt;
    bool is_async, has_webhook, is_cancel_wished;
    bool knows_lane; /* of its webhook, while it is remembered */
    uint64_t lane;
    struct hl_queue_place place; /* hl_stored_run_find and recover.c only */
    bool has_ticket;             /* hl_stored_run_find only */
    bool has_request;            /* in its ticket */
    int64_t started_ms;          /* recover.c only, as the next */
    uint32_t max_attempts;       /* 0: as settings say */
    uint64_t events;             /* the last ordinal of earlier attempts */
    bool has_file;               /* its body is in one */
    struct hl_id file;
    uint64_t file_size;
};

/* The run has begun; out of memory: it is not remembered. */
void hl_running_run_add(
    struct hl_database *db, const struct hl_id *run_id, const struct hl_stored_run *run);
/* What hl_stored_run_find would say, if it is remembered; of a wish to cancel it knows nothing. */
bool hl_running_run_find(const struct hl_database *db, const struct hl_id *run_id, uint32_t epoch,
    struct hl_stored_run *run);
/* It has ended or waits again: it is no longer remembered, if it was. */
void hl_running_run_drop(struct hl_database *db, const struct hl_id *run_id);
/* After a rollback: what was remembered may not be so. */
void hl_running_run_forget(struct hl_database *db);

#endif
