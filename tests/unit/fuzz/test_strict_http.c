/* test_strict_http.c - the independent reader that judges what hookline sends: what it takes, what it
 * refuses, and what it waits for. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "strict_grammar.h"
#include "strict_http.h"

static struct strict_message m;

static void forget(void)
{
    strict_fini(&m);
}

TestSuite(strict_http, .fini = forget);

static enum strict_result request(const char *text, enum strict_origin origin)
{
    strict_fini(&m);
    return strict_read_request(&m, hl_str_from(text), origin);
}

static enum strict_result response(const char *text, const char *method, bool is_end)
{
    strict_fini(&m);
    return strict_read_response(&m, hl_str_from(text), is_end, hl_str_from(method), STRICT_OURS);
}

#define HEAD "POST /x HTTP/1.1\r\nHost: a\r\n"

Test(strict_http, says_what_a_request_means)
{
    cr_assert_eq(
        request(HEAD "X-A: \t1 2 \r\nx-a:\r\nContent-Length: 3\r\n\r\na\r\nGET", STRICT_OURS),
        STRICT_WHOLE);
    cr_assert(strict_same(m.method, HL_STR("POST")) && strict_same(m.target, HL_STR("/x")));
    cr_assert_eq(strict_count(&m.fields, "X-A"), 2);
    cr_assert(strict_same(strict_value(&m.fields, "x-a"), HL_STR("1 2")));
    cr_assert(strict_same(m.body, HL_STR("a\r\n")));
    cr_assert_eq(m.framing, STRICT_LENGTH);
    cr_assert_eq(m.size, strlen(HEAD "X-A: \t1 2 \r\nx-a:\r\nContent-Length: 3\r\n\r\na\r\n"));
}

Test(strict_http, joins_chunks_and_keeps_trailers_apart)
{
    cr_assert_eq(request(HEAD "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\nX-Sum: "
                              "1\r\n\r\n",
                     STRICT_OURS),
        STRICT_WHOLE);
    cr_assert(strict_same(m.body, HL_STR("abc")));
    cr_assert_eq(strict_count(&m.trailers, "x-sum"), 1);
    cr_assert_eq(strict_count(&m.fields, "x-sum"), 0);
}

Test(strict_http, finds_elements_of_lists)
{
    cr_assert_eq(
        request("GET / HTTP/1.1\r\nHost: a\r\nConnection: b , Close\r\nconnection:,C\r\n\r\n",
            STRICT_OURS),
        STRICT_WHOLE);
    static const char *const in[] = {"b", "close", "c"}, *const out[] = {"clos", "b , close", "d"};
    for (size_t i = 0; i < HL_ARRAY_LEN(in); i++) {
        cr_assert(strict_lists(&m.fields, "connection", hl_str_from(in[i])), "%s", in[i]);
        cr_assert_not(strict_lists(&m.fields, "connection", hl_str_from(out[i])), "%s", out[i]);
    }
}

Test(strict_http, takes_from_peers_alone_what_is_only_tolerated)
{
    static const char *const tolerated[] = {"GET / HTTP/1.0\r\n\r\n",
        "GET / HTTP/1.7\r\nHost: a\r\n\r\n", "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        HEAD "Transfer-Encoding: chunked\r\n\r\n1 ;x=\"y;z\"\r\na\r\n0\r\n\r\n"};
    for (size_t i = 0; i < HL_ARRAY_LEN(tolerated); i++) {
        cr_assert_eq(request(tolerated[i], STRICT_PEER), STRICT_WHOLE, "%s", tolerated[i]);
        cr_assert_eq(request(tolerated[i], STRICT_OURS), STRICT_BAD, "%s", tolerated[i]);
    }
}

Test(strict_http, refuses_what_is_no_request)
{
    static const char *const bad[] = {"GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1 \r\nHost: a\r\n\r\n", "GET / HTTP/2.0\r\nHost: a\r\n\r\n",
        "GET / http/1.1\r\nHost: a\r\n\r\n", "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n",
        "G@T / HTTP/1.1\r\nHost: a\r\n\r\n", "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /\x80 HTTP/1.1\r\nHost: a\r\n\r\n", "GET * HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET a HTTP/1.1\r\nHost: a\r\n\r\n", "GET http:// HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\nHost: a\n\n", "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a,b\r\n\r\n", "GET / HTTP/1.1\r\nHost: a:x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a:65536\r\n\r\n", "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n",
        HEAD "X-A : 1\r\n\r\n", HEAD "X-A: 1\r\n 2\r\n\r\n", HEAD "X-A: 1\r2\r\n\r\n",
        HEAD "X-A: 1\nX-B: 2\r\n\r\n", HEAD "X-A: \x7f\r\n\r\n", HEAD "X-A\r\n\r\n",
        HEAD ": 1\r\n\r\n", HEAD "Content-Length: 1\r\nContent-Length: 1\r\n\r\na",
        HEAD "Content-Length: 1, 1\r\n\r\na", HEAD "Content-Length: +1\r\n\r\na",
        HEAD "Content-Length:\r\n\r\n", HEAD "Content-Length: 9223372036854775808\r\n\r\na",
        HEAD "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        HEAD "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        HEAD "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        HEAD "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
        HEAD "Transfer-Encoding: chunked\r\n\r\n1\na\r\n0\r\n\r\n",
        HEAD "Transfer-Encoding: chunked\r\n\r\n1\r\na\n0\r\n\r\n",
        HEAD "Transfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n",
        HEAD "Transfer-Encoding: chunked\r\n\r\n1;a=\"b\r\na\r\n0\r\n\r\n",
        HEAD "Transfer-Encoding: chunked\r\n\r\n1000000000000001\r\na\r\n0\r\n\r\n",
        HEAD "Transfer-Encoding: chunked\r\n\r\n0\r\nX-A\r\n\r\n"};
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++) {
        cr_assert_eq(request(bad[i], STRICT_OURS), STRICT_BAD, "%s", bad[i]);
        cr_assert_eq(request(bad[i], STRICT_PEER), STRICT_BAD, "from a peer: %s", bad[i]);
        cr_assert(*m.why);
    }
    forget();
    struct hl_str with_nul = HL_STR("GET / HTTP/1.1\r\nHost: a\r\nX-A: 1\0\r\n\r\n");
    cr_assert_eq(strict_read_request(&m, with_nul, STRICT_PEER), STRICT_BAD);
}

Test(strict_http, refuses_what_is_no_response)
{
    static const char *const bad[] = {"HTTP/1.1 200\r\n\r\n", "HTTP/1.1  200 OK\r\n\r\n",
        "HTTP/2.0 200 OK\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\n", "HTTP/1.1 600 No\r\n\r\n",
        "HTTP/1.1 099 No\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1 200 O\x01K\r\n\r\n",
        "ICY 200 OK\r\n\r\n", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 103 Early Hints\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok"};
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++)
        cr_assert_eq(response(bad[i], "GET", true), STRICT_BAD, "%s", bad[i]);
}

Test(strict_http, ends_a_body_as_method_status_and_framing_say)
{
    static const struct {
        const char *text, *method;
        bool is_end;
        enum strict_result result;
        const char *body;
    } cases[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabc", "GET", false, STRICT_WHOLE, "ab"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na", "GET", true, STRICT_PARTIAL, "a"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", "HEAD", false, STRICT_WHOLE, ""},
        {"HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\nab", "GET", false, STRICT_WHOLE,
            ""},
        {"HTTP/1.1 204 \r\n\r\nab", "GET", true, STRICT_WHOLE, ""},
        {"HTTP/1.1 100 Continue\r\n\r\nab", "GET", false, STRICT_WHOLE, ""},
        {"HTTP/1.1 101 Switching Protocols\r\n\r\nab", "GET", false, STRICT_WHOLE, ""},
        {"HTTP/1.1 200 OK\r\n\r\nab", "GET", true, STRICT_WHOLE, "ab"},
        {"HTTP/1.1 200 OK\r\n\r\nab", "GET", false, STRICT_PARTIAL, "ab"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\nc", "GET", true,
            STRICT_WHOLE, "ab"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n", "GET", true,
            STRICT_PARTIAL, "ab"},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        cr_assert_eq(response(cases[i].text, cases[i].method, cases[i].is_end), cases[i].result,
            "%s", cases[i].text);
        cr_assert(strict_same(m.body, hl_str_from(cases[i].body)), "%s", cases[i].text);
    }
}

/* Each beginning, in memory that ends there. */
Test(strict_http, waits_at_each_beginning_of_a_good_message_and_takes_all_of_it)
{
    static const char *const good[] = {
        HEAD "Content-Length: 3\r\n\r\nabc",
        HEAD
        "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1a\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\n"
        "X-Sum: 1\r\n\r\n",
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(good); i++) {
        for (size_t n = 0; n < strlen(good[i]); n++) {
            char *exact = malloc(n ? n : 1);
            memcpy(exact, good[i], n);
            enum strict_result result =
                strict_read_request(&m, (struct hl_str){exact, n}, STRICT_OURS);
            cr_assert_eq(result, STRICT_PARTIAL, "%.*s: %s", (int)n, good[i], m.why);
            cr_assert(!m.has_head || m.size == n, "%.*s: %zu bytes", (int)n, good[i], m.size);
            strict_fini(&m);
            free(exact);
        }
        cr_assert_eq(request(good[i], STRICT_OURS), STRICT_WHOLE);
        cr_assert_eq(m.size, strlen(good[i]));
        strict_fini(&m);
    }
}
