#include <criterion/criterion.h>
#include <stdlib.h>

#include "http/head.h"
#include "http/refusal.h"

static struct hl_head head;
static struct hl_refusal fault;

/* From a copy that ends where the text does, so that a read beyond it is seen. */
static char *bytes;

static void fini(void)
{
    free(bytes);
}

TestSuite(head_response, .fini = fini);

static bool parse_as(struct hl_str text, enum hl_method method, bool is_websocket)
{
    free(bytes);
    bytes = malloc(text.n + 1);
    memcpy(bytes + 1, text.p, text.n);
    fault = (struct hl_refusal){0};
    return hl_head_parse_response(&head, bytes + 1, text.n, method, is_websocket, &fault);
}

static bool parse(const char *text)
{
    return parse_as(hl_str_from(text), HL_METHOD_POST, false);
}

Test(head_response, says_where_everything_is)
{
    cr_assert(parse("HTTP/1.1 404 Not Found at all\r\nContent-Length: 7\r\nX: y\r\n\r\n"));
    cr_assert_eq(head.status, 404);
    cr_assert(hl_str_eq(head.reason, HL_STR("Not Found at all")));
    cr_assert_eq(head.minor, 1);
    cr_assert_eq(head.field_count, 2);
    cr_assert_eq(head.framing, HL_FRAMING_LENGTH);
    cr_assert_eq(head.content_length, 7);
    cr_assert(head.is_persistent);
}

Test(head_response, reason_may_be_empty_or_missing)
{
    cr_assert(parse("HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n"));
    cr_assert_eq(head.reason.n, 0);
    cr_assert(parse("HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n"));
    cr_assert_eq(head.reason.n, 0);
    cr_assert(parse("HTTP/1.1 599 \xff\t!\r\n\r\n"));
}

Test(head_response, is_refused_as_a_bad_gateway)
{
    const struct hl_str bad[] = {
        HL_STR(""),
        HL_STR("HTTP/1.1 200 OK\r\n"),
        HL_STR("\r\nHTTP/1.1 200 OK\r\n\r\n"),
        HL_STR("HTTP/1.1 200 OK\n\n"),
        HL_STR("HTTP/1.1 200 OK\r\n\r\nX"),
        HL_STR("HTTP/2.0 200 OK\r\n\r\n"),
        HL_STR("HTTP/0.9 200 OK\r\n\r\n"),
        HL_STR("http/1.1 200 OK\r\n\r\n"),
        HL_STR("HTTP/1.1  200 OK\r\n\r\n"),
        HL_STR("HTTP/1.1\t200 OK\r\n\r\n"),
        HL_STR("HTTP/1.1 20 OK\r\n\r\n"),
        HL_STR("HTTP/1.1 2000 OK\r\n\r\n"),
        HL_STR("HTTP/1.1 200OK\r\n\r\n"),
        HL_STR("HTTP/1.1 2x0 OK\r\n\r\n"),
        HL_STR("HTTP/1.1 099 OK\r\n\r\n"),
        HL_STR("HTTP/1.1 600 OK\r\n\r\n"),
        HL_STR("HTTP/1.1 999 OK\r\n\r\n"),
        HL_STR("HTTP/1.1 +20 OK\r\n\r\n"),
        HL_STR("HTTP/1.1 200 O\rK\r\n\r\n"),
        HL_STR("HTTP/1.1 200 O\0K\r\n\r\n"),
        HL_STR("HTTP/1.1 200 O\x1bK\r\n\r\n"),
        HL_STR("ICY 200 OK\r\n\r\n"),
        HL_STR("HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n"),
        HL_STR("HTTP/1.1 200 OK\r\n X: a\r\n\r\n"),
        HL_STR("HTTP/1.1 200 OK\r\nX : a\r\n\r\n"),
        HL_STR("HTTP/1.1 200 OK\r\nX: a\0\r\n\r\n"),
        HL_STR("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n"),
        HL_STR("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"),
        HL_STR("HTTP/1.1 200 OK\r\nContent-Length: 1,1\r\n\r\n"),
        HL_STR("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"),
        HL_STR("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
        HL_STR("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"),
        HL_STR("HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\n"),
        HL_STR("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: "
               "chunked\r\n\r\n"),
        HL_STR("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
        HL_STR("HTTP/1.1 200 OK\r\nConnection: a b\r\n\r\n"),
        HL_STR("HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\n"),
        HL_STR("HTTP/1.1 103 Early Hints\r\nTransfer-Encoding: chunked\r\n\r\n"),
        HL_STR("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: "
               "websocket\r\n\r\n"),
        HL_STR("HTTP/1.1 101 Switching Protocols\r\n\r\n"),
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++) {
        cr_expect_not(
            parse_as(bad[i], HL_METHOD_POST, false), "accepted: %.*s", HL_STR_ARG(bad[i]));
        cr_expect_eq(fault.status, 502, "%.*s", HL_STR_ARG(bad[i]));
        /* It is not of the request of the caller, who reads it. */
        cr_expect(strstr(fault.detail, "app"), "%s", fault.detail);
    }
}

Test(head_response, too_many_fields_are_a_bad_gateway_too)
{
    char text[8192] = "HTTP/1.1 200 OK\r\n";
    for (size_t i = 0; i <= HL_HEAD_MAX_FIELDS; i++)
        strcat(text, "X: y\r\n");
    strcat(text, "\r\n");
    cr_assert_not(parse(text));
    cr_assert_eq(fault.status, 502);
    cr_assert_str_eq(fault.detail, "The app's answer has more than 1024 header fields.");
}

/* RFC 9112 6.3. */
Test(head_response, framing_follows_method_status_and_fields)
{
    static const struct {
        const char *text;
        enum hl_method method;
        enum hl_framing framing;
        bool is_persistent;
    } cases[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", HL_METHOD_GET, HL_FRAMING_LENGTH, true},
        {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", HL_METHOD_GET, HL_FRAMING_LENGTH, true},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", HL_METHOD_GET, HL_FRAMING_CHUNKED,
            true},
        {"HTTP/1.1 200 OK\r\n\r\n", HL_METHOD_GET, HL_FRAMING_UNTIL_CLOSE, false},
        {"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n", HL_METHOD_GET, HL_FRAMING_UNTIL_CLOSE,
            false},
        {"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\n", HL_METHOD_GET,
            HL_FRAMING_LENGTH, true},
        {"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n", HL_METHOD_GET, HL_FRAMING_LENGTH, false},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\n", HL_METHOD_GET,
            HL_FRAMING_LENGTH, false},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", HL_METHOD_HEAD, HL_FRAMING_NONE, true},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", HL_METHOD_HEAD, HL_FRAMING_NONE,
            true},
        {"HTTP/1.1 200 OK\r\n\r\n", HL_METHOD_HEAD, HL_FRAMING_NONE, true},
        {"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", HL_METHOD_GET, HL_FRAMING_NONE,
            true},
        {"HTTP/1.1 204 No Content\r\n\r\n", HL_METHOD_GET, HL_FRAMING_NONE, true},
        {"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", HL_METHOD_GET, HL_FRAMING_NONE,
            true},
        {"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", HL_METHOD_GET, HL_FRAMING_NONE,
            false},
        {"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", HL_METHOD_GET,
            HL_FRAMING_NONE, false},
        {"HTTP/1.1 100 Continue\r\n\r\n", HL_METHOD_POST, HL_FRAMING_NONE, true},
        {"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n", HL_METHOD_GET, HL_FRAMING_NONE, true},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        cr_assert(parse_as(hl_str_from(cases[i].text), cases[i].method, false), "%s: %s",
            cases[i].text, fault.detail);
        cr_assert_eq(head.framing, cases[i].framing, "%s", cases[i].text);
        cr_assert_eq(head.is_persistent, cases[i].is_persistent, "%s", cases[i].text);
    }
}

Test(head_response, length_of_the_body_that_is_not_sent_is_kept)
{
    cr_assert(
        parse_as(HL_STR("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"), HL_METHOD_HEAD, false));
    cr_assert(head.has_content_length);
    cr_assert_eq(head.content_length, 5);
}

Test(head_response, switching_needs_the_question_and_both_fields)
{
    static const struct {
        const char *text;
        bool is_accepted;
    } cases[] = {
        {"HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\n\r\n", true},
        {"HTTP/1.1 101 X\r\nConnection: Upgrade\r\n\r\n", false},
        {"HTTP/1.1 101 X\r\nUpgrade: websocket\r\n\r\n", false},
        {"HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n", false},
        {"HTTP/1.0 101 X\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", false},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        bool is_accepted = parse_as(hl_str_from(cases[i].text), HL_METHOD_GET, true);
        cr_assert_eq(is_accepted, cases[i].is_accepted, "%s", cases[i].text);
        if (is_accepted)
            cr_assert(head.is_websocket_upgrade);
    }
    cr_assert(parse_as(HL_STR("HTTP/1.1 426 X\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                              "Content-Length: 0\r\n\r\n"),
        HL_METHOD_GET, true));
    cr_assert_not(head.is_websocket_upgrade);
}
