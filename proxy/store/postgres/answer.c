/* answer.c - questions: each is one statement on the reader's connection. Of a sealed webhook URL only
 * scheme, host and port leave this file. The store's thread.
 *
 * A question waits for the server as long as an accept does; then it is UNAVAILABLE. */
#include "store/postgres/answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/destination.h"
#include "store/message.h"
#include "store/operation.h"
#include "store/postgres/bodies.h"
#include "store/postgres/meta.h"
#include "store/postgres/push.h"
#include "store/postgres/replicas.h"
#include "store/postgres/reply.h"

#define WAIT_MS 2000

struct asking {
    struct hl_list node; /* in the store's questions, while there is no connection */
    struct hl_pg_flight flight;
    struct hl_pg_store *store;
    struct hl_store_msg *m;
    size_t weight;
    uint64_t posted_ms;
    struct hl_id file; /* the owner of what was got for it */
};

/* --- runs ----------------------------------------------------------------------------------- */

static enum hl_err read_run(
    struct hl_pg_row *from, struct hl_run_row *row, struct hl_outcome *o, struct hl_str *bytes)
{
    *row = (struct hl_run_row){.response_size = -1, .encoding = HL_ENCODING_NONE};
    *o = (struct hl_outcome){0};
    hl_pg_id(from, &row->run_id);
    row->state = (enum hl_run_state)hl_pg_int(from);
    row->is_async = hl_pg_int(from);
    row->has_webhook = hl_pg_int(from);
    row->attempt = (uint32_t)hl_pg_int(from);
    row->created_ms = hl_pg_int(from);
    row->started_ms = hl_pg_int(from);
    row->request_size = hl_pg_int(from);
    row->method = hl_pg_str(from);
    row->path = hl_pg_str(from);
    row->project = hl_pg_str(from);
    row->app = hl_pg_str(from);
    row->replica = hl_pg_str(from);
    row->deliveries_pending = (uint32_t)hl_pg_int(from);
    row->deliveries_ok = (uint32_t)hl_pg_int(from);
    row->deliveries_dead = (uint32_t)hl_pg_int(from);
    hl_pg_outcome(from, o, bytes);
    o->state = row->state;
    if (hl_run_state_is_final(row->state))
        hl_run_row_end(row, o);
    return hl_run_row_keep(row, o);
}

static enum hl_pg_sql bind_get_run(
    const struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_store_msg *m)
{
    const struct hl_get_run *g = (const struct hl_get_run *)m;
    hl_pg_add_id(p, &g->run_id);
    hl_pg_add_int(p, g->with_body);
    hl_pg_add_kept_since(s, p);
    return HL_PG_DO_ASK_RUN;
}

static enum hl_err read_get_run(
    struct hl_pg_store *s, struct hl_store_msg *m, const PGresult *result)
{
    struct hl_get_run *g = (struct hl_get_run *)m;
    struct hl_pg_row row = {.result = result};
    struct hl_str bytes;
    (void)s;
    if (PQntuples(result) == 0)
        return HL_ERR_NOT_FOUND;
    enum hl_err err = read_run(&row, &g->run, &g->outcome, &bytes);
    if (!err && g->with_body)
        err = hl_body_copy(&g->outcome.body, bytes);
    if (!err && (!hl_store_name_fits(g->run.project, g->project) ||
                    !hl_store_name_fits(g->run.app, g->app)))
        err = HL_ERR_NOT_FOUND;
    if (err) {
        hl_get_run_fini(g);
        return err;
    }
    return hl_get_run_check(g);
}

/* From `before` and the time bounds: ids in [from, until). */
static void add_bounds(
    struct hl_pg_params *p, const struct hl_id *before, int64_t since_ms, int64_t until_ms)
{
    struct hl_id until = until_ms ? hl_id_first_at(until_ms) : hl_id_last();
    struct hl_id from = hl_id_first_at(since_ms);
    bool is_before = !hl_id_is_nil(before) && memcmp(before, &until, sizeof(until)) < 0;
    hl_pg_add_id(p, is_before ? before : &until);
    hl_pg_add_id(p, &from);
}

static enum hl_pg_sql bind_list_runs(
    const struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_store_msg *m)
{
    const struct hl_list_runs *l = (const struct hl_list_runs *)m;
    hl_pg_add_str(p, hl_str_from(l->project));
    hl_pg_add_str(p, hl_str_from(l->app));
    hl_pg_add_int(p, l->state);
    hl_pg_add_int(p, l->is_async);
    add_bounds(p, &l->before, l->since_ms, l->until_ms);
    hl_pg_add_int(p, (int64_t)l->limit + 1);
    if (l->state == HL_RUN_QUEUED || l->state == HL_RUN_RUNNING)
        return HL_PG_DO_ASK_TICKETS;
    /* Hidden at once, removed within the hour. */
    hl_pg_add_kept_since(s, p);
    return HL_PG_DO_ASK_RUNS;
}

static enum hl_err read_list_runs(
    struct hl_pg_store *s, struct hl_store_msg *m, const PGresult *result)
{
    struct hl_list_runs *l = (struct hl_list_runs *)m;
    enum hl_err err = HL_OK;
    (void)s;
    l->rows = calloc(l->limit, sizeof(*l->rows));
    if (!l->rows)
        return HL_ERR_NOMEM;
    int n = PQntuples(result);
    l->has_more = n > (int)l->limit;
    for (int i = 0; i < n && l->count < l->limit && !err; i++) {
        struct hl_pg_row row = {.result = result, .row = i};
        struct hl_outcome outcome;
        struct hl_str bytes;
        err = read_run(&row, &l->rows[l->count], &outcome, &bytes);
        l->count += !err;
    }
    if (l->count > 0)
        l->next = l->rows[l->count - 1].run_id;
    return err;
}

/* --- deliveries ----------------------------------------------------------------------------- */

static enum hl_err read_delivery(
    struct hl_pg_store *s, struct hl_pg_row *from, struct hl_delivery_row *row)
{
    char destination[HL_DESTINATION_MAX];
    *row = (struct hl_delivery_row){0};
    hl_pg_id(from, &row->delivery_id);
    hl_pg_id(from, &row->run_id);
    row->state = (enum hl_delivery_state)hl_pg_int(from);
    row->run_state = (enum hl_run_state)hl_pg_int(from);
    row->round = (uint32_t)hl_pg_int(from);
    row->n = (uint32_t)hl_pg_int(from);
    row->max_attempts = (uint32_t)hl_pg_int(from);
    row->created_ms = hl_pg_int(from);
    row->done_ms = hl_pg_int(from);
    row->project = hl_pg_str(from);
    row->app = hl_pg_str(from);
    row->destination =
        hl_destination_unseal(&s->sealer, "run.url", &row->run_id, hl_pg_str(from), destination);
    row->attempt_count = (uint64_t)hl_pg_int(from);
    return hl_delivery_row_keep(row);
}

/* The columns of an attempt begin where those of its delivery end; null: it has none. */
#define ATTEMPT_AT 13

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
    a->round = (uint32_t)hl_pg_int(from);
    a->n = (uint32_t)hl_pg_int(from);
    a->started_ms = hl_pg_int(from);
    a->ended_ms = hl_pg_int(from);
    a->verdict = (enum hl_attempt_verdict)hl_pg_int(from);
    a->http_status = (uint16_t)hl_pg_int(from);
    hl_str_put_cut(a->error, sizeof(a->error), hl_pg_str(from));
    return HL_OK;
}

/* A row for each attempt, those of a delivery behind each other. */
static enum hl_err read_deliveries(struct hl_pg_store *s, const PGresult *result,
    struct hl_delivery_row *rows, size_t max, size_t *count)
{
    enum hl_err err = HL_OK;
    for (int i = 0; i < PQntuples(result) && !err; i++) {
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

static enum hl_pg_sql bind_list_deliveries(
    const struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_store_msg *m)
{
    const struct hl_list_deliveries *l = (const struct hl_list_deliveries *)m;
    hl_pg_add_str(p, hl_str_from(l->project));
    hl_pg_add_str(p, hl_str_from(l->app));
    hl_pg_add_int(p, l->state);
    if (hl_id_is_nil(&l->run_id))
        hl_pg_add_null(p);
    else
        hl_pg_add_id(p, &l->run_id);
    add_bounds(p, &l->before, l->since_ms, l->until_ms);
    hl_pg_add_int(p, (int64_t)l->limit + 1);
    hl_pg_add_null(p);
    hl_pg_add_int(p, l->with_attempts ? HL_ATTEMPTS_SHOWN : 0);
    hl_pg_add_kept_since(s, p);
    return HL_PG_DO_ASK_DELIVERIES;
}

static enum hl_err read_list_deliveries(
    struct hl_pg_store *s, struct hl_store_msg *m, const PGresult *result)
{
    struct hl_list_deliveries *l = (struct hl_list_deliveries *)m;
    l->rows = calloc(l->limit, sizeof(*l->rows));
    if (!l->rows)
        return HL_ERR_NOMEM;
    enum hl_err err = read_deliveries(s, result, l->rows, l->limit, &l->count);
    l->has_more = l->count > l->limit;
    l->count -= l->has_more;
    if (l->count > 0)
        l->next = l->rows[l->count - 1].delivery_id;
    return err;
}

static enum hl_pg_sql bind_get_delivery(
    const struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_store_msg *m)
{
    const struct hl_get_delivery *g = (const struct hl_get_delivery *)m;
    static const struct hl_id none;
    hl_pg_add_str(p, hl_str_from(g->project));
    hl_pg_add_str(p, HL_STR(""));
    hl_pg_add_int(p, -1);
    hl_pg_add_null(p);
    add_bounds(p, &none, 0, 0);
    hl_pg_add_int(p, 1);
    hl_pg_add_id(p, &g->delivery_id);
    hl_pg_add_int(p, HL_ATTEMPTS_SHOWN);
    hl_pg_add_kept_since(s, p);
    return HL_PG_DO_ASK_DELIVERIES;
}

static enum hl_err read_get_delivery(
    struct hl_pg_store *s, struct hl_store_msg *m, const PGresult *result)
{
    struct hl_get_delivery *g = (struct hl_get_delivery *)m;
    size_t count = 0;
    enum hl_err err = read_deliveries(s, result, &g->delivery, 1, &count);
    if (err)
        hl_delivery_row_fini(&g->delivery);
    return err || count > 0 ? err : HL_ERR_NOT_FOUND;
}

/* --- accounts and apps ---------------------------------------------------------------------- */

static enum hl_pg_sql bind_list_accounts(
    const struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_store_msg *m)
{
    (void)s;
    const struct hl_list_accounts *l = (const struct hl_list_accounts *)m;
    hl_pg_add_str(p, hl_str_from(l->project));
    struct hl_id last = hl_id_last();
    hl_pg_add_id(p, hl_id_is_nil(&l->before) ? &last : &l->before);
    hl_pg_add_int(p, (int64_t)l->limit + 1);
    return HL_PG_DO_ASK_ACCOUNTS;
}

static void read_account(struct hl_pg_row *from, struct hl_account *account)
{
    hl_pg_id(from, &account->id);
    hl_str_put_cut(account->project, sizeof(account->project), hl_pg_str(from));
    hl_str_put_cut(account->name, sizeof(account->name), hl_pg_str(from));
    account->role = (enum hl_role)hl_pg_int(from);
    account->created_ms = hl_pg_int(from);
    account->expires_ms = hl_pg_int(from);
    account->revoked_ms = hl_pg_int(from);
    account->last_used_ms = hl_pg_int(from);
}

static enum hl_err read_list_accounts(
    struct hl_pg_store *s, struct hl_store_msg *m, const PGresult *result)
{
    struct hl_list_accounts *l = (struct hl_list_accounts *)m;
    (void)s;
    l->rows = calloc(l->limit, sizeof(*l->rows));
    if (!l->rows)
        return HL_ERR_NOMEM;
    int n = PQntuples(result);
    l->has_more = n > (int)l->limit;
    for (int i = 0; i < n && l->count < l->limit; i++) {
        struct hl_pg_row row = {.result = result, .row = i};
        read_account(&row, &l->rows[l->count++]);
    }
    if (l->count > 0)
        l->next = l->rows[l->count - 1].id;
    return HL_OK;
}

static enum hl_pg_sql bind_list_apps(
    const struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_store_msg *m)
{
    (void)s;
    const struct hl_list_apps *l = (const struct hl_list_apps *)m;
    hl_pg_add_str(p, hl_str_from(l->project));
    hl_pg_add_int(p, HL_LIST_MAX);
    return l->project[0] ? HL_PG_DO_ASK_APPS : HL_PG_DO_ASK_PROJECTS;
}

static enum hl_err read_list_apps(
    struct hl_pg_store *s, struct hl_store_msg *m, const PGresult *result)
{
    struct hl_list_apps *l = (struct hl_list_apps *)m;
    (void)s;
    l->names = calloc(HL_LIST_MAX, sizeof(*l->names));
    if (!l->names)
        return HL_ERR_NOMEM;
    for (int i = 0; i < PQntuples(result) && l->count < HL_LIST_MAX; i++) {
        struct hl_pg_row row = {.result = result, .row = i};
        hl_str_put_cut(l->names[l->count++], sizeof(*l->names), hl_pg_str(&row));
    }
    return HL_OK;
}

static enum hl_pg_sql bind_list_keys(
    const struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_store_msg *m)
{
    (void)s;
    (void)m;
    hl_pg_add_int(p, HL_OLD_KEYS_MAX);
    return HL_PG_DO_ASK_KEYS;
}

static enum hl_err read_list_keys(
    struct hl_pg_store *s, struct hl_store_msg *m, const PGresult *result)
{
    struct hl_list_keys *l = (struct hl_list_keys *)m;
    for (int i = 0; i < PQntuples(result) && l->count < HL_OLD_KEYS_MAX; i++) {
        struct hl_pg_row row = {.result = result, .row = i};
        struct hl_old_key *key = &l->keys[l->count];
        if (hl_pg_open_old_key(s, hl_pg_str(&row), key) == HL_OK)
            l->count++;
        else
            HL_LOG(ERROR, "store: an imported signing key in the database cannot be opened");
    }
    return HL_OK;
}

/* --- asking --------------------------------------------------------------------------------- */

static const struct question {
    enum hl_pg_sql (*bind)(
        const struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_store_msg *m);
    enum hl_err (*read)(struct hl_pg_store *s, struct hl_store_msg *m, const PGresult *result);
} questions[] = {
    [HL_STORE_GET_RUN] = {bind_get_run, read_get_run},
    [HL_STORE_LIST_RUNS] = {bind_list_runs, read_list_runs},
    [HL_STORE_GET_DELIVERY] = {bind_get_delivery, read_get_delivery},
    [HL_STORE_LIST_DELIVERIES] = {bind_list_deliveries, read_list_deliveries},
    [HL_STORE_LIST_APPS] = {bind_list_apps, read_list_apps},
    [HL_STORE_LIST_REPLICAS] = {hl_pg_replicas_bind, hl_pg_replicas_read},
    [HL_STORE_LIST_ACCOUNTS] = {bind_list_accounts, read_list_accounts},
    [HL_STORE_LIST_KEYS] = {bind_list_keys, read_list_keys},
};

static void finish(struct asking *a, enum hl_err rc)
{
    hl_pg_reply(a->store, a->m, a->weight, rc);
    a->store->n_asking--;
    hl_list_remove(&a->node);
    free(a);
}

/* The file is the question's for as long as who asked needs to open it. */
static void on_file(void *self, enum hl_err rc)
{
    struct asking *a = self;
    hl_pg_bodies_drop_later(a->store, &a->file);
    finish(a, rc == HL_ERR_CANCELLED ? HL_ERR_UNAVAILABLE : rc);
}

static bool lacks_file(const struct asking *a)
{
    const struct hl_get_run *g = (const struct hl_get_run *)a->m;
    return a->m->msg.type == HL_STORE_GET_RUN && g->with_body &&
           g->outcome.body.where == HL_BODY_FILE;
}

static void read_answer(struct asking *a, const PGresult *result)
{
    enum hl_err rc = questions[a->m->msg.type].read(a->store, a->m, result);
    if (rc || !lacks_file(a)) {
        finish(a, rc);
        return;
    }
    struct hl_get_run *g = (struct hl_get_run *)a->m;
    a->file = hl_id_next(&a->store->ids, hl_clock_wall_ms());
    hl_pg_bodies_get(a->store, &g->outcome.body, &a->file, on_file, a);
}

static void on_end(struct hl_pg_flight *flight, enum hl_pg_fate fate)
{
    struct asking *a = HL_CONTAINER_OF(flight, struct asking, flight);
    if (fate == HL_PG_COMMITTED) {
        read_answer(a, flight->results[0]);
    } else if (fate == HL_PG_LOST) {
        hl_list_push_back(&a->store->questions, &a->node);
    } else {
        HL_LOG(WARN, "store: PostgreSQL refused a question", HL_LOG_TEXT("why", flight->message),
            HL_LOG_TEXT("sqlstate", flight->sqlstate));
        finish(a, HL_ERR_UNAVAILABLE);
    }
}

static void ask(struct asking *a)
{
    struct hl_pg_store *s = a->store;
    hl_pg_flight_init(&a->flight, on_end);
    hl_pg_params_clear(&s->params);
    enum hl_pg_sql query = questions[a->m->msg.type].bind(s, &s->params, a->m);
    hl_pg_link_add(&s->reader, &a->flight, query, &s->params);
    if (!hl_pg_link_end(&s->reader, &a->flight))
        hl_list_push_back(&s->questions, &a->node);
}

void hl_pg_answer(struct hl_pg_store *s, struct hl_store_msg *m)
{
    struct asking *a = calloc(1, sizeof(*a));
    size_t weight = hl_operation_weigh(m);
    if (!a) {
        hl_pg_reply(s, m, weight, HL_ERR_NOMEM);
        return;
    }
    s->n_asking++;
    a->store = s;
    a->m = m;
    a->weight = weight;
    a->posted_ms = hl_clock_mono_ms();
    hl_list_init(&a->node);
    ask(a);
}

void hl_pg_answer_waiting(struct hl_pg_store *s)
{
    struct hl_list waiting;
    hl_list_init(&waiting);
    while (!hl_list_is_empty(&s->questions)) {
        struct hl_list *node = s->questions.next;
        hl_list_remove(node);
        hl_list_push_back(&waiting, node);
    }
    while (!hl_list_is_empty(&waiting)) {
        struct asking *a = HL_CONTAINER_OF(waiting.next, struct asking, node);
        hl_list_remove(&a->node);
        ask(a);
    }
}

void hl_pg_answer_refuse_all(struct hl_pg_store *s)
{
    while (!hl_list_is_empty(&s->questions))
        finish(HL_CONTAINER_OF(s->questions.next, struct asking, node), HL_ERR_UNAVAILABLE);
}

uint64_t hl_pg_answer_expire(struct hl_pg_store *s, uint64_t now_ms)
{
    while (!hl_list_is_empty(&s->questions)) {
        struct asking *a = HL_CONTAINER_OF(s->questions.next, struct asking, node);
        if (a->posted_ms + WAIT_MS > now_ms)
            return a->posted_ms + WAIT_MS;
        finish(a, HL_ERR_UNAVAILABLE);
    }
    return UINT64_MAX;
}
