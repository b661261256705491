/* rest_run.c - runs: the list, one.
 * Thread: control.
 * Promise: the list is of stored runs and of the workers' recent synchronous ones, newest first, as
 * if it were one; a page goes on below the last, whatever comes in meanwhile.
 * Not here: cancelling (rest_cancel.c), results (rest_result.c), the members (rest_record.c). */
#include "api/rest_handler.h"

#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "api/rest_call.h"
#include "api/rest_param.h"
#include "api/rest_record.h"
#include "app/sleep.h"
#include "auth/json_load.h"
#include "auth/principal.h"
#include "body/journal.h"
#include "body/journals.h"
#include "config/config.h"
#include "run/recent_run.h"
#include "run/service.h"
#include "store/claim.h"
#include "store/question.h"
#include "store/store.h"

const char *hl_rest_app_of(const struct hl_rest_call *call)
{
    return *call->app ? call->app : call->params.app;
}

struct hl_recent_ask hl_rest_recent_ask(
    const struct hl_rest_call *call, enum hl_recent_question question)
{
    const struct hl_rest_params *p = &call->params;
    struct hl_recent_ask ask = {.question = question,
        .id = hl_id_is_nil(&call->id) ? p->cursor : call->id,
        .state = p->state,
        .since_ms = p->since_ms,
        .until_ms = p->until_ms,
        .search = p->search,
        .limit = p->limit};
    hl_str_put(ask.project, sizeof(ask.project), call->project);
    hl_str_put(ask.app, sizeof(ask.app), hl_rest_app_of(call));
    return ask;
}

const struct hl_recent_ask *hl_rest_found_by(const struct hl_rest_call *call)
{
    for (const struct hl_msg *m = call->recent; m; m = m->next) {
        const struct hl_recent_ask *ask = (const struct hl_recent_ask *)m;
        if (ask->rc != HL_ERR_NOT_FOUND)
            return ask;
    }
    return NULL;
}

/* ---- the list ---- */

static void write_list(struct hl_rest_call *call);

static bool ask_for_list(struct hl_rest_call *call)
{
    const struct hl_rest_params *p = &call->params;
    struct hl_list_runs *l = calloc(1, sizeof(*l));
    if (!l)
        return false;
    hl_str_put(l->project, sizeof(l->project), call->project);
    hl_str_put(l->app, sizeof(l->app), hl_rest_app_of(call));
    l->state = p->state;
    l->is_async = p->is_async;
    l->since_ms = p->since_ms;
    l->until_ms = p->until_ms;
    l->search = p->search;
    l->limit = p->limit;
    l->before = p->cursor;
    hl_rest_ask_store(call, HL_STORE_LIST_RUNS, &l->m);
    return true;
}

void hl_rest_list_runs(struct hl_rest_call *call)
{
    if (!ask_for_list(call)) {
        hl_rest_refuse_memory(call);
        return;
    }
    struct hl_recent_ask ask = hl_rest_recent_ask(call, HL_RECENT_LIST);
    if (call->params.is_async != 1 && call->params.state != HL_RUN_QUEUED)
        hl_rest_ask_workers(call, &ask);
    hl_rest_then(call, write_list);
}

static int newest_first(const struct hl_id *a, const struct hl_id *b)
{
    return -memcmp(a->b, b->b, sizeof(a->b));
}

static int compare_recent(const void *a, const void *b)
{
    const struct hl_recent_run *const *x = a, *const *y = b;
    return newest_first(&(*x)->id, &(*y)->id);
}

/* A page as it comes together. */
struct page {
    const struct hl_rest_call *call;
    const struct hl_list_runs *stored;
    const struct hl_recent_run **recent;
    size_t recent_count;
    struct hl_id floor; /* below it some source has more that was not asked for; nil: none has */
    json_t *rows;
    struct hl_id last; /* that was put into it */
    size_t count;
};

static void raise_floor(struct page *page, const struct hl_id *id)
{
    if (hl_id_is_nil(&page->floor) || newest_first(id, &page->floor) < 0)
        page->floor = *id;
}

/* The workers' rows in one order. False: out of memory. */
static bool gather(struct page *page, const struct hl_rest_call *call)
{
    size_t n = 0;
    for (const struct hl_msg *m = call->recent; m; m = m->next)
        n += ((const struct hl_recent_ask *)m)->count;
    page->recent = malloc((n + 1) * sizeof(struct hl_recent_run *));
    if (!page->recent)
        return false;
    for (const struct hl_msg *m = call->recent; m; m = m->next) {
        const struct hl_recent_ask *ask = (const struct hl_recent_ask *)m;
        for (uint32_t i = 0; i < ask->count; i++)
            page->recent[page->recent_count++] = &ask->rows[i];
        if (ask->has_more)
            raise_floor(page, &ask->rows[ask->count - 1].id);
    }
    qsort(page->recent, n, sizeof(struct hl_recent_run *), compare_recent);
    if (page->stored->has_more)
        raise_floor(page, &page->stored->next);
    return true;
}

/* What is only in this process's memory is this replica's. Empty: nobody shares the store. */
static struct hl_str own_name(const struct hl_rest_call *call)
{
    const struct hl_rest_parts *parts = hl_rest_get_parts(call);
    return hl_store_is_shared(parts->store) ? parts->config->replica : (struct hl_str){NULL, 0};
}

/* `deliveries` is taken. */
static json_t *run_json(
    const struct hl_rest_call *call, const struct hl_run_row *run, json_t *deliveries)
{
    json_t *json = hl_rest_run_json(run, own_name(call).n > 0, deliveries);
    return hl_rest_is_his(call, run)
               ? hl_rest_record_add_subject(json, hl_identity_subject(run->identity))
               : json;
}

static json_t *recent_json(
    const struct hl_rest_call *call, const struct hl_recent_run *run, json_t *deliveries)
{
    json_t *json = hl_rest_recent_json(run, own_name(call), deliveries);
    return hl_rest_is_his_recent(call, run)
               ? hl_rest_record_add_subject(json, hl_recent_subject(run))
               : json;
}

static bool put(struct page *page, const struct hl_id *id, json_t *run)
{
    page->last = *id;
    page->count++;
    return hl_json_push(page->rows, run);
}

static bool is_above_floor(const struct page *page, const struct hl_id *id)
{
    return hl_id_is_nil(&page->floor) || newest_first(id, &page->floor) <= 0;
}

/* Newest first, as long as no other source can have something in between. What the store lists in
 * another order (queued runs) comes alone. False: out of memory. */
static bool merge(struct page *page, size_t limit, struct hl_id *next)
{
    const struct hl_list_runs *stored = page->stored;
    size_t i = 0, j = 0;
    bool is_alone = page->recent_count == 0;
    while (page->count < limit && (i < stored->count || j < page->recent_count)) {
        bool is_stored =
            j == page->recent_count ||
            (i < stored->count && newest_first(&stored->rows[i].run_id, &page->recent[j]->id) < 0);
        const struct hl_id *id = is_stored ? &stored->rows[i].run_id : &page->recent[j]->id;
        if (!is_alone && !is_above_floor(page, id))
            break;
        if (!put(page, id,
                is_stored ? run_json(page->call, &stored->rows[i++], NULL)
                          : recent_json(page->call, page->recent[j++], NULL)))
            return false;
    }
    bool has_more_here = i < stored->count || j < page->recent_count;
    if (has_more_here && page->count == limit)
        *next = page->last;
    else
        *next = page->floor;
    return true;
}

static void write_list(struct hl_rest_call *call)
{
    const struct hl_list_runs *stored = (const struct hl_list_runs *)call->answers[0];
    if (stored->m.rc == HL_ERR_INVALID) {
        hl_rest_refuse_cursor(call);
        return;
    }
    if (stored->m.rc != HL_OK) {
        hl_rest_refuse_store(call, stored->m.rc, "run");
        return;
    }
    struct hl_id next;
    struct page page = {.call = call, .stored = stored, .rows = json_array()};
    bool is_whole = page.rows && gather(&page, call) && merge(&page, call->params.limit, &next);
    free(page.recent);
    if (!is_whole) {
        json_decref(page.rows);
        hl_rest_refuse_memory(call);
        return;
    }
    bool is_search = hl_run_search_walks(&call->params.search);
    json_t *cursor = hl_id_is_nil(&next) ? json_null() : hl_json_id(&next);
    json_t *searched_to = hl_json_time(is_search ? hl_id_time_ms(&next) : 0);
    hl_rest_end_json(call, 200,
        HL_JSON_OBJECT({"runs", page.rows}, {"next_cursor", cursor}, {"searched_to", searched_to}));
}

/* ---- one ---- */

static void show_now(struct hl_rest_call *call);
static void show_found(struct hl_rest_call *call);
static void show_listed(struct hl_rest_call *call);
static void show_stored(struct hl_rest_call *call);
static void show_recent(struct hl_rest_call *call);

static bool ask_for_run(struct hl_rest_call *call)
{
    struct hl_get_run *g = calloc(1, sizeof(*g));
    if (!g)
        return false;
    g->run_id = call->id;
    g->with_place = g->with_reruns = true;
    if (hl_rest_sees_all(call) || call->asker.identity_n > 0)
        g->with_request = HL_ASKED_HEAD;
    hl_str_put(g->project, sizeof(g->project), call->project);
    hl_str_put(g->app, sizeof(g->app), call->app);
    hl_rest_ask_store(call, HL_STORE_GET_RUN, &g->m);
    return true;
}

void hl_rest_show_run(struct hl_rest_call *call)
{
    call->reply.run_id = call->id;
    hl_rest_wait_for_run(call, show_now);
}

static void show_now(struct hl_rest_call *call)
{
    if (ask_for_run(call))
        hl_rest_then(call, show_found);
    else
        hl_rest_refuse_memory(call);
}

static void show_found(struct hl_rest_call *call)
{
    enum hl_err rc = call->answers[0]->rc;
    if (rc == HL_ERR_NOT_FOUND) {
        struct hl_recent_ask ask = hl_rest_recent_ask(call, HL_RECENT_GET);
        hl_rest_ask_workers(call, &ask);
        hl_rest_then(call, show_recent);
        return;
    }
    struct hl_list_deliveries *l = calloc(1, sizeof(*l));
    if (rc != HL_OK || !l) {
        free(l);
        hl_rest_refuse_store(call, rc != HL_OK ? rc : HL_ERR_NOMEM, "run");
        return;
    }
    hl_str_put(l->project, sizeof(l->project), call->project);
    l->state = -1;
    l->run_id = call->id;
    l->limit = HL_LIST_MAX;
    l->with_attempts = true;
    hl_rest_ask_store(call, HL_STORE_LIST_DELIVERIES, &l->m);
    hl_rest_then(call, show_listed);
}

/* A run has one webhook at most, its oldest delivery. What is known of its attempts beside their outcomes is in no list. */
static void show_listed(struct hl_rest_call *call)
{
    const struct hl_list_deliveries *l = (const struct hl_list_deliveries *)call->answers[1];
    if (l->m.rc == HL_OK && l->count > 0)
        hl_rest_ask_delivery(
            call, &l->rows[l->count - 1].delivery_id); /* without memory as listed */
    hl_rest_then(call, show_stored);
}

/* As it was listed, if it has gone in between, or an admin sent it elsewhere. */
static json_t *delivery_json(const struct hl_rest_call *call, const struct hl_delivery_row *listed)
{
    const struct hl_get_delivery *g =
        call->answer_count > 2 ? (const struct hl_get_delivery *)call->answers[2] : NULL;
    bool is_same =
        g && g->m.rc == HL_OK && hl_id_eq(&g->delivery.delivery_id, &listed->delivery_id);
    return hl_rest_delivery_json(
        is_same ? &g->delivery : listed, !hl_rest_sees_all(call) ? HL_REST_PLAIN
                                         : listed->is_resent     ? HL_REST_LISTED
                                                                 : HL_REST_WHOLE);
}

/* Where an admin sent it is no business of its caller's. */
static bool is_shown(const struct hl_rest_call *call, const struct hl_delivery_row *row)
{
    return !row->is_resent || hl_rest_sees_all(call);
}

static json_t *deliveries_json(const struct hl_rest_call *call)
{
    const struct hl_list_deliveries *l = (const struct hl_list_deliveries *)call->answers[1];
    json_t *array = json_array();
    for (size_t i = 0; array && i < l->count; i++)
        if (is_shown(call, &l->rows[i]) && !hl_json_push(array, delivery_json(call, &l->rows[i]))) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static bool is_elsewhere(const struct hl_rest_parts *parts, const struct hl_run_row *run)
{
    return hl_store_is_shared(parts->store) && !hl_str_eq(run->replica, parts->config->replica);
}

/* What the run has said of how far it is: here it is in memory, of another replica's the store knows some
 * seconds later. `g` NULL: the store does not know the run. */
static json_t *progress_json(const struct hl_rest_call *call, const struct hl_get_run *g)
{
    const struct hl_rest_parts *parts = hl_rest_get_parts(call);
    char text[HL_JOURNAL_PROGRESS + 1];
    struct hl_str said = g ? hl_buf_str(&g->progress) : HL_STR("");
    bool is_here = parts->service && !(g && is_elsewhere(parts, &g->run));
    if (is_here && hl_journals_get_progress(parts->service->journals, &call->id, text))
        said = hl_str_from(text);
    json_t *json = said.n > 0 ? hl_json_load(said, JSON_DECODE_ANY, NULL) : NULL;
    return json ? json : json_null();
}

/* Lists do without. NULL: out of memory. */
static json_t *with_progress(
    const struct hl_rest_call *call, const struct hl_get_run *g, json_t *run)
{
    if (run && json_object_set_new(run, "progress", progress_json(call, g)) == 0)
        return run;
    json_decref(run);
    return NULL;
}

/* Lists do without: it is counted. NULL: out of memory. */
static json_t *with_place(json_t *run, uint64_t place)
{
    if (!run)
        return NULL;
    json_t *value = place > 0 ? json_integer((json_int_t)place) : json_null();
    if (json_object_set_new(run, "queue_position", value) == 0)
        return run;
    json_decref(run);
    return NULL;
}

/* Why a queued run waits, where this process's app sleeps. NULL: out of memory. */
static json_t *with_app_state(const struct hl_rest_call *call, bool is_queued, json_t *run)
{
    const struct hl_service *service = hl_rest_get_parts(call)->service;
    int64_t since_ms = 0;
    enum hl_sleep_look look =
        service && is_queued ? hl_sleep_look(service->sleep, &since_ms) : HL_SLEEP_LOOK_AWAKE;
    bool sleeps = look != HL_SLEEP_LOOK_AWAKE;
    json_t *state = sleeps ? json_string(hl_sleep_look_text(look)) : json_null();
    json_t *since = sleeps ? hl_json_time(since_ms) : json_null();
    if (run && json_object_set_new(run, "app_state", state) == 0 &&
        json_object_set_new(run, "app_since", since) == 0)
        return run;
    json_decref(run);
    return NULL;
}

static void show_stored(struct hl_rest_call *call)
{
    const struct hl_get_run *g = (const struct hl_get_run *)call->answers[0];
    const struct hl_list_deliveries *l = (const struct hl_list_deliveries *)call->answers[1];
    if (l->m.rc != HL_OK) {
        hl_rest_refuse_store(call, l->m.rc, "run");
        return;
    }
    json_t *deliveries = deliveries_json(call);
    json_t *run = deliveries ? run_json(call, &g->run, deliveries) : NULL;
    if (hl_rest_is_his(call, &g->run))
        run = hl_rest_add_request_fields(run, &g->request);
    run = with_place(hl_rest_record_add_reruns(with_progress(call, g, run), g), g->place);
    hl_rest_end_json(call, 200, with_app_state(call, g->run.state == HL_RUN_QUEUED, run));
}

static void show_recent(struct hl_rest_call *call)
{
    const struct hl_recent_ask *found = hl_rest_found_by(call);
    if (!found || found->rc != HL_OK) {
        hl_rest_refuse_store(call, found ? found->rc : HL_ERR_NOT_FOUND, "run");
        return;
    }
    const struct hl_recent_run *recent = &found->rows[0];
    json_t *deliveries = json_array();
    json_t *run = deliveries ? recent_json(call, recent, deliveries) : NULL;
    if (hl_rest_is_his_recent(call, recent))
        run = hl_rest_add_request_fields(run, &(struct hl_kept_request){.is_there = false});
    run = with_place(hl_rest_record_add_reruns(with_progress(call, NULL, run), NULL), 0);
    hl_rest_end_json(call, 200, with_app_state(call, false, run));
}
