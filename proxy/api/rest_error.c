/* rest_error.c - what went wrong, the most frequent first.
 * Thread: control.
 * Not here: which line of an answer that is (http/error_line.c), the counting (the store's engines). */
#include "api/rest_handler.h"

#include <stdlib.h>

#include "api/json.h"
#include "api/rest_call.h"
#include "api/rest_span.h"
#include "store/question.h"

static json_t *row_json(const struct hl_error_row *row)
{
    return HL_JSON_OBJECT({"project_id", hl_json_text(hl_str_from(row->project))},
        {"app_name", hl_json_text(hl_str_from(row->app))},
        {"reason", json_string(hl_run_reason_text(row->reason))},
        {"error", hl_json_text_or_null(hl_str_from(row->error))},
        {"count", json_integer((json_int_t)row->count)}, {"first_at", hl_json_time(row->first_ms)},
        {"last_at", hl_json_time(row->last_ms)});
}

static json_t *rows_json(const struct hl_list_errors *l)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < l->count; i++)
        if (!hl_json_push(array, row_json(&l->rows[i]))) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static void write_list(struct hl_rest_call *call)
{
    const struct hl_list_errors *l = (const struct hl_list_errors *)call->answers[0];
    if (l->m.rc != HL_OK) {
        hl_rest_refuse_store(call, l->m.rc, "error");
        return;
    }
    hl_rest_end_json(call, 200,
        HL_JSON_OBJECT({"since", hl_json_time(l->since_ms)}, {"until", hl_json_time(l->until_ms)},
            {"counted_since", hl_json_time(l->counted_ms)},
            {"failures", json_integer((json_int_t)l->failures)}, {"errors", rows_json(l)},
            {"more", json_integer((json_int_t)(l->kinds - l->count))}));
}

void hl_rest_list_errors(struct hl_rest_call *call)
{
    struct hl_list_errors *l = calloc(1, sizeof(*l));
    if (!l) {
        hl_rest_refuse_memory(call);
        return;
    }
    if (!hl_rest_demand_span(call, &l->since_ms, &l->until_ms)) {
        free(l);
        return;
    }
    hl_str_put(l->project, sizeof(l->project), call->project);
    hl_str_put(l->app, sizeof(l->app), call->params.app);
    hl_rest_ask_store(call, HL_STORE_LIST_ERRORS, &l->m);
    hl_rest_then(call, write_list);
}
