/* uncertain_accept.c - see thread.h.
 *
 * Promise: a run that has not begun is then as if it had never been accepted. One that has begun stays,
 * as does one that another caller was told of by its Idempotency-Key: that was a 202. It is done in the
 * transaction by which this replica is among the others again, before it claims anything; what that
 * transaction became is as unknown as any other's, so it is done again until it is known.
 * Who ends before that takes nothing back. */
#include "store/postgres/thread.h"

#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "store/postgres/param.h"
#include "store/postgres/row.h"

#define AGAIN_MS 250

bool hl_pg_uncertain_keep(struct hl_pg_store *s, const struct hl_id *run_id)
{
    struct hl_pg_uncertain *d = &s->uncertain;
    if (d->n == HL_PG_UNCERTAIN_MAX)
        return false;
    d->ids[d->n++] = *run_id;
    return true;
}

void hl_pg_uncertain_add(struct hl_pg_store *s, struct hl_pg_transaction *e)
{
    struct hl_pg_uncertain *d = &s->uncertain;
    if (d->n == 0 || d->n_sent > 0)
        return;
    d->n_sent = d->n;
    HL_PG_EACH(&s->params, HL_PG_P_RUN_ID, HL_PG_ID, d->n, hl_pg_item_id(&s->params, &d->ids[i]));
    hl_pg_add_int(&s->params, HL_PG_P_KEY_MS, (int64_t)s->idem_ms);
    hl_pg_transaction_add(e, HL_PG_DO_RUN_WITHDRAW);
}

void hl_pg_uncertain_settle(struct hl_pg_store *s, const PGresult *result)
{
    struct hl_pg_uncertain *d = &s->uncertain;
    size_t n = d->n_sent;
    d->n_sent = 0;
    if (!result)
        d->again_ms = hl_clock_mono_ms() + AGAIN_MS;
    if (!result || n == 0)
        return;
    struct hl_pg_row row = {.result = result};
    HL_LOG(WARN, "store: withdrew runs whose acceptance was uncertain",
        HL_LOG_INT("withdrawn", hl_pg_int(&row)), HL_LOG_INT("refused", n));
    d->n -= n;
    memmove(d->ids, d->ids + n, d->n * sizeof(d->ids[0]));
}

void hl_pg_uncertain_turn(struct hl_pg_store *s, uint64_t now_ms)
{
    struct hl_pg_uncertain *d = &s->uncertain;
    if (!hl_pg_is_joined(s) || d->n == 0 || d->n_sent > 0 || now_ms < d->again_ms)
        return;
    struct hl_pg_transaction *e = hl_pg_transaction_begin(s, hl_pg_uncertain_settle);
    if (!e)
        return;
    hl_pg_uncertain_add(s, e);
    if (!hl_pg_transaction_send(e))
        hl_pg_uncertain_settle(s, NULL);
}
