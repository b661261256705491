/* rest_cancel.c - a run is cancelled: the store is asked first, then the workers, who know synchronous ones.
 * Thread: control. */
#include "api/rest_handler.h"

#include <stdlib.h>

#include "api/json.h"
#include "api/rest_call.h"
#include "run/recent_run.h"
#include "store/claim.h"

static void cancel_recent(struct hl_rest_call *call);
static void say_cancelled(struct hl_rest_call *call);

static void end_cancel(struct hl_rest_call *call, enum hl_err rc)
{
    if (rc == HL_OK)
        hl_rest_end_json(call, 202,
            HL_JSON_OBJECT({"run_id", hl_json_id(&call->id)}, {"state", json_string("cancelled")}));
    else if (rc == HL_ERR_CONFLICT)
        hl_rest_refuse(call, HL_REFUSAL_RUN_FINISHED);
    else
        hl_rest_refuse_store(call, rc, "run");
}

static void cancel(struct hl_rest_call *call);

void hl_rest_cancel_run(struct hl_rest_call *call)
{
    call->reply.run_id = call->id;
    if (hl_rest_is_admin(call))
        hl_rest_with_audit(call, HL_REST_AUDITED_RUN, cancel);
    else
        hl_rest_as_owner(call, cancel);
}

/* Another's run, by an admin. */
static bool is_audited(const struct hl_rest_call *call)
{
    return hl_rest_is_admin(call) && !call->audited.is_own && !call->part;
}

static struct hl_audit *audit_cancel(struct hl_rest_call *call)
{
    return hl_rest_audit_target(call, HL_AUDIT_RUN_CANCELLED, "run", NULL);
}

static void cancel(struct hl_rest_call *call)
{
    struct hl_run_ref *ref = calloc(1, sizeof(*ref));
    struct hl_cancel_run *order = calloc(1, sizeof(*order));
    if (!ref || !order) {
        free(ref);
        free(order);
        hl_rest_refuse_memory(call);
        return;
    }
    ref->run_id = call->id;
    hl_str_put(ref->project, sizeof(ref->project), call->project);
    hl_str_put(ref->app, sizeof(ref->app), call->app);
    ref->order = order;
    if (is_audited(call) && !(ref->m.audit = audit_cancel(call))) {
        free(ref);
        free(order);
        hl_rest_refuse_memory(call);
        return;
    }
    hl_rest_ask_store(call, HL_STORE_CANCEL, &ref->m);
    hl_rest_then(call, cancel_recent);
}

static void cancel_recent(struct hl_rest_call *call)
{
    if (call->answers[0]->rc != HL_ERR_NOT_FOUND) {
        end_cancel(call, call->answers[0]->rc);
        return;
    }
    struct hl_recent_ask ask = hl_rest_recent_ask(call, HL_RECENT_CANCEL);
    hl_rest_ask_workers(call, &ask);
    hl_rest_then(call, say_cancelled);
}

/* Whether or not the row could be written, the run has ended. */
static void say_told(struct hl_rest_call *call)
{
    end_cancel(call, HL_OK);
}

static void say_cancelled(struct hl_rest_call *call)
{
    const struct hl_recent_ask *found = hl_rest_found_by(call);
    enum hl_err rc = found ? found->rc : HL_ERR_NOT_FOUND;
    if (rc == HL_OK && is_audited(call) && hl_rest_ask_audit(call, audit_cancel(call)))
        hl_rest_then(call, say_told);
    else
        end_cancel(call, rc);
}
