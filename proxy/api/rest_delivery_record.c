/* rest_delivery_record.c - deliveries as JSON: the members of the REST interface.
 * Thread: control. */
#include "api/rest_delivery_record.h"

#include <stdio.h>

#include "api/json.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "store/question.h"

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

static json_t *attempt_json(const struct hl_attempt_row *a, enum hl_rest_telling telling)
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
    return add(json, "answer", answer_json(r));
}

static json_t *attempts_json(const struct hl_delivery_row *d, enum hl_rest_telling telling)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < d->n_attempts; i++)
        if (!hl_json_push(array, attempt_json(&d->attempts[i], telling))) {
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
        {"destination", hl_json_text(d->destination)}, {"round", json_integer(d->round)},
        {"max_attempts", hl_json_count_or_null(d->max_attempts ? (int64_t)d->max_attempts : -1)},
        {"created_at", hl_json_time(d->created_ms)}, {"done_at", hl_json_time(d->done_ms)},
        {"next_attempt_at", hl_json_steady_time(d->next_ms)},
        {"attempts", attempts_json(d, telling)},
        {"attempt_count", json_integer((json_int_t)d->attempt_count)});
}

json_t *hl_rest_found_delivery_json(const struct hl_get_delivery *found)
{
    json_t *json = hl_rest_delivery_json(&found->delivery, HL_REST_WHOLE);
    return add(json, "url", hl_json_text_or_null(hl_buf_str(&found->webhook_url)));
}
