/* push.c - see push.h. Rows' bytes are the result's: a message has copies. */
#include "store/postgres/push.h"

#include <stdlib.h>

#include "base/clock.h"
#include "store/attempt_log.h"
#include "store/claim.h"
#include "store/message.h"
#include "store/postgres/live.h"
#include "store/postgres/param.h"
#include "store/postgres/row.h"
#include "store/postgres/state.h"

enum hl_err hl_pg_read_claimed(
    struct hl_pg_store *s, struct hl_pg_row *row, struct hl_claimed **out)
{
    struct hl_id run_id;
    char *room;
    hl_pg_id(row, &run_id);
    bool has_run = hl_pg_int(row);
    uint32_t epoch = (uint32_t)hl_pg_int(row), attempt = (uint32_t)hl_pg_int(row);
    bool has_webhook = hl_pg_int(row);
    int64_t created_ms = hl_pg_int(row), timeout_ms = hl_pg_int(row);
    uint32_t max_attempts = (uint32_t)hl_pg_int(row);
    struct hl_str attempt_log = hl_pg_str(row);
    int64_t first_ms = hl_attempt_log_first_ms(attempt_log, hl_clock_steady_ms());
    uint64_t events = hl_attempt_log_events(attempt_log);
    struct hl_str project = hl_pg_str(row), app = hl_pg_str(row), head = hl_pg_str(row);
    struct hl_str bytes;
    if (!has_run)
        return HL_ERR_CORRUPT;
    struct hl_claimed *c =
        hl_store_message_alloc(sizeof(*c), project.n + app.n + head.n, HL_STORE_CLAIMED, &room);
    if (!c)
        return HL_ERR_NOMEM;
    c->run_id = run_id;
    c->epoch = epoch;
    c->attempt = attempt;
    c->has_webhook = has_webhook;
    c->created_ms = created_ms;
    c->terms =
        (struct hl_run_terms){.timeout_ms = (uint64_t)timeout_ms, .max_attempts = max_attempts};
    c->first_ms = first_ms;
    c->events = events;
    c->project = hl_store_message_copy(&room, project);
    c->app = hl_store_message_copy(&room, app);
    c->head.p = room;
    hl_pg_body(row, &c->body, &bytes);
    enum hl_err err = hl_unseal(&s->sealer, "run.head", &run_id, head, room, &c->head.n);
    if (!err)
        err = hl_body_copy(&c->body, bytes);
    if (err)
        hl_claimed_free(c);
    else
        *out = c;
    return err;
}

enum hl_err hl_pg_read_leased(struct hl_pg_store *s, struct hl_pg_row *row, struct hl_leased **out)
{
    struct hl_id delivery_id, run_id;
    hl_pg_id(row, &delivery_id);
    hl_pg_id(row, &run_id);
    int64_t lane = hl_pg_int(row);
    uint32_t round = (uint32_t)hl_pg_int(row), n = (uint32_t)hl_pg_int(row);
    uint32_t max_attempts = (uint32_t)hl_pg_int(row);
    bool is_async = hl_pg_int(row);
    int64_t failing_since_ms = hl_pg_int(row);
    struct hl_str project = hl_pg_str(row), app = hl_pg_str(row), url = hl_pg_str(row);
    struct hl_str secret = hl_pg_str(row), trace = hl_pg_str(row), bytes;
    char *room;
    if (url.n == 0)
        return HL_ERR_CORRUPT;
    struct hl_leased *l = hl_store_message_alloc(
        sizeof(*l), project.n + app.n + url.n + secret.n + trace.n, HL_STORE_LEASED, &room);
    if (!l)
        return HL_ERR_NOMEM;
    l->delivery_id = delivery_id;
    l->run_id = run_id;
    l->lane = (uint64_t)lane;
    l->round = round;
    l->n = n;
    l->max_attempts = max_attempts;
    l->is_async = is_async;
    l->failing_since_ms = failing_since_ms;
    l->project = hl_store_message_copy(&room, project);
    l->app = hl_store_message_copy(&room, app);
    l->traceparent = hl_store_message_copy(&room, trace);
    hl_pg_outcome(row, &l->outcome, &bytes);
    enum hl_err err = hl_unseal_into(&s->sealer, "run.url", &run_id, url, &room, &l->url);
    if (!err)
        err = hl_unseal_into(&s->sealer, "run.secret", &run_id, secret, &room, &l->secret);
    if (!err)
        err = hl_body_copy(&l->outcome.body, bytes);
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
    return hl_cancel_run_push(hl_pg_live_find(&s->live, run_id), run_id, order);
}
