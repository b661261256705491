/* rest_delivery.c - deliveries: the list, one, their members; and the destinations that they go to.
 * Thread: control.
 * Not here: sending again (rest_redelivery.c). */
#include "api/rest_handler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "api/rest_param.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "config/config.h"
#include "http/url.h"
#include "store/destination.h"
#include "store/op.h"
#include "store/question.h"

/* ---- deliveries and their attempts as JSON: how much is told depends on who asks (contract 8) ---- */

/* ---- what came back ---- */

/* To a hundredth of a millisecond. */
static json_t *part_json(int32_t us)
{
    return us < 0 ? json_null() : json_real((double)((us + 5) / 10) / 100);
}

static json_t *duration_json(const struct hl_attempt_report *r)
{
    if (!r)
        return json_null();
    return HL_JSON_OBJECT({"name", part_json(r->name_us)}, {"connect", part_json(r->connect_us)},
        {"tls", part_json(r->tls_us)}, {"first_byte", part_json(r->first_byte_us)});
}

static bool is_cut(const struct hl_attempt_report *r)
{
    return r->body_n == HL_REPORT_BODY_MAX;
}

/* Without the character that the end of the KiB cut through. */
static struct hl_str whole_characters(const struct hl_attempt_report *r)
{
    size_t n = r->body_n, tail = 0;
    while (is_cut(r) && tail < 3 && ((uint8_t)r->body[n - 1 - tail] & 0xc0) == 0x80)
        tail++;
    uint8_t lead = is_cut(r) ? (uint8_t)r->body[n - 1 - tail] : 0;
    size_t wanted = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;
    return (struct hl_str){r->body, tail < wanted ? n - 1 - tail : n};
}

static json_t *base64_json(const struct hl_attempt_report *r)
{
    char text[(HL_REPORT_BODY_MAX + 2) / 3 * 4];
    return json_stringn(text, hl_base64_encode(text, r->body, r->body_n));
}

/* Others' text: whoever shows it takes care that it stays text. */
static json_t *answer_json(const struct hl_attempt_report *r)
{
    if (!r || (r->body_n == 0 && !*r->content_type))
        return json_null();
    struct hl_str text = whole_characters(r);
    bool is_text = hl_utf8_is_valid(text);
    return HL_JSON_OBJECT({"content_type", hl_json_text_or_null(hl_str_from(r->content_type))},
        {"encoding", json_string(is_text ? "text" : "base64")},
        {"body", is_text ? json_stringn(text.p, text.n) : base64_json(r)},
        {"truncated", json_boolean(is_cut(r))});
}

/* ---- attempts ---- */

/* Takes `json` and `value`. */
static json_t *add(json_t *json, const char *name, json_t *value)
{
    if (json && json_object_set_new(json, name, value) == 0)
        return json;
    if (!json)
        json_decref(value);
    json_decref(json);
    return NULL;
}

/* 0: null. */
static json_t *some_or_null(uint64_t n)
{
    return n > 0 ? json_integer((json_int_t)n) : json_null();
}

json_t *hl_rest_attempt_json(const struct hl_attempt_row *a, enum hl_rest_telling telling)
{
    const struct hl_attempt_report *r = a->report;
    int64_t ms = a->ended_ms > 0 && a->started_ms > 0 ? a->ended_ms - a->started_ms : -1;
    json_t *json = HL_JSON_OBJECT({"round", json_integer(a->round)}, {"n", json_integer(a->n)},
        {"started_at", hl_json_time(a->started_ms)}, {"ended_at", hl_json_time(a->ended_ms)},
        {"outcome", json_string(hl_attempt_verdict_text(a->verdict))},
        {"status_code", hl_json_count_or_null(a->http_status ? a->http_status : -1)},
        {"duration_ms", hl_json_count_or_null(ms)});
    if (telling != HL_REST_LISTED)
        json = add(json, "duration", duration_json(r));
    if (telling != HL_REST_PLAIN)
        json = add(json, "error", hl_json_text_or_null(hl_str_from(a->error)));
    if (telling != HL_REST_WHOLE)
        return json;
    json = add(json, "address", hl_json_text_or_null(hl_str_from(r ? r->address : "")));
    json = add(json, "sent_bytes", some_or_null(r ? r->sent_size : 0));
    json = add(json, "retry_after", some_or_null(r ? r->retry_after_s : 0));
    return add(json, "answer", answer_json(r));
}

static json_t *attempts_json(const struct hl_delivery_row *d, enum hl_rest_telling telling)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < d->n_attempts; i++)
        if (!hl_json_push(array, hl_rest_attempt_json(&d->attempts[i], telling))) {
            json_decref(array);
            return NULL;
        }
    return array;
}

/* ---- a delivery ---- */

/* Null where a damaged store has lost how the run ended. */
static json_t *type_json(enum hl_run_state state)
{
    char type[32];
    if (!hl_run_state_is_final(state))
        return json_null();
    snprintf(type, sizeof(type), "run.%s", hl_run_state_text(state));
    return json_string(type);
}

json_t *hl_rest_delivery_json(const struct hl_delivery_row *d, enum hl_rest_telling telling)
{
    return HL_JSON_OBJECT({"delivery_id", hl_json_id(&d->delivery_id)},
        {"run_id", hl_json_id(&d->run_id)}, {"app_name", hl_json_text(d->app)},
        {"type", type_json(d->run_state)}, {"state", json_string(hl_delivery_state_text(d->state))},
        {"destination", hl_json_text(d->destination)},
        {"receiver", hl_json_text_or_null(hl_str_from(d->receiver))},
        {"resent", json_boolean(d->is_resent)}, {"round", json_integer(d->round)},
        {"max_attempts", hl_json_count_or_null(d->max_attempts ? (int64_t)d->max_attempts : -1)},
        {"created_at", hl_json_time(d->created_ms)}, {"done_at", hl_json_time(d->done_ms)},
        {"next_attempt_at", hl_json_steady_time(d->next_ms)},
        {"attempts", attempts_json(d, telling)},
        {"attempt_count", json_integer((json_int_t)d->attempt_count)});
}

/* ---- the next attempt, and why it is then ---- */

static const struct hl_attempt_row *last_attempt(const struct hl_delivery_row *d)
{
    return d->n_attempts > 0 ? &d->attempts[d->n_attempts - 1] : NULL;
}

/* What the receiver asked for is longer than the schedule's delay. */
static bool is_asked_for(const struct hl_attempt_row *last, const struct hl_schedule *schedule)
{
    uint64_t asked_ms = last && last->report ? (uint64_t)last->report->retry_after_s * 1000 : 0;
    uint32_t i = last && last->n < schedule->n ? last->n : schedule->n;
    return asked_ms > 0 && i > 0 && asked_ms >= schedule->delays_ms[i - 1];
}

static const char *why_then(const struct hl_delivery_row *d, const struct hl_schedule *schedule)
{
    const struct hl_attempt_row *last = last_attempt(d);
    bool is_retry = d->n > 0 && last && last->round == d->round;
    if (last && last->verdict == HL_ATTEMPT_RUNNING)
        return "sending";
    if (d->next_ms != 0 && is_retry)
        return is_asked_for(last, schedule) ? "retry_after" : "schedule";
    if (d->failing_since_ms != 0)
        return "destination_failing";
    return is_retry ? "place" : d->round > 1 ? "redelivery" : "first";
}

static json_t *next_json(const struct hl_delivery_row *d, const struct hl_schedule *schedule)
{
    const char *why = why_then(d, schedule);
    bool is_sending = strcmp(why, "sending") == 0;
    if (d->state != HL_DELIVERY_PENDING)
        return json_null();
    return HL_JSON_OBJECT({"n", json_integer(is_sending ? d->n : d->n + 1)},
        {"of", some_or_null(d->max_attempts)}, {"at", hl_json_steady_time(d->next_ms)},
        {"why", json_string(why)}, {"failing_since", hl_json_time(d->failing_since_ms)});
}

/* ---- where it goes ---- */

/* Names stay; a parameter without a value may be one. */
static enum hl_err append_masked(struct hl_buf *out, struct hl_str query)
{
    struct hl_param param;
    enum hl_err err = HL_OK;
    const char *between = "?";
    while (!err && hl_query_next(&query, &param)) {
        err = hl_buf_append_str(out, hl_str_from(between));
        if (!err && param.has_value)
            err = hl_buf_printf(out, "%.*s=", HL_STR_ARG(param.name));
        if (!err && param.raw.n > 0)
            err = hl_buf_append_str(out, HL_STR("***"));
        between = "&";
    }
    return err;
}

json_t *hl_rest_shown_url_json(const struct hl_rest_call *call, struct hl_str text)
{
    char destination[HL_DESTINATION_MAX];
    struct hl_url url;
    struct hl_buf shown = {0};
    size_t n = hl_destination_write(destination, text);
    if (!hl_rest_is_admin(call) || n == 0 || !hl_url_parse(text, &url))
        return json_null();
    const char *query =
        url.path_and_query.n > 0 ? memchr(url.path_and_query.p, '?', url.path_and_query.n) : NULL;
    size_t path_n = query ? (size_t)(query - url.path_and_query.p) : url.path_and_query.n;
    enum hl_err err = hl_buf_append(&shown, destination, n);
    if (!err)
        err =
            hl_buf_append(&shown, path_n > 0 ? url.path_and_query.p : "/", path_n > 0 ? path_n : 1);
    if (!err && query)
        err = append_masked(&shown, (struct hl_str){query + 1, url.path_and_query.n - path_n - 1});
    json_t *json = err ? NULL : hl_json_text(hl_buf_str(&shown));
    hl_buf_fini(&shown);
    return json;
}

json_t *hl_rest_found_delivery_json(
    const struct hl_rest_call *call, const struct hl_get_delivery *found)
{
    const struct hl_delivery_row *d = &found->delivery;
    json_t *json = hl_rest_delivery_json(d, HL_REST_WHOLE);
    json = add(json, "next_attempt", next_json(d, &hl_rest_get_parts(call)->config->schedule));
    return add(json, "url", hl_rest_shown_url_json(call, hl_buf_str(&found->webhook_url)));
}

/* ---- where a project's webhooks go, and how that goes ---- */

static void write_destinations(struct hl_rest_call *call);

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
    hl_rest_then(call, write_destinations);
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

static void write_destinations(struct hl_rest_call *call)
{
    const struct hl_list_destinations *l = (const struct hl_list_destinations *)call->answers[0];
    if (l->m.rc == HL_OK)
        hl_rest_end_json(call, 200, hl_rest_destinations_json(l));
    else
        hl_rest_refuse_store(call, l->m.rc, "destination");
}

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

static json_t *listed_json(const struct hl_rest_call *call, const struct hl_delivery_row *row)
{
    return add(
        hl_rest_delivery_json(row, HL_REST_LISTED), "path", hl_rest_secret_json(call, row->path));
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
        is_whole = hl_json_push(rows, listed_json(call, &l->rows[i]));
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

bool hl_rest_ask_delivery(struct hl_rest_call *call, const struct hl_id *id)
{
    struct hl_get_delivery *g = calloc(1, sizeof(*g));
    if (!g)
        return false;
    g->delivery_id = *id;
    hl_str_put(g->project, sizeof(g->project), call->project);
    hl_rest_ask_store(call, HL_STORE_GET_DELIVERY, &g->m);
    return true;
}

static void write_one(struct hl_rest_call *call);

void hl_rest_show_delivery(struct hl_rest_call *call)
{
    if (hl_rest_ask_delivery(call, &call->id))
        hl_rest_then(call, write_one);
    else
        hl_rest_refuse_memory(call);
}

static void write_one(struct hl_rest_call *call)
{
    const struct hl_get_delivery *g = (const struct hl_get_delivery *)call->answers[0];
    if (g->m.rc == HL_OK)
        hl_rest_end_json(call, 200, hl_rest_found_delivery_json(call, g));
    else
        hl_rest_refuse_store(call, g->m.rc, "delivery");
}
