/* transaction.c - see thread.h. */
#include "store/postgres/thread.h"

#include <stdlib.h>

#include "store/postgres/link.h"
#include "store/postgres/param.h"

struct hl_pg_transaction {
    struct hl_pg_flight flight;
    struct hl_pg_store *store;
    void (*on_end)(struct hl_pg_store *s, const PGresult *result);
};

static void on_flight_end(struct hl_pg_flight *flight, enum hl_pg_fate fate)
{
    struct hl_pg_transaction *e = HL_CONTAINER_OF(flight, struct hl_pg_transaction, flight);
    if (fate == HL_PG_REJECTED)
        hl_pg_complain(e->store, "store: PostgreSQL refused a statement", flight);
    e->store->upkeep.lacks_partition |= flight->lacks_partition;
    if (e->on_end)
        e->on_end(e->store, fate == HL_PG_COMMITTED ? flight->results[flight->n - 1] : NULL);
    free(e);
}

struct hl_pg_transaction *hl_pg_transaction_begin(
    struct hl_pg_store *s, void (*on_end)(struct hl_pg_store *s, const PGresult *result))
{
    struct hl_pg_transaction *e = calloc(1, sizeof(*e));
    if (!e)
        return NULL;
    e->store = s;
    e->on_end = on_end;
    hl_pg_flight_init(&e->flight, on_flight_end);
    hl_pg_params_clear(&s->params);
    return e;
}

void hl_pg_transaction_add(struct hl_pg_transaction *e, enum hl_pg_sql query)
{
    hl_pg_link_add(&e->store->writer, &e->flight, query, &e->store->params);
    hl_pg_params_clear(&e->store->params);
}

bool hl_pg_transaction_send(struct hl_pg_transaction *e)
{
    bool is_sent = hl_pg_link_end(&e->store->writer, &e->flight);
    if (!is_sent)
        free(e);
    return is_sent;
}
