/* rest_delivery.c - deliveries: the list, one, sending again.
 * Thread: control.
 * Not here: the members (rest_delivery_record.c). */
#include "api/rest_delivery.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "api/rest_delivery_record.h"
#include "api/rest_param.h"
#include "store/lease.h"
#include "store/question.h"

#define CURSOR_MAX (24 + HL_ID_TEXT)

/* ---- the list ---- */

static void write_list(struct hl_rest_call *call);
static void write_count(struct hl_rest_call *call);

static void ask_for_list(
    struct hl_rest_call *call, bool only_counts, void (*next)(struct hl_rest_call *call))
{
    const struct hl_rest_params *p = &call->params;
    struct hl_list_deliveries *l = calloc(1, sizeof(*l));
    if (!l) {
        hl_rest_refuse_memory(call);
        return;
    }
    l->only_counts = only_counts;
    l->status = p->search.status;
    hl_str_put(l->destination, sizeof(l->destination), p->destination);
    hl_str_put(l->project, sizeof(l->project), call->project);
    hl_str_put(l->app, sizeof(l->app), p->app);
    l->state = p->state;
    l->run_id = p->run_id;
    l->since_ms = p->since_ms;
    l->until_ms = p->until_ms;
    l->limit = p->limit;
    l->before = p->cursor;
    l->with_attempts = true;
    hl_rest_ask_store(call, HL_STORE_LIST_DELIVERIES, &l->m);
    hl_rest_then(call, next);
}

void hl_rest_list_deliveries(struct hl_rest_call *call)
{
    ask_for_list(call, false, write_list);
}

void hl_rest_count_deliveries(struct hl_rest_call *call)
{
    ask_for_list(call, true, write_count);
}

static void write_count(struct hl_rest_call *call)
{
    const struct hl_list_deliveries *l = (const struct hl_list_deliveries *)call->answers[0];
    if (l->m.rc != HL_OK)
        hl_rest_refuse_store(call, l->m.rc, "delivery");
    else
        hl_rest_end_json(call, 200,
            HL_JSON_OBJECT({"count", json_integer((json_int_t)l->count)},
                {"has_more", json_boolean(l->has_more)}));
}

static void write_list(struct hl_rest_call *call)
{
    const struct hl_list_deliveries *l = (const struct hl_list_deliveries *)call->answers[0];
    if (l->m.rc != HL_OK) {
        hl_rest_refuse_store(call, l->m.rc, "delivery");
        return;
    }
    json_t *rows = json_array();
    bool is_whole = rows != NULL;
    for (size_t i = 0; is_whole && i < l->count; i++)
        is_whole = hl_json_push(rows, hl_rest_delivery_json(&l->rows[i], HL_REST_LISTED));
    if (!is_whole) {
        json_decref(rows);
        hl_rest_refuse_memory(call);
        return;
    }
    bool is_search = l->has_more && l->status.is_set;
    json_t *cursor = l->has_more ? hl_json_id(&l->next) : json_null();
    json_t *searched_to = hl_json_time(is_search ? hl_id_time_ms(&l->next) : 0);
    hl_rest_end_json(call, 200,
        HL_JSON_OBJECT(
            {"deliveries", rows}, {"next_cursor", cursor}, {"searched_to", searched_to}));
}

/* ---- one ---- */

static void write_one(struct hl_rest_call *call);

void hl_rest_show_delivery(struct hl_rest_call *call)
{
    struct hl_get_delivery *g = calloc(1, sizeof(*g));
    if (!g) {
        hl_rest_refuse_memory(call);
        return;
    }
    g->delivery_id = call->id;
    hl_str_put(g->project, sizeof(g->project), call->project);
    hl_rest_ask_store(call, HL_STORE_GET_DELIVERY, &g->m);
    hl_rest_then(call, write_one);
}

static void write_one(struct hl_rest_call *call)
{
    const struct hl_get_delivery *g = (const struct hl_get_delivery *)call->answers[0];
    if (g->m.rc == HL_OK)
        hl_rest_end_json(call, 200, hl_rest_found_delivery_json(g));
    else
        hl_rest_refuse_store(call, g->m.rc, "delivery");
}

/* ---- sending again ---- */

static void say_redelivered(struct hl_rest_call *call);

static void redeliver(struct hl_rest_call *call, const struct hl_redeliver *what)
{
    struct hl_redeliver *r = malloc(sizeof(*r));
    if (!r) {
        hl_rest_refuse_memory(call);
        return;
    }
    *r = *what;
    hl_str_put(r->project, sizeof(r->project), call->project);
    hl_rest_ask_store(call, HL_STORE_REDELIVER, &r->m);
    hl_rest_then(call, say_redelivered);
}

void hl_rest_redeliver(struct hl_rest_call *call)
{
    redeliver(call, &(struct hl_redeliver){.delivery_id = call->id});
}

/* Where it stopped short the asker goes on from there. */
static json_t *redelivered_json(const struct hl_redeliver *r)
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

static void say_redelivered(struct hl_rest_call *call)
{
    const struct hl_redeliver *r = (const struct hl_redeliver *)call->answers[0];
    if (r->m.rc == HL_ERR_CONFLICT)
        hl_rest_refuse(call, HL_REFUSAL_DELIVERY_PENDING);
    else if (r->m.rc != HL_OK)
        hl_rest_refuse_store(call, r->m.rc, "delivery");
    else if (hl_id_is_nil(&r->delivery_id) && r->has_more && r->count == 0)
        hl_rest_refuse(call, HL_REFUSAL_REDELIVER_FULL);
    else if (hl_id_is_nil(&r->delivery_id))
        hl_rest_end_json(call, 202, redelivered_json(r));
    else
        hl_rest_end_json(call, 202,
            HL_JSON_OBJECT({"delivery_id", hl_json_id(&r->delivery_id)},
                {"state", json_string(hl_delivery_state_text(HL_DELIVERY_PENDING))}));
}

static bool read_since(const json_t *value, int64_t *ms)
{
    if (json_is_integer(value)) {
        *ms = json_integer_value(value);
        return hl_rest_is_time(*ms);
    }
    return json_is_string(value) &&
           hl_rest_read_time(
               (struct hl_str){json_string_value(value), json_string_length(value)}, ms);
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
static enum hl_refusal_cause read_body(const json_t *body, struct hl_redeliver *r)
{
    const json_t *state = json_object_get(body, "state");
    const struct hl_str text = {json_string_value(state), json_string_length(state)};
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

void hl_rest_redeliver_all(struct hl_rest_call *call)
{
    struct hl_redeliver r = {.count = 0};
    json_t *body = hl_json_read_object(call->body);
    enum hl_refusal_cause why = body ? read_body(body, &r) : HL_REFUSAL_BODY_NO_OBJECT;
    json_decref(body);
    if (why)
        hl_rest_refuse(call, why);
    else
        redeliver(call, &r);
}
