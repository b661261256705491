/* dispatch.h - runs and deliveries are asked for. The store's thread. */
#ifndef HL_STORE_POSTGRES_DISPATCH_H
#define HL_STORE_POSTGRES_DISPATCH_H

#include <stdint.h>

struct hl_pg_flush;
struct hl_pg_store;
struct hl_store_msg;

/* Adds to a flush what is to be handed out. */
void hl_pg_dispatch_begin(struct hl_pg_store *s, struct hl_pg_flush *f, uint64_t now_ms);
/* After the replies: sends what came of it. */
void hl_pg_dispatch_end(struct hl_pg_store *s, struct hl_pg_flush *f);
/* Nothing came of it: the credit is there again. */
void hl_pg_dispatch_undo(struct hl_pg_store *s, struct hl_pg_flush *f);
/* WITHDRAW: takes it. Answered when no claim is under way: what that brings is before the reply. */
void hl_pg_dispatch_withdraw(struct hl_pg_store *s, struct hl_store_msg *m);
/* When there may be something to hand out (CLOCK_MONOTONIC ms). */
uint64_t hl_pg_dispatch_due_ms(const struct hl_pg_store *s);

#endif
