/* rest_record.c - runs as JSON: the members of the REST interface.
 * Thread: control.
 * Not here: their deliveries (rest_delivery.c). */
#include "api/rest_record.h"

#include "api/json.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/tag.h"
#include "run/recent_run.h"
#include "store/attempt.h"
#include "store/question.h"

/* ---- runs ---- */

static json_t *counts(uint32_t pending, uint32_t delivered, uint32_t dead)
{
    return HL_JSON_OBJECT({"pending", json_integer(pending)},
        {"delivered", json_integer(delivered)}, {"dead", json_integer(dead)});
}

static struct hl_str without_query(struct hl_str target)
{
    const char *query = target.n ? memchr(target.p, '?', target.n) : NULL;
    return (struct hl_str){target.p, query ? (size_t)(query - target.p) : target.n};
}

static const char *mode_of(const struct hl_run_row *run)
{
    if (run->is_async)
        return "async";
    if (!run->has_webhook) /* it is stored for its stream alone */
        return "stream";
    return hl_str_starts_with(run->content_type, HL_STR("text/event-stream")) ? "stream" : "sync";
}

static const char *result_of(const struct hl_run_row *run)
{
    if (run->body_where == HL_BODY_DROPPED || run->body_where == HL_BODY_UNKEPT)
        return "dropped";
    return run->body_where == HL_BODY_NONE ? "none" : "kept";
}

/* Takes `run`. */
static json_t *add_text(json_t *run, const char *name, struct hl_str text)
{
    if (!run || json_object_set_new(run, name, hl_json_text_or_null(text)) == 0)
        return run;
    json_decref(run);
    return NULL;
}

/* Empty: none has it, or it is not known which. */
static json_t *add_replica(json_t *run, struct hl_str replica)
{
    return add_text(run, "replica", replica);
}

json_t *hl_rest_record_add_subject(json_t *run, struct hl_str subject)
{
    return add_text(run, "subject", subject);
}

static json_t *tags_json(struct hl_str tags)
{
    json_t *json = json_object();
    struct hl_tag tag;
    while (json && hl_tag_next(&tags, &tag)) {
        char name[HL_TAG_MAX + 1];
        hl_str_put_cut(name, sizeof(name), tag.name);
        if (json_object_set_new(json, name, hl_json_text(tag.value)) != 0) {
            json_decref(json);
            return NULL;
        }
    }
    return json;
}

/* Members of how long a run waited and was inside the app, in ms; wall clocks may be set back. */
static json_t *span(int64_t from_ms, int64_t to_ms)
{
    if (from_ms == 0 || to_ms == 0)
        return json_null();
    return json_integer(to_ms > from_ms ? to_ms - from_ms : 0);
}

static int64_t end_or_now(int64_t finished_ms)
{
    return finished_ms > 0 ? finished_ms : hl_clock_wall_ms();
}

/* Of a further attempt it is not known when the first began. */
static json_t *queued_ms(const struct hl_run_row *run)
{
    if (run->started_ms == 0)
        return span(run->created_ms, end_or_now(run->finished_ms));
    return run->attempt > 1 ? json_null() : span(run->created_ms, run->started_ms);
}

/* To a hundredth of a millisecond; null: it is not known, or there was none. */
static json_t *part(int64_t us)
{
    return us > 0 ? json_real((double)((us + 5) / 10) / 100) : json_null();
}

static bool add_attempt(json_t *list, const struct hl_attempt_entry *entry)
{
    json_t *json = HL_JSON_OBJECT({"attempt", json_integer(entry->attempt)},
        {"started_at", hl_json_time(entry->started_ms)},
        {"finished_at", hl_json_time(entry->finished_ms)},
        {"status_code", hl_json_count_or_null(entry->http_status ? entry->http_status : -1)},
        {"reason", hl_json_text_or_null(hl_str_from(hl_run_reason_text(entry->reason)))});
    return hl_json_push(list, json);
}

/* The one that goes on, or was the last, is what the run itself says. */
static json_t *id_or_null(const struct hl_id *id)
{
    return hl_id_is_nil(id) ? json_null() : hl_json_id(id);
}

static json_t *attempt_log(const struct hl_run_row *run)
{
    struct hl_str log = run->attempt_log;
    struct hl_attempt_entry entry;
    json_t *list = json_array();
    if (!run->is_async)
        return list;
    bool is_whole = true;
    while (hl_attempt_entry_read(&log, &entry))
        is_whole &= add_attempt(list, &entry);
    entry = (struct hl_attempt_entry){.attempt = run->attempt,
        .started_ms = run->started_ms,
        .finished_ms = run->finished_ms,
        .http_status = run->http_status,
        .reason = run->reason};
    if (run->started_ms > 0)
        is_whole &= add_attempt(list, &entry);
    if (is_whole)
        return list;
    json_decref(list);
    return NULL;
}

json_t *hl_rest_run_json(const struct hl_run_row *run, bool is_shared, json_t *deliveries)
{
    bool is_final = hl_run_state_is_final(run->state);
    if (!deliveries)
        deliveries = counts(run->deliveries_pending, run->deliveries_ok, run->deliveries_dead);
    const char *encoding = is_final ? hl_encoding_text(run->encoding) : "";
    json_t *json = HL_JSON_OBJECT({"run_id", hl_json_id(&run->run_id)},
        {"project_id", hl_json_text(run->project)}, {"app_name", hl_json_text(run->app)},
        {"state", json_string(hl_run_state_text(run->state))},
        {"reason", hl_json_text_or_null(hl_str_from(hl_run_reason_text(run->reason)))},
        {"mode", json_string(mode_of(run))}, {"async", json_boolean(run->is_async)},
        {"method", hl_json_text(run->method)}, {"path", hl_json_text(without_query(run->path))},
        {"created_at", hl_json_time(run->created_ms)},
        {"started_at", hl_json_time(run->started_ms)},
        {"finished_at", hl_json_time(run->finished_ms)}, {"queued_ms", queued_ms(run)},
        {"run_ms", span(run->started_ms, end_or_now(run->finished_ms))},
        {"gate_ms", part(run->parts.gate_us)}, {"connect_ms", part(run->parts.connect_us)},
        {"first_byte_ms", part(run->parts.first_byte_us)},
        {"priority", json_string(hl_priority_text(run->terms.priority))},
        {"tags", tags_json(run->tags)}, {"attempts", json_integer(run->attempt)},
        {"attempt_log", attempt_log(run)},
        {"next_attempt_at", hl_json_steady_time(run->next_attempt_ms)},
        {"rerun_of", id_or_null(&run->rerun_of)},
        {"status_code", hl_json_count_or_null(run->http_status ? run->http_status : -1)},
        {"request_bytes", hl_json_count_or_null(run->request_size)},
        {"response_bytes", hl_json_count_or_null(is_final ? run->response_size : -1)},
        {"content_type", hl_json_text_or_null(run->content_type)},
        {"content_encoding", hl_json_text_or_null(run->content_encoding)},
        {"encoding", hl_json_text_or_null(hl_str_from(encoding))},
        {"error", hl_json_text_or_null(run->error)}, {"result", json_string(result_of(run))},
        {"deliveries", deliveries});
    return is_shared ? add_replica(json, run->replica) : json;
}

json_t *hl_rest_record_add_reruns(json_t *run, const struct hl_get_run *g)
{
    json_t *list = json_array();
    bool is_whole = run && list;
    for (size_t i = 0; is_whole && g && i < g->n_reruns; i++)
        is_whole =
            hl_json_push(list, HL_JSON_OBJECT({"run_id", hl_json_id(&g->reruns[i].run_id)},
                                   {"state", json_string(hl_run_state_text(g->reruns[i].state))},
                                   {"created_at", hl_json_time(g->reruns[i].created_ms)}));
    is_whole = is_whole && json_object_set(run, "reruns", list) == 0;
    json_decref(list);
    if (is_whole)
        return run;
    json_decref(run);
    return NULL;
}

static const char *const recent_modes[] = {
    [HL_RECENT_SYNC] = "sync", [HL_RECENT_STREAM] = "stream", [HL_RECENT_WEBSOCKET] = "websocket"};

static json_t *recent_size(uint64_t n)
{
    return hl_json_count_or_null(n == HL_RECENT_UNKNOWN ? -1 : (int64_t)n);
}

json_t *hl_rest_recent_json(
    const struct hl_recent_run *run, struct hl_str replica, json_t *deliveries)
{
    bool is_final = hl_run_state_is_final(run->state);
    int64_t started_ms = run->queued_ms < 0 ? 0 : run->created_ms + run->queued_ms;
    int64_t end_ms = end_or_now(run->finished_ms);
    if (!deliveries)
        deliveries = counts(0, 0, 0);
    json_t *json = HL_JSON_OBJECT({"run_id", hl_json_id(&run->id)},
        {"project_id", hl_json_text(hl_recent_project(run))},
        {"app_name", hl_json_text(hl_recent_app(run))},
        {"state", json_string(hl_run_state_text(run->state))},
        {"reason", hl_json_text_or_null(hl_str_from(hl_run_reason_text(run->reason)))},
        {"mode", json_string(recent_modes[run->mode])}, {"async", json_false()},
        {"method", hl_json_text(hl_str_from(run->method))},
        {"path", hl_json_text(hl_recent_path(run))}, {"created_at", hl_json_time(run->created_ms)},
        {"started_at", hl_json_time(started_ms)}, {"finished_at", hl_json_time(run->finished_ms)},
        {"queued_ms", span(run->created_ms, started_ms > 0 ? started_ms : end_ms)},
        {"run_ms", span(started_ms, end_ms)}, {"gate_ms", part(run->parts.gate_us)},
        {"connect_ms", part(run->parts.connect_us)},
        {"first_byte_ms", part(run->parts.first_byte_us)},
        {"priority", json_string(hl_priority_text(run->priority))},
        {"tags", tags_json(hl_str_from(run->tags))}, {"attempts", json_integer(1)},
        {"attempt_log", json_array()}, {"next_attempt_at", json_null()}, {"rerun_of", json_null()},
        {"status_code", hl_json_count_or_null(run->http_status ? run->http_status : -1)},
        {"request_bytes", recent_size(run->request_size)},
        {"response_bytes", is_final ? recent_size(run->response_size) : json_null()},
        {"content_type", json_null()}, {"content_encoding", json_null()}, {"encoding", json_null()},
        {"error", json_null()}, {"result", json_string("none")}, {"deliveries", deliveries});
    return replica.n > 0 ? add_replica(json, replica) : json;
}
