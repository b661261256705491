/* answer.c - questions: each is one statement on the reader's connection. The store's thread.
 *
 * A question waits for the server as long as an accept does; then it is UNAVAILABLE. */
#include "store/postgres/thread.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/list.h"
#include "loop/mailbox.h"
#include "store/op.h"
#include "store/operation.h"
#include "store/postgres/bodies.h"
#include "store/postgres/link.h"
#include "store/postgres/op.h"
#include "store/postgres/param.h"
#include "store/postgres/question.h"
#include "store/postgres/row.h"
#include "store/question.h"

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

static const struct hl_pg_question *const questions[] = {
    [HL_STORE_GET_RUN] = &hl_pg_get_run,
    [HL_STORE_LIST_RUNS] = &hl_pg_list_runs,
    [HL_STORE_GET_DELIVERY] = &hl_pg_get_delivery,
    [HL_STORE_LIST_DELIVERIES] = &hl_pg_list_deliveries,
    [HL_STORE_LIST_DESTINATIONS] = &hl_pg_list_destinations,
    [HL_STORE_LIST_APPS] = &hl_pg_list_apps,
    [HL_STORE_LIST_REPLICAS] = &hl_pg_list_replicas,
    [HL_STORE_LIST_ACCOUNTS] = &hl_pg_list_accounts,
    [HL_STORE_GET_SETTINGS] = &hl_pg_get_settings,
    [HL_STORE_GET_ALERTS] = &hl_pg_get_alerts,
    [HL_STORE_LIST_AUDIT] = &hl_pg_list_audit,
    [HL_STORE_OVERVIEW] = &hl_pg_overview,
    [HL_STORE_LIST_ERRORS] = &hl_pg_list_errors,
    [HL_STORE_LIST_JOBS] = &hl_pg_list_jobs,
    [HL_STORE_LIST_JOB_PIECES] = &hl_pg_list_job_pieces,
    [HL_STORE_LIST_KEYS] = &hl_pg_list_keys,
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

/* Of a run's answer or request, of which one is asked for; NULL: there is none, or it is here. */
static struct hl_body *missing_body(struct asking *a)
{
    struct hl_get_run *g = (struct hl_get_run *)a->m;
    if (a->m->msg.type != HL_STORE_GET_RUN)
        return NULL;
    struct hl_body *body =
        g->with_request == HL_ASKED_REQUEST ? &g->request.body : &g->outcome.body;
    bool is_wanted = g->with_body || body == &g->request.body;
    return is_wanted && body->where == HL_BODY_FILE ? body : NULL;
}

static enum hl_err read_rows(
    const struct hl_pg_question *question, struct asking *a, const PGresult *result)
{
    enum hl_err err = hl_operation_open_listing(a->m);
    for (int i = 0; i < PQntuples(result) && !err; i++) {
        struct hl_pg_row row = {.result = result, .row = i};
        err = question->read_row(a->store, a->m, &row);
    }
    return err ? err : hl_operation_close_listing(a->m);
}

static void read_answer(struct asking *a, const PGresult *result)
{
    const struct hl_pg_question *question = questions[a->m->msg.type];
    enum hl_err rc =
        question->read ? question->read(a->store, a->m, result) : read_rows(question, a, result);
    struct hl_body *body = rc ? NULL : missing_body(a);
    if (!body) {
        finish(a, rc);
        return;
    }
    a->file = hl_id_next(&a->store->ids, hl_clock_wall_ms());
    hl_pg_bodies_get(a->store, body, &a->file, on_file, a);
}

static void on_end(struct hl_pg_flight *flight, enum hl_pg_fate fate)
{
    struct asking *a = HL_CONTAINER_OF(flight, struct asking, flight);
    if (fate == HL_PG_COMMITTED) {
        read_answer(a, flight->results[0]);
    } else if (fate == HL_PG_LOST) {
        hl_list_push_back(&a->store->questions, &a->node);
    } else {
        hl_pg_complain(a->store, "store: PostgreSQL refused a query", flight);
        finish(a, HL_ERR_UNAVAILABLE);
    }
}

static void ask(struct asking *a)
{
    struct hl_pg_store *s = a->store;
    hl_pg_flight_init(&a->flight, on_end);
    hl_pg_params_clear(&s->params);
    enum hl_pg_sql query = questions[a->m->msg.type]->bind(s, &s->params, a->m);
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
