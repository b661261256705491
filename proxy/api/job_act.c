/* job_act.c - what a job does to the items of one piece.
 * Owns: the requests under way. Thread: control.
 * Promise: nothing is done twice, whatever was cut off when: a delivery is sent again only in the round that it was listed
 * in, a new run has an id that was written down before, and a run that is cancelled stays so. What an earlier try has done
 * is told as done.
 * Not here: which items, and when (job_walk.c). */
#include "api/job_act.h"

#include <stdlib.h>
#include <string.h>

#include "api/json.h"

struct hl_job_errand {
    struct hl_inner_call inner;
    struct hl_rest_part part;
    struct hl_job_act *act;
    size_t i; /* the item */
    /* while it is looked at why it is refused: what it is unless an earlier try did it */
    enum hl_job_fate fate;
    enum hl_job_why why;
};

static struct hl_job_item *item_of(const struct hl_job_errand *e)
{
    return &e->act->items[e->i];
}

/* ---- one ---- */

static void end(struct hl_job_errand *e)
{
    struct hl_job_act *act = e->act;
    act->errands[e->i] = NULL;
    hl_inner_call_fini(&e->inner);
    free(e);
    if (--act->under_way == 0)
        act->on_end(act);
}

static void settle(struct hl_job_errand *e, enum hl_job_fate fate, enum hl_job_why why)
{
    item_of(e)->fate = fate;
    item_of(e)->why = why;
    end(e);
}

/* Of refusals that will not change. */
static const struct {
    const char *cause;
    enum hl_job_fate fate;
    enum hl_job_why why;
} refusals[] = {
    {"RUN_FINISHED", HL_JOB_SKIPPED, HL_JOB_WHY_FINISHED},
    {"RERUN_UNFINISHED", HL_JOB_SKIPPED, HL_JOB_WHY_UNFINISHED},
    {"DELIVERY_PENDING", HL_JOB_SKIPPED, HL_JOB_WHY_PENDING},
    {"REST_NOT_FOUND", HL_JOB_SKIPPED, HL_JOB_WHY_GONE},
    {"REST_RUN_NOT_FOUND", HL_JOB_SKIPPED, HL_JOB_WHY_GONE},
    {"REQUEST_OF_SYNC", HL_JOB_SKIPPED, HL_JOB_WHY_SYNCHRONOUS},
    {"REQUEST_NOT_KEPT", HL_JOB_SKIPPED, HL_JOB_WHY_NOT_KEPT},
    {"REQUEST_DAMAGED", HL_JOB_FAILED, HL_JOB_WHY_DAMAGED},
};

static enum hl_err write_path(struct hl_job_errand *e, const struct hl_id *id, const char *verb)
{
    bool is_delivery = e->act->plan->what == HL_JOB_REDELIVER;
    char text[HL_ID_TEXT];
    hl_id_format(id, text);
    e->inner.path.n = 0;
    return hl_buf_printf(&e->inner.path, "/v2/projects/%s/%s/%.*s%s%s", e->act->project,
        is_delivery ? "deliveries" : "runs", HL_ID_TEXT, text, *verb ? "/" : "", verb);
}

static void on_done(struct hl_inner_call *inner);

static void ask(struct hl_job_errand *e)
{
    e->inner.on_end = on_done;
    if (write_path(e, &item_of(e)->id, hl_job_what_text(e->act->plan->what)) == HL_OK)
        hl_inner_call_begin(e->act->calls, &e->inner, HL_METHOD_POST);
    else
        end(e);
}

static void look(
    struct hl_job_errand *e, const struct hl_id *id, void (*then)(struct hl_inner_call *inner))
{
    e->inner.on_end = then;
    if (write_path(e, id, "") == HL_OK)
        hl_inner_call_begin(e->act->calls, &e->inner, HL_METHOD_GET);
    else
        end(e);
}

/* ---- what an earlier try may have done ---- */

/* It is as it would not be without: cancelled, or in a later round than it was listed in. */
static bool is_done_already(const struct hl_job_errand *e)
{
    json_t *json = hl_inner_call_json(&e->inner);
    const char *state = json_string_value(json_object_get(json, "state"));
    json_int_t round = json_integer_value(json_object_get(json, "round"));
    bool is = e->act->plan->what == HL_JOB_REDELIVER
                  ? round > (json_int_t)e->part.round
                  : state && strcmp(state, hl_run_state_text(HL_RUN_CANCELLED)) == 0;
    json_decref(json);
    return is;
}

/* Why it was refused. */
static void on_seen(struct hl_inner_call *inner)
{
    struct hl_job_errand *e = HL_CONTAINER_OF(inner, struct hl_job_errand, inner);
    if (inner->call.reply.status == 200 && is_done_already(e))
        settle(e, HL_JOB_DONE, HL_JOB_WHY_NONE);
    else if (hl_inner_call_may_work(inner))
        end(e);
    else
        settle(e, e->fate, e->why);
}

static void refuse(struct hl_job_errand *e, enum hl_job_fate fate, enum hl_job_why why)
{
    bool may_be_done = why == HL_JOB_WHY_FINISHED || why == HL_JOB_WHY_PENDING;
    e->fate = fate;
    e->why = why;
    if (may_be_done && e->act->looks)
        look(e, &item_of(e)->id, on_seen);
    else
        settle(e, fate, why);
}

static void on_done(struct hl_inner_call *inner)
{
    struct hl_job_errand *e = HL_CONTAINER_OF(inner, struct hl_job_errand, inner);
    const struct hl_reply *reply = &inner->call.reply;
    if (reply->status < 300) {
        settle(e, HL_JOB_DONE, HL_JOB_WHY_NONE);
        return;
    }
    for (size_t i = 0; reply->cause && i < HL_ARRAY_LEN(refusals); i++)
        if (strcmp(reply->cause, refusals[i].cause) == 0) {
            refuse(e, refusals[i].fate, refusals[i].why);
            return;
        }
    if (hl_inner_call_may_work(inner))
        end(e);
    else
        settle(e, HL_JOB_FAILED, HL_JOB_WHY_REFUSED);
}

/* The new run may be there, even where the one that it is of has gone. */
static void on_looked(struct hl_inner_call *inner)
{
    struct hl_job_errand *e = HL_CONTAINER_OF(inner, struct hl_job_errand, inner);
    if (inner->call.reply.status == 200)
        settle(e, HL_JOB_DONE, HL_JOB_WHY_NONE);
    else if (inner->call.reply.status == 404)
        ask(e);
    else
        end(e);
}

/* ---- all of them ---- */

static void start(struct hl_job_act *act, size_t i)
{
    struct hl_job_errand *e = calloc(1, sizeof(*e));
    if (!e)
        return; /* later */
    e->act = act;
    e->i = i;
    e->part = (struct hl_rest_part){.made = act->items[i].made, .round = act->items[i].round};
    e->inner.call.part = &e->part;
    e->inner.call.asker = act->plan->asker;
    act->errands[i] = e;
    act->under_way++;
    if (act->looks && act->plan->what == HL_JOB_RERUN)
        look(e, &e->part.made, on_looked);
    else
        ask(e);
}

void hl_job_act_begin(struct hl_job_act *act)
{
    size_t left = act->most;
    act->under_way = 1;
    for (size_t i = 0; i < act->n && left > 0; i++)
        if (act->items[i].fate == HL_JOB_WAITING) {
            start(act, i);
            left--;
        }
    if (--act->under_way == 0)
        act->on_end(act);
}

void hl_job_act_fini(struct hl_job_act *act)
{
    for (size_t i = 0; i < HL_ARRAY_LEN(act->errands); i++) {
        if (!act->errands[i])
            continue;
        hl_inner_call_fini(&act->errands[i]->inner);
        free(act->errands[i]);
        act->errands[i] = NULL;
    }
}
