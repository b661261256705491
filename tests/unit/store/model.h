/* model.h - what the store means, without threads, files or transactions: the reference that
 * test_model.c holds all stores to. One array of runs, looked through from the beginning. */
#ifndef HL_TEST_STORE_MODEL_H
#define HL_TEST_STORE_MODEL_H

#include "base/err.h"
#include "base/id.h"
#include "store/record.h"

#define MODEL_MAX_RUNS 2048
#define MODEL_LANES    3
#define MODEL_KEYS     6

enum model_delivery { MODEL_NONE, MODEL_PENDING, MODEL_LEASED, MODEL_OK, MODEL_DEAD };

struct model_run {
    struct hl_id id;
    enum hl_run_state state;
    enum hl_run_reason reason;
    uint32_t epoch, attempt;
    bool is_async, has_webhook, is_cancel_wished;
    bool is_gone; /* purged */
    int request;  /* number of its body */
    int response; /* -1: none is kept */
    int64_t finished_ms;

    unsigned lane;
    enum model_delivery delivery;
    struct hl_id delivery_id; /* known since the first lease */
    uint32_t round, n, max_attempts;
    bool is_open;   /* attempt n has no outcome yet */
    bool is_parked; /* leased, without a place in its lane */
};

struct model {
    struct model_run runs[MODEL_MAX_RUNS]; /* in the order of acceptance */
    size_t n;
    struct model_key {
        struct hl_id run_id;
        uint8_t fingerprint;
        int64_t expires_ms; /* 0: free */
    } keys[MODEL_KEYS];

    uint32_t max_queued, max_pending, per_lane, run_attempts, webhook_attempts;
    int64_t key_ms;
};

/* Each answers what the store must answer and changes what it must change. A run that the model
 * gives out is NULL when there is none. */
struct model_run *model_find(struct model *m, const struct hl_id *id);
/* `key` -1: none. EXISTS: `*existing` is its run. */
enum hl_err model_accept(struct model *m, const struct model_run *run, int key, uint8_t fingerprint,
    int64_t now_ms, struct hl_id *existing);
void model_record(struct model *m, const struct model_run *run);
struct model_run *model_claim(struct model *m); /* the oldest that waits */
enum hl_err model_finish(struct model_run *run, uint32_t epoch, int response, int64_t finished_ms);
enum hl_err model_release(struct model_run *run, uint32_t epoch, int64_t now_ms);
enum hl_err model_cancel(struct model_run *run, int64_t now_ms);
/* May this delivery be leased now? Then it is. */
bool model_lease(struct model *m, struct model_run *run);
enum hl_err model_attempt(struct model_run *run, uint32_t round, uint32_t n);
/* `is_unsent`: ABANDONED, and attempt n was never begun. */
enum hl_err model_outcome(struct model_run *run, uint32_t round, uint32_t n,
    enum hl_attempt_verdict verdict, bool is_unsent, bool parks);
enum hl_err model_redeliver(struct model *m, struct model_run *run);
/* The process ends and the next one takes over. */
void model_restart(struct model *m, int64_t now_ms);

uint64_t model_queued(const struct model *m);
uint64_t model_deliveries(const struct model *m, enum model_delivery state);
/* How many deliveries could be leased now, over all lanes. */
uint32_t model_leasable(const struct model *m);
/* May retention have taken it? */
bool model_may_be_gone(const struct model_run *run, int64_t now_ms, int64_t retention_ms);

#endif
