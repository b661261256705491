/* rest_request.c - see rest_request.h. Thread: control.
 * Promise: values of fields that may be secret are never shown. */
#include "api/rest_request.h"

#include <stdlib.h>

#include "api/json.h"
#include "api/rest_owner.h"
#include "http/stored_head.h"
#include "store/op.h"
#include "store/question.h"

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
    struct hl_get_run *g = calloc(1, sizeof(*g));
    if (!g) {
        hl_rest_refuse_memory(call);
        return;
    }
    g->run_id = call->id;
    g->with_request = HL_ASKED_REQUEST;
    hl_str_put(g->project, sizeof(g->project), call->project);
    hl_str_put(g->app, sizeof(g->app), call->app);
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

static void show(struct hl_rest_call *call)
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
    hl_rest_with_request(call, show);
}
