/* rest_test.c - a test of a webhook's receiver: one event, sent at once as a delivery is, and what came back.
 * Thread: control.
 * Promise: nothing is stored but who did it; it says nothing of the destination to those who deliver; a few a minute are
 * sent, whoever asks.
 * Not here: the attempt (webhook/direct.c). */
#include "api/rest_handler.h"

#include <stdlib.h>
#include <string.h>

#include "api/audit.h"
#include "api/json.h"
#include "base/clock.h"
#include "store/question.h"
#include "webhook/direct.h"

#define SPAN_MS     60000
#define IN_SPAN_MAX 10
#define AT_ONCE_MAX 4

/* ---- what is asked for ---- */

static void begin(struct hl_rest_call *call);
static void read_delivery(struct hl_rest_call *call);

/* Which delivery's URL is meant; nil: one that is named. */
static bool read_id(const json_t *body, struct hl_id *id)
{
    const char *text = json_string_value(json_object_get(body, "delivery_id"));
    return text && json_object_size(body) == 1 && hl_id_parse(hl_str_from(text), id) &&
           !hl_id_is_nil(id);
}

static bool is_named(const json_t *body)
{
    size_t n = json_object_get(body, "secret") ? 2 : 1;
    return json_object_get(body, "url") && json_object_size(body) == n;
}

static bool may_test(struct hl_rest_test_rate *rate)
{
    uint64_t now_ms = hl_clock_mono_ms();
    if (rate->in_span == 0 || now_ms - rate->since_ms >= SPAN_MS) {
        rate->since_ms = now_ms;
        rate->in_span = 0;
    }
    return rate->in_span < IN_SPAN_MAX && rate->under_way < AT_ONCE_MAX;
}

/* False: the call is refused. */
static bool check_body(struct hl_rest_call *call, json_t *body)
{
    struct hl_str url, secret;
    struct hl_id id;
    if (!body) {
        hl_rest_refuse(call, hl_json_no_object());
        return false;
    }
    if (is_named(body))
        return hl_rest_read_webhook(call, body, &url, &secret);
    if (read_id(body, &id))
        return true;
    hl_rest_refuse(call, HL_REFUSAL_TEST_MEMBERS);
    return false;
}

void hl_rest_test_destination(struct hl_rest_call *call)
{
    struct hl_rest_test_rate *rate = &call->all->tests;
    json_t *body = hl_json_read_object(call->body);
    bool is_good = check_body(call, body);
    json_decref(body);
    if (!is_good)
        return;
    if (!hl_rest_get_parts(call)->sender) {
        hl_rest_refuse(call, HL_REFUSAL_TEST_NO_SIDECAR);
    } else if (!may_test(rate)) {
        hl_rest_refuse(call, HL_REFUSAL_TEST_TOO_OFTEN);
    } else {
        rate->in_span++;
        hl_rest_with_audit(call, HL_REST_AUDITED_NEW, begin);
    }
}

/* ---- the event ---- */

static void tell(struct hl_rest_call *call, struct hl_str url, struct hl_str secret);
static void send_off(struct hl_rest_call *call);
static void show(struct hl_rest_call *call);

static void begin(struct hl_rest_call *call)
{
    struct hl_id id;
    json_t *body = hl_json_read_object(call->body);
    const json_t *url = json_object_get(body, "url"), *secret = json_object_get(body, "secret");
    if (url) {
        tell(call, hl_json_str(url), hl_json_str(secret));
    } else if (read_id(body, &id) && hl_rest_ask_delivery(call, &id)) {
        hl_rest_then(call, read_delivery);
    } else {
        hl_rest_refuse_memory(call);
    }
    json_decref(body);
}

static void read_delivery(struct hl_rest_call *call)
{
    const struct hl_get_delivery *g = (const struct hl_get_delivery *)call->answers[0];
    if (g->m.rc != HL_OK)
        hl_rest_refuse_store(call, g->m.rc, "delivery");
    else if (g->webhook_url.n == 0)
        hl_rest_refuse(call, HL_REFUSAL_TEST_SEALED);
    else
        tell(call, hl_buf_str(&g->webhook_url), hl_buf_str(&g->webhook_secret));
}

static enum hl_err write_event(
    const struct hl_rest_call *call, const struct hl_id *id, struct hl_buf *out)
{
    json_t *event = HL_JSON_OBJECT({"type", json_string("hookline.test")},
        {"event_id", hl_json_id(id)}, {"timestamp", hl_json_time(hl_id_time_ms(id))},
        {"project_id", json_string(call->project)},
        {"message", json_string("This is a test of a webhook's receiver, sent by an admin.")});
    enum hl_err err = hl_json_write(event, out);
    if (!err && out->n > 0)
        out->n--; /* without the line's end */
    return err;
}

/* NULL: out of memory. */
static struct hl_direct *make(struct hl_rest_call *call, struct hl_str url, struct hl_str secret)
{
    struct hl_id id = hl_id_next(&call->all->ids, hl_clock_wall_ms());
    struct hl_buf body = {0};
    enum hl_err err = write_event(call, &id, &body);
    struct hl_direct *direct = err ? NULL : hl_direct_new(&id, url, secret, hl_buf_str(&body));
    hl_buf_fini(&body);
    return direct;
}

/* Who does it is written before it is done. */
static void tell(struct hl_rest_call *call, struct hl_str url, struct hl_str secret)
{
    json_t *detail = HL_JSON_OBJECT({"destination", hl_rest_destination_of(url)});
    call->direct = make(call, url, secret);
    struct hl_audit *audit = hl_rest_audit(call, HL_AUDIT_WEBHOOK_TESTED, NULL, detail);
    hl_rest_drop_answers(call);
    if (!call->direct) {
        free(audit);
        hl_rest_refuse_memory(call);
    } else if (hl_rest_ask_audit(call, audit)) {
        hl_rest_then(call, send_off);
    } else {
        hl_rest_refuse_memory(call);
    }
}

/* It is the sender's until its answer is there, whether or not somebody still waits for that. */
static void send_off(struct hl_rest_call *call)
{
    struct hl_direct *direct = call->direct;
    if (call->answers[0]->rc != HL_OK) {
        hl_rest_refuse_store(call, call->answers[0]->rc, "test");
        return;
    }
    call->direct = NULL;
    hl_rest_ask_sender(call, direct);
    hl_rest_then(call, show);
}

/* ---- what came back ---- */

static void show(struct hl_rest_call *call)
{
    const struct hl_direct *d = call->direct;
    if (!d->was_tried) {
        hl_rest_refuse(call, HL_REFUSAL_TEST_NOT_TRIED);
        return;
    }
    struct hl_attempt_row attempt = {.round = 1,
        .n = 1,
        .started_ms = d->started_ms,
        .ended_ms = d->ended_ms,
        .verdict = d->is_delivered ? HL_ATTEMPT_OK : HL_ATTEMPT_DEAD,
        .http_status = d->http_status,
        .report = d->report};
    memcpy(attempt.error, d->error, sizeof(attempt.error));
    hl_rest_end_json(call, 200,
        HL_JSON_OBJECT({"event_id", hl_json_id(&d->run_id)},
            {"url", hl_rest_shown_url_json(call, d->url)}, {"body", hl_json_text(d->body)},
            {"attempt", hl_rest_attempt_json(&attempt, HL_REST_WHOLE)}));
}
