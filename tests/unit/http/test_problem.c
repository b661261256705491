#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/id.h"
#include "http/head.h"
#include "http/problem.h"

#define ID "0193a5b0-0000-7000-8000-000000000001"

static struct hl_head head;
static char out[4096];
static struct hl_str body;

/* Writes the answer and reads it as a caller would. */
static void write_answer(const struct hl_answer *answer)
{
    struct hl_refusal fault;
    size_t n = hl_answer_write(out, sizeof out - 1, answer), scanned = 0, head_len = 0;
    cr_assert(n > 0);
    out[n] = '\0';
    cr_assert_eq(hl_head_find_end(out, n, &scanned, &head_len), HL_HEAD_END_FOUND);
    cr_assert(hl_head_parse_response(&head, out, head_len,
                  answer->is_head_request ? HL_METHOD_HEAD : HL_METHOD_GET, false, &fault),
        "%s", out);
    body = (struct hl_str){out + head_len, n - head_len};
}

static bool has_line(const char *line)
{
    char wanted[256];
    snprintf(wanted, sizeof wanted, "\r\n%s\r\n", line);
    return strstr(out, wanted) != NULL;
}

Test(problem, says_what_was_wrong_in_json)
{
    struct hl_id id;
    cr_assert(hl_id_parse(HL_STR(ID), &id));
    struct hl_refusal why = {
        .status = 405, .detail = "Not \"that\" way.\n", .fields = "Allow: POST\r\n"};
    write_answer(&(struct hl_answer){.refusal = &why, .run_id = &id, .caller_minor = 1});
    cr_assert_eq(head.status, 405);
    cr_assert(has_line("Content-Type: application/problem+json"), "%s", out);
    cr_assert(has_line("X-Request-Id: " ID), "%s", out);
    cr_assert(has_line("Allow: POST"), "%s", out);
    cr_assert_eq(head.content_length, body.n);
    cr_assert(head.is_persistent);
    cr_assert(
        hl_str_eq(body,
            HL_STR("{\"type\":\"about:blank\",\"title\":\"Method Not Allowed\",\"status\":405,"
                   "\"detail\":\"Not \\\"that\\\" way.\\n\",\"run_id\":\"" ID "\"}")),
        "%s", out);
}

Test(problem, says_when_to_come_back)
{
    struct hl_refusal why = {.status = 503, .retry_s = 30, .detail = "Full.", .fields = "A: b\r\n"};
    write_answer(&(struct hl_answer){.refusal = &why, .extra_fields = "C: d\r\n"});
    cr_assert(strstr(out, "\r\nRetry-After: 30\r\nA: b\r\nC: d\r\n"), "%s", out);
    why.retry_s = HL_RETRY_NONE;
    write_answer(&(struct hl_answer){.refusal = &why});
    cr_assert_null(strstr(out, "Retry-After"));
}

Test(problem, has_a_date_and_may_not_be_cached)
{
    char date[32];
    write_answer(
        &(struct hl_answer){.refusal = &(struct hl_refusal){.status = 404}, .caller_minor = 1});
    cr_assert(has_line("Cache-Control: no-store"));
    const char *at = strstr(out, "\r\nDate: ");
    cr_assert(at && sscanf(at, "\r\nDate: %*3s, %*2d %*3s %*4d %*2d:%*2d:%*2d %3s", date) == 1);
    cr_assert_str_eq(date, "GMT");
    cr_assert(hl_str_eq(
        body, HL_STR("{\"type\":\"about:blank\",\"title\":\"Not Found\",\"status\":404}")));
}

Test(answer, carries_another_body_as_it_is)
{
    write_answer(&(struct hl_answer){.status = 202,
        .content_type = HL_STR("application/json"),
        .body = HL_STR("{\"run_id\":\"x\"}"),
        .caller_minor = 1});
    cr_assert(has_line("Content-Type: application/json"));
    cr_assert(hl_str_eq(body, HL_STR("{\"run_id\":\"x\"}")));
    cr_assert_eq(head.content_length, body.n);
}

Test(answer, to_head_has_the_length_and_no_body)
{
    write_answer(&(struct hl_answer){.refusal = &(struct hl_refusal){.status = 404},
        .is_head_request = true,
        .caller_minor = 1});
    cr_assert_eq(body.n, 0);
    cr_assert(head.has_content_length && head.content_length > 0);
}

Test(answer, tells_what_becomes_of_the_connection)
{
    write_answer(&(struct hl_answer){
        .refusal = &(struct hl_refusal){.status = 400}, .closes = true, .caller_minor = 1});
    cr_assert(has_line("Connection: close"));
    write_answer(&(struct hl_answer){
        .refusal = &(struct hl_refusal){.status = 400}, .closes = true, .caller_minor = 0});
    cr_assert(has_line("Connection: close"));
    write_answer(
        &(struct hl_answer){.refusal = &(struct hl_refusal){.status = 400}, .caller_minor = 0});
    cr_assert(has_line("Connection: keep-alive"));
    write_answer(
        &(struct hl_answer){.refusal = &(struct hl_refusal){.status = 400}, .caller_minor = 1});
    cr_assert_null(strstr(out, "\r\nConnection:"));
}

Test(answer, of_204_has_neither_body_nor_length)
{
    write_answer(&(struct hl_answer){
        .status = 204, .content_type = HL_STR("text/plain"), .caller_minor = 1});
    cr_assert_null(strstr(out, "Content-"));
    cr_assert_eq(body.n, 0);
}

Test(answer, never_writes_beyond_its_space)
{
    struct hl_answer answer = {
        .refusal = &(struct hl_refusal){.status = 404, .detail = "x"}, .caller_minor = 1};
    write_answer(&answer);
    size_t whole = strlen(out);
    for (size_t cap = 0; cap <= whole; cap++) {
        char *exact = malloc(cap + 1);
        cr_assert_eq(hl_answer_write(exact, cap, &answer), cap < whole ? 0 : whole);
        free(exact);
    }
}

Test(answer, statuses_have_their_standard_phrase)
{
    cr_assert_str_eq(hl_status_phrase(429), "Too Many Requests");
    cr_assert_str_eq(hl_status_phrase(502), "Bad Gateway");
    cr_assert_str_eq(hl_status_phrase(599), "");
}

Test(problem, begins_a_stream_without_its_body)
{
    write_answer(&(struct hl_answer){.status = 200,
        .content_type = HL_STR("text/event-stream; charset=utf-8"),
        .caller_minor = 1,
        .is_stream = true});
    cr_assert_eq(head.framing, HL_FRAMING_CHUNKED);
    cr_assert(head.is_persistent);
    cr_assert_eq(body.n, 0);
    cr_assert(has_line("Content-Type: text/event-stream; charset=utf-8"), "%s", out);
    write_answer(&(struct hl_answer){.status = 200,
        .content_type = HL_STR("text/event-stream"),
        .closes = true,
        .is_stream = true});
    cr_assert_eq(head.framing, HL_FRAMING_UNTIL_CLOSE, "HTTP/1.0 knows no chunks");
}
