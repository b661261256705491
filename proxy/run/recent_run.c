/* recent_run.c - the synchronous runs that a worker has seen lately.
 * Owns: their entries. Thread: the worker's.
 * Promise: no allocation once as many entries are there as are kept; a run that goes on has its
 * entry until it ends.
 * Not here: runs that the store knows (store/), how both become one list (api/). */
#include "run/recent_run.h"

#include <stdlib.h>
#include <string.h>

#include "run/run.h"
#include "run/runs.h"

#define SLAB_CHUNK 32

struct hl_recent {
    struct hl_list in_all, in_ended;
    struct hl_run *live; /* NULL: it has ended */
    struct hl_recent_run run;
};

void hl_recent_init(struct hl_recent_list *list, _Atomic uint32_t *total)
{
    hl_slab_init(&list->entries, sizeof(struct hl_recent), SLAB_CHUNK);
    hl_list_init(&list->all);
    hl_list_init(&list->ended);
    list->total = total;
}

void hl_recent_fini(struct hl_recent_list *list)
{
    for (struct hl_list *node = list->all.next; node && node != &list->all; node = node->next)
        free(HL_CONTAINER_OF(node, struct hl_recent, in_all)->run.tags);
    hl_slab_fini(&list->entries);
}

struct hl_str hl_recent_project(const struct hl_recent_run *run)
{
    return (struct hl_str){run->text, run->project_n};
}

struct hl_str hl_recent_app(const struct hl_recent_run *run)
{
    return (struct hl_str){run->text + run->project_n, run->app_n};
}

struct hl_str hl_recent_path(const struct hl_recent_run *run)
{
    return (struct hl_str){run->text + run->project_n + run->app_n, run->path_n};
}

struct hl_str hl_recent_subject(const struct hl_recent_run *run)
{
    return (struct hl_str){run->subject, run->subject_n};
}

/* ---- a call begins and ends ---- */

static struct hl_recent *take_entry(struct hl_recent_list *list)
{
    uint32_t total = atomic_load_explicit(list->total, memory_order_relaxed);
    if (total < HL_RECENT_MAX || hl_list_is_empty(&list->ended)) {
        struct hl_recent *fresh = hl_slab_get(&list->entries);
        if (fresh)
            atomic_fetch_add_explicit(list->total, 1, memory_order_relaxed);
        return fresh;
    }
    struct hl_recent *oldest =
        HL_CONTAINER_OF(hl_list_pop_front(&list->ended), struct hl_recent, in_ended);
    hl_list_remove(&oldest->in_all);
    if (oldest->run.tags)
        free(oldest->run.tags);
    return oldest;
}

static uint16_t put_text(struct hl_recent_run *run, size_t at, struct hl_str s)
{
    size_t room = HL_RECENT_TEXT - at;
    size_t n = s.n < room ? s.n : room;
    memcpy(run->text + at, s.p, n);
    return (uint16_t)n;
}

/* Without the query: it is the app's own affair and may hold what is secret. */
static struct hl_str without_query(struct hl_str target)
{
    const char *query = memchr(target.p, '?', target.n);
    return (struct hl_str){target.p, query ? (size_t)(query - target.p) : target.n};
}

static bool is_before(const struct hl_id *a, const struct hl_id *b)
{
    return memcmp(a->b, b->b, sizeof(a->b)) < 0;
}

static void note_order(struct hl_recent_list *list, const struct hl_id *next)
{
    if (hl_list_is_empty(&list->all))
        list->is_mixed = false;
    else if (is_before(next, &HL_CONTAINER_OF(list->all.prev, struct hl_recent, in_all)->run.id))
        list->is_mixed = true;
}

void hl_recent_begin(struct hl_run *run, const struct hl_plan *plan, const struct hl_head *head)
{
    struct hl_recent_list *list = &run->runs->recent;
    struct hl_recent *entry = take_entry(list);
    if (!entry)
        return;
    struct hl_recent_run *r = &entry->run;
    r->id = run->id;
    r->state = HL_RUN_RUNNING;
    r->reason = HL_REASON_NONE;
    r->mode = plan->is_websocket ? HL_RECENT_WEBSOCKET : HL_RECENT_SYNC;
    r->priority = plan->terms.priority;
    r->http_status = 0;
    r->created_ms = run->times.started_ms;
    r->finished_ms = 0;
    r->queued_ms = 0;
    r->request_size = head->framing == HL_FRAMING_CHUNKED  ? HL_RECENT_UNKNOWN
                      : head->framing == HL_FRAMING_LENGTH ? head->content_length
                                                           : 0;
    r->response_size = HL_RECENT_UNKNOWN;
    size_t n = head->method.n < sizeof(r->method) - 1 ? head->method.n : sizeof(r->method) - 1;
    memcpy(r->method, head->method.p, n);
    r->method[n] = '\0';
    r->project_n = put_text(r, 0, plan->project);
    r->app_n = put_text(r, r->project_n, plan->app);
    r->path_n = put_text(r, (size_t)r->project_n + r->app_n, without_query(plan->target));
    r->owner = 0;
    r->subject_n = 0;
    r->tags = plan->tags.n > 0 ? hl_str_dup(plan->tags) : NULL;
    entry->live = run;
    hl_list_init(&entry->in_ended);
    note_order(list, &run->id);
    hl_list_push_back(&list->all, &entry->in_all);
    run->recent = entry;
}

void hl_recent_set_owner(struct hl_run *run, uint64_t hash, struct hl_str subject)
{
    if (!run->recent)
        return;
    struct hl_recent_run *r = &run->recent->run;
    r->owner = hash;
    r->subject_n = (uint8_t)(subject.n < HL_RECENT_SUBJECT ? subject.n : HL_RECENT_SUBJECT);
    if (r->subject_n > 0)
        memcpy(r->subject, subject.p, r->subject_n);
}

void hl_recent_wait(struct hl_run *run)
{
    hl_recent_admit(run, -1);
}

void hl_recent_admit(struct hl_run *run, int64_t queued_ms)
{
    if (run->recent)
        run->recent->run.queued_ms = queued_ms;
}

/* What the run itself knows, while it goes on or at its end. */
static void note_answer(struct hl_recent_run *r, const struct hl_run *run)
{
    r->http_status = run->response.status;
    r->parts = run->parts;
    if (run->response.status != 0)
        r->response_size = run->response.size;
    if (run->response.status == 101)
        r->mode = HL_RECENT_WEBSOCKET;
    else if (run->response.is_event_stream)
        r->mode = HL_RECENT_STREAM;
    else
        r->mode = HL_RECENT_SYNC;
}

void hl_recent_end(
    struct hl_run *run, enum hl_run_state state, enum hl_run_reason reason, int64_t ms)
{
    struct hl_recent *entry = run->recent;
    if (!entry)
        return;
    run->recent = NULL;
    note_answer(&entry->run, run);
    entry->run.state = state;
    entry->run.reason = reason;
    entry->run.finished_ms = entry->run.created_ms + ms;
    entry->live = NULL;
    hl_list_push_back(&run->runs->recent.ended, &entry->in_ended);
}

const struct hl_recent_run *hl_recent_of(const struct hl_run *run)
{
    return run->recent ? &run->recent->run : NULL;
}

void hl_recent_forget(struct hl_run *run)
{
    struct hl_recent_list *list = &run->runs->recent;
    struct hl_recent *entry = run->recent;
    if (!entry)
        return;
    run->recent = NULL;
    hl_list_remove(&entry->in_all);
    free(entry->run.tags);
    hl_slab_put(&list->entries, entry);
    atomic_fetch_sub_explicit(list->total, 1, memory_order_relaxed);
}

/* ---- questions ---- */

void hl_recent_ask_free(struct hl_recent_ask *ask)
{
    for (uint32_t i = 0; ask && i < ask->count; i++)
        free(ask->rows[i].tags);
    if (ask)
        free(ask->rows);
    free(ask);
}

static struct hl_recent_run snapshot(const struct hl_recent *entry)
{
    struct hl_recent_run r = entry->run;
    if (r.tags)
        r.tags = hl_str_dup(hl_str_from(r.tags));
    if (!entry->live)
        return r;
    bool is_websocket = r.mode == HL_RECENT_WEBSOCKET;
    note_answer(&r, entry->live);
    if (is_websocket && r.http_status == 0)
        r.mode = HL_RECENT_WEBSOCKET;
    return r;
}

static bool is_of(const struct hl_recent_run *r, const struct hl_recent_ask *ask)
{
    return (!*ask->project || hl_str_eq(hl_recent_project(r), hl_str_from(ask->project))) &&
           (!*ask->app || hl_str_eq(hl_recent_app(r), hl_str_from(ask->app)));
}

static bool is_searched(const struct hl_recent_run *r, const struct hl_run_search *search)
{
    const struct hl_searched_run run = {.reason = r->reason,
        .http_status = r->http_status,
        .path = hl_recent_path(r),
        .tags = hl_str_from(r->tags)};
    return hl_run_search_fits_id(search, &r->id) && hl_run_search_fits(search, &run);
}

static bool is_wanted(const struct hl_recent *entry, const struct hl_recent_ask *ask)
{
    const struct hl_recent_run *r = &entry->run;
    if (!hl_id_is_nil(&ask->id) && !is_before(&r->id, &ask->id))
        return false;
    if (r->created_ms < ask->since_ms || (ask->until_ms > 0 && r->created_ms >= ask->until_ms))
        return false;
    if (!is_of(r, ask) || !is_searched(r, &ask->search))
        return false;
    return ask->state < 0 || r->state == (enum hl_run_state)ask->state;
}

/* Among the newest of those that match, which are as many as were asked for. */
static void insert(struct hl_recent_ask *ask, const struct hl_recent *entry)
{
    uint32_t at = ask->count;
    while (at > 0 && is_before(&ask->rows[at - 1].id, &entry->run.id))
        at--;
    bool is_full = ask->count == ask->limit;
    ask->has_more |= is_full;
    if (at == ask->limit)
        return;
    if (is_full)
        free(ask->rows[ask->count - 1].tags);
    ask->count += !is_full;
    memmove(&ask->rows[at + 1], &ask->rows[at], (ask->count - at - 1) * sizeof(*ask->rows));
    ask->rows[at] = snapshot(entry);
}

static void list(const struct hl_recent_list *recent, struct hl_recent_ask *ask)
{
    ask->rows = malloc(ask->limit * sizeof(*ask->rows));
    ask->rc = ask->rows ? HL_OK : HL_ERR_NOMEM;
    if (!ask->rows)
        return;
    for (struct hl_list *node = recent->all.prev; node != &recent->all; node = node->prev) {
        const struct hl_recent *entry = HL_CONTAINER_OF(node, struct hl_recent, in_all);
        if (!is_wanted(entry, ask))
            continue;
        insert(ask, entry);
        if (ask->has_more && !recent->is_mixed)
            return;
    }
}

static void count(const struct hl_recent_list *recent, struct hl_recent_ask *ask)
{
    const struct hl_list *node = recent->all.prev;
    ask->rc = HL_OK;
    for (; node != &recent->all; node = node->prev) {
        const struct hl_recent *entry = HL_CONTAINER_OF(node, struct hl_recent, in_all);
        if (entry->run.created_ms < ask->since_ms && !recent->is_mixed)
            return;
        if (is_wanted(entry, ask))
            hl_run_curve_add(&ask->curve, entry->run.created_ms, entry->run.state, 1);
    }
}

static struct hl_recent *find(const struct hl_recent_list *recent, const struct hl_recent_ask *ask)
{
    for (struct hl_list *node = recent->all.prev; node != &recent->all; node = node->prev) {
        struct hl_recent *entry = HL_CONTAINER_OF(node, struct hl_recent, in_all);
        if (hl_id_eq(&entry->run.id, &ask->id))
            return is_of(&entry->run, ask) ? entry : NULL;
    }
    return NULL;
}

static void get(const struct hl_recent_list *recent, struct hl_recent_ask *ask)
{
    const struct hl_recent *entry = find(recent, ask);
    ask->rc = HL_ERR_NOT_FOUND;
    if (!entry)
        return;
    ask->rows = malloc(sizeof(*ask->rows));
    ask->rc = ask->rows ? HL_OK : HL_ERR_NOMEM;
    if (!ask->rows)
        return;
    ask->rows[0] = snapshot(entry);
    ask->count = 1;
}

static struct hl_run *choose(const struct hl_recent_list *recent, struct hl_recent_ask *ask)
{
    struct hl_recent *entry = find(recent, ask);
    ask->rc = !entry ? HL_ERR_NOT_FOUND : entry->live ? HL_OK : HL_ERR_CONFLICT;
    return entry ? entry->live : NULL;
}

struct hl_run *hl_recent_answer(const struct hl_recent_list *recent, struct hl_recent_ask *ask)
{
    switch (ask->question) {
    case HL_RECENT_LIST:
        list(recent, ask);
        break;
    case HL_RECENT_COUNT:
        count(recent, ask);
        break;
    case HL_RECENT_GET:
        get(recent, ask);
        break;
    case HL_RECENT_CANCEL:
        return choose(recent, ask);
    }
    return NULL;
}
