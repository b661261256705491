/* rest_rerun.c - the request of an asynchronous run, for admins and who made it: its body, its fields; and a new run
 * with it. Thread: control.
 * Promise: values of fields that may be secret are never shown. The new run is the asker's: subject, limits, no class
 * above what the asker may have; what the request said of who called does not go on in another's name (contract 4).
 * Not here: who may (rest_owner.c), how the store gives the body's file a second name (store/sqlite/run.c). */
#include "api/rest_handler.h"

#include "api/json.h"
#include "base/clock.h"
#include "config/config.h"
#include "http/stored_head.h"
#include "run/allowance.h"
#include "run/acceptance.h"
#include "run/service.h"
#include "store/accept.h"
#include "store/op.h"
#include "store/question.h"
#include "store/quota.h"

/* ---- the request of an asynchronous run, for admins and who made it: its body, its fields ---- */

/* ---- the fields ---- */

static json_t *field_json(const struct hl_stored_field *field)
{
    json_t *value = hl_stored_field_is_harmless(field) ? hl_json_text(field->value) : json_null();
    return HL_JSON_OBJECT({"name", hl_json_text(field->name)}, {"value", value});
}

static json_t *fields_json(const struct hl_kept_request *request)
{
    struct hl_str rest = hl_buf_str(&request->head);
    struct hl_stored_start start;
    struct hl_stored_field field;
    if (!request->is_there || !hl_stored_head_start(&rest, &start))
        return json_null();
    json_t *array = json_array();
    while (array && hl_stored_head_next(&rest, &field))
        if (!hl_json_push(array, field_json(&field))) {
            json_decref(array);
            return NULL;
        }
    return array;
}

json_t *hl_rest_add_request_fields(json_t *run, const struct hl_kept_request *request)
{
    if (!run || json_object_set_new(run, "request_fields", fields_json(request)) == 0)
        return run;
    json_decref(run);
    return NULL;
}

/* ---- a run with its request ---- */

static void look_up(struct hl_rest_call *call);
static void check_stored(struct hl_rest_call *call);
static void check_recent(struct hl_rest_call *call);

void hl_rest_with_request(struct hl_rest_call *call, hl_rest_handler *then)
{
    call->reply.run_id = call->id;
    call->with_request = then;
    hl_rest_as_owner(call, look_up);
}

static void look_up(struct hl_rest_call *call)
{
    struct hl_get_run *g = hl_rest_get_run(call);
    if (!g)
        return;
    g->with_request = HL_ASKED_REQUEST;
    hl_rest_ask_store(call, HL_STORE_GET_RUN, &g->m);
    hl_rest_then(call, check_stored);
}

static void check_stored(struct hl_rest_call *call)
{
    const struct hl_get_run *g = (const struct hl_get_run *)call->answers[0];
    if (g->m.rc == HL_ERR_NOT_FOUND) {
        hl_rest_ask_recent(call, check_recent);
    } else if (g->m.rc != HL_OK) {
        hl_rest_refuse_store(call, g->m.rc, "run");
    } else if (!g->run.is_async) {
        hl_rest_refuse(call, HL_REFUSAL_REQUEST_OF_SYNC);
    } else if (!g->request.is_there) {
        hl_rest_refuse(call, HL_REFUSAL_REQUEST_NOT_KEPT);
    } else if (g->request.body.where == HL_BODY_DROPPED) {
        hl_rest_refuse(call, HL_REFUSAL_REQUEST_DAMAGED);
    } else {
        call->with_request(call);
    }
}

static void check_recent(struct hl_rest_call *call)
{
    if (hl_rest_recent(call))
        hl_rest_refuse(call, HL_REFUSAL_REQUEST_OF_SYNC);
    else
        hl_rest_refuse_store(call, HL_ERR_NOT_FOUND, "run");
}

/* ---- its body ---- */

/* The value of its field, if it can stand in a field of ours. */
static struct hl_str value_of(const struct hl_get_run *g, struct hl_str name)
{
    struct hl_stored_field field;
    bool has = hl_stored_head_find(hl_buf_str(&g->request.head), name, &field) &&
               field.value.n <= HL_CONTENT_FIELD_MAX;
    return has ? field.value : (struct hl_str){NULL, 0};
}

static enum hl_err write_fields(struct hl_rest_call *call, const struct hl_get_run *g)
{
    struct hl_reply *reply = &call->reply;
    struct hl_str type = value_of(g, HL_STR("Content-Type"));
    struct hl_str encoding = value_of(g, HL_STR("Content-Encoding"));
    hl_str_put_cut(reply->content_type, sizeof(reply->content_type),
        type.n > 0 ? type : HL_STR("application/octet-stream"));
    enum hl_err err =
        hl_buf_append_str(&reply->fields, HL_STR("X-Content-Type-Options: nosniff\r\n"
                                                 "Content-Disposition: attachment\r\n"
                                                 "Content-Security-Policy: sandbox\r\n"));
    if (err == HL_OK && encoding.n > 0)
        err = hl_buf_printf(&reply->fields, "Content-Encoding: %.*s\r\n", HL_STR_ARG(encoding));
    return err;
}

static void show_request(struct hl_rest_call *call)
{
    const struct hl_get_run *g = (const struct hl_get_run *)call->answers[0];
    const struct hl_body *body = &g->request.body;
    struct hl_reply *reply = &call->reply;
    reply->status = 200;
    enum hl_err err = write_fields(call, g);
    if (err == HL_OK && body->where == HL_BODY_INLINE)
        err = hl_buf_append(&reply->body, body->bytes, (size_t)body->size);
    else
        reply->file = *body;
    if (err == HL_OK)
        hl_rest_end(call);
    else
        hl_rest_refuse_memory(call);
}

void hl_rest_show_request(struct hl_rest_call *call)
{
    hl_rest_with_request(call, show_request);
}

/* ---- POST …/runs/{id}/rerun: a new run with the request of one that has ended ---- */

static void begin(struct hl_rest_call *call);
static void show_new(struct hl_rest_call *call);

static void with_request(struct hl_rest_call *call)
{
    hl_rest_with_request(call, begin);
}

void hl_rest_rerun(struct hl_rest_call *call)
{
    if (hl_rest_is_admin(call))
        hl_rest_with_audit(call, HL_REST_AUDITED_RUN, with_request);
    else
        with_request(call);
}

static struct hl_str identity_of(const struct hl_rest_call *call)
{
    return (struct hl_str){call->asker.identity, call->asker.identity_n};
}

static void refuse_limit(struct hl_rest_call *call, enum hl_limit limit)
{
    struct hl_allowance_room room;
    struct hl_refusal why = hl_allowance_refusal(call->asker.quota, limit, &room);
    if (hl_buf_append_str(&call->reply.fields, hl_str_from(why.fields)) != HL_OK) {
        hl_rest_refuse_memory(call);
        return;
    }
    hl_reply_refuse(&call->reply, &why);
    hl_rest_end(call);
}

/* False: it is too soon for another. */
static bool count_call(struct hl_rest_call *call)
{
    struct hl_quota *quota = call->asker.quota;
    if (!hl_quota_has_limits(quota))
        return true;
    enum hl_quota_count count = hl_quota_count(quota, hl_clock_mono_ms());
    if (count == HL_QUOTA_UNKNOWN)
        hl_quota_count_anyway(quota);
    call->is_counted = count == HL_QUOTA_COUNTED;
    return count != HL_QUOTA_OVER;
}

static void uncount_call(struct hl_rest_call *call)
{
    if (call->is_counted)
        hl_quota_uncount(call->asker.quota, hl_clock_mono_ms());
    call->is_counted = false;
}

static enum hl_priority class_of(const struct hl_rest_call *call, const struct hl_run_row *run)
{
    enum hl_priority most =
        call->is_operator && !call->part ? HL_PRIORITY_HIGH : call->asker.max_priority;
    return run->terms.priority > most ? run->terms.priority : most;
}

/* `head` is the new run's. NULL: out of memory. */
static struct hl_accept *make_accept(
    struct hl_rest_call *call, struct hl_get_run *g, const struct hl_id *run_id, struct hl_str head)
{
    struct hl_stored_start start;
    struct hl_stored_field trace;
    struct hl_str rest = head;
    if (!hl_stored_head_start(&rest, &start))
        return NULL;
    bool has_trace = hl_stored_head_find(head, HL_STR("traceparent"), &trace);
    const struct hl_quota *quota = call->asker.quota;
    struct hl_accept tmpl = {
        .run_id = *run_id,
        .rerun_of = call->id,
        .created_ms = hl_clock_wall_ms(),
        .project = g->run.project,
        .app = g->run.app,
        .method = start.method,
        .target = start.target,
        .head = head,
        .webhook_url = hl_buf_str(&g->request.webhook_url),
        .webhook_secret = hl_buf_str(&g->request.webhook_secret),
        .traceparent = has_trace ? trace.value : HL_STR(""),
        .subject = hl_str_from(call->asker.subject),
        .identity = identity_of(call),
        .terms = {.start_timeout_ms = hl_rest_get_parts(call)->config->queue_timeout_ms,
            .priority = class_of(call, &g->run)},
        .tags = g->run.tags,
        .max_queued = hl_quota_has_limits(quota) ? atomic_load(&quota->max_queued) : 0,
        .body = g->request.body,
        .borrows_file = g->request.body.where == HL_BODY_FILE,
    };
    struct hl_accept *accept = hl_accept_new(HL_STORE_ACCEPT, &tmpl);
    if (accept)
        g->request.body = (struct hl_body){.where = HL_BODY_NONE};
    return accept;
}

/* Then all of a run is one trace, and what is done of it again a part of that. */
static bool has_traces(const struct hl_rest_call *call)
{
    const struct hl_service *service = hl_rest_get_parts(call)->service;
    return service && service->tracer;
}

/* Of another's run, by an admin. False: out of memory. */
static bool audit(struct hl_rest_call *call, struct hl_accept *accept)
{
    if (!hl_rest_is_admin(call) || call->audited.is_own || call->part)
        return true;
    accept->m.audit = hl_rest_audit_target(
        call, HL_AUDIT_RUN_RERUN, "run", HL_JSON_OBJECT({"run_id", hl_json_id(&accept->run_id)}));
    return accept->m.audit;
}

static void post(struct hl_rest_call *call, struct hl_get_run *g)
{
    struct hl_id run_id =
        call->part ? call->part->made : hl_id_next(&call->all->ids, hl_clock_wall_ms());
    struct hl_stored_edit edit = {.from = &call->id,
        .to = &run_id,
        .drops_credentials = !hl_str_eq(identity_of(call), g->run.identity),
        .keeps_trace = has_traces(call)};
    struct hl_buf head;
    hl_buf_init(&head, 0);
    enum hl_err err = hl_stored_head_edit(&head, hl_buf_str(&g->request.head), &edit);
    struct hl_accept *accept = err ? NULL : make_accept(call, g, &run_id, hl_buf_str(&head));
    if (accept && !audit(call, accept)) {
        hl_accept_free(accept);
        accept = NULL;
    }
    if (head.n > 0)
        explicit_bzero(head.p, head.n);
    hl_buf_fini(&head);
    hl_rest_drop_answers(call);
    if (!accept) {
        uncount_call(call);
        hl_rest_refuse(
            call, err == HL_ERR_CORRUPT ? HL_REFUSAL_REQUEST_DAMAGED : HL_REFUSAL_NO_MEMORY);
        return;
    }
    hl_rest_ask_store(call, HL_STORE_ACCEPT, &accept->m);
    hl_rest_then(call, show_new);
}

static void begin(struct hl_rest_call *call)
{
    struct hl_get_run *g = (struct hl_get_run *)call->answers[0];
    if (!hl_run_state_is_final(g->run.state))
        hl_rest_refuse_saying(
            call, HL_REFUSAL_RERUN_UNFINISHED, hl_run_state_text(g->run.state), NULL);
    else if (count_call(call))
        post(call, g);
    else
        refuse_limit(call, HL_LIMIT_RATE);
}

static void say_accepted(struct hl_rest_call *call, const struct hl_accept *accept)
{
    char location[HL_ACCEPTANCE_LOCATION_MAX];
    hl_acceptance_write_location(
        location, hl_rest_get_parts(call)->config, accept->project, accept->app, &accept->run_id);
    call->reply.run_id = accept->run_id;
    if (hl_buf_append_str(&call->reply.fields, hl_str_from(location)) != HL_OK) {
        hl_rest_refuse_memory(call);
        return;
    }
    hl_rest_end_json(call, 202,
        HL_JSON_OBJECT(
            {"run_id", hl_json_id(&accept->run_id)}, {"rerun_of", hl_json_id(&call->id)}));
}

static void show_new(struct hl_rest_call *call)
{
    const struct hl_accept *accept = (const struct hl_accept *)call->answers[0];
    enum hl_err rc = accept->m.rc;
    if (rc == HL_OK) {
        say_accepted(call, accept);
        return;
    }
    uncount_call(call);
    if (rc == HL_ERR_BUSY && accept->is_over_queued)
        refuse_limit(call, HL_LIMIT_MAX_QUEUED);
    else if (rc == HL_ERR_BUSY)
        hl_rest_refuse(
            call, accept->is_over_destination ? HL_REFUSAL_DESTINATION_FULL : HL_REFUSAL_RUNS_FULL);
    else if (rc == HL_ERR_NOT_FOUND)
        hl_rest_refuse(call, HL_REFUSAL_REQUEST_NOT_KEPT);
    else
        hl_rest_refuse_store(call, rc, "run");
}
