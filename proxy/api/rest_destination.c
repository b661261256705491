/* rest_destination.c - the destinations (scheme, host, port) of a project's webhooks: what waits, what has
 * failed, how the last hour was.
 * Thread: control. */
#include "api/rest_destination.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "api/rest_param.h"
#include "store/op.h"
#include "store/question.h"

static void write_list(struct hl_rest_call *call);

void hl_rest_list_destinations(struct hl_rest_call *call)
{
    const struct hl_rest_params *p = &call->params;
    struct hl_list_destinations *l = calloc(1, sizeof(*l));
    if (!l) {
        hl_rest_refuse_memory(call);
        return;
    }
    hl_str_put(l->project, sizeof(l->project), call->project);
    l->limit = p->limit;
    l->has_after = p->has_after_lane;
    l->after = p->after_lane;
    hl_rest_ask_store(call, HL_STORE_LIST_DESTINATIONS, &l->m);
    hl_rest_then(call, write_list);
}

/* Milliseconds, to a hundredth. */
static json_t *p95_json(const struct hl_destination_row *r)
{
    return r->p95_us < 0 ? json_null() : json_real((double)((r->p95_us + 5) / 10) / 100);
}

/* From 0 to 1, to a thousandth: 1 only when none failed. */
static json_t *success_rate_json(const struct hl_destination_row *r)
{
    if (r->attempts == 0)
        return json_null();
    return json_real((double)(r->ok * 1000 / r->attempts) / 1000);
}

static json_t *last_hour_json(const struct hl_destination_row *r)
{
    return HL_JSON_OBJECT({"attempts", json_integer((json_int_t)r->attempts)},
        {"delivered", json_integer((json_int_t)r->ok)}, {"success_rate", success_rate_json(r)},
        {"p95_ms", p95_json(r)});
}

json_t *hl_rest_destination_json(const struct hl_destination_row *r)
{
    return HL_JSON_OBJECT({"destination", hl_json_text(hl_str_from(r->destination))},
        {"pending", json_integer((json_int_t)r->pending)},
        {"dead", json_integer((json_int_t)r->dead)},
        {"oldest_pending_at", hl_json_time(r->oldest_ms)},
        {"failing_since", hl_json_time(r->failing_since_ms)}, {"last_hour", last_hour_json(r)},
        {"last_attempt_at", hl_json_time(r->last_ms)},
        {"last_status_code", hl_json_count_or_null(r->last_status ? r->last_status : -1)},
        {"last_error", hl_json_text_or_null(hl_str_from(r->last_error))});
}

static json_t *cursor_json(const struct hl_list_destinations *l)
{
    char text[HL_REST_LANE_CURSOR + 1];
    if (!l->has_more || l->count == 0)
        return json_null();
    snprintf(text, sizeof(text), "%016llx", (unsigned long long)l->rows[l->count - 1].lane);
    return json_string(text);
}

json_t *hl_rest_destinations_json(const struct hl_list_destinations *l)
{
    json_t *rows = json_array();
    for (size_t i = 0; rows && i < l->count; i++)
        if (!hl_json_push(rows, hl_rest_destination_json(&l->rows[i]))) {
            json_decref(rows);
            return NULL;
        }
    return HL_JSON_OBJECT({"destinations", rows}, {"next_cursor", cursor_json(l)});
}

static void write_list(struct hl_rest_call *call)
{
    const struct hl_list_destinations *l = (const struct hl_list_destinations *)call->answers[0];
    if (l->m.rc == HL_OK)
        hl_rest_end_json(call, 200, hl_rest_destinations_json(l));
    else
        hl_rest_refuse_store(call, l->m.rc, "destination");
}
