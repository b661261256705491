/* question_run.c - what is asked of runs. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "base/priority.h"
#include "store/operation.h"
#include "store/postgres/param.h"
#include "store/postgres/thread.h"
#include "store/postgres/question.h"
#include "store/postgres/row.h"
#include "store/question.h"

void hl_pg_add_bounds(struct hl_pg_params *p, const struct hl_id *before, int64_t since_ms,
    int64_t until_ms, const struct hl_run_search *search)
{
    struct hl_id until, from;
    hl_list_bounds(before, since_ms, until_ms, &until, &from);
    if (search)
        hl_run_search_narrow(search, &until, &from);
    hl_pg_add_id(p, HL_PG_P_BEFORE, &until);
    hl_pg_add_id(p, HL_PG_P_FROM, &from);
}

static enum hl_err read_run(
    struct hl_pg_row *from, struct hl_run_row *row, struct hl_outcome *o, struct hl_str *bytes)
{
    *row = (struct hl_run_row){.response_size = -1, .encoding = HL_ENCODING_NONE};
    *o = (struct hl_outcome){0};
    hl_pg_read_columns(from, &hl_run_row_columns, row);
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

/* -1: it does not wait. */
static void read_place(struct hl_pg_row *from, struct hl_get_run *g)
{
    int64_t before = hl_pg_int(from);
    uint64_t waiting[HL_PRIORITIES];
    for (int i = 0; i < HL_PRIORITIES; i++)
        waiting[i] = (uint64_t)hl_pg_int(from);
    if (before < 0)
        return;
    waiting[g->run.terms.priority] = (uint64_t)before + 1;
    g->place = hl_priority_place(waiting, g->run.terms.priority);
}

/* What cannot be opened is as if it were not kept. */
static enum hl_err read_request(struct hl_pg_store *s, struct hl_pg_row *from, struct hl_get_run *g)
{
    struct hl_kept_request *request = &g->request;
    const struct hl_id *id = &g->run_id;
    struct hl_str head = hl_pg_str(from), url = hl_pg_str(from), secret = hl_pg_str(from), bytes;
    struct hl_body body = {.where = HL_BODY_NONE};
    hl_pg_body(from, &body, &bytes);
    if (head.n == 0)
        return HL_OK;
    enum hl_err err = hl_unseal_append(&s->sealer, "run.head", id, head, &request->head);
    if (!err && url.n > 0)
        err = hl_unseal_append(&s->sealer, "run.url", id, url, &request->webhook_url);
    if (!err && secret.n > 0)
        err = hl_unseal_append(&s->sealer, "run.secret", id, secret, &request->webhook_secret);
    if (!err && g->with_request == HL_ASKED_REQUEST) {
        request->body = body;
        err = hl_body_copy(&request->body, bytes);
    }
    request->is_there = !err;
    if (err == HL_ERR_CORRUPT)
        HL_LOG(ERROR, "store: a kept request cannot be opened", HL_LOG_ID("run_id", id));
    return err == HL_ERR_CORRUPT ? HL_OK : err;
}

/* Likewise. */
static enum hl_err read_answer_head(
    struct hl_pg_store *s, struct hl_pg_row *from, struct hl_get_run *g)
{
    struct hl_str sealed = hl_pg_str(from);
    if (sealed.n == 0)
        return HL_OK;
    enum hl_err err =
        hl_unseal_append(&s->sealer, "run.answer_head", &g->run_id, sealed, &g->answer_head);
    if (err != HL_ERR_CORRUPT)
        return err;
    HL_LOG(ERROR, "store: the head of an answer cannot be opened", HL_LOG_ID("run_id", &g->run_id));
    hl_buf_fini(&g->answer_head);
    return HL_OK;
}

static uint64_t take_number(struct hl_str *from, size_t n)
{
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++)
        value = value << 8 | (uint8_t)from->p[i];
    *from = (struct hl_str){from->p + n, from->n - n};
    return value;
}

/* As ASK_RUN packs them. */
static void read_reruns(struct hl_str packed, struct hl_get_run *g)
{
    while (packed.n >= sizeof(struct hl_id) + 10 && g->n_reruns < HL_RERUNS_SHOWN) {
        struct hl_rerun *rerun = &g->reruns[g->n_reruns++];
        memcpy(rerun->run_id.b, packed.p, sizeof(rerun->run_id.b));
        packed =
            (struct hl_str){packed.p + sizeof(rerun->run_id.b), packed.n - sizeof(rerun->run_id.b)};
        rerun->state = (enum hl_run_state)take_number(&packed, 2);
        rerun->created_ms = (int64_t)take_number(&packed, 8);
    }
}

/* Kept streams of synchronous calls are gone as soon as their retention is over, whenever they are removed. */
static void hide_old_stream(const struct hl_pg_store *s, struct hl_get_run *g)
{
    struct hl_body *body = &g->outcome.body;
    bool is_stream = !g->run.is_async && !g->run.has_webhook &&
                     (body->where == HL_BODY_INLINE || body->where == HL_BODY_FILE);
    if (!is_stream || !hl_run_state_is_final(g->run.state) ||
        g->outcome.finished_ms + (int64_t)s->stream_retention_ms > hl_clock_wall_ms())
        return;
    uint64_t size = body->size;
    hl_body_fini(body);
    *body = (struct hl_body){.where = HL_BODY_DROPPED, .size = size};
    g->run.body_where = HL_BODY_DROPPED;
    hl_buf_fini(&g->range);
}

static enum hl_pg_sql bind_get_run(
    const struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_store_msg *m)
{
    const struct hl_get_run *g = (const struct hl_get_run *)m;
    hl_pg_add_id(p, HL_PG_P_RUN_ID, &g->run_id);
    hl_pg_add_int(p, HL_PG_P_WITH_BODY, g->with_body);
    hl_pg_add_kept_since(s, p);
    hl_pg_add_int(p, HL_PG_P_WITH_LOG, g->with_log);
    hl_pg_add_int(p, HL_PG_P_PLACE_LOOKS, g->with_place ? HL_PLACE_LOOKS : 0);
    hl_pg_add_int(p, HL_PG_P_WITH_REQUEST, (int)g->with_request);
    hl_pg_add_int(p, HL_PG_P_RANGE_FROM, (int64_t)g->range_from);
    hl_pg_add_int(p, HL_PG_P_RANGE_MAX, g->range_max);
    hl_pg_add_int(p, HL_PG_P_WITH_HEAD, g->with_head);
    hl_pg_add_int(p, HL_PG_P_RERUNS, g->with_reruns ? HL_RERUNS_SHOWN : 0);
    hl_pg_add_id(p, HL_PG_P_ME, &s->member.id);
    return HL_PG_DO_ASK_RUN;
}

static enum hl_err read_get_run(
    struct hl_pg_store *s, struct hl_store_msg *m, const PGresult *result)
{
    struct hl_get_run *g = (struct hl_get_run *)m;
    struct hl_pg_row row = {.result = result};
    struct hl_str bytes;
    if (PQntuples(result) == 0)
        return HL_ERR_NOT_FOUND;
    enum hl_err err = read_run(&row, &g->run, &g->outcome, &bytes);
    if (!err && g->with_body)
        err = hl_body_copy(&g->outcome.body, bytes);
    if (!err)
        err = hl_buf_append_str(&g->log, hl_pg_str(&row));
    if (!err)
        read_place(&row, g);
    if (!err)
        err = read_request(s, &row, g);
    if (!err)
        err = hl_buf_append_str(&g->range, hl_pg_str(&row));
    if (!err)
        err = read_answer_head(s, &row, g);
    if (!err)
        err = hl_buf_append_str(&g->progress, hl_pg_str(&row));
    if (!err)
        err = hl_buf_append_str(&g->home, hl_pg_str(&row));
    if (!err)
        read_reruns(hl_pg_str(&row), g);
    if (!err)
        hide_old_stream(s, g);
    if (!err && (!hl_store_name_fits(g->run.project, g->project) ||
                    !hl_store_name_fits(g->run.app, g->app)))
        err = HL_ERR_NOT_FOUND;
    if (err) {
        hl_get_run_fini(g);
        return err;
    }
    return hl_get_run_check(g);
}

/* Of a list's row: whether it is no run, but the end of what was looked at; and the id of either. */
#define LISTED_AT 2

static void add_search(struct hl_pg_params *p, const struct hl_run_search *s)
{
    if (s->has_tail)
        hl_pg_add_str(p, HL_PG_P_TAIL, (struct hl_str){(const char *)s->tail, sizeof(s->tail)});
    else
        hl_pg_add_null(p, HL_PG_P_TAIL);
    hl_pg_add_int(p, HL_PG_P_REASON, (int)s->reason);
    hl_pg_add_int(p, HL_PG_P_STATUS_FROM, s->status.is_set ? s->status.from : -1);
    hl_pg_add_int(p, HL_PG_P_STATUS_TO, s->status.to);
    hl_pg_add_int(p, HL_PG_P_WEBHOOK, (int)s->webhook);
    hl_pg_add_str(p, HL_PG_P_PATH, hl_str_from(s->path));
    hl_pg_add_str(p, HL_PG_P_ERROR, hl_str_from(s->error));
    hl_pg_add_str(p, HL_PG_P_FIND, hl_str_from(s->find));
    hl_pg_add_str(p, HL_PG_P_TAGS, hl_str_from(s->tags));
}

static uint32_t looks_of(const struct hl_list_runs *l)
{
    bool reads = hl_run_search_reads(&l->search);
    if (l->only_counts)
        return l->looks;
    return reads && !l->search.has_tail ? HL_SEARCH_RECORDS : HL_SEARCH_IDS;
}

/* Whether there are some by which runs are found: the index is by project. */
static bool add_tags(struct hl_pg_params *p, const struct hl_list_runs *l)
{
    if (!l->search.tags[0] || !l->project[0])
        return false;
    hl_pg_add_int(p, HL_PG_P_TAG_COUNT, HL_SEARCH_TAG_COUNT);
    return true;
}

static enum hl_pg_sql bind_count(
    const struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_list_runs *l)
{
    const struct hl_run_curve *h = &l->curve;
    add_search(p, &l->search);
    hl_pg_add_int(p, HL_PG_P_LOOKS, looks_of(l));
    hl_pg_add_int(p, HL_PG_P_FIRST_MS, h->first_ms);
    hl_pg_add_int(p, HL_PG_P_STEP_MS, h->step_ms);
    hl_pg_add_int(p, HL_PG_P_POINTS, h->n_points);
    if (l->state == HL_RUN_QUEUED || l->state == HL_RUN_RUNNING)
        return HL_PG_DO_COUNT_TICKETS;
    hl_pg_add_kept_since(s, p);
    return add_tags(p, l) ? HL_PG_DO_COUNT_TAGS : HL_PG_DO_COUNT_RUNS;
}

static enum hl_pg_sql bind_list_runs(
    const struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_store_msg *m)
{
    const struct hl_list_runs *l = (const struct hl_list_runs *)m;
    hl_pg_add_str(p, HL_PG_P_PROJECT, hl_str_from(l->project));
    hl_pg_add_str(p, HL_PG_P_APP, hl_str_from(l->app));
    hl_pg_add_int(p, HL_PG_P_STATE, hl_list_runs_state(l));
    hl_pg_add_int(p, HL_PG_P_MODE, l->is_async);
    hl_pg_add_bounds(p, &l->before, l->since_ms, l->until_ms, &l->search);
    if (l->only_counts)
        return bind_count(s, p, l);
    hl_pg_add_int(p, HL_PG_P_MAX, (int64_t)l->limit + 1);
    if (l->state == HL_RUN_QUEUED || l->state == HL_RUN_RUNNING)
        return HL_PG_DO_ASK_TICKETS;
    /* Hidden at once, removed within the hour. */
    hl_pg_add_kept_since(s, p);
    if (!hl_run_search_walks(&l->search))
        return HL_PG_DO_ASK_RUNS;
    add_search(p, &l->search);
    hl_pg_add_int(p, HL_PG_P_LOOKS, looks_of(l));
    return add_tags(p, l) ? HL_PG_DO_SEARCH_TAGS : HL_PG_DO_SEARCH_RUNS;
}

/* Those that have not ended come unsearched. */
static enum hl_err add_listed(struct hl_list_runs *l, struct hl_pg_row *from)
{
    struct hl_run_row *row = &l->rows[l->count];
    struct hl_outcome outcome;
    struct hl_str bytes;
    from->column = LISTED_AT;
    enum hl_err err = read_run(from, row, &outcome, &bytes);
    if (!err && hl_run_search_fits_row(&l->search, row))
        l->count++;
    else
        hl_run_row_fini(row);
    return err;
}

static void read_counts(struct hl_list_runs *l, const PGresult *result)
{
    struct hl_run_curve *h = &l->curve;
    for (int i = 0; i < PQntuples(result); i++) {
        struct hl_pg_row row = {.result = result, .row = i};
        int64_t point = hl_pg_int(&row);
        enum hl_run_state state = (enum hl_run_state)hl_pg_int(&row);
        uint32_t n = (uint32_t)hl_pg_int(&row);
        if (n > 0) {
            hl_run_curve_add(h, h->first_ms + point * h->step_ms, state, n);
            continue;
        }
        l->has_more = true;
        hl_pg_id(&row, &l->next);
    }
}

static enum hl_err read_list_runs(
    struct hl_pg_store *s, struct hl_store_msg *m, const PGresult *result)
{
    struct hl_list_runs *l = (struct hl_list_runs *)m;
    enum hl_err err = HL_OK;
    (void)s;
    if (l->only_counts) {
        read_counts(l, result);
        return HL_OK;
    }
    err = hl_operation_open_listing(m);
    for (int i = 0; i < PQntuples(result) && !l->has_more && !err; i++) {
        struct hl_pg_row row = {.result = result, .row = i};
        bool is_end = hl_pg_int(&row);
        l->has_more = is_end || l->count == l->limit;
        if (l->count < l->limit)
            hl_pg_id(&row, &l->next);
        if (!l->has_more)
            err = add_listed(l, &row);
    }
    return err;
}

const struct hl_pg_question hl_pg_get_run = {.bind = bind_get_run, .read = read_get_run};
const struct hl_pg_question hl_pg_list_runs = {.bind = bind_list_runs, .read = read_list_runs};
