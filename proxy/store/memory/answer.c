/* answer.c - questions about what is in memory. The store's thread: one answer looks at a bounded
 * number of records, and goes on from there when it is asked again. */
#include "store/memory/answer.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/heap.h"
#include "base/id_map.h"
#include "base/list.h"
#include "loop/mailbox.h"
#include "store/attempt_report.h"
#include "store/backlog.h"
#include "store/destination.h"
#include "store/memory/answer_destination.h"
#include "store/memory/answer_overview.h"
#include "store/memory/account.h"
#include "store/memory/delivery.h"
#include "store/memory/memory.h"
#include "store/memory/run.h"
#include "store/op.h"
#include "store/question.h"

#define LOOKS 5000

static bool is_within(const struct hl_id *id, int64_t since_ms, int64_t until_ms)
{
    int64_t ms = hl_id_time_ms(id);
    return ms >= since_ms && (until_ms == 0 || ms < until_ms);
}

/* --- runs ----------------------------------------------------------------------------------- */

static enum hl_err fill_run(struct hl_run_row *row, const struct hl_memory_run *run)
{
    const struct hl_outcome *o = &run->outcome;
    *row = (struct hl_run_row){.run_id = run->id,
        .state = o->state,
        .is_async = run->is_async,
        .has_webhook = run->url.n > 0,
        .attempt = run->attempt,
        .created_ms = run->created_ms,
        .started_ms = run->started_ms,
        .request_size = run->request_size,
        .priority = run->place.class,
        .attempt_log = {run->attempt_log, run->attempt_log_n},
        .next_attempt_ms = run->due_again.place > 0 ? run->due_again.key : 0,
        .response_size = -1,
        .encoding = HL_ENCODING_NONE,
        .project = run->project,
        .app = run->app,
        .method = run->method,
        .path = run->path,
        .identity = run->identity,
        .rerun_of = run->rerun_of};
    if (hl_run_state_is_final(o->state))
        hl_run_row_end(row, o);
    if (run->delivery != HL_MEMORY_NONE) {
        enum hl_delivery_state state = hl_memory_delivery_state(run);
        row->deliveries_pending = state == HL_DELIVERY_PENDING;
        row->deliveries_ok = state == HL_DELIVERY_OK;
        row->deliveries_dead = state == HL_DELIVERY_DEAD;
    }
    return hl_run_row_keep(row, o);
}

static uint64_t place_of(const struct hl_memory *m, const struct hl_memory_run *run)
{
    enum hl_priority class = run->place.class;
    uint64_t waiting[HL_PRIORITIES];
    if (run->in_turn.place == 0)
        return 0;
    for (int i = 0; i < HL_PRIORITIES; i++)
        waiting[i] = m->turns[i].n < HL_PLACE_LOOKS ? m->turns[i].n : HL_PLACE_LOOKS;
    waiting[class] = 1 + hl_heap_count_before(&m->turns[class], &run->in_turn, HL_PLACE_LOOKS);
    return hl_priority_place(waiting, class);
}

static enum hl_err copy_request(const struct hl_memory_run *run, struct hl_get_run *g)
{
    struct hl_kept_request *request = &g->request;
    request->is_there = true;
    enum hl_err err = hl_buf_append_str(&request->head, run->head);
    if (err || g->with_request == HL_ASKED_HEAD)
        return err;
    request->body = run->body;
    err = hl_body_copy(&request->body, (struct hl_str){run->body.bytes, run->body.size});
    if (!err)
        err = hl_buf_append_str(&request->webhook_url, run->url);
    return err ? err : hl_buf_append_str(&request->webhook_secret, run->secret);
}

static enum hl_err get_run(const struct hl_memory *m, struct hl_get_run *g)
{
    const struct hl_memory_run *run = hl_memory_run_find(m, &g->run_id, g->project, g->app);
    if (!run)
        return HL_ERR_NOT_FOUND;
    enum hl_err err = fill_run(&g->run, run);
    if (err)
        return err;
    g->outcome = run->outcome;
    g->outcome.body.bytes = NULL;
    const struct hl_body *body = &run->outcome.body;
    if (g->with_body)
        err = hl_body_copy(&g->outcome.body, (struct hl_str){body->bytes, body->size});
    if (!err && g->range_max > 0 && body->where == HL_BODY_INLINE && g->range_from < body->size) {
        uint64_t left = body->size - g->range_from;
        err = hl_buf_append(&g->range, body->bytes + g->range_from,
            left < g->range_max ? (size_t)left : g->range_max);
    }
    if (g->with_place)
        g->place = place_of(m, run);
    if (!err && g->with_log)
        err = hl_buf_append_str(&g->log, hl_buf_str(&run->log));
    if (!err && g->with_request != HL_ASKED_NO_REQUEST && run->has_request)
        err = copy_request(run, g);
    if (err)
        hl_get_run_fini(g);
    return err;
}

/* False: the page is full, and this one begins the next. */
static bool visit_run(
    struct hl_list_runs *l, const struct hl_memory_run *run, unsigned *looks, enum hl_err *err)
{
    if (l->count == l->limit || (*looks)++ == LOOKS) {
        l->has_more = true;
        return false;
    }
    l->next = run->id;
    if ((l->state >= 0 && run->outcome.state != (enum hl_run_state)l->state) ||
        (l->is_async >= 0 && run->is_async != l->is_async) ||
        !hl_store_name_fits(run->project, l->project) || !hl_store_name_fits(run->app, l->app) ||
        !is_within(&run->id, l->since_ms, l->until_ms))
        return true;
    struct hl_run_row *row = &l->rows[l->count];
    *err = fill_run(row, run);
    if (!*err && !hl_run_search_fits_row(&l->search, row))
        hl_run_row_fini(row);
    else
        l->count += !*err;
    return !*err;
}

static int compare_down(const void *a, const void *b)
{
    return memcmp(b, a, sizeof(struct hl_id));
}

/* What workers have is known to the engine: no walk over what waits. */
static enum hl_err list_picked(const struct hl_memory *m, struct hl_list_runs *l)
{
    enum hl_err err = HL_OK;
    unsigned looks = 0;
    qsort(l->picked, l->n_picked, sizeof(*l->picked), compare_down);
    for (size_t i = 0; i < l->n_picked; i++) {
        const struct hl_memory_run *run = hl_id_map_find(&m->runs, &l->picked[i]);
        bool is_later =
            !hl_id_is_nil(&l->before) && memcmp(&l->picked[i], &l->before, sizeof(l->before)) >= 0;
        if (run && !is_later && !visit_run(l, run, &looks, &err))
            break;
    }
    return err;
}

/* The newest one that is older than `before`. */
static struct hl_list *begin_at(const struct hl_memory *m, const struct hl_id *before)
{
    struct hl_list *node = m->known.prev;
    if (hl_id_is_nil(before))
        return node;
    struct hl_memory_run *there = hl_id_map_find(&m->runs, before);
    if (there)
        return there->known.prev;
    while (node != &m->known && memcmp(&HL_CONTAINER_OF(node, struct hl_memory_run, known)->id,
                                    before, sizeof(*before)) >= 0)
        node = node->prev;
    return node;
}

static enum hl_err list_runs(const struct hl_memory *m, struct hl_list_runs *l)
{
    enum hl_err err = HL_OK;
    unsigned looks = 0;
    l->rows = calloc(l->limit, sizeof(*l->rows));
    if (!l->rows)
        return HL_ERR_NOMEM;
    if (l->state == HL_RUN_RUNNING)
        return list_picked(m, l);
    for (struct hl_list *node = begin_at(m, &l->before); node != &m->known; node = node->prev)
        if (!visit_run(l, HL_CONTAINER_OF(node, struct hl_memory_run, known), &looks, &err))
            break;
    return err;
}

/* --- deliveries ----------------------------------------------------------------------------- */

static enum hl_err fill_delivery(struct hl_delivery_row *row, const struct hl_memory_run *run,
    bool with_attempts, bool with_reports)
{
    char text[HL_DESTINATION_MAX];
    struct hl_str destination = {text, hl_destination_write(text, run->url)};
    size_t attempts = with_attempts ? run->n_attempts * sizeof(*row->attempts) : 0;
    *row = (struct hl_delivery_row){.delivery_id = run->delivery_id,
        .run_id = run->id,
        .state = hl_memory_delivery_state(run),
        .run_state = run->outcome.state,
        .round = run->round,
        .n = run->n,
        .max_attempts = run->max_attempts,
        .created_ms = run->outcome.finished_ms,
        .attempts = attempts ? malloc(attempts) : NULL,
        .project = run->project,
        .app = run->app,
        .destination = destination};
    if ((attempts && !row->attempts) || hl_delivery_row_keep(row) != HL_OK) {
        hl_delivery_row_fini(row);
        return HL_ERR_NOMEM;
    }
    if (row->state != HL_DELIVERY_PENDING)
        row->done_ms = run->done_ms;
    else
        row->next_ms = run->next_ms;
    if (attempts) {
        memcpy(row->attempts, run->attempts, attempts);
        row->n_attempts = run->n_attempts;
        row->attempt_count = run->n_attempts + run->attempts_dropped;
        for (size_t i = 0; i < row->n_attempts; i++)
            row->attempts[i].report =
                with_reports ? hl_attempt_report_copy(run->attempts[i].report) : NULL;
    }
    return HL_OK;
}

static enum hl_err get_delivery(const struct hl_memory *m, struct hl_get_delivery *g)
{
    const struct hl_memory_run *run = hl_id_map_find(&m->deliveries, &g->delivery_id);
    if (!run || !hl_store_name_fits(run->project, g->project))
        return HL_ERR_NOT_FOUND;
    enum hl_err err = fill_delivery(&g->delivery, run, true, true);
    return err ? err : hl_buf_append_str(&g->webhook_url, run->url);
}

/* Of the last attempt that has ended. */
static bool has_status(const struct hl_memory_run *run, const struct hl_status_range *wanted)
{
    size_t n = run->n_attempts;
    while (n > 0 && run->attempts[n - 1].ended_ms == 0)
        n--;
    return !wanted->is_set ||
           (n > 0 && hl_status_range_fits(wanted, run->attempts[n - 1].http_status));
}

static bool goes_to(const struct hl_memory_run *run, const char *destination)
{
    char text[HL_DESTINATION_MAX];
    return !destination[0] ||
           hl_str_eq_nocase((struct hl_str){text, hl_destination_write(text, run->url)},
               hl_str_from(destination));
}

static bool is_meant(const struct hl_list_deliveries *l, const struct hl_memory_run *run)
{
    return (l->state < 0 || hl_memory_delivery_state(run) == (enum hl_delivery_state)l->state) &&
           (hl_id_is_nil(&l->run_id) || hl_id_eq(&l->run_id, &run->id)) &&
           hl_store_name_fits(run->project, l->project) && hl_store_name_fits(run->app, l->app) &&
           is_within(&run->delivery_id, l->since_ms, l->until_ms) && has_status(run, &l->status) &&
           goes_to(run, l->destination);
}

static enum hl_err add_delivery(struct hl_list_deliveries *l, const struct hl_memory_run *run)
{
    enum hl_err err =
        l->only_counts ? HL_OK : fill_delivery(&l->rows[l->count], run, l->with_attempts, false);
    l->count += !err;
    return err;
}

static enum hl_err list_of_run(const struct hl_memory *m, struct hl_list_deliveries *l)
{
    const struct hl_memory_run *run = hl_id_map_find(&m->runs, &l->run_id);
    if (!run || run->delivery == HL_MEMORY_NONE || !is_meant(l, run) || !hl_id_is_nil(&l->before))
        return HL_OK;
    l->next = run->delivery_id;
    return add_delivery(l, run);
}

static struct hl_list *begin_delivery_at(const struct hl_memory *m, const struct hl_id *before)
{
    struct hl_list *node = m->begun.prev;
    if (hl_id_is_nil(before))
        return node;
    struct hl_memory_run *there = hl_id_map_find(&m->deliveries, before);
    if (there)
        return there->begun.prev;
    while (node != &m->begun &&
           memcmp(&HL_CONTAINER_OF(node, struct hl_memory_run, begun)->delivery_id, before,
               sizeof(*before)) >= 0)
        node = node->prev;
    return node;
}

static enum hl_err list_deliveries(const struct hl_memory *m, struct hl_list_deliveries *l)
{
    enum hl_err err = HL_OK;
    unsigned looks = 0;
    uint32_t limit = l->only_counts ? HL_SEARCH_RECORDS : l->limit;
    l->rows = l->only_counts ? NULL : calloc(l->limit, sizeof(*l->rows));
    if (!l->rows && !l->only_counts)
        return HL_ERR_NOMEM;
    if (!hl_id_is_nil(&l->run_id))
        return list_of_run(m, l);
    struct hl_list *node = begin_delivery_at(m, &l->before);
    for (; node != &m->begun && !err; node = node->prev) {
        const struct hl_memory_run *run = HL_CONTAINER_OF(node, struct hl_memory_run, begun);
        if (l->count == limit || (looks++ == LOOKS && !l->only_counts)) {
            l->has_more = true;
            break;
        }
        l->next = run->delivery_id;
        if (is_meant(l, run))
            err = add_delivery(l, run);
    }
    return err;
}

/* --- apps ----------------------------------------------------------------------------------- */

static bool is_listed(const struct hl_list_apps *l, struct hl_str name)
{
    for (size_t i = 0; i < l->count; i++)
        if (hl_str_eq(name, hl_str_from(l->names[i])))
            return true;
    return false;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Of the newest runs. */
static enum hl_err list_apps(const struct hl_memory *m, struct hl_list_apps *l)
{
    unsigned looks = 0;
    l->names = calloc(HL_LIST_MAX, sizeof(*l->names));
    if (!l->names)
        return HL_ERR_NOMEM;
    for (struct hl_list *node = m->known.prev; node != &m->known; node = node->prev) {
        const struct hl_memory_run *run = HL_CONTAINER_OF(node, struct hl_memory_run, known);
        if (l->count == HL_LIST_MAX || looks++ == LOOKS)
            break;
        struct hl_str name = *l->project ? run->app : run->project;
        if (hl_store_name_fits(run->project, l->project) && !is_listed(l, name))
            memcpy(l->names[l->count++], name.p, name.n);
    }
    qsort(l->names, l->count, sizeof(*l->names), compare_names);
    return HL_OK;
}

/* --- any ------------------------------------------------------------------------------------ */

enum hl_err hl_memory_answer(struct hl_driver *d, struct hl_store_msg *msg)
{
    const struct hl_memory *m = hl_memory_of(d);
    switch (msg->msg.type) {
    case HL_STORE_GET_RUN:
        return get_run(m, (struct hl_get_run *)msg);
    case HL_STORE_LIST_RUNS:
        return list_runs(m, (struct hl_list_runs *)msg);
    case HL_STORE_GET_DELIVERY:
        return get_delivery(m, (struct hl_get_delivery *)msg);
    case HL_STORE_LIST_DELIVERIES:
        return list_deliveries(m, (struct hl_list_deliveries *)msg);
    case HL_STORE_LIST_DESTINATIONS:
        return hl_memory_answer_list_destinations(m, (struct hl_list_destinations *)msg);
    case HL_STORE_LIST_APPS:
        return list_apps(m, (struct hl_list_apps *)msg);
    case HL_STORE_OVERVIEW:
        return hl_memory_answer_overview(m, (struct hl_overview *)msg);
    case HL_STORE_LIST_ACCOUNTS:
        return hl_memory_account_list(m, (struct hl_list_accounts *)msg);
    default:
        return HL_ERR_INVALID;
    }
}
