/* queue.h - requests that wait for a transaction. The store's thread. */
#ifndef HL_STORE_POSTGRES_QUEUE_H
#define HL_STORE_POSTGRES_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct hl_pg_op;
struct hl_pg_store;
struct hl_store_msg;

/* Takes a request. */
void hl_pg_queue_add(struct hl_pg_store *s, struct hl_store_msg *m);
/* One of a transaction, or none: before all others. */
void hl_pg_queue_put_back(struct hl_pg_store *s, struct hl_pg_op *op);
/* Ends what was taken: its request gets `rc`. It may be in a flush. */
void hl_pg_queue_answer(struct hl_pg_store *s, struct hl_pg_op *op, enum hl_err rc);
/* Refuses what has waited too long, for a server that is gone, slow or refuses it: an accept that may have been
 * committed with TIMEOUT. When to look again (CLOCK_MONOTONIC ms); UINT64_MAX: never. */
uint64_t hl_pg_queue_expire(struct hl_pg_store *s, uint64_t now_ms);
/* Answers what waits with UNAVAILABLE, or TIMEOUT as above: the store ends. */
void hl_pg_queue_refuse_all(struct hl_pg_store *s);
/* Nothing waits, for a body's way into the database neither. */
bool hl_pg_queue_is_empty(const struct hl_pg_store *s);

#endif
