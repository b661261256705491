/* transaction.h - a transaction of the store's own on the writer's connection. The store's thread. */
#ifndef HL_STORE_POSTGRES_TRANSACTION_H
#define HL_STORE_POSTGRES_TRANSACTION_H

#include <libpq-fe.h>
#include <stdbool.h>

#include "store/postgres/statement.h"

struct hl_pg_store;

struct hl_pg_transaction;

/* Empties s->params for its first statement. `on_end` has the last statement's result, or NULL when
 * nothing was committed or nobody knows; it may be NULL itself. NULL: out of memory. */
struct hl_pg_transaction *hl_pg_transaction_begin(
    struct hl_pg_store *s, void (*on_end)(struct hl_pg_store *s, const PGresult *result));
/* A statement with s->params, which are empty again. */
void hl_pg_transaction_add(struct hl_pg_transaction *e, enum hl_pg_sql query);
/* Takes it. False: there is no connection, and `on_end` is not called. */
bool hl_pg_transaction_send(struct hl_pg_transaction *e);

#endif
