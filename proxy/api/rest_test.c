/* rest_test.c - a test of a webhook's receiver: one event, sent at once as a delivery is, and what came back.
 * Owns: the event while the sender has it. Thread: control.
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
#include "webhook/sender.h"

#define SPAN_MS     60000
#define IN_SPAN_MAX 10
#define AT_ONCE_MAX 4

struct hl_rest_test {
    struct hl_direct direct;
    struct hl_slot_name from;
    struct hl_buf url, secret, body;
};

static void test_free(struct hl_rest_test *t)
{
    if (!t)
        return;
    if (t->url.n > 0)
        explicit_bzero(t->url.p, t->url.n);
    if (t->secret.n > 0)
        explicit_bzero(t->secret.p, t->secret.n);
    hl_buf_fini(&t->url);
    hl_buf_fini(&t->secret);
    hl_buf_fini(&t->body);
    free(t->direct.report);
    free(t);
}

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
    struct hl_get_delivery *g = NULL;
    if (url) {
        tell(call, (struct hl_str){json_string_value(url), json_string_length(url)},
            secret ? (struct hl_str){json_string_value(secret), json_string_length(secret)}
                   : HL_STR(""));
    } else if (read_id(body, &id) && (g = calloc(1, sizeof(*g)))) {
        g->delivery_id = id;
        hl_str_put(g->project, sizeof(g->project), call->project);
        hl_rest_ask_store(call, HL_STORE_GET_DELIVERY, &g->m);
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

static enum hl_err write_event(const struct hl_rest_call *call, struct hl_rest_test *t)
{
    json_t *event = HL_JSON_OBJECT({"type", json_string("hookline.test")},
        {"event_id", hl_json_id(&t->direct.run_id)},
        {"timestamp", hl_json_time(hl_id_time_ms(&t->direct.run_id))},
        {"project_id", json_string(call->project)},
        {"message", json_string("This is a test of a webhook's receiver, sent by an admin.")});
    enum hl_err err = hl_json_write(event, &t->body);
    if (!err && t->body.n > 0)
        t->body.n--; /* without the line's end */
    return err;
}

/* NULL: out of memory. */
static struct hl_rest_test *make(struct hl_rest_call *call, struct hl_str url, struct hl_str secret)
{
    struct hl_rest_test *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    t->from = call->name;
    t->direct.run_id = hl_id_next(&call->all->ids, hl_clock_wall_ms());
    enum hl_err err = hl_buf_append_str(&t->url, url);
    if (!err)
        err = hl_buf_append_str(&t->secret, secret);
    if (!err)
        err = write_event(call, t);
    if (!err)
        return t;
    test_free(t);
    return NULL;
}

/* Who does it is written before it is done. */
static void tell(struct hl_rest_call *call, struct hl_str url, struct hl_str secret)
{
    struct hl_rest_test *t = make(call, url, secret);
    json_t *detail = HL_JSON_OBJECT({"destination", hl_rest_destination_of(url)});
    struct hl_audit *audit = hl_rest_audit(call, HL_AUDIT_WEBHOOK_TESTED, NULL, detail);
    hl_rest_drop_answers(call);
    if (!t) {
        free(audit);
        hl_rest_refuse_memory(call);
        return;
    }
    call->test = t;
    if (hl_rest_ask_audit(call, audit))
        hl_rest_then(call, send_off);
    else
        hl_rest_refuse_memory(call);
}

/* It is the sender's until its answer is there, whether or not somebody still waits for that. */
static void send_off(struct hl_rest_call *call)
{
    struct hl_rest_test *t = call->test;
    if (call->answers[0]->rc != HL_OK) {
        hl_rest_refuse_store(call, call->answers[0]->rc, "test");
        return;
    }
    call->test = NULL;
    t->direct.reply_to = call->all->mail;
    t->direct.url = hl_buf_str(&t->url);
    t->direct.secret = hl_buf_str(&t->secret);
    t->direct.body = hl_buf_str(&t->body);
    call->all->tests.under_way++;
    call->outstanding++;
    hl_rest_then(call, show);
    hl_sender_send(hl_rest_get_parts(call)->sender, &t->direct);
}

void hl_rest_test_free(struct hl_rest_test *test)
{
    test_free(test);
}

/* ---- what came back ---- */

void hl_rest_take_test(struct hl_rest_calls *calls, struct hl_msg *msg, bool drops)
{
    struct hl_direct *direct = HL_CONTAINER_OF(msg, struct hl_direct, msg);
    struct hl_rest_test *t = HL_CONTAINER_OF(direct, struct hl_rest_test, direct);
    struct hl_rest_call *call = drops ? NULL : hl_slot_find(&calls->slots, t->from);
    calls->tests.under_way--;
    if (!call) {
        test_free(t);
        return;
    }
    call->test = t; /* which goes with the call */
    call->outstanding--;
    call->step(call);
}

static void show(struct hl_rest_call *call)
{
    const struct hl_rest_test *t = call->test;
    const struct hl_direct *d = &t->direct;
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
