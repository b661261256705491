/* rest_job.c - bulk work: jobs are made, listed, stopped; what became of each that one is about.
 * Thread: control.
 * Promise: a job is made only of a filter that the lists take, and of no more than was expected.
 * Not here: who carries it out (foreman.c), what its texts are (job_plan.c). */
#include "api/rest_handler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/audit.h"
#include "api/foreman.h"
#include "api/job_listing.h"
#include "api/json.h"
#include "base/clock.h"
#include "http/url.h"
#include "store/job.h"

#define COUNT_MAX     10000 /* so many are counted */
#define ITEMS_OF_CALL 8     /* pieces that one page of items looks at */

/* ---- made ---- */

struct hl_rest_job {
    struct hl_rest_call *call;
    struct hl_job_plan plan;
    struct hl_job_listing listing;
    struct hl_id id;
    uint64_t count;
    bool has_more;
};

static void drop(struct hl_rest_call *call)
{
    hl_job_listing_fini(&call->job->listing);
    hl_job_plan_fini(&call->job->plan);
    free(call->job);
    call->job = NULL;
}

static void read_plan(struct hl_rest_call *call);
static void on_page(struct hl_job_listing *listing);
static void add(struct hl_rest_call *call);
static void say_added(struct hl_rest_call *call);

void hl_rest_add_job(struct hl_rest_call *call)
{
    hl_rest_with_audit(call, HL_REST_AUDITED_NEW, read_plan);
}

static void count(struct hl_rest_call *call)
{
    struct hl_rest_job *job = call->job;
    job->call = call;
    job->listing.plan = &job->plan;
    job->listing.project = call->project;
    job->listing.until_ms = hl_id_time_ms(&job->id) + 1;
    job->listing.on_page = on_page;
    hl_job_listing_ask(call->all, &job->listing);
}

static void read_plan(struct hl_rest_call *call)
{
    json_t *body = hl_json_read_object(call->body);
    if (!body) {
        hl_rest_refuse(call, hl_json_no_object());
        return;
    }
    call->job = calloc(1, sizeof(*call->job));
    call->drop = call->job ? drop : NULL;
    enum hl_refusal_cause why =
        call->job ? hl_job_plan_read(body, &call->job->plan) : HL_REFUSAL_NO_MEMORY;
    json_decref(body);
    if (why) {
        hl_rest_refuse(call, why);
        return;
    }
    call->job->id = hl_id_next(&call->all->ids, hl_clock_wall_ms());
    count(call); /* the first page says whether the filter is one */
}

static void say_count(struct hl_rest_call *call)
{
    const struct hl_rest_job *job = call->job;
    hl_rest_end_json(call, 200,
        HL_JSON_OBJECT({"what", json_string(hl_job_what_text(job->plan.what))},
            {"count", json_integer((json_int_t)job->count)},
            {"has_more", json_boolean(job->has_more)},
            {"until", hl_json_time(hl_id_time_ms(&job->id) + 1)}));
}

static void refuse_surprise(struct hl_rest_call *call)
{
    const struct hl_rest_job *job = call->job;
    char found[32], expected[24];
    snprintf(found, sizeof(found), "%s%llu", job->has_more ? "at least " : "",
        (unsigned long long)job->count);
    snprintf(expected, sizeof(expected), "%lld", (long long)job->plan.expected);
    hl_rest_refuse_saying(call, HL_REFUSAL_JOB_SURPRISE, found, expected, NULL);
}

/* What a list says of its query is the answer. */
static void pass_refusal(struct hl_rest_call *call)
{
    struct hl_reply *from = &call->job->listing.inner.call.reply;
    call->reply = *from;
    *from = (struct hl_reply){.status = from->status};
    hl_rest_end(call);
}

static void on_page(struct hl_job_listing *l)
{
    struct hl_rest_job *job = HL_CONTAINER_OF(l, struct hl_rest_job, listing);
    struct hl_rest_call *call = job->call;
    bool counts = job->plan.only_counts || job->plan.expected >= 0;
    if (l->err == HL_ERR_INVALID || (l->err && l->inner.call.reply.status >= 400)) {
        pass_refusal(call);
        return;
    }
    if (l->err) {
        hl_rest_refuse_memory(call);
        return;
    }
    job->count += l->n;
    if (counts && !l->is_over && job->count < COUNT_MAX) {
        hl_job_listing_ask(call->all, l);
        return;
    }
    job->has_more = !l->is_over;
    if (job->plan.only_counts)
        say_count(call);
    else if (counts && job->count > (uint64_t)job->plan.expected)
        refuse_surprise(call);
    else
        add(call);
}

static enum hl_err fill(struct hl_rest_call *call, struct hl_add_job *a)
{
    struct hl_rest_job *job = call->job;
    struct hl_job_progress progress = {.phase = HL_JOB_NEW};
    const char *what = hl_job_what_text(job->plan.what);
    job->plan.author = json_incref(call->audited.author);
    job->plan.asker = call->asker;
    if (call->is_operator)
        job->plan.asker.max_priority = HL_PRIORITY_HIGH;
    a->job_id = job->id;
    hl_str_put(a->project, sizeof(a->project), call->project);
    a->m.audit = hl_rest_audit(call, HL_AUDIT_JOB_MADE,
        hl_audit_target_json("job", &job->id, hl_str_from(what)),
        HL_JSON_OBJECT({"filter", json_incref(job->plan.filter)}));
    enum hl_err err = a->m.audit ? hl_job_plan_write(&job->plan, &a->plan) : HL_ERR_NOMEM;
    return err ? err : hl_job_progress_write(&progress, &a->progress);
}

static void add(struct hl_rest_call *call)
{
    struct hl_add_job *a = calloc(1, sizeof(*a));
    if (a && fill(call, a) == HL_OK) {
        hl_rest_ask_store(call, HL_STORE_ADD_JOB, &a->m);
        hl_rest_then(call, say_added);
        return;
    }
    if (a) {
        hl_add_job_fini(a);
        free(a->m.audit);
    }
    free(a);
    hl_rest_refuse_memory(call);
}

static void say_added(struct hl_rest_call *call)
{
    struct hl_add_job *a = (struct hl_add_job *)call->answers[0];
    if (a->m.rc == HL_ERR_BUSY) {
        hl_rest_refuse(call, HL_REFUSAL_JOBS_FULL);
        return;
    }
    if (a->m.rc != HL_OK) {
        hl_rest_refuse_store(call, a->m.rc, "job");
        return;
    }
    struct hl_job job = {.id = a->job_id, .version = 1, .plan = a->plan, .progress = a->progress};
    char id[HL_ID_TEXT];
    hl_str_put(job.project, sizeof(job.project), a->project);
    hl_id_format(&job.id, id);
    hl_foreman_look(call->all->foreman);
    if (hl_buf_printf(&call->reply.fields, "Location: /v2/projects/%s/jobs/%.*s\r\n", call->project,
            HL_ID_TEXT, id) != HL_OK) {
        hl_rest_refuse_memory(call);
        return;
    }
    hl_rest_end_json(call, 202, hl_job_json(&job));
}

/* ---- listed ---- */

static void write_list(struct hl_rest_call *call);

static bool ask_list(struct hl_rest_call *call, const struct hl_id *job_id)
{
    struct hl_list_jobs *l = calloc(1, sizeof(*l));
    if (!l)
        return false;
    hl_str_put(l->project, sizeof(l->project), call->project);
    l->limit = call->params.limit;
    l->before = call->params.cursor;
    if (job_id)
        l->job_id = *job_id;
    hl_rest_ask_store(call, HL_STORE_LIST_JOBS, &l->m);
    return true;
}

void hl_rest_list_jobs(struct hl_rest_call *call)
{
    if (ask_list(call, NULL))
        hl_rest_then(call, write_list);
    else
        hl_rest_refuse_memory(call);
}

static void write_list(struct hl_rest_call *call)
{
    const struct hl_list_jobs *l = (const struct hl_list_jobs *)call->answers[0];
    if (l->m.rc != HL_OK) {
        hl_rest_refuse_store(call, l->m.rc, "job");
        return;
    }
    json_t *rows = json_array();
    bool is_whole = rows != NULL;
    for (size_t i = 0; is_whole && i < l->count; i++)
        is_whole = hl_json_push(rows, hl_job_json(&l->rows[i]));
    if (!is_whole) {
        json_decref(rows);
        hl_rest_refuse_memory(call);
        return;
    }
    json_t *cursor = l->has_more ? hl_json_id(&l->next) : json_null();
    hl_rest_end_json(call, 200, HL_JSON_OBJECT({"jobs", rows}, {"next_cursor", cursor}));
}

/* ---- one ---- */

static void write_one(struct hl_rest_call *call);

void hl_rest_show_job(struct hl_rest_call *call)
{
    if (ask_list(call, &call->id))
        hl_rest_then(call, write_one);
    else
        hl_rest_refuse_memory(call);
}

static void write_one(struct hl_rest_call *call)
{
    const struct hl_list_jobs *l = (const struct hl_list_jobs *)call->answers[0];
    if (l->m.rc == HL_OK)
        hl_rest_end_json(call, 200, hl_job_json(&l->rows[0]));
    else
        hl_rest_refuse_store(call, l->m.rc, "job");
}

/* ---- what became of each ---- */

static void ask_pieces(struct hl_rest_call *call);
static void write_items(struct hl_rest_call *call);

/* Which of a piece comes next, in the form of an id: no cursor has other ones. */
static struct hl_id cursor_of(int64_t piece, size_t i)
{
    struct hl_id cursor = {.b = {0}};
    for (unsigned k = 0; k < 6; k++)
        cursor.b[k] = (uint8_t)((uint64_t)(piece + 1) >> (40 - 8 * k));
    cursor.b[15] = (uint8_t)i;
    return cursor;
}

static int64_t piece_of(const struct hl_id *cursor)
{
    return hl_id_is_nil(cursor) ? 0 : hl_id_time_ms(cursor) - 1;
}

void hl_rest_list_job_items(struct hl_rest_call *call)
{
    if (ask_list(call, &call->id))
        hl_rest_then(call, ask_pieces);
    else
        hl_rest_refuse_memory(call);
}

static void ask_pieces(struct hl_rest_call *call)
{
    enum hl_err rc = call->answers[0]->rc;
    struct hl_list_job_pieces *l = rc ? NULL : calloc(1, sizeof(*l));
    if (!l) {
        hl_rest_refuse_store(call, rc ? rc : HL_ERR_NOMEM, "job");
        return;
    }
    l->job_id = call->id;
    l->from = piece_of(&call->params.cursor);
    l->fates = call->params.outcome >= 0 ? 1u << call->params.outcome : (1u << HL_JOB_FATES) - 1;
    l->limit = ITEMS_OF_CALL;
    hl_rest_ask_store(call, HL_STORE_LIST_JOB_PIECES, &l->m);
    hl_rest_then(call, write_items);
}

struct item_page {
    json_t *rows;
    size_t count;
    struct hl_id next; /* nil: there are no more */
};

/* False: out of memory. */
static bool add_piece(const struct hl_rest_call *call, const struct hl_job_piece *piece,
    enum hl_job_what what, struct item_page *page)
{
    struct hl_job_item items[HL_JOB_PIECE_ITEMS];
    const struct hl_rest_params *p = &call->params;
    size_t n, i = piece->n == piece_of(&p->cursor) ? p->cursor.b[15] : 0;
    if (hl_job_items_read(hl_buf_str(&piece->items), items, &n) != HL_OK)
        return true; /* it is passed over, as it is when it is done */
    for (; i < n; i++) {
        if (p->outcome >= 0 && (int)items[i].fate != p->outcome)
            continue;
        if (page->count == p->limit) {
            page->next = cursor_of(piece->n, i);
            return true;
        }
        if (!hl_json_push(page->rows, hl_job_item_json(&items[i], what)))
            return false;
        page->count++;
    }
    return true;
}

/* Of a job that cannot be read nothing is known. False: out of memory. */
static bool add_pieces(const struct hl_rest_call *call, struct item_page *page)
{
    const struct hl_list_jobs *jobs = (const struct hl_list_jobs *)call->answers[0];
    const struct hl_list_job_pieces *l = (const struct hl_list_job_pieces *)call->answers[1];
    struct hl_job_plan plan;
    bool is_whole = page->rows != NULL;
    if (hl_job_plan_load(hl_buf_str(&jobs->rows[0].plan), &plan) != HL_OK)
        return is_whole;
    for (size_t i = 0; is_whole && i < l->count && hl_id_is_nil(&page->next); i++)
        is_whole = add_piece(call, &l->rows[i], plan.what, page);
    if (hl_id_is_nil(&page->next) && l->has_more)
        page->next = cursor_of(l->rows[l->count - 1].n + 1, 0);
    hl_job_plan_fini(&plan);
    return is_whole;
}

static void write_items(struct hl_rest_call *call)
{
    const struct hl_store_msg *m = call->answers[1];
    struct item_page page = {.rows = json_array()};
    if (m->rc == HL_OK && add_pieces(call, &page)) {
        json_t *cursor = hl_id_is_nil(&page.next) ? json_null() : hl_json_id(&page.next);
        hl_rest_end_json(call, 200, HL_JSON_OBJECT({"items", page.rows}, {"next_cursor", cursor}));
        return;
    }
    json_decref(page.rows);
    hl_rest_refuse_store(call, m->rc ? m->rc : HL_ERR_NOMEM, "job");
}

/* ---- stopped ---- */

static void find(struct hl_rest_call *call);
static void stop(struct hl_rest_call *call);
static void say_stopped(struct hl_rest_call *call);

void hl_rest_stop_job(struct hl_rest_call *call)
{
    hl_rest_with_audit(call, HL_REST_AUDITED_NEW, find);
}

static void find(struct hl_rest_call *call)
{
    if (ask_list(call, &call->id))
        hl_rest_then(call, stop);
    else
        hl_rest_refuse_memory(call);
}

static void stop(struct hl_rest_call *call)
{
    const struct hl_list_jobs *l = (const struct hl_list_jobs *)call->answers[0];
    if (l->m.rc != HL_OK) {
        hl_rest_refuse_store(call, l->m.rc, "job");
        return;
    }
    hl_str_put(call->audited.project, sizeof(call->audited.project), l->rows[0].project);
    hl_rest_drop_answers(call);
    struct hl_stop_job *s = calloc(1, sizeof(*s));
    if (s)
        s->m.audit = hl_rest_audit(
            call, HL_AUDIT_JOB_STOPPED, hl_audit_target_json("job", &call->id, HL_STR("")), NULL);
    if (!s || !s->m.audit) {
        free(s);
        hl_rest_refuse_memory(call);
        return;
    }
    s->job_id = call->id;
    hl_str_put(s->project, sizeof(s->project), call->project);
    hl_rest_ask_store(call, HL_STORE_STOP_JOB, &s->m);
    hl_rest_then(call, say_stopped);
}

static void say_stopped(struct hl_rest_call *call)
{
    enum hl_err rc = call->answers[0]->rc;
    if (rc == HL_ERR_CONFLICT) {
        hl_rest_refuse(call, HL_REFUSAL_JOB_ENDED);
        return;
    }
    if (rc != HL_OK) {
        hl_rest_refuse_store(call, rc, "job");
        return;
    }
    hl_foreman_hear_stop(call->all->foreman, &call->id);
    hl_foreman_look(call->all->foreman);
    hl_rest_end_json(call, 202,
        HL_JSON_OBJECT({"job_id", hl_json_id(&call->id)}, {"state", json_string("stopping")}));
}
