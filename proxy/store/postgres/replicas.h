/* replicas.h - the question who shares the store, for answer.c. The store's thread. */
#ifndef HL_STORE_POSTGRES_REPLICAS_H
#define HL_STORE_POSTGRES_REPLICAS_H

#include "store/postgres/state.h"

/* Of a struct hl_list_replicas: its statement and parameters, and what the result says. */
enum hl_pg_sql hl_pg_replicas_bind(
    const struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_store_msg *m);
/* HL_ERR_NOMEM. */
enum hl_err hl_pg_replicas_read(
    struct hl_pg_store *s, struct hl_store_msg *m, const PGresult *result);

#endif
