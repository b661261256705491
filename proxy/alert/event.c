/* event.c - see event.h. Thread: control. */
#include "alert/event.h"

#include <stdio.h>

#include "api/json.h"

#define PREFIX "hookline.alert."

void hl_event_path(const struct hl_alert *a, char out[64])
{
    snprintf(out, 64, "/" PREFIX "%s", hl_alert_kind_text(a->kind));
}

static json_t *text_or_null(const char *text)
{
    return hl_json_text_or_null(hl_str_from(text));
}

static json_t *seconds(int64_t ms)
{
    return json_integer(ms / 1000);
}

/* ---- what is said of each kind ---- */

static json_t *of_destination(const struct hl_alert *a)
{
    return HL_JSON_OBJECT(
        {"destination", text_or_null(a->subject)}, {"error", text_or_null(a->facts.text)});
}

static json_t *of_letters(const struct hl_alert *a)
{
    return HL_JSON_OBJECT({"destination", text_or_null(a->subject)},
        {"count", json_integer(a->facts.value)}, {"error", text_or_null(a->facts.text)});
}

static json_t *of_queue(const struct hl_alert *a)
{
    return HL_JSON_OBJECT(
        {"age_seconds", seconds(a->facts.value)}, {"limit_seconds", seconds(a->facts.limit)});
}

static json_t *of_store(const struct hl_alert *a)
{
    return HL_JSON_OBJECT(
        {"bytes", json_integer(a->facts.value)}, {"max_bytes", json_integer(a->facts.limit)});
}

static json_t *of_nothing(const struct hl_alert *a)
{
    (void)a;
    return json_object();
}

static json_t *of_app(const struct hl_alert *a)
{
    return HL_JSON_OBJECT({"why", text_or_null(a->facts.text)});
}

static json_t *of_certificate(const struct hl_alert *a)
{
    return HL_JSON_OBJECT({"expires_at", hl_json_time(a->facts.value)});
}

static const struct {
    const char *begin, *end; /* one line */
    json_t *(*details)(const struct hl_alert *a);
} kinds[] = {
    [HL_ALERT_DESTINATION_FAILING] = {"A webhook destination does not answer.",
        "A webhook destination answers again.", of_destination},
    [HL_ALERT_DEAD_LETTERS] = {"Webhooks to a destination were given up.", "", of_letters},
    [HL_ALERT_QUEUE_AGE] = {"The oldest queued run has waited for longer than "
                            "HOOKLINE_ALERT_QUEUE_AGE.",
        "No queued run has waited for longer than HOOKLINE_ALERT_QUEUE_AGE.", of_queue},
    [HL_ALERT_STORE_FULL] = {"The store has 90 % of what it may have, or its volume is full.",
        "The store has less than 85 % of what it may have.", of_store},
    [HL_ALERT_STORE_FAILING] = {"The store cannot be written.", "The store can be written again.",
        of_nothing},
    [HL_ALERT_APP_NOT_READY] = {"The app has not been ready for HOOKLINE_ALERT_APP_AFTER.",
        "The app is ready again.", of_app},
    [HL_ALERT_CERTIFICATE_EXPIRING] = {"The certificate of HOOKLINE_TLS_CERT_FILE expires within "
                                       "14 days.",
        "Another certificate is in use.", of_certificate},
};

enum hl_err hl_event_write(
    const struct hl_alert *a, struct hl_str replica, int64_t now_ms, struct hl_buf *out)
{
    char type[64];
    bool is_end = a->state == HL_ALERT_ENDING;
    hl_event_path(a, type);
    return hl_json_write(
        HL_JSON_OBJECT({"type", json_string(type + 1)},
            {"status", json_string(is_end ? "resolved" : "firing")},
            {"event_id", hl_json_id(&a->event)}, {"alert_id", hl_json_id(&a->id)},
            {"timestamp", hl_json_time(now_ms)}, {"since", hl_json_time(a->since_ms)},
            {"until", hl_json_time(a->until_ms)}, {"replica", hl_json_text_or_null(replica)},
            {"summary", json_string(is_end ? kinds[a->kind].end : kinds[a->kind].begin)},
            {"details", kinds[a->kind].details(a)}),
        out);
}
