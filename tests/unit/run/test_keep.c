/* test_keep.c - what the store is given of a response: its fields, and what its body is. */
#include "caller/metrics.h"
#include "callers_fixture.h"
#include "config/config.h"
#include "fake_store.h"
#include "loop_fixture.h"
#include "run/tee.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/progress.h"
#include "run/run.h"
#include "runs_fixture.h"
#include "store/claim.h"

static struct hl_run *run;
static struct hl_outcome kept;

static void begin(void)
{
    runs_begin();
    run = run_new();
    run_record(run);
}

static void end(void)
{
    hl_body_fini(&kept.body);
    runs_end();
}

TestSuite(keep, .init = begin, .fini = end, .timeout = 180);

static void on_room(void *owner)
{
    (void)owner;
}

static const struct hl_spool_events events = {.on_room = on_room, .on_done = hl_tee_end};

/* A response whose head has these lines, to a request of this method. */
static void begin_response(enum hl_method method, const char *lines)
{
    static struct hl_head head;
    static char text[4096];
    struct hl_message_reader reader_of_head;
    struct hl_refusal fault;
    snprintf(text, sizeof(text), "HTTP/1.1 %s\r\n\r\n", lines);
    struct hl_str bytes = hl_str_from(text);
    hl_message_reader_init(&reader_of_head, &runs.rules);
    cr_assert_eq(hl_message_read_response(&reader_of_head, &bytes, method, false, &head, &fault),
        HL_MESSAGE_HEAD);
    hl_message_reader_fini(&reader_of_head);
    hl_tee_begin(run, &head, &events);
}

/* Its body is whole: what the store is told. */
static void finish(void)
{
    hl_progress_stage(run, HL_STAGE_ENDED);
    hl_progress_record(run, HL_RECORD_KEEPING);
    hl_spool_end(run->spool);
    UNTIL(fake_store.count == 1);
    struct hl_finish *f = HL_CONTAINER_OF(fake_store_take(HL_STORE_FINISH), struct hl_finish, m);
    kept = f->outcome;
    free(f);
}

static void respond(const char *lines, const char *body)
{
    begin_response(HL_METHOD_GET, lines);
    hl_spool_take(run->spool, body, strlen(body));
    finish();
}

/* ---- its fields ---- */

Test(keep, has_status_type_and_coding_of_the_response)
{
    respond("404 Not Found\r\nContent-Type: text/css\r\nContent-Encoding: br\r\nContent-Length: 1",
        "x");
    cr_assert_eq(kept.http_status, 404);
    cr_assert_str_eq(kept.content_type, "text/css");
    cr_assert_str_eq(kept.content_encoding, "br");
    cr_assert_eq(kept.body.size, 1);
}

Test(keep, leaves_a_field_out_that_nobody_could_show)
{
    char lines[600];
    snprintf(lines, sizeof(lines),
        "200 OK\r\nContent-Type: text/%0*d\r\nContent-Encoding: \xff\r\nContent-Length: 1",
        HL_CONTENT_FIELD_MAX, 0);
    respond(lines, "x");
    cr_assert_str_eq(kept.content_type, "");
    cr_assert_str_eq(kept.content_encoding, "");
}

Test(keep, has_no_body_where_the_response_has_none)
{
    begin_response(HL_METHOD_HEAD, "200 OK\r\nContent-Length: 5");
    cr_assert_null(run->spool);
    begin_response(HL_METHOD_GET, "204 No Content");
    cr_assert_null(run->spool);
}

/* ---- what went wrong ---- */

static void fail(uint16_t status, const char *type, const char *body)
{
    char lines[256];
    struct hl_outcome *o;
    hl_body_fini(&kept.body);
    run = run_new();
    run_record(run);
    o = &run->store.finish->outcome;
    o->state = status < 400 ? HL_RUN_SUCCESS : HL_RUN_FAILURE;
    o->reason = status < 400 ? HL_REASON_NONE : HL_REASON_APP_ERROR;
    snprintf(lines, sizeof(lines), "%u X\r\n%s\r\nContent-Length: %zu", status, type, strlen(body));
    respond(lines, body);
}

#define JSON "Content-Type: application/json"
#define TEXT "Content-Type: text/plain"

Test(keep, has_the_line_that_says_what_went_wrong)
{
    fail(500, "Content-Type: application/problem+json",
        "{\"title\":\"t\",\"detail\":\"no such order\"}");
    cr_assert_str_eq(kept.error, "no such order");
    fail(404, JSON, "{\"error\":{\"message\":\"m\"}}");
    cr_assert_str_eq(kept.error, "m");
    fail(503, TEXT, "\nboom\nat line 3\n");
    cr_assert_str_eq(kept.error, "boom");
    fail(500, "Content-Type: Text/HTML; charset=utf-8", "<title>500 boom</title>\n<h1>no</h1>");
    cr_assert_str_eq(kept.error, "500 boom");
    fail(500, "X-Typed: no", "boom");
    cr_assert_str_eq(kept.error, "boom");
    fail(500, JSON, "{\"detail\":\"it does not end");
    cr_assert_str_eq(
        kept.error, "{\"detail\":\"it does not end", "a text that only says it is JSON");
    fail(500, TEXT,
        "donn\xe9"
        "es");
    cr_assert_str_eq(kept.error, "donn\xef\xbf\xbd"
                                 "es");
}

Test(keep, has_no_such_line_where_nothing_readable_went_wrong)
{
    fail(200, JSON, "{\"detail\":\"fine\"}");
    cr_assert_str_eq(kept.error, "");
    fail(500, "Content-Type: image/png", "\x89PNG\r\n");
    cr_assert_str_eq(kept.error, "");
    fail(500, TEXT "\r\nContent-Encoding: gzip", "boom");
    cr_assert_str_eq(kept.error, "", "it is not decoded");
    config.max_kept_response = 3;
    fail(500, TEXT, "boom");
    cr_assert_str_eq(kept.error, "", "it is not kept");
}

/* ---- its body ---- */

static const struct {
    const char *type, *body;
    enum hl_encoding encoding;
} bodies[] = {
    {"application/json", "{\"a\":[1,2]}", HL_ENCODING_JSON},
    {"application/problem+json", "null", HL_ENCODING_JSON},
    {"application/json", "{\"a\":", HL_ENCODING_TEXT}, /* it only says so */
    {"text/plain", "{\"a\":1}", HL_ENCODING_TEXT},
    {"application/octet-stream", "h\xc3\xa9", HL_ENCODING_TEXT},
    {"text/plain", "h\xe9", HL_ENCODING_BASE64}, /* no UTF-8 */
};

Test(keep, knows_what_its_body_is)
{
    for (size_t i = 0; i < HL_ARRAY_LEN(bodies); i++) {
        char lines[256];
        snprintf(lines, sizeof(lines), "200 OK\r\nContent-Type: %s\r\nContent-Length: %zu",
            bodies[i].type, strlen(bodies[i].body));
        run = run_new();
        run_record(run);
        respond(lines, bodies[i].body);
        cr_assert_eq(kept.encoding, bodies[i].encoding, "%s", bodies[i].body);
        cr_assert_eq(memcmp(kept.body.bytes, bodies[i].body, kept.body.size), 0);
        hl_body_fini(&kept.body);
        kept.body.bytes = NULL;
    }
}

Test(keep, counts_how_long_a_text_is_in_json)
{
    respond("200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4", "a\"b\n");
    cr_assert_eq(kept.encoding, HL_ENCODING_TEXT);
    cr_assert_eq(kept.escaped_size, 6); /* a\"b\n */
}

Test(keep, drops_a_body_that_is_too_large_and_says_so)
{
    config.max_kept_response = 3;
    respond("200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4", "abcd");
    cr_assert_eq(kept.body.where, HL_BODY_DROPPED);
    cr_assert_eq(kept.encoding, HL_ENCODING_NONE);
    cr_assert_eq(kept.http_status, 200, "the rest is said");
    cr_assert_eq(hl_counter_get(&metrics.responses_not_kept), 0);
}

Test(keep, counts_a_body_that_was_given_up)
{
    begin_response(HL_METHOD_GET, "200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4");
    hl_spool_take(run->spool, "abcd", 4);
    hl_spool_give_up(run->spool, HL_ERR_TIMEOUT);
    finish();
    cr_assert_eq(kept.body.where, HL_BODY_UNKEPT);
    cr_assert_eq(kept.encoding, HL_ENCODING_NONE);
    cr_assert_eq(hl_counter_get(&metrics.responses_not_kept), 1);
}
