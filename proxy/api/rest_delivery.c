/* rest_delivery.c - deliveries: the list, one.
 * Thread: control.
 * Not here: the members (rest_delivery_record.c), sending again (rest_redelivery.c). */
#include "api/rest_delivery.h"

#include <stdlib.h>

#include "api/json.h"
#include "api/rest_delivery_record.h"
#include "api/rest_param.h"
#include "store/question.h"

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
