/* foreman.c - who carries out jobs.
 * Owns: the walks. Thread: control.
 * Promise: a job that nobody walks is found at once where this process made it or starts with it, and within LOOK_MS and
 * its lease where another replica has left it.
 * Not here: what is done with one (job_walk.c). */
#include "api/foreman.h"

#include <stdlib.h>

#include "api/job_walk.h"
#include "base/log.h"
#include "run/service.h"
#include "store/job.h"
#include "store/store.h"

#define LOOK_MS   2000
#define AGAIN_MS  1000
#define WALKS_MAX 8
#define JOBS_MAX  200 /* of all projects, at one look */

static void on_timer(struct hl_timer *timer);
static void on_jobs(struct hl_rest_call *call);

void hl_foreman_init(struct hl_foreman *f, struct hl_rest_calls *calls)
{
    *f = (struct hl_foreman){.calls = calls};
    hl_list_init(&f->walks);
    hl_timer_init(&f->timer, on_timer);
}

void hl_foreman_start(struct hl_foreman *f)
{
    if (f->has_begun || f->is_over || !hl_rest_call_add(f->calls, &f->call))
        return;
    f->has_begun = true;
    f->calls->foreman = f;
    hl_foreman_look(f);
}

/* ---- looking ---- */

static void wake_in(struct hl_foreman *f, uint64_t ms)
{
    if (!f->is_over)
        hl_timer_arm(&f->calls->waits.wheel, &f->timer, ms);
}

static void on_timer(struct hl_timer *timer)
{
    hl_foreman_look(HL_CONTAINER_OF(timer, struct hl_foreman, timer));
}

void hl_foreman_look(struct hl_foreman *f)
{
    if (!f || f->is_over)
        return;
    f->looks_again = f->is_asking;
    if (f->is_asking)
        return;
    struct hl_list_jobs *l = calloc(1, sizeof(*l));
    if (!l) {
        wake_in(f, AGAIN_MS);
        return;
    }
    l->only_open = true;
    l->limit = JOBS_MAX;
    f->is_asking = true;
    hl_rest_ask_store(&f->call, HL_STORE_LIST_JOBS, &l->m);
    hl_rest_then(&f->call, on_jobs);
}

static bool is_walked(const struct hl_foreman *f, const struct hl_id *job_id)
{
    HL_LIST_EACH (node, &f->walks)
        if (hl_id_eq(&HL_CONTAINER_OF(node, struct hl_job_walk, node)->job_id, job_id))
            return true;
    return false;
}

static void count(struct hl_foreman *f, unsigned n)
{
    f->n = n;
    if (f->calls->parts.service)
        f->calls->parts.service->jobs = n;
}

static void on_walk_end(struct hl_job_walk *walk)
{
    struct hl_foreman *f = walk->foreman;
    hl_list_remove(&walk->node);
    count(f, f->n - 1);
    hl_job_walk_free(walk);
    hl_foreman_look(f); /* there may be one that had no place */
}

/* Once: it stays there until somebody ends it. */
static void tell_unreadable(struct hl_foreman *f, const struct hl_job *job)
{
    for (unsigned i = 0; i < HL_FOREMAN_TOLD && i < f->n_told; i++)
        if (hl_id_eq(&f->told[i], &job->id))
            return;
    f->told[f->n_told++ % HL_FOREMAN_TOLD] = job->id;
    HL_LOG(ERROR,
        "a job cannot be read, and is not carried out: its row is damaged, or of a newer hookline; "
        "`hookline jobs stop` ends it",
        HL_LOG_ID("job_id", &job->id), HL_LOG_TEXT("project_id", job->project));
}

static void begin(struct hl_foreman *f, const struct hl_job *job)
{
    struct hl_job_walk *walk;
    enum hl_err err = hl_job_walk_new(f->calls, job, &walk);
    if (err == HL_ERR_CORRUPT)
        tell_unreadable(f, job);
    if (err)
        return;
    walk->foreman = f;
    walk->on_end = on_walk_end;
    hl_list_push_back(&f->walks, &walk->node);
    count(f, f->n + 1);
    hl_job_walk_begin(walk);
}

/* The oldest first: the list is newest first. */
static void on_jobs(struct hl_rest_call *call)
{
    struct hl_foreman *f = HL_CONTAINER_OF(call, struct hl_foreman, call);
    struct hl_list_jobs *l = (struct hl_list_jobs *)call->answers[0];
    bool is_known = l->m.rc == HL_OK;
    call->answer_count = 0; /* it is this function's */
    for (size_t i = is_known ? l->count : 0; i-- > 0 && f->n < WALKS_MAX && !f->is_over;)
        if (l->rows[i].is_free && !is_walked(f, &l->rows[i].id))
            begin(f, &l->rows[i]);
    hl_rest_answer_free(&l->m.msg);
    f->is_asking = false;
    if (f->looks_again)
        hl_foreman_look(f);
    else if (!is_known)
        wake_in(f, AGAIN_MS);
    else if (hl_store_is_shared(f->calls->parts.store))
        wake_in(f, LOOK_MS);
}

void hl_foreman_hear_stop(struct hl_foreman *f, const struct hl_id *job_id)
{
    if (!f)
        return;
    HL_LIST_EACH_SAFE (node, &f->walks) {
        struct hl_job_walk *walk = HL_CONTAINER_OF(node, struct hl_job_walk, node);
        if (hl_id_eq(&walk->job_id, job_id))
            hl_job_walk_stop(walk);
    }
}

/* ---- the end ---- */

void hl_foreman_end(struct hl_foreman *f)
{
    f->is_over = true;
    hl_timer_disarm(&f->timer);
    HL_LIST_EACH_SAFE (node, &f->walks)
        hl_job_walk_leave(HL_CONTAINER_OF(node, struct hl_job_walk, node));
}

void hl_foreman_close(struct hl_foreman *f)
{
    f->is_over = true;
    hl_timer_fini(&f->calls->waits.wheel, &f->timer);
    HL_LIST_EACH_SAFE (node, &f->walks) {
        hl_list_remove(node);
        hl_job_walk_free(HL_CONTAINER_OF(node, struct hl_job_walk, node));
    }
    count(f, 0);
    if (f->has_begun)
        hl_rest_abandon(&f->call);
    f->has_begun = false;
    f->calls->foreman = NULL;
}
