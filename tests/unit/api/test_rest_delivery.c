#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "api/rest_handler.h"
#include "config/config.h"
#include "store/question.h"

static struct hl_attempt_report report;
static struct hl_attempt_row attempt;
static struct hl_delivery_row delivery;

static void begin(void)
{
    report = (struct hl_attempt_report){.name_us = 1204,
        .connect_us = 310,
        .tls_us = -1,
        .first_byte_us = 25006,
        .sent_size = 8589934599,
        .retry_after_s = 120,
        .address = "192.0.2.7:8443",
        .content_type = "text/html"};
    attempt = (struct hl_attempt_row){.round = 1,
        .n = 1,
        .started_ms = 1795253391000,
        .ended_ms = 1795253391030,
        .verdict = HL_ATTEMPT_RETRY,
        .http_status = 503,
        .error = "status 503",
        .report = &report};
    delivery = (struct hl_delivery_row){.state = HL_DELIVERY_PENDING,
        .run_state = HL_RUN_SUCCESS,
        .next_ms = 1795253400000,
        .project = HL_STR("p"),
        .app = HL_STR("a"),
        .destination = HL_STR("https://hooks.example:8443"),
        .attempts = &attempt,
        .n_attempts = 1,
        .attempt_count = 1};
}

TestSuite(rest_delivery, .init = begin);

static void answer_with(const char *bytes, size_t n)
{
    memcpy(report.body, bytes, n);
    report.body_n = (uint32_t)n;
}

/* The record of the one attempt, to be released. */
static json_t *tell(enum hl_rest_telling telling)
{
    json_t *json = hl_rest_delivery_json(&delivery, telling);
    json_t *first = json_incref(json_array_get(json_object_get(json, "attempts"), 0));
    cr_assert(first);
    json_decref(json);
    return first;
}

static void assert_json(const json_t *value, const char *expected)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(12));
    cr_expect_str_eq(text, expected);
    free(text);
}

Test(rest_delivery, an_admin_sees_what_came_back)
{
    answer_with("<h1>no</h1>", 11);
    json_t *a = tell(HL_REST_WHOLE);
    assert_json(a,
        "{\"round\":1,\"n\":1,\"started_at\":\"2026-11-21T09:29:51.000Z\","
        "\"ended_at\":\"2026-11-21T09:29:51.030Z\",\"outcome\":\"retry\",\"status_code\":503,"
        "\"duration_ms\":30,"
        "\"duration\":{\"name\":1.2,\"connect\":0.31,\"tls\":null,\"first_byte\":25.01},"
        "\"error\":\"status 503\",\"address\":\"192.0.2.7:8443\","
        "\"sent_bytes\":8589934599,\"retry_after\":120,"
        "\"answer\":{\"content_type\":\"text/html\",\"encoding\":\"text\",\"body\":\"<h1>no</h1>\","
        "\"truncated\":false}}");
    json_decref(a);
}

Test(rest_delivery, others_see_times_and_outcomes_alone)
{
    answer_with("secret", 6);
    json_t *a = tell(HL_REST_PLAIN);
    cr_expect(json_object_get(a, "duration"));
    cr_expect_eq(json_integer_value(json_object_get(a, "status_code")), 503);
    cr_expect_null(json_object_get(a, "error"));
    cr_expect_null(json_object_get(a, "address"));
    cr_expect_null(json_object_get(a, "answer"));
    json_decref(a);
}

Test(rest_delivery, a_list_carries_errors_but_no_reports)
{
    json_t *a = tell(HL_REST_LISTED);
    assert_json(json_object_get(a, "error"), "\"status 503\"");
    cr_expect_null(json_object_get(a, "duration"));
    cr_expect_null(json_object_get(a, "address"));
    cr_expect_null(json_object_get(a, "answer"));
    json_decref(a);
}

Test(rest_delivery, an_attempt_without_a_report_has_nulls)
{
    attempt.report = NULL;
    json_t *a = tell(HL_REST_WHOLE);
    cr_expect(json_is_null(json_object_get(a, "duration")));
    cr_expect(json_is_null(json_object_get(a, "address")));
    cr_expect(json_is_null(json_object_get(a, "answer")));
    cr_expect(json_is_null(json_object_get(a, "sent_bytes")));
    cr_expect(json_is_null(json_object_get(a, "retry_after")));
    json_decref(a);
}

Test(rest_delivery, an_answer_that_is_not_text_is_base64)
{
    answer_with("\xff\x00\x01", 3);
    json_t *a = tell(HL_REST_WHOLE);
    assert_json(json_object_get(a, "answer"),
        "{\"content_type\":\"text/html\",\"encoding\":\"base64\",\"body\":\"/wAB\","
        "\"truncated\":false}");
    json_decref(a);
}

Test(rest_delivery, text_with_zeros_stays_text)
{
    answer_with("a\0b", 3);
    json_t *a = tell(HL_REST_WHOLE);
    const json_t *answer = json_object_get(a, "answer");
    assert_json(json_object_get(answer, "body"), "\"a\\u0000b\"");
    json_decref(a);
}

/* Whatever character the end of the KiB is in the middle of. */
Test(rest_delivery, a_cut_answer_ends_with_a_whole_character)
{
    static const char *const characters[] = {"a", "ü", "名", "\U0001f600"};
    for (size_t i = 0; i < HL_ARRAY_LEN(characters); i++)
        for (size_t cut = 1; cut <= strlen(characters[i]); cut++) {
            char text[HL_REPORT_BODY_MAX];
            memset(text, '-', sizeof(text));
            memcpy(text + sizeof(text) - cut, characters[i], cut);
            answer_with(text, sizeof(text));
            json_t *a = tell(HL_REST_WHOLE);
            const json_t *answer = json_object_get(a, "answer");
            size_t kept = cut == strlen(characters[i]) ? 0 : cut;
            cr_expect_str_eq(json_string_value(json_object_get(answer, "encoding")), "text");
            cr_expect_eq(json_string_length(json_object_get(answer, "body")), sizeof(text) - kept);
            cr_expect(json_is_true(json_object_get(answer, "truncated")));
            json_decref(a);
        }
}

Test(rest_delivery, a_full_answer_of_continuation_bytes_is_base64)
{
    char bytes[HL_REPORT_BODY_MAX];
    memset(bytes, 0x80, sizeof(bytes));
    answer_with(bytes, sizeof(bytes));
    json_t *a = tell(HL_REST_WHOLE);
    const json_t *answer = json_object_get(a, "answer");
    cr_expect_str_eq(json_string_value(json_object_get(answer, "encoding")), "base64");
    json_decref(a);
}

Test(rest_delivery, a_waiting_delivery_says_when_it_is_tried_again)
{
    json_t *json = hl_rest_delivery_json(&delivery, HL_REST_LISTED);
    assert_json(json_object_get(json, "next_attempt_at"), "\"2026-11-21T09:30:00.000Z\"");
    json_decref(json);
}

Test(rest_delivery, a_destination_has_the_figures_of_its_last_hour)
{
    struct hl_destination_row row = {.destination = "https://a.example",
        .lane = UINT64_C(0xfedcba9876543210),
        .pending = 3,
        .dead = 1,
        .oldest_ms = 1795253391000,
        .failing_since_ms = 1795253391000,
        .attempts = 2001,
        .ok = 2000,
        .p95_us = 12345,
        .last_ms = 1795253391030,
        .last_error = "timeout"};
    struct hl_list_destinations list = {.rows = &row, .count = 1, .has_more = true};
    json_t *json = hl_rest_destinations_json(&list);
    assert_json(json,
        "{\"destinations\":[{\"destination\":\"https://a.example\",\"pending\":3,\"dead\":1,"
        "\"oldest_pending_at\":\"2026-11-21T09:29:51.000Z\","
        "\"failing_since\":\"2026-11-21T09:29:51.000Z\","
        "\"last_hour\":{\"attempts\":2001,\"delivered\":2000,\"success_rate\":0.999,"
        "\"p95_ms\":12.35},"
        "\"last_attempt_at\":\"2026-11-21T09:29:51.030Z\",\"last_status_code\":null,"
        "\"last_error\":\"timeout\"}],\"next_cursor\":\"fedcba9876543210\"}");
    json_decref(json);
}

Test(rest_delivery, a_destination_nothing_was_sent_to_has_nulls)
{
    struct hl_destination_row row = {.destination = "http://b.example", .p95_us = -1};
    struct hl_list_destinations list = {.rows = &row, .count = 1};
    json_t *json = hl_rest_destinations_json(&list);
    assert_json(json,
        "{\"destinations\":[{\"destination\":\"http://b.example\",\"pending\":0,\"dead\":0,"
        "\"oldest_pending_at\":null,\"failing_since\":null,"
        "\"last_hour\":{\"attempts\":0,\"delivered\":0,\"success_rate\":null,\"p95_ms\":null},"
        "\"last_attempt_at\":null,\"last_status_code\":null,\"last_error\":null}],"
        "\"next_cursor\":null}");
    json_decref(json);
}

static struct hl_config config = {
    .schedule = {.n = 2, .delays_ms = {1000, 60000}, .longest_ms = 60000}};
static struct hl_rest_calls calls = {.parts = {.config = &config}};
static const struct hl_rest_call admin = {.all = &calls, .asker = {.role = HL_ROLE_ADMIN}},
                                 viewer = {.all = &calls, .asker = {.role = HL_ROLE_VIEWER}};

Test(rest_delivery, one_delivery_has_its_url_with_a_masked_query_but_for_viewers)
{
    struct hl_get_delivery found = {.delivery = delivery};
    hl_buf_init(&found.webhook_url, 0);
    json_t *json = hl_rest_found_delivery_json(&admin, &found);
    cr_expect(json_is_null(json_object_get(json, "url")));
    json_decref(json);
    cr_assert_eq(
        hl_buf_append_str(&found.webhook_url, HL_STR("https://a.example/hook?key=k")), HL_OK);
    json = hl_rest_found_delivery_json(&admin, &found);
    assert_json(json_object_get(json, "url"), "\"https://a.example/hook?key=***\"");
    json_decref(json);
    json = hl_rest_found_delivery_json(&viewer, &found);
    cr_expect(json_is_null(json_object_get(json, "url")));
    json_decref(json);
    hl_buf_fini(&found.webhook_url);
}

static void expect_shown(const char *url, const char *shown)
{
    json_t *json = hl_rest_shown_url_json(&admin, hl_str_from(url));
    assert_json(json, shown);
    json_decref(json);
}

Test(rest_delivery, of_a_query_the_names_are_shown_and_of_a_url_no_credentials)
{
    expect_shown("https://a.example:443", "\"https://a.example/\"");
    expect_shown("http://me:secret@[::1]:8080/a/b", "\"http://[::1]:8080/a/b\"");
    expect_shown("https://a.example/x?a=1&b=&secret&&c=d=e",
        "\"https://a.example/x?a=***&b=***&***&&c=***\"");
    expect_shown("https://a.example/x?", "\"https://a.example/x?\"");
    expect_shown("https://a.example?k=v", "\"https://a.example/?k=***\"");
    expect_shown("no url", "null");
}

static void expect_next(const char *n, const char *why)
{
    struct hl_get_delivery found = {.delivery = delivery};
    json_t *json = hl_rest_found_delivery_json(&admin, &found);
    json_t *next = json_object_get(json, "next_attempt");
    assert_json(json_object_get(next, "n"), n);
    cr_expect_str_eq(json_string_value(json_object_get(next, "why")), why);
    json_decref(json);
}

Test(rest_delivery, says_why_the_next_attempt_is_then)
{
    delivery.round = delivery.n = 1;
    delivery.max_attempts = 3;
    report.retry_after_s = 0;
    expect_next("2", "schedule");
    report.retry_after_s = 1;
    expect_next("2", "retry_after");
    attempt.n = delivery.n = 2;
    expect_next("3", "schedule");
    delivery.next_ms = 0;
    expect_next("3", "place");
    delivery.failing_since_ms = 1795253391000;
    expect_next("3", "destination_failing");
    delivery.failing_since_ms = 0;
    delivery.round = 2;
    delivery.n = 0;
    expect_next("1", "redelivery");
    delivery.n_attempts = 0;
    delivery.round = 1;
    expect_next("1", "first");
    delivery.n = delivery.n_attempts = 1;
    attempt.n = 1;
    attempt.verdict = HL_ATTEMPT_RUNNING;
    expect_next("1", "sending");
}

Test(rest_delivery, says_nothing_of_a_next_attempt_where_there_is_none)
{
    struct hl_get_delivery found = {.delivery = delivery};
    found.delivery.state = HL_DELIVERY_DEAD;
    json_t *json = hl_rest_found_delivery_json(&admin, &found);
    cr_expect(json_is_null(json_object_get(json, "next_attempt")));
    json_decref(json);
}
