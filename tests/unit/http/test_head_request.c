#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "http/head.h"
#include "http/refusal.h"

static struct hl_head head;
static struct hl_refusal fault;

/* From a copy that ends where the text does, so that a read beyond it is seen. */
static char *bytes;

static bool parse(struct hl_str text)
{
    free(bytes);
    bytes = malloc(text.n + 1);
    memcpy(bytes + 1, text.p, text.n);
    fault = (struct hl_refusal){0};
    return hl_head_parse_request(&head, bytes + 1, text.n, &fault);
}

static void fini(void)
{
    free(bytes);
}

TestSuite(head_request, .fini = fini);

#define GET(target, lines) "GET " target " HTTP/1.1\r\nHost: a\r\n" lines "\r\n"
#define POST(lines)        "POST / HTTP/1.1\r\nHost: a\r\n" lines "\r\n"

Test(head_request, says_where_everything_is)
{
    cr_assert(parse(HL_STR("POST /v4/p/a/run?x=1 HTTP/1.1\r\n"
                           "Host: api.example.com:8080\r\n"
                           "content-type:application/json\r\n"
                           "X-Own:  some value \r\n"
                           "Accept: a\r\n"
                           "ACCEPT: b\r\n"
                           "Content-Length: 42\r\n"
                           "\r\n")));
    cr_assert(hl_str_eq(head.method, HL_STR("POST")));
    cr_assert_eq(head.method_id, HL_METHOD_POST);
    cr_assert(hl_str_eq(head.target, HL_STR("/v4/p/a/run?x=1")));
    cr_assert(hl_str_eq(head.host, HL_STR("api.example.com:8080")));
    cr_assert_eq(head.minor, 1);
    cr_assert_eq(head.field_count, 6);
    cr_assert(hl_str_eq(head.fields[2].name, HL_STR("X-Own")));
    cr_assert(hl_str_eq(head.fields[2].value, HL_STR("some value")));
    cr_assert_eq(head.fields[2].id, HL_FIELD_OTHER);
    cr_assert(hl_str_eq(hl_head_field(&head, HL_FIELD_ACCEPT)->value, HL_STR("a")));
    cr_assert_eq(hl_head_field_count(&head, HL_FIELD_ACCEPT), 2);
    cr_assert_eq(hl_head_field_count(&head, HL_FIELD_CONTENT_TYPE), 1);
    cr_assert_eq(hl_head_field_count(&head, HL_FIELD_EXPECT), 0);
    cr_assert_null(hl_head_field(&head, HL_FIELD_EXPECT));
    cr_assert_eq(head.framing, HL_FRAMING_LENGTH);
    cr_assert_eq(head.content_length, 42);
    cr_assert(head.has_content_length);
    cr_assert(head.is_persistent);
    cr_assert_not(head.expects_continue || head.is_websocket_upgrade || head.accepts_trailers);
}

Test(head_request, is_accepted_in_each_valid_form)
{
    static const char *const good[] = {
        GET("/", ""),
        "GET / HTTP/1.0\r\n\r\n",
        "GET / HTTP/1.0\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.2\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.9\r\nHost: a\r\n\r\n",
        "\r\n" GET("/", ""),
        "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
        "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n",
        "PROPFIND / HTTP/1.1\r\nHost: a\r\n\r\n",
        "M-SEARCH / HTTP/1.1\r\nHost: a\r\n\r\n",
        GET("//two/slashes", ""),
        GET("/a?b?c&d=%zz", ""),
        GET("/%2e%2e/\"<>\\^`{|}[]", ""),
        GET("http://b/c", ""),
        GET("HTTPS://b:1?c", ""),
        "GET / HTTP/1.1\r\nHost: a.b-c_d~e:80\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: 192.0.2.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: [2001:db8::1]:8080\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a:\r\n\r\n",
        GET("/", "Connection: , close,,x-y \r\n"),
        POST("Content-Length: 0\r\n"),
        POST("Content-Length: 007\r\n"),
        POST("Content-Length: 9223372036854775807\r\n"),
        POST("Transfer-Encoding: Chunked\r\n"),
        GET("/", "X: \x80\xff\t\"\r\n"),
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(good); i++)
        cr_assert(parse(hl_str_from(good[i])), "%s: %s", good[i], fault.detail);
}

Test(head_request, is_refused_with_the_right_status)
{
    const struct {
        uint16_t status;
        struct hl_str text;
    } cases[] = {
        /* the request line */
        {400, HL_STR("GET  / HTTP/1.1\r\nHost: a\r\n\r\n")},
        {400, HL_STR("GET /  HTTP/1.1\r\nHost: a\r\n\r\n")},
        {400, HL_STR("GET / HTTP/1.1 \r\nHost: a\r\n\r\n")},
        {400, HL_STR(" GET / HTTP/1.1\r\nHost: a\r\n\r\n")},
        {400, HL_STR("GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n")},
        {400, HL_STR("GET /\tHTTP/1.1\r\nHost: a\r\n\r\n")},
        {400, HL_STR("GET / HTTP/1.1\rHost: a\r\n\r\n")},
        {400, HL_STR("GET / HTTP/1.1\r\rHost: a\r\n\r\n")},
        {400, HL_STR("GET /\r\n\r\n")},
        {400, HL_STR("GET / \r\nHost: a\r\n\r\n")},
        {400, HL_STR("GET\r\nHost: a\r\n\r\n")},
        {400, HL_STR("/ HTTP/1.1\r\nHost: a\r\n\r\n")},
        {400, HL_STR("G(T / HTTP/1.1\r\nHost: a\r\n\r\n")},
        {400, HL_STR("GET / http/1.1\r\nHost: a\r\n\r\n")},
        {400, HL_STR("GET / HTTP/1\r\nHost: a\r\n\r\n")},
        {400, HL_STR("GET / HTTP/1.\r\nHost: a\r\n\r\n")},
        {400, HL_STR("GET / HTTP/1.10\r\nHost: a\r\n\r\n")},
        {400, HL_STR("GET / HTTP/11.1\r\nHost: a\r\n\r\n")},
        {400, HL_STR("GET / HTTP 1.1\r\nHost: a\r\n\r\n")},
        {400, HL_STR("GET / HTPP/1.1\r\nHost: a\r\n\r\n")},
        {400, HL_STR("SOURCE / ICE/1.0\r\nHost: a\r\n\r\n")},
        {400, HL_STR("DESCRIBE / RTSP/1.0\r\nHost: a\r\n\r\n")},
        {505, HL_STR("GET / HTTP/2.0\r\nHost: a\r\n\r\n")},
        {505, HL_STR("GET / HTTP/0.9\r\nHost: a\r\n\r\n")},
        {505, HL_STR("PRI * HTTP/2.0\r\n\r\n")},
        {400, HL_STR("\r\n\r\n")},
        {400, HL_STR("")},
        /* the target */
        {400, HL_STR(GET("/a#b", ""))},
        {400, HL_STR(GET("/a\x7f", ""))},
        {400, HL_STR(GET("/a\x80", ""))},
        {400, HL_STR(GET("/\xc3\xa4", ""))},
        {400, HL_STR(GET("/a\x01", ""))},
        {400, HL_STR("GET /a\0b HTTP/1.1\r\nHost: a\r\n\r\n")},
        {400, HL_STR(GET("a", ""))},
        {400, HL_STR(GET("*", ""))},
        {400, HL_STR("OPTIONS *a HTTP/1.1\r\nHost: a\r\n\r\n")},
        {400, HL_STR(GET("a:443", ""))},
        {400, HL_STR("CONNECT / HTTP/1.1\r\nHost: a\r\n\r\n")},
        {400, HL_STR("CONNECT a HTTP/1.1\r\nHost: a\r\n\r\n")},
        {400, HL_STR("CONNECT http://a:1/ HTTP/1.1\r\nHost: a\r\n\r\n")},
        {400, HL_STR(GET("ftp://b/", ""))},
        {400, HL_STR(GET("http:///c", ""))},
        {400, HL_STR(GET("http://", ""))},
        {400, HL_STR(GET("http:/b/c", ""))},
        {400, HL_STR(GET("http://u@b/c", ""))},
        {400, HL_STR(GET("http://u:p@b/c", ""))},
        {400, HL_STR(GET("http://b:x/c", ""))},
        {400, HL_STR(GET("http://b\\c/d", ""))},
        {400, HL_STR(GET("?a=b", ""))},
        /* field lines: all of these pass llhttp 8.1 or a lenient reader */
        {400, HL_STR(GET("/", "X: a\r\n b\r\n"))},
        {400, HL_STR(GET("/", "X: a\r\n\tb\r\n"))},
        {400, HL_STR("GET / HTTP/1.1\r\n Host: a\r\n\r\n")},
        {400, HL_STR("GET / HTTP/1.1\r\n\tX: b\r\nHost: a\r\n\r\n")},
        {400, HL_STR(GET("/", "X : a\r\n"))},
        {400, HL_STR(GET("/", "X\t: a\r\n"))},
        {400, HL_STR(GET("/", ": a\r\n"))},
        {400, HL_STR(GET("/", "X\r\n"))},
        {400, HL_STR(GET("/", "X Y: a\r\n"))},
        {400, HL_STR(GET("/", "X: a\rb\r\n"))},
        {400, HL_STR(GET("/", "X: a\r\r\n"))},
        {400, HL_STR(GET("/", "X: a\n"))},
        {400, HL_STR(GET("/", "X: a\nY: b\r\n"))},
        {400, HL_STR("GET / HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n")},
        {400, HL_STR(GET("/", "X: \x1b\r\n"))},
        {400, HL_STR(GET("/", "X: \x7f\r\n"))},
        {400, HL_STR(GET("/", "X\xff: a\r\n"))},
        {400, HL_STR(GET("/", "X[]: a\r\n"))},
        /* the end */
        {400, HL_STR("GET / HTTP/1.1\r\nHost: a\r\n")},
        {400, HL_STR("GET / HTTP/1.1\r\nHost: a")},
        {400, HL_STR("GET / HTTP/1.1\r\nHost: a\r\n\r\nX")},
        {400, HL_STR("GET / HTTP/1.1\r\nHost: a\r\n\r\n\r\n")},
        {400, HL_STR("GET / HTTP/1.1\r\nHost: a\r\n\rX")},
        {400, HL_STR("GET / HTTP/1.1\r\nHost: a\r\n\r\nX: b\r\n\r\n")},
        /* Host */
        {400, HL_STR("GET / HTTP/1.1\r\n\r\n")},
        {400, HL_STR("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")},
        {400, HL_STR("GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n")},
        {400, HL_STR("GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n")},
        {400, HL_STR("GET / HTTP/1.1\r\nHost:\r\n\r\n")},
        {400, HL_STR("GET / HTTP/1.1\r\nHost: a b\r\n\r\n")},
        {400, HL_STR("GET / HTTP/1.1\r\nHost: a, b\r\n\r\n")},
        {400, HL_STR("GET / HTTP/1.1\r\nHost: a,b\r\n\r\n")},
        {400, HL_STR("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n")},
        {400, HL_STR("GET / HTTP/1.1\r\nHost: u@a\r\n\r\n")},
        {400, HL_STR("GET / HTTP/1.1\r\nHost: a?b\r\n\r\n")},
        {400, HL_STR("GET / HTTP/1.1\r\nHost: http://a\r\n\r\n")},
        {400, HL_STR("GET / HTTP/1.1\r\nHost: a:b\r\n\r\n")},
        {400, HL_STR("GET / HTTP/1.1\r\nHost: a:65536\r\n\r\n")},
        {400, HL_STR("GET / HTTP/1.1\r\nHost: a:80:80\r\n\r\n")},
        {400, HL_STR("GET / HTTP/1.1\r\nHost: [::1\r\n\r\n")},
        {400, HL_STR("GET / HTTP/1.1\r\nHost: [::1]x\r\n\r\n")},
        {400, HL_STR("GET / HTTP/1.1\r\nHost: [1.2.3.4]\r\n\r\n")},
        {400, HL_STR("GET / HTTP/1.1\r\nHost: ::1\r\n\r\n")},
        {400, HL_STR("GET / HTTP/1.1\r\nHost: \xc3\xa4\r\n\r\n")},
        {400, HL_STR("GET / HTTP/1.1\r\nHost: a%00\r\n\r\n")},
        {400, HL_STR("GET http://b/ HTTP/1.1\r\n\r\n")},
        {400, HL_STR("GET http://b/ HTTP/1.1\r\nHost: b\r\nHost: b\r\n\r\n")},
        {400, HL_STR("GET http://b/ HTTP/1.1\r\nHost: b c\r\n\r\n")},
        /* Content-Length */
        {400, HL_STR(POST("Content-Length: 1\r\nContent-Length: 1\r\n"))},
        {400, HL_STR(POST("Content-Length: 1\r\nContent-Length: 2\r\n"))},
        {400, HL_STR(POST("Content-Length: 1, 1\r\n"))},
        {400, HL_STR(POST("Content-Length:\r\n"))},
        {400, HL_STR(POST("Content-Length: +1\r\n"))},
        {400, HL_STR(POST("Content-Length: -1\r\n"))},
        {400, HL_STR(POST("Content-Length: 0x1\r\n"))},
        {400, HL_STR(POST("Content-Length: 1 1\r\n"))},
        {400, HL_STR(POST("Content-Length: 1.0\r\n"))},
        {400, HL_STR(POST("Content-Length: 1e3\r\n"))},
        {400, HL_STR(POST("Content-Length: \"1\"\r\n"))},
        {400, HL_STR(POST("Content-Length: 1;a\r\n"))},
        {400, HL_STR(POST("Content-Length: 9223372036854775808\r\n"))},
        {400, HL_STR(POST("Content-Length: 18446744073709551616\r\n"))},
        {400, HL_STR(POST("Content-Length : 1\r\n"))},
        {400, HL_STR(POST("Content-Length: 1\r\n 2\r\n"))},
        /* Transfer-Encoding */
        {400, HL_STR(POST("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"))},
        {400, HL_STR(POST("Transfer-Encoding: chunked\r\nContent-Length: 1\r\n"))},
        {400, HL_STR(POST("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"))},
        {400, HL_STR(POST("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"))},
        {400, HL_STR(POST("Transfer-Encoding: chunked, chunked\r\n"))},
        {400, HL_STR(POST("Transfer-Encoding: chunked, identity\r\n"))},
        {400, HL_STR(POST("Transfer-Encoding:\r\n"))},
        {400, HL_STR(POST("Transfer-Encoding: ,\r\n"))},
        {400, HL_STR(POST("Transfer-Encoding: \"chunked\"\r\n"))},
        {400, HL_STR(POST("Transfer-Encoding: chunked;q=1\r\n"))},
        {400, HL_STR(POST("Transfer-Encoding: chun ked\r\n"))},
        {400, HL_STR(POST("Transfer-Encoding:\x0b"
                          "chunked\r\n"))},
        {400, HL_STR(POST("Transfer-Encoding\r\n : chunked\r\n"))},
        {400, HL_STR(POST("Transfer-Encoding:\r\n chunked\r\n"))},
        {400, HL_STR(POST("Transfer-Encoding : chunked\r\n"))},
        {400, HL_STR("POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")},
        {501, HL_STR(POST("Transfer-Encoding: gzip, chunked\r\n"))},
        {501, HL_STR(POST("Transfer-Encoding: identity\r\n"))},
        {501, HL_STR(POST("Transfer-Encoding: chunkedx\r\n"))},
        {501, HL_STR(POST("Transfer-Encoding: xchunked\r\n"))},
        /* Connection, Expect, Upgrade */
        {400, HL_STR(GET("/", "Connection: close;x\r\n"))},
        {400, HL_STR(GET("/", "Connection: \"close\"\r\n"))},
        {400, HL_STR(GET("/", "Connection: a b\r\n"))},
        {400, HL_STR("OPTIONS / HTTP/1.1\r\nHost: a\r\nMax-Forwards:\r\n\r\n")},
        {400, HL_STR("OPTIONS / HTTP/1.1\r\nHost: a\r\nMax-Forwards: -1\r\n\r\n")},
        {400, HL_STR("OPTIONS / HTTP/1.1\r\nHost: a\r\nMax-Forwards: 1, 1\r\n\r\n")},
        {400, HL_STR("OPTIONS / HTTP/1.1\r\nHost: a\r\nMax-Forwards: 1\r\nMax-Forwards: "
                     "1\r\n\r\n")},
        {417, HL_STR(POST("Content-Length: 1\r\nExpect: 200-ok\r\n"))},
        {417, HL_STR(POST("Content-Length: 1\r\nExpect: 100-continue, x\r\n"))},
        {417, HL_STR(POST("Content-Length: 1\r\nExpect: 100-continue\r\nExpect: x\r\n"))},
        {417, HL_STR(POST("Content-Length: 1\r\nExpect:\r\n"))},
        {400,
            HL_STR(GET("/", "Connection: upgrade\r\nUpgrade: websocket\r\nContent-Length: 1\r\n"))},
        {400, HL_STR(GET("/",
                  "Connection: upgrade\r\nUpgrade: websocket\r\nTransfer-Encoding: chunked\r\n"))},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        cr_expect_not(parse(cases[i].text), "accepted: %.*s", HL_STR_ARG(cases[i].text));
        cr_expect_eq(
            fault.status, cases[i].status, "%u for: %.*s", fault.status, HL_STR_ARG(cases[i].text));
        cr_expect(fault.detail && *fault.detail, "%.*s", HL_STR_ARG(cases[i].text));
    }
}

static void fill(char *text, size_t fields)
{
    strcpy(text, "GET / HTTP/1.1\r\nHost: a\r\n");
    for (size_t i = 1; i < fields; i++)
        strcat(text, "X: y\r\n");
    strcat(text, "\r\n");
}

Test(head_request, has_at_most_1024_fields)
{
    char text[8192];
    fill(text, HL_HEAD_MAX_FIELDS);
    cr_assert(parse(hl_str_from(text)));
    cr_assert_eq(head.field_count, HL_HEAD_MAX_FIELDS);
    cr_assert_not(parse((struct hl_str){text, strlen(text) - 2}));
    cr_assert_eq(fault.status, 400);
    fill(text, HL_HEAD_MAX_FIELDS + 1);
    cr_assert_not(parse(hl_str_from(text)));
    cr_assert_eq(fault.status, 431);
}

Test(head_request, methods_are_told_apart)
{
    static const struct {
        const char *name;
        enum hl_method id;
        bool is_idempotent;
    } cases[] = {
        {"GET", HL_METHOD_GET, true},
        {"HEAD", HL_METHOD_HEAD, true},
        {"POST", HL_METHOD_POST, false},
        {"PUT", HL_METHOD_PUT, true},
        {"DELETE", HL_METHOD_DELETE, true},
        {"OPTIONS", HL_METHOD_OPTIONS, true},
        {"PATCH", HL_METHOD_PATCH, false},
        {"TRACE", HL_METHOD_TRACE, true},
        {"PURGE", HL_METHOD_OTHER, false},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        char text[64];
        snprintf(text, sizeof text, "%s / HTTP/1.1\r\nHost: a\r\n\r\n", cases[i].name);
        cr_assert(parse(hl_str_from(text)), "%s", text);
        cr_assert_eq(head.method_id, cases[i].id, "%s", text);
        cr_assert_eq(hl_method_is_idempotent(head.method_id), cases[i].is_idempotent, "%s", text);
    }
}

Test(head_request, authority_of_an_absolute_target_wins_over_host)
{
    cr_assert(parse(HL_STR("GET http://b:8080/c HTTP/1.1\r\nHost: a\r\n\r\n")));
    cr_assert(hl_str_eq(head.host, HL_STR("b:8080")));
    cr_assert(parse(HL_STR("GET http://b HTTP/1.0\r\n\r\n")));
    cr_assert(hl_str_eq(head.host, HL_STR("b")));
    cr_assert(parse(HL_STR("GET / HTTP/1.0\r\n\r\n")));
    cr_assert_eq(head.host.n, 0);
}

Test(head_request, framing_is_none_length_or_chunked)
{
    cr_assert(parse(HL_STR(POST(""))));
    cr_assert_eq(head.framing, HL_FRAMING_NONE);
    cr_assert_not(head.has_content_length);
    cr_assert(parse(HL_STR(POST("Content-Length: 0\r\n"))));
    cr_assert_eq(head.framing, HL_FRAMING_LENGTH);
    cr_assert_eq(head.content_length, 0);
    cr_assert(parse(HL_STR(POST("transfer-encoding: CHUNKED\r\n"))));
    cr_assert_eq(head.framing, HL_FRAMING_CHUNKED);
}

Test(head_request, connection_persists_as_version_and_options_say)
{
    static const struct {
        const char *text;
        bool is_persistent;
    } cases[] = {
        {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", true},
        {"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", false},
        {"GET / HTTP/1.1\r\nHost: a\r\nConnection: CLOSE\r\n\r\n", false},
        {"GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, close\r\n\r\n", false},
        {"GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n", false},
        {"GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n\r\n", true},
        {"GET / HTTP/1.1\r\nHost: a\r\nProxy-Connection: close\r\n\r\n", true},
        {"GET / HTTP/1.0\r\n\r\n", false},
        {"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true},
        {"GET / HTTP/1.0\r\nConnection: x, Keep-Alive\r\n\r\n", true},
        {"GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", false},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        cr_assert(parse(hl_str_from(cases[i].text)), "%s", cases[i].text);
        cr_assert_eq(head.is_persistent, cases[i].is_persistent, "%s", cases[i].text);
    }
}

static bool is_hop(const char *name)
{
    for (size_t i = 0; i < head.field_count; i++)
        if (hl_str_eq_nocase(head.fields[i].name, hl_str_from(name)))
            return head.fields[i].is_hop;
    cr_assert_fail("no field %s", name);
    return false;
}

Test(head_request, nominated_fields_are_hop_by_hop)
{
    cr_assert(parse(HL_STR(
        GET("/", "Connection: x-one, X-Two\r\nX-One: 1\r\nx-two: 2\r\nX-Three: 3\r\n"
                 "Connection: cookie\r\nCookie: a\r\nTE: trailers\r\nX-Run-A: 1\r\nX-Run-B: 1\r\n"
                 "Connection: x-run-a\r\n"))));
    cr_assert(is_hop("x-one"));
    cr_assert(is_hop("x-two"));
    cr_assert_not(is_hop("x-three"));
    cr_assert(is_hop("cookie"));
    cr_assert(is_hop("connection"));
    cr_assert(is_hop("te"));
    cr_assert(is_hop("x-run-a"));
    cr_assert_not(is_hop("x-run-b"));
    cr_assert_not(is_hop("host"));
}

Test(head_request, caller_cannot_nominate_what_a_proxy_added_about_it)
{
    cr_assert(parse(HL_STR(GET("/",
        "Connection: X-Forwarded-For, x-real-ip, forwarded, x-forwarded-proto, x-forwarded-host\r\n"
        "X-Forwarded-For: 192.0.2.1\r\nX-Real-IP: 192.0.2.1\r\nForwarded: for=192.0.2.1\r\n"
        "X-Forwarded-Proto: https\r\nX-Forwarded-Host: a\r\n"))));
    for (size_t i = 2; i < head.field_count; i++)
        cr_assert_not(head.fields[i].is_hop, "%zu", i);
}

Test(head_request, caller_cannot_nominate_what_it_asks_of_the_app)
{
    cr_assert(parse(HL_STR(POST("Connection: expect, max-forwards\r\nContent-Length: 1\r\n"
                                "Expect: 100-continue\r\nMax-Forwards: 1\r\n"))));
    cr_assert_not(hl_head_field(&head, HL_FIELD_EXPECT)->is_hop);
    cr_assert_not(hl_head_field(&head, HL_FIELD_MAX_FORWARDS)->is_hop);
}

Test(head_request, fields_are_nominated_only_by_their_names)
{
    static const struct {
        const char *text;
        bool nominates;
    } cases[] = {
        {GET("/", "Connection: x-sum\r\n"), true},
        {GET("/", "Connection: keep-alive\r\nConnection: close, X-Sum\r\n"), true},
        {GET("/", "Connection: keep-alive, close, upgrade, TE\r\n"), false},
        {GET("/", ""), false},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        cr_assert(parse(hl_str_from(cases[i].text)));
        cr_assert_eq(head.nominates_fields, cases[i].nominates, "%s", cases[i].text);
    }
}

Test(head_request, max_forwards_counts_for_options)
{
    cr_assert(parse(HL_STR("OPTIONS * HTTP/1.1\r\nHost: a\r\nMax-Forwards: 0\r\n\r\n")));
    cr_assert_eq(head.max_forwards, 0);
    cr_assert(parse(HL_STR("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n")));
    cr_assert_eq(head.max_forwards, -1);
    cr_assert(parse(HL_STR(GET("/", "Max-Forwards: x\r\n"))));
    cr_assert_eq(head.max_forwards, -1);
}

Test(head_request, connection_has_at_most_64_options)
{
    char text[1024] = "GET / HTTP/1.1\r\nHost: a\r\nConnection: o";
    for (size_t i = 1; i < 64; i++)
        strcat(text, ",o");
    size_t n = strlen(text);
    strcpy(text + n, "\r\n\r\n");
    cr_assert(parse(hl_str_from(text)));
    strcpy(text + n, ",o\r\n\r\n");
    cr_assert_not(parse(hl_str_from(text)));
    cr_assert_eq(fault.status, 400);
}

Test(head_request, expectation_counts_only_where_it_can_be_met)
{
    static const struct {
        const char *text;
        bool expects;
    } cases[] = {
        {POST("Content-Length: 1\r\nExpect: 100-continue\r\n"), true},
        {POST("Content-Length: 1\r\nExpect: 100-Continue\r\n"), true},
        {POST("Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n"), true},
        {POST("Expect: 100-continue\r\n"), false},
        {POST("Content-Length: 0\r\nExpect: 100-continue\r\n"), false},
        {"POST / HTTP/1.0\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n", false},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        cr_assert(parse(hl_str_from(cases[i].text)), "%s", cases[i].text);
        cr_assert_eq(head.expects_continue, cases[i].expects, "%s", cases[i].text);
    }
}

#define UPGRADE "Connection: Upgrade\r\nUpgrade: websocket\r\n"

Test(head_request, only_a_complete_upgrade_is_one)
{
    static const struct {
        const char *text;
        bool is_upgrade;
    } cases[] = {
        {GET("/", UPGRADE), true},
        {GET("/", "Connection: keep-alive, upgrade\r\nUpgrade: h2c, WebSocket\r\n"), true},
        {GET("/", UPGRADE "Content-Length: 0\r\n"), true},
        {GET("/", "Upgrade: websocket\r\n"), false},
        {GET("/", "Connection: Upgrade\r\n"), false},
        {GET("/", "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"), false},
        {GET("/", "Connection: Upgrade\r\nUpgrade: websocket2\r\n"), false},
        {POST(UPGRADE), false},
        {"GET / HTTP/1.0\r\nHost: a\r\n" UPGRADE "\r\n", false},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        cr_assert(parse(hl_str_from(cases[i].text)), "%s", cases[i].text);
        cr_assert_eq(head.is_websocket_upgrade, cases[i].is_upgrade, "%s", cases[i].text);
        if (cases[i].is_upgrade)
            cr_assert_eq(head.framing, HL_FRAMING_NONE, "%s", cases[i].text);
    }
}

Test(head_request, trailers_are_accepted_when_te_lists_them)
{
    cr_assert(parse(HL_STR(GET("/", "TE: gzip;q=0.5, Trailers\r\n"))));
    cr_assert(head.accepts_trailers);
    cr_assert(parse(HL_STR(GET("/", "TE: gzip\r\n"))));
    cr_assert_not(head.accepts_trailers);
}

/* Whatever a byte of a valid head is changed to: never a read outside of it, and never a head that
 * passes with a line feed, carriage return or NUL inside a value. */
Test(head_request, survives_any_changed_byte)
{
    const struct hl_str good = HL_STR("POST /v4/p/a/run?async=true HTTP/1.1\r\nHost: a:80\r\n"
                                      "Connection: keep-alive, x\r\nContent-Length: 12\r\n"
                                      "TE: trailers\r\nX-A: b c\r\n\r\n");
    char text[256];
    for (size_t at = 0; at < good.n; at++) {
        for (unsigned c = 0; c < 256; c++) {
            memcpy(text, good.p, good.n);
            text[at] = (char)c;
            if (!parse((struct hl_str){text, good.n}))
                continue;
            for (size_t i = 0; i < head.field_count; i++)
                for (size_t j = 0; j < head.fields[i].value.n; j++)
                    cr_assert(head.fields[i].value.p[j] == '\t' ||
                              (unsigned char)head.fields[i].value.p[j] >= ' ');
        }
    }
    for (size_t n = 0; n < good.n; n++)
        cr_assert_not(parse((struct hl_str){good.p, n}), "%zu", n);
}
