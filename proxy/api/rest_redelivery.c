/* rest_redelivery.c - deliveries that are sent again.
 * Thread: control.
 * Promise: many leave room for new webhooks. Of those that are named each has one answer: it is sent again,
 * it is refused, or it is left as it was. */
#include "api/rest_handler.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/audit.h"
#include "api/json.h"
#include "api/rest_param.h"
#include "store/lease.h"

#define CURSOR_MAX  (24 + HL_ID_TEXT)
#define NAMED_MAX   1000
#define ASK_AT_ONCE 64 /* so that others come in between */

/* ---- one ---- */

static void say_one(struct hl_rest_call *call);

static struct hl_audit *audit_one(struct hl_rest_call *call, const struct hl_redeliver *r)
{
    return hl_rest_audit(call, HL_AUDIT_DELIVERY_REDELIVERED,
        hl_audit_target_json("delivery", &r->delivery_id, HL_STR("")), NULL);
}

static struct hl_audit *audit_all(struct hl_rest_call *call, const struct hl_redeliver *r)
{
    return hl_rest_audit(call, HL_AUDIT_DELIVERIES_REDELIVERED, NULL,
        HL_JSON_OBJECT({"state", json_string(hl_delivery_state_text(r->state))},
            {"since", hl_json_time(r->since_ms)}));
}

static bool ask(struct hl_rest_call *call, const struct hl_redeliver *what)
{
    struct hl_redeliver *r = malloc(sizeof(*r));
    if (!r)
        return false;
    *r = *what;
    hl_str_put(r->project, sizeof(r->project), call->project);
    if (!call->part)
        r->m.audit = hl_id_is_nil(&r->delivery_id) ? audit_all(call, r) : audit_one(call, r);
    if (!call->part && !r->m.audit) {
        free(r);
        return false;
    }
    hl_rest_ask_store(call, HL_STORE_REDELIVER, &r->m);
    return true;
}

static void redeliver_one(struct hl_rest_call *call);

/* A body that names nothing says as much as none. */
static bool goes_elsewhere(const struct hl_rest_call *call)
{
    struct hl_str body = hl_str_trim(call->body);
    json_t *json = body.n > 0 ? hl_json_read_object(body) : NULL;
    bool is_empty = body.n == 0 || (json && json_object_size(json) == 0);
    json_decref(json);
    return !is_empty;
}

void hl_rest_redeliver(struct hl_rest_call *call)
{
    if (goes_elsewhere(call))
        hl_rest_resend(call);
    else
        hl_rest_with_audit(call, HL_REST_AUDITED_DELIVERY, redeliver_one);
}

static void redeliver_one(struct hl_rest_call *call)
{
    const struct hl_rest_part *part = call->part;
    if (ask(call,
            &(struct hl_redeliver){
                .delivery_id = call->id, .leaves_room = part, .round = part ? part->round : 0}))
        hl_rest_then(call, say_one);
    else
        hl_rest_refuse_memory(call);
}

static void say_one(struct hl_rest_call *call)
{
    const struct hl_redeliver *r = (const struct hl_redeliver *)call->answers[0];
    bool was_sent = r->m.rc == HL_ERR_STALE; /* the round that was asked for has gone before */
    if (r->m.rc == HL_ERR_CONFLICT)
        hl_rest_refuse(call, HL_REFUSAL_DELIVERY_PENDING);
    else if (r->m.rc == HL_OK && r->has_more)
        hl_rest_refuse(call, HL_REFUSAL_REDELIVER_FULL);
    else if (r->m.rc != HL_OK && !was_sent)
        hl_rest_refuse_store(call, r->m.rc, "delivery");
    else
        hl_rest_end_json(call, 202,
            HL_JSON_OBJECT({"delivery_id", hl_json_id(&r->delivery_id)},
                {"state", json_string(hl_delivery_state_text(HL_DELIVERY_PENDING))}));
}

/* ---- all in a state ---- */

/* Where it stopped short the asker goes on from there. */
static json_t *all_json(const struct hl_redeliver *r)
{
    char id[HL_ID_TEXT], cursor[CURSOR_MAX];
    json_t *count = json_integer((json_int_t)r->count);
    if (!r->has_more)
        return HL_JSON_OBJECT({"redelivered", count});
    hl_id_format(&r->mark.after, id);
    snprintf(cursor, sizeof(cursor), "%" PRId64 ".%.*s", r->mark.app_id, HL_ID_TEXT, id);
    return HL_JSON_OBJECT(
        {"redelivered", count}, {"has_more", json_true()}, {"cursor", json_string(cursor)});
}

static void say_all(struct hl_rest_call *call)
{
    const struct hl_redeliver *r = (const struct hl_redeliver *)call->answers[0];
    if (r->m.rc != HL_OK)
        hl_rest_refuse_store(call, r->m.rc, "delivery");
    else if (r->has_more && r->count == 0)
        hl_rest_refuse(call, HL_REFUSAL_REDELIVER_FULL);
    else
        hl_rest_end_json(call, 202, all_json(r));
}

static bool read_since(const json_t *value, int64_t *ms)
{
    if (json_is_integer(value)) {
        *ms = json_integer_value(value);
        return hl_rest_is_time(*ms);
    }
    return json_is_string(value) && hl_rest_read_time(hl_json_str(value), ms);
}

static bool read_cursor(const json_t *value, struct hl_redeliver *r)
{
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    char *dot;
    r->mark.app_id = strtoll(text, &dot, 10);
    return strlen(text) == json_string_length(value) && *text >= '0' && *text <= '9' &&
           *dot == '.' && hl_id_parse(hl_str_from(dot + 1), &r->mark.after);
}

/* Why the body is not {"state","since"}, or these with "cursor"; NONE: it is, and `*r` is filled. */
static enum hl_refusal_cause read_all(const json_t *body, struct hl_redeliver *r)
{
    const json_t *state = json_object_get(body, "state");
    const struct hl_str text = hl_json_str(state);
    const json_t *cursor = json_object_get(body, "cursor");
    if (json_object_size(body) != (cursor ? 3 : 2) || !json_object_get(body, "since"))
        return HL_REFUSAL_REDELIVER_MEMBERS;
    if (hl_str_eq(text, hl_str_from(hl_delivery_state_text(HL_DELIVERY_DEAD))))
        r->state = HL_DELIVERY_DEAD;
    else if (hl_str_eq(text, hl_str_from(hl_delivery_state_text(HL_DELIVERY_OK))))
        r->state = HL_DELIVERY_OK;
    else
        return HL_REFUSAL_REDELIVER_STATE;
    if (!read_since(json_object_get(body, "since"), &r->since_ms))
        return HL_REFUSAL_REDELIVER_SINCE;
    if (cursor && !read_cursor(cursor, r))
        return HL_REFUSAL_REDELIVER_CURSOR;
    return HL_REFUSAL_NONE;
}

static void redeliver_all(struct hl_rest_call *call, const json_t *body)
{
    struct hl_redeliver r = {.count = 0};
    enum hl_refusal_cause why = read_all(body, &r);
    if (why)
        hl_rest_refuse(call, why);
    else if (ask(call, &r))
        hl_rest_then(call, say_all);
    else
        hl_rest_refuse_memory(call);
}

/* ---- those that are named ---- */

enum fate { FATE_LEFT, FATE_SENT, FATE_PENDING, FATE_UNKNOWN, FATES };

struct hl_rest_named {
    size_t n, asked;
    bool is_stopped; /* there is no room for more, or `rc` says what else */
    enum hl_err rc;
    size_t count[FATES];
    struct {
        struct hl_id id;
        bool is_answered;
        enum fate fate;
    } of[];
};

static bool read_ids(const json_t *list, struct hl_rest_named *named)
{
    const json_t *item;
    json_array_foreach(list, named->n, item)
    {
        struct hl_str text = hl_json_str(item);
        if (!text.p || !hl_id_parse(text, &named->of[named->n].id) ||
            hl_id_is_nil(&named->of[named->n].id))
            return false;
    }
    return true;
}

static enum fate fate_of(struct hl_rest_named *named, const struct hl_redeliver *r)
{
    if (r->m.rc == HL_ERR_CONFLICT || r->m.rc == HL_ERR_NOT_FOUND)
        return r->m.rc == HL_ERR_CONFLICT ? FATE_PENDING : FATE_UNKNOWN;
    if (r->m.rc == HL_OK && !r->has_more)
        return FATE_SENT;
    named->is_stopped = true;
    if (named->rc == HL_OK)
        named->rc = r->m.rc;
    return FATE_LEFT;
}

/* One that is named twice has been sent when the second is asked for. */
static void on_answer(struct hl_rest_call *call, const struct hl_store_msg *m)
{
    const struct hl_redeliver *r = (const struct hl_redeliver *)m;
    struct hl_rest_named *named = call->named;
    size_t i = named->asked > ASK_AT_ONCE ? named->asked - ASK_AT_ONCE : 0;
    while (i < named->asked &&
           (named->of[i].is_answered || !hl_id_eq(&named->of[i].id, &r->delivery_id)))
        i++;
    if (i == named->asked)
        return;
    named->of[i].is_answered = true;
    named->of[i].fate = fate_of(named, r);
    named->count[named->of[i].fate]++;
}

static bool push_id(json_t *list, const struct hl_id *id, const char *why)
{
    json_t *text = hl_json_id(id);
    return hl_json_push(
        list, why ? HL_JSON_OBJECT({"delivery_id", text}, {"reason", json_string(why)}) : text);
}

static json_t *named_json(const struct hl_rest_named *named)
{
    static const char *const reasons[FATES] = {
        [FATE_PENDING] = "pending", [FATE_UNKNOWN] = "not_found"};
    json_t *refused = json_array(), *left = json_array();
    bool is_whole = refused && left;
    for (size_t i = 0; is_whole && i < named->n; i++) {
        enum fate fate = named->of[i].fate;
        if (fate != FATE_SENT)
            is_whole = push_id(fate == FATE_LEFT ? left : refused, &named->of[i].id, reasons[fate]);
    }
    if (is_whole)
        return HL_JSON_OBJECT({"redelivered", json_integer((json_int_t)named->count[FATE_SENT])},
            {"refused", refused}, {"left", left});
    json_decref(refused);
    json_decref(left);
    return NULL;
}

static void say_named(struct hl_rest_call *call)
{
    const struct hl_rest_named *named = call->named;
    bool is_any =
        named->count[FATE_SENT] + named->count[FATE_PENDING] + named->count[FATE_UNKNOWN] > 0;
    if (is_any)
        hl_rest_end_json(call, 202, named_json(named));
    else if (named->rc != HL_OK)
        hl_rest_refuse_store(call, named->rc, "delivery");
    else
        hl_rest_refuse(call, HL_REFUSAL_REDELIVER_FULL);
}

static void go_on(struct hl_rest_call *call)
{
    struct hl_rest_named *named = call->named;
    size_t end = named->n - named->asked < ASK_AT_ONCE ? named->n : named->asked + ASK_AT_ONCE;
    if (named->is_stopped || named->asked == named->n) {
        say_named(call);
        return;
    }
    while (named->asked < end && !named->is_stopped) {
        const struct hl_redeliver r = {
            .delivery_id = named->of[named->asked++].id, .leaves_room = true};
        if (!ask(call, &r)) {
            named->is_stopped = true;
            named->rc = HL_ERR_NOMEM;
        }
    }
    hl_rest_then(call, go_on);
}

static void redeliver_named(struct hl_rest_call *call, const json_t *body)
{
    const json_t *list = json_object_get(body, "delivery_ids");
    size_t n = json_array_size(list);
    bool is_alone = json_object_size(body) == 1;
    bool is_list = n > 0 && n <= NAMED_MAX;
    struct hl_rest_named *named =
        is_list ? calloc(1, sizeof(*named) + n * sizeof(*named->of)) : NULL;
    call->named = named;
    if (!is_alone)
        hl_rest_refuse(call, HL_REFUSAL_REDELIVER_MEMBERS);
    else if (is_list && !named)
        hl_rest_refuse_memory(call);
    else if (!is_list || !read_ids(list, named))
        hl_rest_refuse(call, HL_REFUSAL_REDELIVER_IDS);
    else {
        call->on_stored = on_answer;
        go_on(call);
    }
}

/* ---- which of the two ---- */

static void redeliver_many(struct hl_rest_call *call);

void hl_rest_redeliver_many(struct hl_rest_call *call)
{
    hl_rest_with_audit(call, HL_REST_AUDITED_NEW, redeliver_many);
}

static void redeliver_many(struct hl_rest_call *call)
{
    json_t *body = hl_json_read_object(call->body);
    if (!body)
        hl_rest_refuse(call, hl_json_no_object());
    else if (json_object_get(body, "delivery_ids"))
        redeliver_named(call, body);
    else
        redeliver_all(call, body);
    json_decref(body);
}
