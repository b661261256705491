/* rest_owner.c - what only admins and whoever made a run may see of it and do with it: the run is looked up first; and
 * what is masked for viewers.
 * Thread: control.
 * Not here: rights that need no look at a run (rest_route.c). */
#include "api/rest_handler.h"

#include "api/json.h"
#include "run/recent_run.h"
#include "store/op.h"
#include "store/question.h"

bool hl_rest_is_admin(const struct hl_rest_call *call)
{
    return call->is_operator || call->asker.role == HL_ROLE_ADMIN;
}

bool hl_rest_sees_all(const struct hl_rest_call *call)
{
    return hl_rest_is_admin(call) || call->asker.role == HL_ROLE_VIEWER;
}

json_t *hl_rest_secret_json(const struct hl_rest_call *call, struct hl_str text)
{
    return hl_rest_is_admin(call) ? hl_json_text_or_null(text) : json_null();
}

bool hl_rest_is_his(const struct hl_rest_call *call, const struct hl_run_row *run)
{
    struct hl_str asker = {call->asker.identity, call->asker.identity_n};
    return hl_rest_sees_all(call) || (asker.n > 0 && hl_str_eq(asker, run->identity));
}

bool hl_rest_is_his_recent(const struct hl_rest_call *call, const struct hl_recent_run *run)
{
    bool is_known = call->asker.identity_n > 0 && run->owner != 0;
    return hl_rest_sees_all(call) || (is_known && call->asker.identity_hash == run->owner);
}

static void check_stored(struct hl_rest_call *call);
static void check_recent(struct hl_rest_call *call);

void hl_rest_as_owner(struct hl_rest_call *call, hl_rest_handler *then)
{
    if (hl_rest_sees_all(call) || call->asker.is_unknown) {
        then(call);
        return;
    }
    struct hl_get_run *g = hl_rest_get_run(call);
    if (!g)
        return;
    call->as_owner = then;
    hl_rest_ask_store(call, HL_STORE_GET_RUN, &g->m);
    hl_rest_then(call, check_stored);
}

static void go_on_if(struct hl_rest_call *call, bool is_his)
{
    if (!is_his) {
        hl_rest_refuse(call, HL_REFUSAL_REST_NOT_YOURS);
        return;
    }
    hl_rest_drop_answers(call);
    call->as_owner(call);
}

static void check_stored(struct hl_rest_call *call)
{
    const struct hl_get_run *g = (const struct hl_get_run *)call->answers[0];
    if (g->m.rc == HL_OK) {
        go_on_if(call, hl_rest_is_his(call, &g->run));
    } else if (g->m.rc == HL_ERR_NOT_FOUND) {
        hl_rest_ask_recent(call, check_recent);
    } else {
        hl_rest_refuse_store(call, g->m.rc, "run");
    }
}

static void check_recent(struct hl_rest_call *call)
{
    bool is_his = true;
    for (const struct hl_msg *m = call->recent; m; m = m->next) {
        const struct hl_recent_ask *ask = (const struct hl_recent_ask *)m;
        is_his &= ask->rc == HL_ERR_NOT_FOUND ||
                  (ask->rc == HL_OK && hl_rest_is_his_recent(call, &ask->rows[0]));
    }
    go_on_if(call, is_his);
}
