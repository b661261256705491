/* job_walk.c - one job as it is carried out.
 * Owns: its place in it, as it was written down. Thread: control.
 * Promise: a step is written down before it is done, and what came of it before the next: after a kill the same piece is
 * gone through again, and job_act.c does nothing twice. What was written by somebody else is never written over.
 * Not here: what is done to each (job_act.c), which there are (job_listing.c), who finds jobs (foreman.c). */
#include "api/job_walk.h"

#include <stdlib.h>
#include <string.h>

#include "api/audit.h"
#include "api/job_news.h"
#include "base/clock.h"
#include "base/log.h"
#include "config/config.h"
#include "store/gauges.h"
#include "store/store.h"

#define AGAIN_MS 1000
#define LEASE_MS 15000 /* or HOOKLINE_REPLICA_TTL */
#define ANY_FATE ((1u << HL_JOB_FATES) - 1)

static void on_timer(struct hl_timer *timer);
static void on_page(struct hl_job_listing *listing);
static void on_acted(struct hl_job_act *act);

/* Of one that cannot be read there is nothing to do but to end it. */
static enum hl_err load(struct hl_job_walk *w, const struct hl_job *job)
{
    enum hl_err err = hl_job_plan_load(hl_buf_str(&job->plan), &w->plan);
    if (!err)
        err = hl_job_progress_load(hl_buf_str(&job->progress), &w->progress);
    if (!err || !job->is_stopping)
        return err;
    hl_job_plan_fini(&w->plan);
    w->plan = (struct hl_job_plan){.what = HL_JOB_UNREADABLE};
    w->progress = (struct hl_job_progress){.phase = HL_JOB_RUNNING};
    return HL_OK;
}

enum hl_err hl_job_walk_new(
    struct hl_rest_calls *calls, const struct hl_job *job, struct hl_job_walk **out)
{
    struct hl_job_walk *w = *out = calloc(1, sizeof(*w));
    if (!w)
        return HL_ERR_NOMEM;
    *w = (struct hl_job_walk){.calls = calls,
        .job_id = job->id,
        .version = job->version,
        .is_stopping = job->is_stopping};
    hl_list_init(&w->node);
    hl_timer_init(&w->timer, on_timer);
    hl_str_put(w->project, sizeof(w->project), job->project);
    enum hl_err err = load(w, job);
    if (!err && hl_rest_call_add(calls, &w->call))
        return HL_OK;
    if (!err)
        hl_rest_abandon(&w->call);
    hl_job_plan_fini(&w->plan);
    free(w);
    *out = NULL;
    return err ? err : HL_ERR_NOMEM;
}

void hl_job_walk_free(struct hl_job_walk *w)
{
    hl_timer_fini(&w->calls->waits.wheel, &w->timer);
    hl_job_listing_fini(&w->listing);
    hl_job_act_fini(&w->act);
    hl_rest_abandon(&w->call);
    hl_job_plan_fini(&w->plan);
    free(w->audit);
    free(w);
}

/* ---- waiting ---- */

static void wait(struct hl_job_walk *w, uint64_t ms, void (*then)(struct hl_job_walk *w))
{
    w->resume = then;
    hl_timer_arm(&w->calls->waits.wheel, &w->timer, ms);
}

static void on_timer(struct hl_timer *timer)
{
    struct hl_job_walk *w = HL_CONTAINER_OF(timer, struct hl_job_walk, timer);
    w->resume(w);
}

/* ---- writing down ---- */

static void keep(struct hl_job_walk *w);
static void on_kept(struct hl_rest_call *call);

static void add_counts(struct hl_job_walk *w, uint64_t counts[HL_JOB_FATES])
{
    for (size_t i = 0; w->now.is_there && i < w->now.count; i++)
        counts[w->now.items[i].fate]++;
}

static enum hl_err put_piece(struct hl_keep_job *k, const struct piece_now *piece)
{
    struct hl_job_piece *out = &k->pieces[k->n_pieces++];
    out->n = piece->n;
    for (size_t i = 0; i < piece->count; i++)
        out->fates |= 1u << piece->items[i].fate;
    return hl_job_items_write(piece->items, piece->count, &out->items);
}

static size_t count_waiting(const struct piece_now *piece)
{
    size_t n = 0;
    for (size_t i = 0; i < piece->count; i++)
        n += piece->items[i].fate == HL_JOB_WAITING;
    return n;
}

static uint64_t lease_ms(const struct hl_job_walk *w)
{
    uint64_t ttl_ms = w->calls->parts.config->replica_ttl_ms;
    return ttl_ms < LEASE_MS ? ttl_ms : LEASE_MS;
}

static uint64_t renew_ms(const struct hl_job_walk *w)
{
    return lease_ms(w) / 4;
}

static enum hl_err fill(struct hl_job_walk *w, struct hl_keep_job *k)
{
    k->job_id = w->job_id;
    k->version = w->version;
    k->takes = w->kept_ms == 0;
    k->gives_back = w->is_leaving;
    k->lease_ms = (int64_t)lease_ms(w);
    k->ended_ms = w->ended_ms;
    memcpy(w->progress.shown, w->progress.settled, sizeof(w->progress.shown));
    add_counts(w, w->progress.shown);
    w->kept_waiting = count_waiting(&w->now);
    enum hl_err err = hl_job_progress_write(&w->progress, &k->progress);
    /* A damaged piece has no items here, and stays as it is. */
    if (!err && w->past.count > 0 && w->past.is_there)
        err = put_piece(k, &w->past);
    if (!err && w->now.count > 0 && w->now.is_there)
        err = put_piece(k, &w->now);
    return err;
}

static void keep(struct hl_job_walk *w)
{
    struct hl_keep_job *k = calloc(1, sizeof(*k));
    enum hl_err err = k ? fill(w, k) : HL_ERR_NOMEM;
    struct hl_audit *audit =
        !err && w->audit ? hl_audit_new(w->audit, hl_audit_told(w->audit)) : NULL;
    if (err || (w->audit && !audit)) {
        if (k)
            hl_keep_job_fini(k);
        free(k);
        wait(w, AGAIN_MS, keep);
        return;
    }
    k->m.audit = audit;
    hl_rest_ask_store(&w->call, HL_STORE_KEEP_JOB, &k->m);
    hl_rest_then(&w->call, on_kept);
}

static void keep_then(struct hl_job_walk *w, void (*then)(struct hl_job_walk *w))
{
    w->on_kept = then;
    keep(w);
}

static void on_kept(struct hl_rest_call *call)
{
    struct hl_job_walk *w = HL_CONTAINER_OF(call, struct hl_job_walk, call);
    const struct hl_keep_job *k = (const struct hl_keep_job *)call->answers[0];
    enum hl_err rc = k->m.rc;
    bool is_stopping = k->is_stopping;
    hl_rest_drop_answers(call);
    if (rc == HL_ERR_STALE) {
        w->on_end(w); /* another has it */
    } else if (rc != HL_OK) {
        wait(w, AGAIN_MS, keep);
    } else {
        w->version++;
        w->kept_ms = hl_clock_mono_ms();
        w->is_stopping = w->is_stopping || is_stopping;
        w->on_kept(w);
    }
}

/* ---- the end ---- */

static void say_ended(struct hl_job_walk *w)
{
    hl_job_news_log(w, "a job has ended", hl_job_news_end(w->progress.phase));
    w->on_end(w);
}

static void end(struct hl_job_walk *w, enum hl_job_phase phase)
{
    w->progress.phase = phase;
    w->ended_ms = hl_clock_wall_ms();
    memcpy(w->progress.shown, w->progress.settled, sizeof(w->progress.shown));
    add_counts(w, w->progress.shown);
    w->audit = hl_job_news_audit(w); /* without memory it goes without */
    keep_then(w, say_ended);
}

static void say_left(struct hl_job_walk *w)
{
    w->on_end(w);
}

/* What is asked from outside, once it is written down how far it is. False: it goes on. */
static bool is_over(struct hl_job_walk *w)
{
    if (w->is_leaving)
        keep_then(w, say_left);
    else if (w->is_stopping)
        end(w, HL_JOB_STOPPED);
    return w->is_leaving || w->is_stopping;
}

/* ---- it begins ---- */

static void on_taken(struct hl_job_walk *w);
static void gather(struct hl_job_walk *w);
static void read_next(struct hl_job_walk *w);

void hl_job_walk_begin(struct hl_job_walk *w)
{
    if (w->progress.phase == HL_JOB_NEW) {
        w->progress.phase = HL_JOB_GATHERING;
        w->progress.began_ms = hl_clock_wall_ms();
    }
    keep_then(w, on_taken);
}

static void on_taken(struct hl_job_walk *w)
{
    bool gathers = w->progress.phase == HL_JOB_GATHERING;
    if (is_over(w))
        return;
    hl_job_news_log(w, "a job is carried out", gathers ? "gathering" : "running");
    if (gathers) {
        w->listing.plan = &w->plan;
        w->listing.project = w->project;
        w->listing.until_ms = hl_id_time_ms(&w->job_id) + 1;
        w->listing.job_id = w->job_id;
        w->listing.pass = w->progress.pass;
        w->listing.cursor = w->progress.cursor;
        w->listing.on_page = on_page;
        gather(w);
    } else {
        w->act.looks = w->progress.is_acting;
        read_next(w);
    }
}

/* ---- what matches ---- */

static void on_gathered(struct hl_job_walk *w);

static void gather(struct hl_job_walk *w)
{
    w->listing.pieces = w->progress.pieces;
    hl_job_listing_ask(w->calls, &w->listing);
}

static void on_page(struct hl_job_listing *l)
{
    struct hl_job_walk *w = HL_CONTAINER_OF(l, struct hl_job_walk, listing);
    if (l->err == HL_ERR_INVALID) {
        end(w, HL_JOB_BROKEN);
        return;
    }
    if (l->err) {
        if (!is_over(w))
            wait(w, AGAIN_MS, gather);
        return;
    }
    w->now.is_there = l->n > 0;
    w->now.n = w->progress.pieces;
    w->now.count = l->n;
    memcpy(w->now.items, l->items, l->n * sizeof(*l->items));
    w->progress.pieces += l->n > 0;
    w->progress.total += l->n;
    w->progress.pass = l->pass;
    w->progress.cursor = l->cursor;
    if (l->is_over)
        w->progress.phase = HL_JOB_RUNNING;
    keep_then(w, on_gathered);
}

static void on_gathered(struct hl_job_walk *w)
{
    w->now.is_there = false;
    if (is_over(w))
        return;
    if (w->progress.phase == HL_JOB_GATHERING)
        gather(w);
    else
        read_next(w);
}

/* ---- a piece ---- */

static void on_read(struct hl_rest_call *call);
static void begin_piece(struct hl_job_walk *w);
static void act(struct hl_job_walk *w);

/* The piece behind the one that is done just now, or the first. */
static void read_next(struct hl_job_walk *w)
{
    struct hl_list_job_pieces *l;
    int64_t n = w->now.is_there ? w->now.n + 1 : w->progress.next;
    if (n >= w->progress.pieces) {
        end(w, HL_JOB_ENDED);
        return;
    }
    l = calloc(1, sizeof(*l));
    if (!l) {
        wait(w, AGAIN_MS, read_next);
        return;
    }
    l->job_id = w->job_id;
    l->from = n;
    l->fates = ANY_FATE;
    l->limit = 1;
    hl_rest_ask_store(&w->call, HL_STORE_LIST_JOB_PIECES, &l->m);
    hl_rest_then(&w->call, on_read);
}

/* New runs have ids before they are made. */
static void name_new(struct hl_job_walk *w, struct piece_now *piece)
{
    for (size_t i = 0; w->plan.what == HL_JOB_RERUN && i < piece->count; i++)
        if (hl_id_is_nil(&piece->items[i].made))
            piece->items[i].made = hl_id_next(&w->calls->ids, hl_clock_wall_ms());
}

/* `piece` is the one that is done from now on. */
static void move_to(struct hl_job_walk *w, const struct piece_now *piece)
{
    add_counts(w, w->progress.settled);
    w->past = w->now;
    w->now = *piece;
    w->progress.next = piece->n;
    w->progress.is_acting = true;
}

static void on_read(struct hl_rest_call *call)
{
    struct hl_job_walk *w = HL_CONTAINER_OF(call, struct hl_job_walk, call);
    const struct hl_list_job_pieces *l = (const struct hl_list_job_pieces *)call->answers[0];
    struct piece_now piece = {.is_there = true, .n = l->from};
    enum hl_err rc = l->m.rc;
    bool is_there = !rc && l->count == 1 && l->rows[0].n == l->from;
    if (!rc)
        rc = is_there ? hl_job_items_read(hl_buf_str(&l->rows[0].items), piece.items, &piece.count)
                      : HL_ERR_CORRUPT;
    if (rc)
        piece.count = 0;
    hl_rest_drop_answers(call);
    if (rc && rc != HL_ERR_CORRUPT) {
        wait(w, AGAIN_MS, read_next);
        return;
    }
    if (rc)
        HL_LOG(ERROR, "a piece of a job is damaged: nothing is done to what it is of",
            HL_LOG_ID("job_id", &w->job_id), HL_LOG_INT("piece", piece.n));
    name_new(w, &piece);
    move_to(w, &piece);
    keep_then(w, begin_piece);
}

static void rest(struct hl_job_walk *w);

/* What came of the one before is written, and that this one begins. */
static void begin_piece(struct hl_job_walk *w)
{
    bool is_first = !w->past.is_there;
    w->past.is_there = false;
    w->pause_until_ms = hl_clock_mono_ms() + (is_first ? 0 : (uint64_t)w->plan.pause_ms);
    rest(w);
}

/* A long one is cut, so that nobody takes the job meanwhile. */
static void renew(struct hl_job_walk *w)
{
    keep_then(w, rest);
}

static void rest(struct hl_job_walk *w)
{
    uint64_t now_ms = hl_clock_mono_ms();
    uint64_t left_ms = w->pause_until_ms > now_ms ? w->pause_until_ms - now_ms : 0;
    bool is_cut = left_ms > renew_ms(w) && hl_store_is_shared(w->calls->parts.store);
    if (is_over(w))
        return;
    if (left_ms == 0)
        act(w);
    else
        wait(w, is_cut ? renew_ms(w) : left_ms, is_cut ? renew : act);
}

/* How many items there is room for: half of the queue is for new calls, and what waits for a retry is in it. */
static size_t room(const struct hl_job_walk *w)
{
    const struct hl_store_gauges *gauges = hl_store_get_gauges(w->calls->parts.store);
    uint64_t half = ((uint64_t)w->calls->parts.config->max_queued_runs + 1) / 2;
    uint64_t taken = hl_store_gauges_places(gauges);
    if (w->plan.what != HL_JOB_RERUN)
        return SIZE_MAX;
    return taken < half ? (size_t)(half - taken) : 0;
}

static void act(struct hl_job_walk *w)
{
    if (is_over(w))
        return;
    w->act.calls = w->calls;
    w->act.plan = &w->plan;
    w->act.project = w->project;
    w->act.items = w->now.items;
    w->act.n = w->now.count;
    w->act.most = room(w);
    w->act.on_end = on_acted;
    hl_job_act_begin(&w->act);
}

static void act_again(struct hl_job_walk *w)
{
    wait(w, AGAIN_MS, act);
}

static void on_acted(struct hl_job_act *a)
{
    struct hl_job_walk *w = HL_CONTAINER_OF(a, struct hl_job_walk, act);
    size_t waiting = count_waiting(&w->now);
    bool is_old = waiting != w->kept_waiting || hl_clock_mono_ms() - w->kept_ms >= renew_ms(w);
    w->act.looks = waiting > 0;
    if (!w->act.looks)
        read_next(w);
    else if (is_old)
        keep_then(w, act_again);
    else
        act_again(w);
}

/* ---- from outside ---- */

static bool is_idle(const struct hl_job_walk *w)
{
    return hl_timer_is_armed(&w->timer) && w->resume != keep;
}

static void hurry(struct hl_job_walk *w)
{
    if (!is_idle(w))
        return;
    hl_timer_disarm(&w->timer);
    (void)is_over(w);
}

void hl_job_walk_stop(struct hl_job_walk *w)
{
    w->is_stopping = true;
    hurry(w);
}

void hl_job_walk_leave(struct hl_job_walk *w)
{
    w->is_leaving = true;
    hurry(w);
}
