/* uncertain_accept.h - runs that may have been accepted though their callers were refused: taken back. The store's
 * thread. */
#ifndef HL_STORE_POSTGRES_UNCERTAIN_ACCEPT_H
#define HL_STORE_POSTGRES_UNCERTAIN_ACCEPT_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

struct hl_id;
struct hl_pg_transaction;
struct hl_pg_store;

/* Remembers one. False: there are HL_PG_UNCERTAIN_MAX already. */
HL_MUST_CHECK bool hl_pg_uncertain_keep(struct hl_pg_store *s, const struct hl_id *run_id);
/* Adds to a transaction, as its last statement, that all of them are taken back; nothing if there are none. */
void hl_pg_uncertain_add(struct hl_pg_store *s, struct hl_pg_transaction *e);
/* How that transaction ended: its last statement's result, or NULL. */
void hl_pg_uncertain_settle(struct hl_pg_store *s, const PGresult *result);
/* Takes back what was refused while this replica was among the others. */
void hl_pg_uncertain_turn(struct hl_pg_store *s, uint64_t now_ms);

#endif
