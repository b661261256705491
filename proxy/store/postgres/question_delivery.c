/* question_delivery.c - what is asked of deliveries and of their destinations. Of sealed webhook URLs a list has what
 * destination.h says. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/str.h"
#include "store/destination.h"
#include "store/key.h"
#include "store/operation.h"
#include "store/postgres/param.h"
#include "store/postgres/question.h"
#include "store/postgres/row.h"
#include "store/postgres/thread.h"
#include "store/question.h"

#define LOOK_BACK_MS 3600000 /* of a destination, what became of its last deliveries */

static enum hl_err read_delivery(
    struct hl_pg_store *s, struct hl_pg_row *from, struct hl_delivery_row *row)
{
    struct hl_receiver receiver;
    *row = (struct hl_delivery_row){0};
    hl_pg_read_columns(from, &hl_delivery_row_columns, row);
    hl_receiver_unseal(&s->sealer, "run.url", &row->run_id, hl_pg_str(from), &receiver);
    (void)hl_pg_str(from); /* the secret */
    row->failing_since_ms = hl_pg_int(from);
    row->is_resent = hl_pg_int(from);
    (void)hl_pg_str(from); /* traceparent */
    row->attempt_count = (uint64_t)hl_pg_int(from);
    return hl_delivery_row_keep(row, &receiver);
}

/* The columns; behind the URL's is the secret's. */
#define URL_AT         12
#define TRACEPARENT_AT 16

/* The columns of an attempt begin where those of its delivery end; null: it has none. */
#define ATTEMPT_AT 18
/* Those of a search behind them. */
#define END_AT 34

/* Null: there is no report, or it was not asked for. */
static enum hl_err read_report(struct hl_pg_row *from, struct hl_attempt_row *a)
{
    if (hl_pg_next_is_null(from))
        return HL_OK;
    struct hl_attempt_report *r = a->report = calloc(1, sizeof(*r));
    if (!r)
        return HL_ERR_NOMEM;
    r->name_us = (int32_t)hl_pg_int(from);
    r->connect_us = (int32_t)hl_pg_int(from);
    r->tls_us = (int32_t)hl_pg_int(from);
    r->first_byte_us = (int32_t)hl_pg_int(from);
    hl_str_put_cut(r->address, sizeof(r->address), hl_pg_str(from));
    hl_str_put_cut(r->content_type, sizeof(r->content_type), hl_pg_str(from));
    struct hl_str body = hl_pg_str(from);
    r->body_n = body.n < sizeof(r->body) ? (uint32_t)body.n : (uint32_t)sizeof(r->body);
    if (r->body_n > 0)
        memcpy(r->body, body.p, r->body_n);
    r->sent_size = (uint64_t)hl_pg_int(from);
    r->retry_after_s = (uint32_t)hl_pg_int(from);
    return HL_OK;
}

static enum hl_err add_attempt(struct hl_pg_row *from, struct hl_delivery_row *row)
{
    from->column = ATTEMPT_AT;
    if (hl_pg_next_is_null(from))
        return HL_OK;
    if (!row->attempts)
        row->attempts = calloc(HL_ATTEMPTS_SHOWN, sizeof(*row->attempts));
    if (!row->attempts)
        return HL_ERR_NOMEM;
    struct hl_attempt_row *a = &row->attempts[row->n_attempts++];
    hl_pg_read_columns(from, &hl_attempt_row_columns, a);
    return read_report(from, a);
}

/* A row for each attempt, those of a delivery behind each other. */
static enum hl_err read_deliveries(struct hl_pg_store *s, const PGresult *result, int n,
    struct hl_delivery_row *rows, size_t max, size_t *count)
{
    enum hl_err err = HL_OK;
    for (int i = 0; i < n && !err; i++) {
        struct hl_pg_row from = {.result = result, .row = i};
        struct hl_id id;
        hl_pg_id(&from, &id);
        from.column = 0;
        bool is_next = *count == 0 || !hl_id_eq(&id, &rows[*count - 1].delivery_id);
        if (is_next && *count == max) {
            ++*count; /* there is more */
            return HL_OK;
        }
        if (is_next)
            err = read_delivery(s, &from, &rows[(*count)++]);
        if (!err)
            err = add_attempt(&from, &rows[*count - 1]);
    }
    return err;
}

static void add_search(
    const struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_list_deliveries *l)
{
    hl_pg_add_int(p, HL_PG_P_LOOKS, HL_SEARCH_RECORDS);
    if (l->destination[0])
        hl_pg_add_int(
            p, HL_PG_P_LANE, (int64_t)hl_key_lane(&s->keys.key, hl_str_from(l->destination)));
    hl_pg_add_int(p, HL_PG_P_STATUS_FROM, l->status.is_set ? l->status.from : -1);
    hl_pg_add_int(p, HL_PG_P_STATUS_TO, l->status.to);
}

static enum hl_pg_sql bind_list_deliveries(
    const struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_store_msg *m)
{
    const struct hl_list_deliveries *l = (const struct hl_list_deliveries *)m;
    hl_pg_add_str(p, HL_PG_P_PROJECT, hl_str_from(l->project));
    hl_pg_add_str(p, HL_PG_P_APP, hl_str_from(l->app));
    hl_pg_add_int(p, HL_PG_P_STATE, l->state);
    if (hl_id_is_nil(&l->run_id))
        hl_pg_add_null(p, HL_PG_P_RUN_ID);
    else
        hl_pg_add_id(p, HL_PG_P_RUN_ID, &l->run_id);
    hl_pg_add_bounds(p, &l->before, l->since_ms, l->until_ms, NULL);
    hl_pg_add_int(p, HL_PG_P_MAX, l->only_counts ? HL_SEARCH_RECORDS : (int64_t)l->limit + 1);
    if (!l->only_counts) {
        hl_pg_add_null(p, HL_PG_P_DELIVERY_ID);
        hl_pg_add_int(p, HL_PG_P_ATTEMPTS, l->with_attempts ? HL_ATTEMPTS_SHOWN : 0);
    }
    hl_pg_add_kept_since(s, p);
    if (!l->destination[0] && !l->status.is_set && !l->only_counts)
        return HL_PG_DO_ASK_DELIVERIES;
    add_search(s, p, l);
    if (l->only_counts)
        return l->destination[0] ? HL_PG_DO_COUNT_LANE : HL_PG_DO_COUNT_DELIVERIES;
    return l->destination[0] ? HL_PG_DO_SEARCH_LANE : HL_PG_DO_SEARCH_DELIVERIES;
}

static void read_count(struct hl_list_deliveries *l, const PGresult *result)
{
    struct hl_pg_row row = {.result = result};
    l->count = (size_t)hl_pg_int(&row);
    l->has_more = hl_pg_int(&row);
}

/* Of a search, the last row may be no delivery, but the end of what was looked at. */
static bool read_end(struct hl_list_deliveries *l, const PGresult *result, int *n)
{
    struct hl_pg_row row = {.result = result, .row = *n - 1, .column = END_AT};
    if (*n == 0 || PQnfields(result) <= END_AT || !hl_pg_int(&row))
        return false;
    hl_pg_id(&row, &l->next);
    --*n;
    return true;
}

static enum hl_err read_list_deliveries(
    struct hl_pg_store *s, struct hl_store_msg *m, const PGresult *result)
{
    struct hl_list_deliveries *l = (struct hl_list_deliveries *)m;
    int n = PQntuples(result);
    if (l->only_counts) {
        read_count(l, result);
        return HL_OK;
    }
    if (hl_operation_open_listing(m) != HL_OK)
        return HL_ERR_NOMEM;
    bool is_cut = read_end(l, result, &n);
    enum hl_err err = read_deliveries(s, result, n, l->rows, l->limit, &l->count);
    bool is_full = l->count > l->limit;
    l->count -= is_full;
    l->has_more = is_cut || is_full;
    if (l->count > 0 && !is_cut)
        l->next = l->rows[l->count - 1].delivery_id;
    return err;
}

static enum hl_pg_sql bind_get_delivery(
    const struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_store_msg *m)
{
    const struct hl_get_delivery *g = (const struct hl_get_delivery *)m;
    static const struct hl_id none;
    hl_pg_add_str(p, HL_PG_P_PROJECT, hl_str_from(g->project));
    hl_pg_add_str(p, HL_PG_P_APP, HL_STR(""));
    hl_pg_add_int(p, HL_PG_P_STATE, -1);
    hl_pg_add_null(p, HL_PG_P_RUN_ID);
    hl_pg_add_bounds(p, &none, 0, 0, NULL);
    hl_pg_add_int(p, HL_PG_P_MAX, 1);
    hl_pg_add_id(p, HL_PG_P_DELIVERY_ID, &g->delivery_id);
    hl_pg_add_int(p, HL_PG_P_ATTEMPTS, HL_ATTEMPTS_SHOWN);
    hl_pg_add_kept_since(s, p);
    return HL_PG_DO_ASK_DELIVERIES;
}

/* Where it goes, and what it is signed with. */
static enum hl_err open_webhook(
    struct hl_pg_store *s, const PGresult *result, struct hl_get_delivery *g)
{
    struct hl_pg_row from = {.result = result, .column = URL_AT};
    const struct hl_id *run_id = &g->delivery.run_id;
    struct hl_str url = hl_pg_str(&from), secret = hl_pg_str(&from);
    enum hl_err err = hl_unseal_append(&s->sealer, "run.url", run_id, url, &g->webhook_url);
    if (!err && secret.n > 0)
        err = hl_unseal_append(&s->sealer, "run.secret", run_id, secret, &g->webhook_secret);
    from.column = TRACEPARENT_AT;
    return err ? err : hl_buf_append_str(&g->traceparent, hl_pg_str(&from));
}

static enum hl_err read_get_delivery(
    struct hl_pg_store *s, struct hl_store_msg *m, const PGresult *result)
{
    struct hl_get_delivery *g = (struct hl_get_delivery *)m;
    size_t count = 0;
    enum hl_err err = read_deliveries(s, result, PQntuples(result), &g->delivery, 1, &count);
    if (!err && count > 0 && g->delivery.destination.n > 0)
        err = open_webhook(s, result, g);
    if (err)
        hl_delivery_row_fini(&g->delivery);
    return err || count > 0 ? err : HL_ERR_NOT_FOUND;
}

const struct hl_pg_question hl_pg_get_delivery = {
    .bind = bind_get_delivery, .read = read_get_delivery};
const struct hl_pg_question hl_pg_list_deliveries = {
    .bind = bind_list_deliveries, .read = read_list_deliveries};

/* --- destinations ---------------------------------------------------------------------------- */

static enum hl_pg_sql bind_list_destinations(
    const struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_store_msg *m)
{
    const struct hl_list_destinations *l = (const struct hl_list_destinations *)m;
    hl_pg_add_str(p, HL_PG_P_PROJECT, hl_str_from(l->project));
    if (l->has_after)
        hl_pg_add_int(p, HL_PG_P_AFTER, (int64_t)l->after);
    else
        hl_pg_add_null(p, HL_PG_P_AFTER);
    hl_pg_add_int(p, HL_PG_P_MAX, (int64_t)l->limit + 1);
    hl_pg_add_int(p, HL_PG_P_LOOKS, HL_DESTINATION_LOOKS);
    hl_pg_add_int(p, HL_PG_P_ATTEMPTS_SINCE_MS, hl_clock_wall_ms() - LOOK_BACK_MS);
    hl_pg_add_kept_since(s, p);
    return HL_PG_DO_ASK_DESTINATIONS;
}

void hl_pg_read_destination(
    struct hl_pg_store *s, struct hl_pg_row *from, struct hl_destination_row *row)
{
    struct hl_id run_id;
    hl_pg_id(from, &run_id);
    struct hl_str written =
        hl_destination_unseal(&s->sealer, "run.url", &run_id, hl_pg_str(from), row->destination);
    row->destination[written.n] = '\0';
    hl_str_put_cut(row->last_error, sizeof(row->last_error), hl_pg_str(from));
    row->lane = (uint64_t)hl_pg_int(from);
    row->pending = (uint64_t)hl_pg_int(from);
    row->dead = (uint64_t)hl_pg_int(from);
    row->oldest_ms = hl_pg_int(from);
    row->failing_since_ms = hl_pg_int(from);
    row->attempts = (uint64_t)hl_pg_int(from);
    row->ok = (uint64_t)hl_pg_int(from);
    row->p95_us = hl_pg_next_is_null(from) ? -1 : 0;
    row->p95_us += hl_pg_int(from);
    row->last_ms = hl_pg_int(from);
    row->last_status = (uint16_t)hl_pg_int(from);
}

static enum hl_err read_destination(
    struct hl_pg_store *s, struct hl_store_msg *m, struct hl_pg_row *from)
{
    struct hl_destination_row *row = HL_LISTING_ADD((struct hl_list_destinations *)m);
    if (row)
        hl_pg_read_destination(s, from, row);
    return HL_OK;
}

const struct hl_pg_question hl_pg_list_destinations = {
    .bind = bind_list_destinations, .read_row = read_destination};
