/* waiting_run.h - queued runs, remembered as their workers will be told of them: one that is claimed soon needs no look
 * at its rows, and its head is not opened, which costs as much as all else that is done for a claim. The rows are the
 * truth: what is not remembered is read. The store's thread. */
#ifndef HL_STORE_SQLITE_WAITING_RUN_H
#define HL_STORE_SQLITE_WAITING_RUN_H

#include <stdbool.h>
#include <stdint.h>

struct hl_accept;
struct hl_claimed;

#define HL_WAITING_RUNS_MAX 2048

struct hl_waiting_run {
    int64_t number, app_id;
    struct hl_claimed *claimed; /* NULL: the place is free */
};

/* Each has its place by its run's number. It keeps it until it is claimed or ends: those before others are claimed
 * first, too. So in a long queue the first ones are known, and what is remembered is of use. */
struct hl_waiting_runs {
    struct hl_waiting_run places[HL_WAITING_RUNS_MAX];
};

/* Whether this one is remembered if it is put: its place is free, and it is not large. */
bool hl_waiting_run_fits(
    struct hl_waiting_runs *runs, int64_t number, const struct hl_accept *accept);
/* Takes over `claimed`, of a run that fits and has not begun yet, as its first claim. */
void hl_waiting_run_put(
    struct hl_waiting_runs *runs, int64_t number, int64_t app_id, struct hl_claimed *claimed);
/* Its claim, which is the caller's then; NULL: it is not remembered. */
struct hl_claimed *hl_waiting_run_take(
    struct hl_waiting_runs *runs, int64_t number, int64_t *app_id);
/* It does not wait any more. */
void hl_waiting_run_drop(struct hl_waiting_runs *runs, int64_t number);
/* All: what was remembered may not be so, after a rollback or on another connection. */
void hl_waiting_run_forget(struct hl_waiting_runs *runs);

#endif
