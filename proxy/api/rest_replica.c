/* rest_replica.c - the processes that share the store, with the members of `hookline store status --json`.
 * A store that one process owns has none: the list is empty then.
 * Thread: control. */
#include "api/rest_replica.h"

#include <stdlib.h>

#include "api/json.h"
#include "store/op.h"
#include "store/question.h"
#include "store/store.h"

/* To a tenth. */
static json_t *seconds(int64_t ms)
{
    return json_real((double)((ms + 50) / 100) / 10);
}

json_t *hl_rest_replica_json(const struct hl_replica_row *r)
{
    return HL_JSON_OBJECT({"replica_id", hl_json_id(&r->id)},
        {"name", hl_json_text(hl_str_from(r->name))},
        {"version", hl_json_text(hl_str_from(r->version))},
        {"state", hl_json_text(hl_str_from(r->state))}, {"started_at", hl_json_time(r->started_ms)},
        {"age_seconds", seconds(r->age_ms)}, {"beat_seconds", seconds(r->beat_age_ms)},
        {"runs", json_integer((json_int_t)r->runs)},
        {"deliveries", json_integer((json_int_t)r->deliveries)});
}

static void end(struct hl_rest_call *call, const struct hl_list_replicas *l)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < l->count; i++)
        if (!hl_json_push(array, hl_rest_replica_json(&l->rows[i]))) {
            json_decref(array);
            array = NULL;
        }
    hl_rest_end_json(call, 200, array ? HL_JSON_OBJECT({"replicas", array}) : NULL);
}

static void show(struct hl_rest_call *call)
{
    const struct hl_list_replicas *l = (const struct hl_list_replicas *)call->answers[0];
    if (l->m.rc == HL_OK)
        end(call, l);
    else
        hl_rest_refuse_store(call, l->m.rc, "replica");
}

void hl_rest_list_replicas(struct hl_rest_call *call)
{
    static const struct hl_list_replicas none;
    if (!hl_store_is_shared(hl_rest_parts(call)->store)) {
        end(call, &none);
        return;
    }
    struct hl_list_replicas *l = calloc(1, sizeof(*l));
    if (!l) {
        hl_rest_refuse_memory(call);
        return;
    }
    hl_rest_ask_store(call, HL_STORE_LIST_REPLICAS, &l->m);
    hl_rest_then(call, show);
}
