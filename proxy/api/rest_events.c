/* rest_events.c - see rest_events.h.
 * Thread: control.
 * Not here: what is answered in the end, which the stream itself decides (body/follow_cursor.c). */
#include "api/rest_events.h"

#include <stdlib.h>
#include <string.h>

#include "api/rest_call.h"
#include "body/follow.h"
#include "run/service.h"
#include "store/op.h"
#include "store/question.h"

static void check_stored(struct hl_rest_call *call);
static void check_recent(struct hl_rest_call *call);

/* The field is what a client had last; the parameter is for those that can send none at first. */
static bool take_last_event(const struct hl_rest_call *call, struct hl_follow *grant)
{
    const struct hl_last_event *field = call->last_event;
    const struct hl_rest_params *p = &call->params;
    bool has_field = field && (field->n > 0 || field->is_bad);
    const char *text = has_field ? field->text : p->last_event_id;
    size_t n = has_field ? field->n : p->last_event_n;
    if (has_field && field->is_bad)
        return false;
    struct hl_str wanted = hl_event_id_wanted((struct hl_str){text, n});
    if (wanted.n > 0)
        memcpy(grant->wanted, wanted.p, wanted.n);
    grant->wanted_n = (uint16_t)wanted.n;
    return true;
}

void hl_rest_show_events(struct hl_rest_call *call)
{
    call->reply.run_id = call->id;
    const struct hl_rest_parts *parts = hl_rest_parts(call);
    struct hl_get_run *g = calloc(1, sizeof(*g));
    if (!g) {
        hl_rest_refuse_memory(call);
        return;
    }
    if (!parts->service) {
        free(g);
        hl_rest_refuse(call, HL_REFUSAL_EVENTS_NO_SIDECAR);
        return;
    }
    call->is_begun =
        hl_journals_has_run(parts->service->journals, &call->id, call->project, call->app);
    g->run_id = call->id;
    hl_str_put(g->project, sizeof(g->project), call->project);
    hl_str_put(g->app, sizeof(g->app), call->app);
    hl_rest_ask_store(call, HL_STORE_GET_RUN, &g->m);
    hl_rest_then(call, check_stored);
}

static void refuse_follower(struct hl_rest_call *call, enum hl_follow_verdict verdict)
{
    if (verdict == HL_FOLLOW_RUN_FULL)
        hl_rest_refuse(call, HL_REFUSAL_FOLLOWERS_OF_RUN);
    else if (verdict == HL_FOLLOW_SUBJECT_FULL)
        hl_rest_refuse(call, HL_REFUSAL_FOLLOWERS_OF_SUBJECT);
    else
        hl_rest_refuse(call, HL_REFUSAL_FOLLOWERS_FULL);
}

static void grant(struct hl_rest_call *call, enum hl_run_state state, uint32_t attempt)
{
    struct hl_journals *journals = hl_rest_parts(call)->service->journals;
    struct hl_str who = {call->asker.identity, call->asker.identity_n};
    struct hl_follow *follow = calloc(1, sizeof(*follow));
    if (!follow) {
        hl_rest_refuse_memory(call);
        return;
    }
    follow->run_id = call->id;
    hl_str_put(follow->project, sizeof(follow->project), call->project);
    hl_str_put(follow->app, sizeof(follow->app), call->app);
    follow->state = state;
    follow->attempt = attempt;
    follow->wants_progress = call->params.wants_progress;
    follow->account = call->asker.account;
    follow->key = call->asker.key;
    follow->refused_from_ms = call->asker.refused_from_ms;
    follow->is_relayed = !hl_id_is_nil(&call->asker.relayed);
    if (!take_last_event(call, follow)) {
        hl_follow_free(follow);
        hl_rest_refuse(call, HL_REFUSAL_EVENTS_ID_TWICE);
        return;
    }
    enum hl_follow_verdict verdict = hl_journals_enter(journals, &call->id, who, &follow->place);
    if (verdict != HL_FOLLOW_GRANTED) {
        hl_follow_free(follow);
        refuse_follower(call, verdict);
        return;
    }
    call->reply.follow = follow;
    hl_rest_end(call);
}

static void check_stored(struct hl_rest_call *call)
{
    const struct hl_get_run *g = (const struct hl_get_run *)call->answers[0];
    if (g->m.rc == HL_ERR_NOT_FOUND && call->is_begun) {
        grant(call, HL_RUN_RUNNING, 1);
    } else if (g->m.rc == HL_ERR_NOT_FOUND) {
        hl_rest_ask_recent(call, check_recent);
    } else if (g->m.rc != HL_OK) {
        hl_rest_refuse_store(call, g->m.rc, "run");
    } else {
        grant(call, g->run.state, g->run.attempt);
    }
}

static void check_recent(struct hl_rest_call *call)
{
    if (hl_rest_recent(call))
        hl_rest_refuse(call, HL_REFUSAL_EVENTS_NEVER_KEPT);
    else
        hl_rest_refuse_store(call, HL_ERR_NOT_FOUND, "run");
}
