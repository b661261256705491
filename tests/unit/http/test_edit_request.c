#include <criterion/criterion.h>
#include <stdio.h>
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

TestSuite(edit_request, .init = init);

static struct hl_request_edit plain_edit(void)
{
    return (struct hl_request_edit){.target = HL_STR("/run"),
        .run_id = &id,
        .via = HL_STR("hookline"),
        .peer = HL_STR("192.0.2.1"),
        .keeps_authorization = true,
        .framing = head.framing,
        .content_length = head.content_length};
}

static void parse(const char *text)
{
    struct hl_refusal fault;
    cr_assert(hl_head_parse_request(&head, text, strlen(text), &fault), "%s", text);
}

static const char *write_edit(const struct hl_request_edit *edit)
{
    size_t n = hl_edit_request(out, sizeof out - 1, &head, edit);
    cr_assert(n > 0);
    out[n] = '\0';
    return out;
}

#define FORWARDED "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: a\r\n"

Test(edit_request, keeps_the_callers_lines_and_adds_ours)
{
    parse("POST /v4/p/a/run?async=1 HTTP/1.1\r\nhost: a\r\nuser-AGENT:  x y \r\nX-A: 1\r\n"
          "Connection: keep-alive\r\nX-B: 2\r\ncontent-length: 5\r\nX-A: 3\r\n\r\n");
    struct hl_request_edit edit = plain_edit();
    cr_assert_str_eq(write_edit(&edit),
        "POST /run HTTP/1.1\r\nHost: a\r\nuser-AGENT:  x y \r\nX-A: 1\r\nX-B: 2\r\nX-A: 3\r\n"
        "X-Request-Id: " ID "\r\n" FORWARDED "Via: 1.1 hookline\r\nContent-Length: 5\r\n\r\n");
}

Test(edit_request, drops_what_is_hop_by_hop_or_spoofs_us)
{
    parse("GET / HTTP/1.1\r\nHost: a\r\nConnection: x-mine, keep-alive\r\nX-Mine: 1\r\n"
          "Keep-Alive: timeout=5\r\nProxy-Connection: keep-alive\r\nProxy-Authorization: b\r\n"
          "Upgrade: h2c\r\nHTTP2-Settings: AAA\r\nTrailer: x\r\nX-Request-Id: evil\r\n"
          "X_Request_Id: evil\r\nX-Run-Attempt: 9\r\nx_run_attempt: 9\r\nX-Webhook-Secret: s\r\n"
          "Content_Length: 3\r\nX-Real-IP: evil\r\nX-Forwarded-For: evil\r\n"
          "X-Forwarded-Proto: evil\r\nX-Forwarded-Host: evil\r\ntracestate: a=b\r\n\r\n");
    struct hl_request_edit edit = plain_edit();
    cr_assert_str_eq(write_edit(&edit), "GET /run HTTP/1.1\r\nHost: a\r\nX-Request-Id: " ID
                                        "\r\nX-Forwarded-For: 192.0.2.1\r\nX-Real-IP: 192.0.2.1\r\n"
                                        "X-Forwarded-Proto: http\r\nX-Forwarded-Host: a\r\n"
                                        "Via: 1.1 hookline\r\n\r\n");
}

Test(edit_request, nominated_field_of_ours_is_there_all_the_same)
{
    parse("GET / HTTP/1.1\r\nHost: a\r\nConnection: host, x-request-id, x-forwarded-for, via, "
          "content-length\r\nContent-Length: 3\r\n\r\n");
    struct hl_request_edit edit = plain_edit();
    cr_assert_str_eq(write_edit(&edit),
        "GET /run HTTP/1.1\r\nHost: a\r\nX-Request-Id: " ID "\r\n" FORWARDED
        "Via: 1.1 hookline\r\nContent-Length: 3\r\n\r\n");
}

static bool has_line(const char *text, const char *line)
{
    char wanted[256];
    snprintf(wanted, sizeof wanted, "\r\n%s\r\n", line);
    return strstr(text, wanted) != NULL;
}

Test(edit_request, trusted_proxy_is_believed_and_extended)
{
    parse("GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 203.0.113.9\r\nX-Other: 1\r\n"
          "X-Forwarded-For: 10.0.0.1, 10.0.0.2\r\nX-Forwarded-Proto: https\r\n"
          "X-Forwarded-Host: public.example\r\nX-Real-IP: 203.0.113.9\r\n"
          "Forwarded: for=203.0.113.9;proto=https\r\n\r\n");
    struct hl_request_edit edit = plain_edit();
    edit.is_peer_trusted = true;
    edit.peer = HL_STR("2001:db8::7");
    const char *text = write_edit(&edit);
    cr_assert(has_line(text, "X-Forwarded-For: 203.0.113.9, 10.0.0.1, 10.0.0.2, 2001:db8::7"), "%s",
        text);
    cr_assert(has_line(text, "X-Forwarded-Proto: https"), "%s", text);
    cr_assert(has_line(text, "X-Forwarded-Host: public.example"), "%s", text);
    cr_assert(has_line(text, "X-Real-IP: 203.0.113.9"), "%s", text);
    cr_assert(has_line(text, "Forwarded: for=203.0.113.9;proto=https, for=\"[2001:db8::7]\""), "%s",
        text);
    cr_assert_not(has_line(text, "X-Forwarded-Proto: http"), "%s", text);
    cr_assert_not(has_line(text, "X-Forwarded-Host: a"), "%s", text);
}

Test(edit_request, stranger_is_not_believed)
{
    parse("GET / HTTP/1.1\r\nHost: a\r\nForwarded: for=evil\r\n\r\n");
    struct hl_request_edit edit = plain_edit();
    const char *text = write_edit(&edit);
    cr_assert(has_line(text, "Forwarded: for=192.0.2.1"), "%s", text);
    cr_assert_null(strstr(text, "evil"));
}

Test(edit_request, peer_without_an_address_leaves_no_trace)
{
    parse("GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: evil\r\nX-Real-IP: evil\r\n\r\n");
    struct hl_request_edit edit = plain_edit();
    edit.peer = (struct hl_str){0};
    cr_assert_null(strstr(write_edit(&edit), "evil"));
    cr_assert_null(strstr(out, "X-Forwarded-For"));
}

Test(edit_request, authorization_goes_on_only_where_it_is_the_apps)
{
    parse("GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer t\r\n\r\n");
    struct hl_request_edit edit = plain_edit();
    cr_assert(has_line(write_edit(&edit), "Authorization: Bearer t"));
    edit.keeps_authorization = false;
    cr_assert_null(strstr(write_edit(&edit), "Authorization"));
}

Test(edit_request, expect_goes_on_until_it_is_answered)
{
    parse("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
    struct hl_request_edit edit = plain_edit();
    cr_assert(has_line(write_edit(&edit), "Expect: 100-continue"));
    edit.drops_expect = true;
    cr_assert_null(strstr(write_edit(&edit), "Expect"));

    parse("PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n");
    edit = plain_edit();
    cr_assert_null(strstr(write_edit(&edit), "Expect"));
}

Test(edit_request, max_forwards_of_options_is_counted_down)
{
    static const struct {
        const char *method, *value, *passed;
    } cases[] = {
        {"OPTIONS", "1", "0"},
        {"OPTIONS", "10", "9"},
        {"OPTIONS", "007", "6"},
        {"OPTIONS", "18446744073709551615", "4294967294"},
        {"GET", "1", "1"},
        {"GET", "0", "0"},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        char text[128], line[64];
        snprintf(text, sizeof text, "%s / HTTP/1.1\r\nHost: a\r\nMax-Forwards: %s\r\n\r\n",
            cases[i].method, cases[i].value);
        snprintf(line, sizeof line, "Max-Forwards: %s", cases[i].passed);
        parse(text);
        struct hl_request_edit edit = plain_edit();
        cr_expect(has_line(write_edit(&edit), line), "%s", out);
        cr_expect_null(strstr(strstr(out, "Max-Forwards") + 1, "Max-Forwards"), "%s", out);
    }
    parse("OPTIONS / HTTP/1.1\r\nHost: a\r\n\r\n");
    struct hl_request_edit edit = plain_edit();
    cr_expect_null(strstr(write_edit(&edit), "Max-Forwards"));
}

Test(edit_request, identity_replaces_the_callers_codings)
{
    parse("GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\naccept-encoding: br\r\n\r\n");
    struct hl_request_edit edit = plain_edit();
    edit.wants_identity = true;
    const char *text = write_edit(&edit);
    cr_assert(has_line(text, "Accept-Encoding: identity"), "%s", text);
    cr_assert_null(strstr(text, "gzip"));
    cr_assert_null(strstr(text, "br\r\n"));
}

#define TRACE "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

Test(edit_request, trace_is_passed_on_or_replaced)
{
    struct hl_request_edit edit;
    parse("GET / HTTP/1.1\r\nHost: a\r\ntraceparent: " TRACE "\r\ntracestate: a=b\r\n\r\n");
    edit = plain_edit();
    cr_assert(has_line(write_edit(&edit), "traceparent: " TRACE));
    cr_assert(has_line(out, "tracestate: a=b"));
    edit.traceparent = HL_STR("00-1-2-01");
    cr_assert(has_line(write_edit(&edit), "traceparent: 00-1-2-01"));
    cr_assert_null(strstr(out, TRACE));
    cr_assert_null(strstr(out, "tracestate"));

    parse("GET / HTTP/1.1\r\nHost: a\r\ntraceparent: nonsense\r\ntracestate: a=b\r\n\r\n");
    edit = plain_edit();
    cr_assert_null(strstr(write_edit(&edit), "trace"));

    parse("GET / HTTP/1.1\r\nHost: a\r\ntraceparent: " TRACE "\r\ntraceparent: " TRACE "\r\n\r\n");
    edit = plain_edit();
    cr_assert_null(strstr(write_edit(&edit), "trace"));
}

Test(edit_request, traceparent_is_read_strictly)
{
    static const struct {
        const char *value;
        bool is_valid;
    } cases[] = {
        {TRACE, true},
        {"cc"
         "-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            true},
        {"cc"
         "-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            true},
        {TRACE "-more", false},
        {"cc"
         "-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01.",
            false},
        {"ff"
         "-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            false},
        {"00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", false},
        {"00-00000000000000000000000000000000-b7ad6b7169203331-01", false},
        {"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", false},
        {"00-0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331-01", false},
        {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0g", false},
        {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0", false},
        {"", false},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++)
        cr_assert_eq(hl_is_traceparent(hl_str_from(cases[i].value)), cases[i].is_valid, "%s",
            cases[i].value);
}

Test(edit_request, framing_is_always_ours)
{
    parse("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: x-sum\r\n\r\n");
    struct hl_request_edit edit = plain_edit();
    cr_assert(has_line(write_edit(&edit), "Transfer-Encoding: chunked"));
    cr_assert(has_line(out, "Trailer: x-sum"));
    edit.framing = HL_FRAMING_LENGTH;
    edit.content_length = UINT64_MAX;
    cr_assert(has_line(write_edit(&edit), "Content-Length: 18446744073709551615"));
    cr_assert_null(strstr(out, "Transfer-Encoding"));
    cr_assert_null(strstr(out, "Trailer"));
    edit.framing = HL_FRAMING_NONE;
    cr_assert_null(strstr(write_edit(&edit), "Content-Length"));
}

Test(edit_request, upgrade_of_a_websocket_is_written_anew)
{
    parse("GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: h2c, "
          "websocket\r\nSec-WebSocket-Key: k\r\nSec-WebSocket-Version: 13\r\n\r\n");
    struct hl_request_edit edit = plain_edit();
    cr_assert_str_eq(write_edit(&edit),
        "GET /run HTTP/1.1\r\nHost: a\r\nSec-WebSocket-Key: k\r\nSec-WebSocket-Version: 13\r\n"
        "X-Request-Id: " ID "\r\n" FORWARDED "Via: 1.1 hookline\r\n"
        "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
}

static const char *preferences_of(const char *lines)
{
    static char text[256];
    snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: a\r\n%s\r\n", lines);
    parse(text);
    struct hl_request_edit edit = plain_edit();
    edit.drops_preferences = true;
    write_edit(&edit);
    const char *from = strstr(out, "Prefer: ");
    snprintf(text, sizeof text, "%.*s", from ? (int)strcspn(from, "\r") : 0, from ? from : "");
    cr_assert(!from || !strstr(from + 1, "Prefer: "), "%s", out);
    return text;
}

Test(edit_request, preferences_that_are_ours_are_taken_off_and_others_go_on)
{
    cr_expect_str_eq(preferences_of("Prefer: respond-async\r\n"), "");
    cr_expect_str_eq(preferences_of("Prefer: Wait = \"5\";a=b\r\nPrefer: RESPOND-ASYNC\r\n"), "");
    cr_expect_str_eq(preferences_of("Prefer: , wait,\r\n"), "");
    cr_expect_str_eq(preferences_of("Prefer: return=minimal;x, wait=5\r\nprefer: a=\"b, "
                                    "wait=1\\\"\", respond-async, c\r\n"),
        "Prefer: return=minimal;x,a=\"b, wait=1\\\"\",c");
    cr_expect_str_eq(preferences_of("Prefer: waiting=1, respond-asynchronously\r\n"),
        "Prefer: waiting=1,respond-asynchronously");
    cr_expect_str_eq(
        preferences_of("Prefer:wait,a,b,c\r\n"), "Prefer: a,b,c", "no longer than it was");
    cr_expect_str_eq(preferences_of("Prefer: wait=1, a\r\nConnection: prefer\r\n"), "");
}

Test(edit_request, trailers_are_asked_for_when_the_caller_did)
{
    parse("GET / HTTP/1.1\r\nHost: a\r\nTE: gzip, trailers\r\n\r\n");
    struct hl_request_edit edit = plain_edit();
    cr_assert(strstr(write_edit(&edit), "\r\nConnection: TE\r\nTE: trailers\r\n"), "%s", out);
}

Test(edit_request, version_is_1_1_and_via_tells_what_came)
{
    parse("GET http://b:1/x HTTP/1.0\r\nVia: 1.0 other\r\n\r\n");
    struct hl_request_edit edit = plain_edit();
    cr_assert_str_eq(write_edit(&edit),
        "GET /run HTTP/1.1\r\nHost: b:1\r\nVia: 1.0 other\r\nX-Request-Id: " ID "\r\n"
        "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: b:1\r\n"
        "Via: 1.0 hookline\r\n\r\n");
}

Test(edit_request, stored_head_is_finished_later)
{
    parse("POST / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nContent-Length: 9\r\n\r\n");
    struct hl_request_edit edit = plain_edit();
    edit.is_stored = true;
    cr_assert_str_eq(write_edit(&edit), "POST /run HTTP/1.1\r\nHost: a\r\nX-Request-Id: " ID
                                        "\r\n" FORWARDED "Via: 1.1 hookline\r\n");
    struct hl_stored_end with_body = {.attempt = 2, .has_body = true, .content_length = 9};
    struct hl_stored_end bare = {.attempt = 1};
    size_t at, n = hl_edit_finish_stored(out, sizeof out, &with_body, &at);
    hl_edit_set_deadline(out + at, 1763798400999);
    cr_assert(hl_str_eq((struct hl_str){out, n},
        HL_STR("X-Run-Attempt: 2\r\nX-Run-Deadline: 1763798400\r\nContent-Length: 9\r\n\r\n")));
    n = hl_edit_finish_stored(out, sizeof out, &bare, &at);
    hl_edit_set_deadline(out + at, 1000);
    cr_assert(hl_str_eq(
        (struct hl_str){out, n}, HL_STR("X-Run-Attempt: 1\r\nX-Run-Deadline: 0000000001\r\n\r\n")));
    cr_assert_eq(hl_edit_finish_stored(out, n - 1, &bare, &at), 0);
    bare.closes = true;
    n = hl_edit_finish_stored(out, sizeof out, &bare, &at);
    cr_assert(hl_str_eq((struct hl_str){out, n},
        HL_STR("X-Run-Attempt: 1\r\nX-Run-Deadline: 0000000000\r\nConnection: close\r\n\r\n")));
}

Test(edit_request, says_that_the_connection_is_for_one_call)
{
    struct hl_request_edit edit = plain_edit();
    edit.closes = true;
    parse("GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n\r\n");
    cr_assert_str_eq(write_edit(&edit),
        "GET /run HTTP/1.1\r\nHost: a\r\nX-Request-Id: " ID "\r\n" FORWARDED "Via: 1.1 hookline\r\n"
        "Connection: close\r\n\r\n");
    parse("GET / HTTP/1.1\r\nHost: a\r\nConnection: TE\r\nTE: trailers\r\n\r\n");
    cr_assert_str_eq(write_edit(&edit),
        "GET /run HTTP/1.1\r\nHost: a\r\nX-Request-Id: " ID "\r\n" FORWARDED "Via: 1.1 hookline\r\n"
        "Connection: close, TE\r\nTE: trailers\r\n\r\n");
}

Test(edit_request, never_writes_beyond_its_space)
{
    parse("POST / HTTP/1.1\r\nHost: a\r\nX-A: 1\r\nConnection: x\r\nContent-Length: 9\r\n\r\n");
    struct hl_request_edit edit = plain_edit();
    size_t whole = strlen(write_edit(&edit));
    for (size_t cap = 0; cap <= whole; cap++) {
        char *exact = malloc(cap + 1);
        cr_assert_eq(hl_edit_request(exact, cap, &head, &edit), cap < whole ? 0 : whole);
        free(exact);
    }
}
