#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/id.h"
#include "http/edit.h"
#include "http/refusal.h"

#define ID "0193a5b0-0000-7000-8000-000000000001"

static struct hl_head head;
static struct hl_id id;
static char out[4096];

static void init(void)
{
    cr_assert(hl_id_parse(HL_STR(ID), &id));
}

TestSuite(edit_response, .init = init);

static struct hl_response_edit parse_as(const char *text, enum hl_method method, bool is_websocket)
{
    struct hl_refusal fault;
    cr_assert(hl_head_parse_response(&head, text, strlen(text), method, is_websocket, &fault), "%s",
        text);
    return (struct hl_response_edit){.run_id = &id,
        .caller_minor = 1,
        .is_head_request = method == HL_METHOD_HEAD,
        .framing = head.framing,
        .content_length = head.content_length};
}

static struct hl_response_edit parse(const char *text)
{
    return parse_as(text, HL_METHOD_GET, false);
}

static const char *write_edit(const struct hl_response_edit *edit)
{
    size_t n = hl_edit_response(out, sizeof out - 1, &head, edit);
    cr_assert(n > 0);
    out[n] = '\0';
    return out;
}

Test(edit_response, keeps_the_apps_lines_and_adds_ours)
{
    struct hl_response_edit edit =
        parse("HTTP/1.0 404 Nope, sorry\r\nserver: x\r\nConnection: keep-alive, x-hop\r\n"
              "Keep-Alive: 5\r\nX-Hop: 1\r\ncontent-LENGTH: 5\r\nX-Request-Id: evil\r\n"
              "x_request_id: evil\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\n");
    cr_assert_str_eq(write_edit(&edit),
        "HTTP/1.1 404 Nope, sorry\r\nserver: x\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n"
        "X-Request-Id: " ID "\r\nContent-Length: 5\r\n\r\n");
}

#define DATE "Sun, 06 Nov 1994 08:49:37 GMT"

Test(edit_response, date_is_added_where_the_app_sent_none)
{
    static const struct {
        const char *text;
        bool is_added;
    } cases[] = {
        {"HTTP/1.1 200 OK\r\n\r\n", true},
        {"HTTP/1.1 204 No Content\r\n\r\n", true},
        {"HTTP/1.1 200 OK\r\nX-Date: a\r\n\r\n", true},
        {"HTTP/1.1 200 OK\r\nConnection: date\r\nDate: a\r\n\r\n", true},
        {"HTTP/1.1 200 OK\r\ndATE: a\r\n\r\n", false},
        {"HTTP/1.1 103 Early Hints\r\n\r\n", false},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        struct hl_response_edit edit = parse(cases[i].text);
        edit.date = HL_STR(DATE);
        bool is_there = strstr(write_edit(&edit), "\r\nDate: " DATE "\r\n");
        cr_expect_eq(is_there, cases[i].is_added, "%s", out);
    }
    struct hl_response_edit edit = parse("HTTP/1.1 200 OK\r\ndATE: a\r\n\r\n");
    cr_expect(strstr(write_edit(&edit), "\r\ndATE: a\r\n"), "%s", out);
}

Test(edit_response, framing_and_connection_are_as_the_caller_needs)
{
    struct hl_response_edit edit = parse("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    cr_assert_str_eq(write_edit(&edit),
        "HTTP/1.1 200 OK\r\nX-Request-Id: " ID "\r\nTransfer-Encoding: chunked\r\n\r\n");
    edit.closes = true;
    cr_assert_str_eq(write_edit(&edit),
        "HTTP/1.1 200 OK\r\nX-Request-Id: " ID "\r\nConnection: close\r\nTransfer-Encoding: "
        "chunked\r\n\r\n");
    edit.closes = false;
    edit.framing = HL_FRAMING_UNTIL_CLOSE;
    cr_assert_str_eq(
        write_edit(&edit), "HTTP/1.1 200 OK\r\nX-Request-Id: " ID "\r\nConnection: close\r\n\r\n");
    edit.framing = HL_FRAMING_LENGTH;
    edit.content_length = 0;
    edit.caller_minor = 0;
    cr_assert_str_eq(write_edit(&edit), "HTTP/1.1 200 OK\r\nX-Request-Id: " ID
                                        "\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n");
}

Test(edit_response, length_without_a_body_is_told_where_it_informs)
{
    struct hl_response_edit edit;
    edit = parse_as("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", HL_METHOD_HEAD, false);
    cr_assert(strstr(write_edit(&edit), "\r\nContent-Length: 5\r\n"));
    edit = parse("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n");
    cr_assert(strstr(write_edit(&edit), "\r\nContent-Length: 5\r\n"));
    edit = parse_as("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", HL_METHOD_HEAD, false);
    edit.framing = HL_FRAMING_CHUNKED;
    cr_assert_null(strstr(write_edit(&edit), "Transfer-Encoding"));
    edit = parse("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n");
    cr_assert_null(strstr(write_edit(&edit), "Content-Length"));
    edit = parse_as("HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\n", HL_METHOD_HEAD, false);
    cr_assert_null(strstr(write_edit(&edit), "Content-Length"));
}

Test(edit_response, interim_response_has_no_framing_and_no_connection)
{
    struct hl_response_edit edit = parse("HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n");
    edit.closes = true;
    cr_assert_str_eq(
        write_edit(&edit), "HTTP/1.1 103 Early Hints\r\nLink: a\r\nX-Request-Id: " ID "\r\n\r\n");
}

Test(edit_response, switch_to_websocket_keeps_its_fields)
{
    struct hl_response_edit edit =
        parse_as("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n"
                 "Sec-WebSocket-Accept: k\r\n\r\n",
            HL_METHOD_GET, true);
    cr_assert_str_eq(write_edit(&edit),
        "HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: k\r\nX-Request-Id: " ID
        "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
}

Test(edit_response, what_a_426_asks_for_is_said_where_it_can_be_had)
{
#define WANTED "HTTP/1.1 426 Upgrade Required\r\n"
    struct hl_response_edit edit =
        parse(WANTED "Upgrade: websocket\r\nConnection: close\r\nContent-Length: 2\r\n\r\n");
    cr_assert_str_eq(write_edit(&edit), WANTED "X-Request-Id: " ID "\r\nConnection: Upgrade\r\n"
                                               "Upgrade: websocket\r\nContent-Length: 2\r\n\r\n");
    edit.closes = true;
    cr_assert(
        strstr(write_edit(&edit), "\r\nConnection: close, Upgrade\r\nUpgrade: websocket\r\n"));
    edit.caller_minor = 0;
    cr_assert_not(strstr(write_edit(&edit), "websocket"), "HTTP/1.0 has no Upgrade");
    edit = parse(WANTED "Upgrade: h2c\r\nConnection: upgrade\r\nContent-Length: 2\r\n\r\n");
    cr_assert_not(strstr(write_edit(&edit), "Upgrade: "), "only WebSocket is passed on");
}

Test(edit_response, event_stream_gets_what_the_app_left_out)
{
    struct hl_response_edit edit = parse(
        "HTTP/1.1 200 OK\r\ncontent-type: Text/Event-Stream\r\nTransfer-Encoding: chunked\r\n\r\n");
    edit.is_event_stream = true;
    cr_assert_str_eq(write_edit(&edit),
        "HTTP/1.1 200 OK\r\nX-Request-Id: " ID
        "\r\nContent-Type: text/event-stream; charset=utf-8\r\nCache-Control: no-cache\r\n"
        "X-Accel-Buffering: no\r\nTransfer-Encoding: chunked\r\n\r\n");
}

Test(edit_response, event_stream_keeps_what_the_app_set)
{
    struct hl_response_edit edit =
        parse("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream;charset=utf-8\r\n"
              "Cache-Control: no-store\r\nX-Accel-Buffering: yes\r\nContent-Length: 3\r\n\r\n");
    edit.is_event_stream = true;
    cr_assert_str_eq(write_edit(&edit),
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream;charset=utf-8\r\n"
        "Cache-Control: no-store\r\nX-Accel-Buffering: yes\r\nX-Request-Id: " ID
        "\r\nContent-Length: 3\r\n\r\n");
}

Test(edit_response, event_stream_is_known_by_its_type)
{
    static const struct {
        const char *value;
        bool is_stream;
    } cases[] = {
        {"text/event-stream", true},
        {"Text/Event-Stream ; charset=utf-8", true},
        {"text/event-stream;x", true},
        {"text/event-streams", false},
        {"text/event-strea", false},
        {"application/json; a=text/event-stream", false},
        {"", false},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++)
        cr_assert_eq(hl_is_event_stream(hl_str_from(cases[i].value)), cases[i].is_stream, "%s",
            cases[i].value);
}

Test(edit_response, trailer_names_go_to_who_wants_them)
{
    struct hl_response_edit edit =
        parse("HTTP/1.1 200 OK\r\nTrailer: x-sum\r\nTransfer-Encoding: chunked\r\n\r\n");
    cr_assert_null(strstr(write_edit(&edit), "Trailer"));
    edit.wants_trailers = true;
    cr_assert(strstr(write_edit(&edit), "\r\nTrailer: x-sum\r\n"));
}

Test(edit_response, applied_preference_is_told)
{
    struct hl_response_edit edit = parse("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    edit.preference_applied = true;
    cr_assert(strstr(write_edit(&edit), "\r\nPreference-Applied: respond-async\r\n"));
}

Test(edit_response, never_writes_beyond_its_space)
{
    struct hl_response_edit edit = parse("HTTP/1.1 200 OK\r\nX: y\r\nContent-Length: 12\r\n\r\n");
    size_t whole = strlen(write_edit(&edit));
    for (size_t cap = 0; cap <= whole; cap++) {
        char *exact = malloc(cap + 1);
        cr_assert_eq(hl_edit_response(exact, cap, &head, &edit), cap < whole ? 0 : whole);
        free(exact);
    }
}
