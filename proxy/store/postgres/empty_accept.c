/* empty_accept.c - see thread.h.
 *
 * An accept that is refused may be refused for what is in it, which says nothing of others. One of no run at all needs
 * the same tables and rights, and brings nothing: if that is refused, so is each. It is sent when an accept was, and,
 * while it is refused itself, each second: who is sent no calls for it notices the end of it all the same.
 * Not here: what refuses rows for what they are, a constraint, a policy or a trigger for each row; claims (dispatch.c). */
#include "store/postgres/thread.h"

#include "base/clock.h"
#include "base/log.h"
#include "store/postgres/link.h"
#include "store/postgres/param.h"
#include "store/statement.h"

#define AGAIN_MS 1000

static void on_end(struct hl_pg_flight *flight, enum hl_pg_fate fate)
{
    struct hl_pg_empty_accept *e = HL_CONTAINER_OF(flight, struct hl_pg_empty_accept, flight);
    struct hl_pg_store *s = HL_CONTAINER_OF(e, struct hl_pg_store, empty_accept);
    bool was_refused = e->is_refused;
    /* What passes by itself, a lock above all, is not looked for: each look would wait for it, and ends behind it. */
    e->is_refused = fate == HL_PG_REJECTED && !hl_pg_sqlstate_passes(flight->sqlstate);
    e->trial.is_under_way = false;
    e->trial.due_ms = e->is_refused ? hl_clock_mono_ms() + AGAIN_MS : UINT64_MAX;
    if (e->is_refused)
        hl_pg_complain(s, "store: PostgreSQL refuses all asynchronous calls", flight);
    else if (was_refused && fate == HL_PG_COMMITTED)
        HL_LOG(INFO, "store: PostgreSQL accepts asynchronous calls again");
}

void hl_pg_empty_accept_init(struct hl_pg_store *s)
{
    s->empty_accept.trial.due_ms = UINT64_MAX;
}

void hl_pg_empty_accept_want(struct hl_pg_store *s)
{
    struct hl_pg_repeat *trial = &s->empty_accept.trial;
    if (trial->due_ms == UINT64_MAX && !s->is_guest)
        trial->due_ms = 0;
}

void hl_pg_empty_accept_turn(struct hl_pg_store *s, uint64_t now_ms)
{
    if (now_ms < hl_pg_empty_accept_due_ms(s))
        return;
    struct hl_pg_empty_accept *e = &s->empty_accept;
    const struct hl_statement *statement = &hl_pg_sql_statements[HL_PG_DO_RUN_ADD];
    hl_pg_flight_init(&e->flight, on_end);
    hl_pg_params_clear(&s->params);
    for (size_t i = 0; i < statement->n_params; i++)
        hl_pg_add_null(&s->params, statement->params[i]);
    hl_pg_link_add(&s->writer, &e->flight, HL_PG_DO_RUN_ADD, &s->params);
    e->trial.is_under_way = hl_pg_link_end(&s->writer, &e->flight);
}

uint64_t hl_pg_empty_accept_due_ms(const struct hl_pg_store *s)
{
    bool is_ready = hl_pg_link_is_up(&s->writer) && hl_pg_is_joined(s);
    return is_ready ? hl_pg_repeat_due_ms(&s->empty_accept.trial) : UINT64_MAX;
}
