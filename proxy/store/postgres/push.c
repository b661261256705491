/* push.c - see thread.h. Rows' bytes are the result's: a message has copies. */
#include "store/postgres/thread.h"

#include <stdlib.h>

#include "base/clock.h"
#include "store/attempt.h"
#include "store/claim.h"
#include "store/message.h"
#include "store/postgres/run_map.h"
#include "store/postgres/param.h"
#include "store/postgres/row.h"

enum hl_err hl_pg_read_claimed(
    struct hl_pg_store *s, struct hl_pg_row *row, struct hl_claimed **out)
{
    struct hl_claimed claimed = {.first_ms = 0};
    struct hl_str bytes;
    hl_pg_id(row, &claimed.run_id);
    bool has_run = hl_pg_int(row);
    struct hl_str attempt_log = hl_pg_str(row);
    claimed.first_ms = hl_attempt_log_first_ms(attempt_log, hl_clock_steady_ms());
    claimed.events = hl_attempt_log_events(attempt_log);
    claimed.waits_ms = hl_attempt_log_last_ms(attempt_log);
    hl_pg_read_columns(row, &hl_claimed_columns, &claimed);
    hl_pg_body(row, &claimed.body, &bytes);
    if (!has_run || claimed.head.n == 0)
        return HL_ERR_CORRUPT;
    struct hl_claimed *c = NULL;
    enum hl_err err = hl_claimed_new(&claimed, bytes, &c);
    if (!err)
        err = hl_unseal_copy(&s->sealer, "run.head", &c->run_id, claimed.head, &c->head);
    if (err)
        hl_claimed_free(c);
    else
        *out = c;
    return err;
}

enum hl_err hl_pg_read_leased(struct hl_pg_store *s, struct hl_pg_row *row, struct hl_leased **out)
{
    struct hl_leased leased = {.n = 0};
    struct hl_str bytes;
    hl_pg_id(row, &leased.delivery_id);
    hl_pg_id(row, &leased.run_id);
    leased.failing_since_ms = hl_pg_int(row);
    hl_pg_read_columns(row, &hl_leased_columns, &leased);
    hl_pg_outcome(row, &leased.outcome, &bytes);
    if (leased.url.n == 0)
        return HL_ERR_CORRUPT;
    const struct hl_id *run_id = &leased.run_id;
    struct hl_leased *l = NULL;
    enum hl_err err = hl_leased_new(&leased, bytes, &l);
    if (!err)
        err = hl_unseal_copy(&s->sealer, "run.url", run_id, leased.url, &l->url);
    if (!err)
        err = hl_unseal_copy(&s->sealer, "run.secret", run_id, leased.secret, &l->secret);
    if (err)
        hl_leased_free(l);
    else
        *out = l;
    return err;
}

void hl_pg_add_kept_since(const struct hl_pg_store *s, struct hl_pg_params *p)
{
    hl_pg_add_int(p, HL_PG_P_KEPT_SINCE_MS, hl_clock_wall_ms() - (int64_t)s->retention_ms);
}

bool hl_pg_push_cancel(
    struct hl_pg_store *s, const struct hl_id *run_id, struct hl_cancel_run **order)
{
    return hl_cancel_run_push(hl_pg_run_map_find(&s->runs, run_id), run_id, order);
}
