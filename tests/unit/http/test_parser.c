#include <criterion/criterion.h>
#include <llhttp.h>
#include <stdio.h>

#include "base/str.h"
#include "http/field.h"
#include "http/head.h"
#include "http/parser.h"
#include "http/refusal.h"

static struct hl_head head;
static struct hl_refusal fault;
static struct hl_parser parser;

static enum hl_parser_result read_request(const char *text, size_t *len)
{
    return hl_parser_read_request(&parser, text, strlen(text), &head, len);
}

Test(parser, takes_each_good_request)
{
    static const char *const starts[] = {"GET / HTTP/1.1\r\n", "POST /v4/p/a/run?a=b HTTP/1.1\r\n",
        "GET http://[::1]:80/a HTTP/1.1\r\n", "DELETE http://b?c HTTP/1.2\r\n",
        "OPTIONS * HTTP/1.1\r\n", "PUT /\"<>{}|\\^`[] HTTP/1.0\r\n", "CONNECT a:1 HTTP/1.1\r\n",
        "\r\n\r\nHEAD //a HTTP/1.1\r\n"};
    static const char *const lines[] = {"", "Content-Length: 5\r\n", "content-length:0\r\n",
        "Content-Length: 9223372036854775807\r\n", "CONTENT-LENGTH: \t007 \r\n",
        "Connection: keep-alive\r\n", "Connection: , close ,upgrade,,x\r\nUpgrade: h2c\r\n",
        "Connection: upgrade\r\nUpgrade: websocket\r\n", "Proxy-Connection: keep-alive\r\n",
        "X: \x80\xff\t y\r\n!#$%&'*+-.^_`|~: \r\nA:\r\n",
        "Content-Lengt: 9\r\nContent-Lengths: 9\r\n",
        "Transfer-Encodin: chunked\r\nTransfer-Encodings: chunked\r\n",
        "X: Content-Length: 9, Transfer-Encoding: chunked\r\n", "Content_Length: 9\r\n",
        "Connection: content-length, transfer-encoding\r\nContent-Length: 3\r\n"};
    for (size_t i = 0; i < HL_ARRAY_LEN(starts); i++) {
        for (size_t j = 0; j < HL_ARRAY_LEN(lines); j++) {
            char text[512];
            int n = snprintf(text, sizeof text, "%sHost: a\r\n%s\r\n", starts[i], lines[j]);
            cr_assert(hl_head_parse_request(&head, text, (size_t)n, &fault), "%s", text);
        }
    }
}

Test(parser, takes_each_good_response)
{
    static const char *const starts[] = {"HTTP/1.1 200 OK\r\n", "HTTP/1.1 204\r\n",
        "HTTP/1.0 304 \r\n", "HTTP/1.9 599 \xff x\r\n", "HTTP/1.1 404 Not\tFound\r\n"};
    static const char *const lines[] = {"", "Content-Length: 0\r\n", "content-length: 77 \r\n",
        "Connection: close\r\n", "Connection: upgrade\r\nUpgrade: h2c\r\n", "X: \x80\r\nY:\r\n"};
    for (size_t i = 0; i < HL_ARRAY_LEN(starts); i++) {
        for (size_t j = 0; j < HL_ARRAY_LEN(lines); j++) {
            char text[512];
            int n = snprintf(text, sizeof text, "%s%s\r\n", starts[i], lines[j]);
            cr_assert(hl_head_parse_response(&head, text, (size_t)n, HL_METHOD_GET, false, &fault));
        }
    }
}

Test(parser, reads_codings_whatever_the_method)
{
    static const char *const methods[] = {"POST", "PURGE", "QUERY", "post", "!#x"};
    for (size_t i = 0; i < HL_ARRAY_LEN(methods); i++) {
        char text[128];
        int n = snprintf(text, sizeof text,
            "%s / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", methods[i]);
        cr_assert(hl_head_parse_request(&head, text, (size_t)n, &fault), "%s", text);
        cr_assert_eq(head.framing, HL_FRAMING_CHUNKED, "%s", text);
    }
}

Test(parser, any_token_is_a_method)
{
    static const char *const methods[] = {
        "PURGE", "QUERY", "BREW", "get", "M-SEARCH", "!#$%&'*+-.^_`|~"};
    for (size_t i = 0; i < HL_ARRAY_LEN(methods); i++) {
        char text[128];
        int n = snprintf(text, sizeof text, "%s / HTTP/1.1\r\nHost: a\r\n\r\n", methods[i]);
        cr_assert(hl_head_parse_request(&head, text, (size_t)n, &fault), "%s", text);
        cr_assert_eq(head.method_id, HL_METHOD_OTHER);
        cr_assert(hl_str_eq(head.method, hl_str_from(methods[i])));
    }
}

Test(parser, tells_where_names_and_the_head_end)
{
    size_t len = 0;
    cr_assert_eq(
        read_request("GET / HTTP/1.1\r\nHost: a\r\nB: c\r\n\r\nGET", &len), HL_PARSER_WHOLE);
    cr_assert_eq(len, 33);
    cr_assert_eq(head.field_count, 2);
    cr_assert(hl_str_eq(head.fields[0].name, HL_STR("Host")));
    cr_assert(hl_str_eq(head.fields[1].name, HL_STR("B")));
    cr_assert_eq(read_request("GET / HTTP/1.1\r\nHost: a\r\n", &len), HL_PARSER_PART);
    cr_assert_eq(read_request("GET / HTTP/1.1\r\nHost\r\n", &len), HL_PARSER_REFUSED);
}

Test(parser, sees_a_framing_that_is_not_the_one_found)
{
    size_t len;
    cr_assert_eq(
        read_request("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n", &len), HL_PARSER_WHOLE);
    memset(head.first, 0xff, sizeof head.first);
    head.has_content_length = true;
    head.content_length = 5;
    cr_assert(hl_parser_agrees(&parser, &head));
    head.content_length = 6;
    cr_assert_not(hl_parser_agrees(&parser, &head));
    head.content_length = 5;
    head.has_content_length = false;
    cr_assert_not(hl_parser_agrees(&parser, &head));
    head.has_content_length = true;
    head.first[HL_FIELD_TRANSFER_ENCODING] = 0;
    cr_assert_not(hl_parser_agrees(&parser, &head));
    head.first[HL_FIELD_TRANSFER_ENCODING] = -1;
    head.status = 200;
    cr_assert_not(hl_parser_agrees(&parser, &head));
}

static int on_headers_complete(llhttp_t *llhttp)
{
    (void)llhttp;
    return HPE_PAUSED;
}

/* Why llhttp is not our validator: it takes each of these heads for good. */
Test(parser, lets_pass_what_we_refuse)
{
    static const char *const texts[] = {
        "GET / HTTP/1.1\r\n\r\n",                                               /* no Host */
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",                         /* two */
        "GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n",                      /* obs-fold */
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n chunked\r\n\r\n", /* folded */
        "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "SOURCE / ICE/1.0\r\nHost: a\r\n\r\n",
    };
    static const llhttp_settings_t settings = {.on_headers_complete = on_headers_complete};
    for (size_t i = 0; i < HL_ARRAY_LEN(texts); i++) {
        llhttp_t llhttp;
        size_t n = strlen(texts[i]);
        llhttp_init(&llhttp, HTTP_REQUEST, &settings);
        cr_assert_eq(llhttp_execute(&llhttp, texts[i], n), HPE_PAUSED, "%s", texts[i]);
        cr_assert_not(hl_head_parse_request(&head, texts[i], n, &fault), "%s", texts[i]);
    }
}

#ifdef HL_LLHTTP_WIDE
struct reading {
    struct span {
        size_t at, n;
    } spans[32];
    size_t span_count, stopped_at;
    llhttp_errno_t error;
    uint64_t content_length;
    uint16_t flags;
    const char *text;
};

static int on_span(llhttp_t *llhttp, const char *p, size_t n)
{
    struct reading *r = llhttp->data;
    cr_assert_lt(r->span_count, HL_ARRAY_LEN(r->spans));
    r->spans[r->span_count++] = (struct span){(size_t)(p - r->text), n};
    return 0;
}

static struct reading read_with(
    int (*execute)(llhttp_t *, const char *, const char *), const char *text, size_t n)
{
    static const llhttp_settings_t all_spans = {.on_url = on_span,
        .on_header_field = on_span,
        .on_header_value = on_span,
        .on_headers_complete = on_headers_complete};
    struct reading r;
    memset(&r, 0, sizeof r);
    r.text = text;
    llhttp_t llhttp;
    llhttp_init(&llhttp, HTTP_BOTH, &all_spans);
    llhttp.data = &r;
    r.error = execute(&llhttp, text, text + n);
    r.stopped_at = r.error ? (size_t)(llhttp_get_error_pos(&llhttp) - text) : n;
    r.content_length = llhttp.content_length;
    r.flags = llhttp.flags;
    r.text = NULL;
    return r;
}

/* Which one runs is the processor's affair: no head may depend on it. */
Test(parser, both_builds_read_each_byte_alike_at_each_place)
{
    static const char *const texts[] = {
        "POST http://a.example/0123456789abcdef/%20?q=0123456789abcdef#0123456789 HTTP/1.1\r\n"
        "Host: a.example\r\nX-0123456789-Abcdefghij: 0123456789abcdef 0123456789abcdef\r\n"
        "Content-Length: 12\r\nConnection: keep-alive, x-0123456789-abcdefghij\r\n"
        "Transfer-Encodings: 0123456789abcdef\r\n\r\n0123456789ab",
        "HTTP/1.1 200 0123456789 abcdefghij\r\nServer: 0123456789 abcdefghij\r\n"
        "Transfer-Encoding: chunked\r\nE: 0123456789abcdefghijklmnopqrstuvwxyz\r\n\r\n"};
    if (!__builtin_cpu_supports("sse4.2"))
        cr_skip_test("this processor has one of them");
    for (size_t i = 0; i < HL_ARRAY_LEN(texts); i++) {
        char text[512];
        size_t n = strlen(texts[i]);
        for (size_t at = 0; at < n; at++) {
            memcpy(text, texts[i], n);
            for (int byte = 0; byte < 256; byte++) {
                text[at] = (char)byte;
                struct reading narrow = read_with(llhttp__internal_execute, text, n);
                struct reading wide = read_with(llhttp__internal_execute_wide, text, n);
                cr_assert_eq(
                    memcmp(&narrow, &wide, sizeof wide), 0, "%02x at %zu: %s", byte, at, texts[i]);
            }
        }
    }
}
#endif
