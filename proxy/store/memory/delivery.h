/* delivery.h - deliveries in memory, and their attempts. The store's thread. */
#ifndef HL_STORE_MEMORY_DELIVERY_H
#define HL_STORE_MEMORY_DELIVERY_H

#include "base/compiler.h"
#include "base/err.h"
#include "store/record.h"

struct hl_attempt;
struct hl_attempt_outcome;
struct hl_driver;
struct hl_leased;
struct hl_memory;
struct hl_memory_run;
struct hl_redeliver;

/* The run is final now: its delivery begins. Nothing changed unless OK. */
HL_MUST_CHECK enum hl_err hl_memory_delivery_begin(
    struct hl_memory *m, struct hl_memory_run *run, int64_t now_ms);
enum hl_err hl_memory_delivery_lease(
    struct hl_driver *d, uint64_t lane, int64_t now_ms, struct hl_leased **out);
enum hl_err hl_memory_delivery_attempt(struct hl_driver *d, struct hl_attempt *a, int64_t now_ms);
enum hl_err hl_memory_delivery_outcome(
    struct hl_driver *d, const struct hl_attempt_outcome *o, int64_t now_ms, bool *is_parked);
enum hl_err hl_memory_delivery_redeliver(
    struct hl_driver *d, struct hl_redeliver *r, unsigned max, int64_t now_ms, bool *is_done);
/* The delivery of a run that has one. */
enum hl_delivery_state hl_memory_delivery_state(const struct hl_memory_run *run);
/* When its round began; it is pending. */
int64_t hl_memory_pending_since(const struct hl_memory_run *run);

/* See driver.h. */
enum hl_err hl_memory_delivery_recall(
    struct hl_driver *d, int64_t now_ms, unsigned max, int64_t *due_ms);
/* What came back for it is forgotten. */
void hl_memory_attempt_strip(struct hl_memory *m, struct hl_attempt_row *attempt);

#endif
