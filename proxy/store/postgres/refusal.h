/* refusal.h - operations that the server refuses and that may not be dropped for it: they are tried again. The store's
 * thread. */
#ifndef HL_STORE_POSTGRES_REFUSAL_H
#define HL_STORE_POSTGRES_REFUSAL_H

#include "store/postgres/state.h"

/* Before a transaction is filled: which one of each kind that is refused is tried, alone. */
void hl_pg_refusal_choose(struct hl_pg_store *s, uint64_t now_ms);
/* `waits`: it is not the time of one in the queue; then nothing on its subject goes before it. HL_ERR_NOMEM: that cannot
 * be remembered, and nothing behind it may be sent. */
HL_MUST_CHECK enum hl_err hl_pg_refusal_waits(
    struct hl_pg_store *s, struct hl_pg_op *op, uint64_t now_ms, bool *waits);
/* It is back in the queue with no word of the server's about it. */
void hl_pg_refusal_forget(struct hl_pg_store *s, struct hl_pg_op *op);

/* It was sent alone, and refused with that state. What it brings may be gone then. */
void hl_pg_refusal_note(
    struct hl_pg_store *s, struct hl_pg_op *op, const char *sqlstate, uint64_t now_ms);
/* It was committed. */
void hl_pg_refusal_pass(struct hl_pg_store *s, struct hl_pg_op *op);
/* It is answered. */
void hl_pg_refusal_leave(struct hl_pg_store *s, struct hl_pg_op *op);

/* Something waits for the server to take it. */
bool hl_pg_refusal_is_any(const struct hl_pg_store *s);
/* When to look again; UINT64_MAX: nothing is refused. */
uint64_t hl_pg_refusal_due_ms(const struct hl_pg_store *s, uint64_t now_ms);

#endif
