#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "http/message.h"

static const struct hl_refusal no_head = {.status = 400, .detail = "no head"},
                               too_large = {.status = 431, .detail = "too large"};
static const struct hl_message_rules rules = {
    .max_head = 100, .max_trailer = 64, .no_head = &no_head, .head_too_large = &too_large};

static struct hl_head head;

/* What a reading of requests came to, told as text: "H" for a head, "(…)" for the body, "E" for its
 * end, "[…]" for trailers, a fault's detail. */
struct reading {
    struct hl_message_reader reader;
    char text[512];
    size_t n;
    bool has_body, is_refused;
};

static void note(struct reading *r, struct hl_str s)
{
    cr_assert(r->n + s.n < sizeof r->text);
    if (s.n > 0)
        memcpy(r->text + r->n, s.p, s.n);
    r->n += s.n;
    r->text[r->n] = '\0';
}

/* The next event of `bytes`; false: it wants more, or will never want any. */
static bool read_event(struct reading *r, struct hl_str *bytes)
{
    struct hl_refusal fault;
    struct hl_str data, trailer;
    enum hl_message_event event = r->has_body
                                      ? hl_message_read_body(&r->reader, bytes, &data, &fault)
                                      : hl_message_read_request(&r->reader, bytes, &head, &fault);
    switch (event) {
    case HL_MESSAGE_MORE:
        return false;
    case HL_MESSAGE_HEAD:
        note(r, HL_STR("H("));
        r->has_body = true;
        return true;
    case HL_MESSAGE_DATA:
        note(r, data);
        return true;
    case HL_MESSAGE_END:
        note(r, HL_STR(")E"));
        trailer = hl_message_trailer(&r->reader);
        if (r->reader.framing == HL_FRAMING_CHUNKED && trailer.n > 0) {
            note(r, HL_STR("["));
            note(r, (struct hl_str){trailer.p, trailer.n - 2});
            note(r, HL_STR("]"));
        }
        hl_message_next(&r->reader);
        r->has_body = false;
        return true;
    case HL_MESSAGE_FAULT:
        note(r, hl_str_from(fault.detail));
        r->is_refused = true;
        return false;
    }
    return false;
}

/* In pieces of `step` bytes, each in memory that ends there. */
static struct reading read_requests(struct hl_str text, size_t step)
{
    struct reading r = {.n = 0};
    hl_message_reader_init(&r.reader, &rules);
    size_t used = 0;
    for (size_t have = 0; have < text.n && !r.is_refused;) {
        have = have + step < text.n ? have + step : text.n;
        char *exact = malloc(have - used);
        memcpy(exact, text.p + used, have - used);
        struct hl_str bytes = {exact, have - used};
        while (read_event(&r, &bytes))
            continue;
        used = have - bytes.n;
        free(exact);
    }
    hl_message_reader_fini(&r.reader);
    return r;
}

static void expect(const char *text, const char *expected)
{
    size_t n = strlen(text);
    for (size_t step = 1; step <= n; step++)
        cr_assert_str_eq(
            read_requests((struct hl_str){text, n}, step).text, expected, "%s by %zu", text, step);
}

#define GET            "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
#define POST(framing)  "POST / HTTP/1.1\r\nHost: a\r\n" framing "\r\n\r\n"
#define CHUNKED        POST("Transfer-Encoding: chunked")
#define FOUR_AND(text) POST("Content-Length: 4") text

Test(message, is_read_whole_however_it_is_cut)
{
    expect(GET, "H()E");
    expect("\r\n" GET, "H()E");
    expect(FOUR_AND("body"), "H(body)E");
    expect(POST("Content-Length: 0"), "H()E");
    expect(CHUNKED "4\r\nbody\r\n1;x\r\n!\r\n0\r\n\r\n", "H(body!)E");
    expect(CHUNKED "0\r\nSum: 9\r\nHost: e\r\n\r\n", "H()E[Sum: 9]");
    expect("PURGE / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
        "H(x)E");
    expect("PRI / HTTP/1.0\r\n\r\n", "H()E");
    expect("SOURCE / HTTP/1.1\r\nHost: a\r\n\r\n", "H()E");
}

Test(message, follows_message)
{
    expect(FOUR_AND("body") GET CHUNKED "1\r\nx\r\n0\r\nA: b\r\n\r\n" CHUNKED "0\r\n\r\n" GET,
        "H(body)EH()EH(x)E[A: b]H()EH()E");
}

Test(message, wants_more_until_its_end)
{
    expect("GET / HTTP/1.1\r\nHost: a\r\n\r", "");
    expect(FOUR_AND("bod"), "H(bod");
    expect(CHUNKED "4\r\nbo", "H(bo");
    expect(CHUNKED "0\r\nA: b\r\n", "H(");
}

Test(message, is_refused_at_its_first_fault)
{
    expect("GET / HTTP/1.1\nHost: a\n\n", "no head");
    expect("(GET)", "no head");
    expect(FOUR_AND("body") "\x16\x03", "H(body)Eno head");
    expect("GET / HTTP/1.1\r\n\r\n", "The request has no Host field. HTTP/1.1 requires one.");
    /* llhttp stops at the second field; what is wrong first is something else. */
    expect("GET / HTTP/1.1\r\nContent-Length: x\r\nA: b\r\n\r\n",
        "The request has no Host field. HTTP/1.1 requires one.");
    expect("POST / HTTP/1.1\r\nContent-Length: x\r\nHost: a\r\n\r\n",
        "Content-Length is not a decimal number below 2^63.");
    expect(CHUNKED "4\r\nbodyX",
        "H(bodyA chunk is longer than its size says, or CRLF is missing after it.");
}

/* llhttp 8.1 takes a tab behind the number for part of it. */
Test(message, white_space_around_a_length_is_not_of_it)
{
    expect(POST("Content-Length: \t4 \t") "body", "H(body)E");
    expect(POST("A: b\r\nContent-Length: 4\t\t \r\nC: d") "body", "H(body)E");
    expect("PURGE / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\t\r\n\r\n", "H()E");
    expect(
        POST("Content-Length: 4\t4") "body", "Content-Length is not a decimal number below 2^63.");
    expect(POST("Content-Length: 4\t\r\nContent-Length: 4\t") "body",
        "There is more than one Content-Length. Send it once.");
}

Test(message, head_is_bounded)
{
    char text[256];
    size_t rest = strlen("GET / HTTP/1.1\r\nHost: a\r\nA: \r\n\r\n");
    for (size_t n = rules.max_head - 1; n <= rules.max_head + 1; n++) {
        int length = (int)(n - rest);
        snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: a\r\nA: %0*d\r\n\r\n", length, 0);
        cr_assert_eq(strlen(text), n);
        expect(text, n <= rules.max_head ? "H()E" : "too large");
    }
    memset(text, 'A', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    struct reading r = read_requests((struct hl_str){text, rules.max_head + 1}, 1);
    cr_assert_str_eq(r.text, "too large");
}

/* As that of a call is which had to wait for something. */
Test(message, head_may_be_read_again)
{
    static const char *const texts[] = {
        GET, FOUR_AND("body"), CHUNKED "4\r\nbody\r\n0\r\nA: b\r\n\r\n", POST("Content-Length: 0")};
    for (size_t i = 0; i < HL_ARRAY_LEN(texts); i++) {
        struct hl_message_reader r;
        struct hl_refusal fault;
        struct hl_str bytes = hl_str_from(texts[i]), data;
        size_t body_n = 0;
        hl_message_reader_init(&r, &rules);
        cr_assert_eq(hl_message_read_request(&r, &bytes, &head, &fault), HL_MESSAGE_HEAD);
        const struct hl_chunk_reader *chunks = r.chunks;
        bytes = hl_str_from(texts[i]);
        cr_assert_eq(hl_message_read_request(&r, &bytes, &head, &fault), HL_MESSAGE_HEAD);
        cr_assert_eq(r.chunks, chunks, "there is one chunk reader, and no other one to free");
        enum hl_message_event event;
        while ((event = hl_message_read_body(&r, &bytes, &data, &fault)) == HL_MESSAGE_DATA)
            body_n += data.n;
        cr_assert_eq(event, HL_MESSAGE_END);
        cr_assert_eq(body_n, strstr(texts[i], "body") ? 4 : 0);
        hl_message_reader_fini(&r);
    }
}

Test(message, body_may_be_used_elsewhere)
{
    struct hl_message_reader r;
    struct hl_refusal fault;
    struct hl_str bytes = HL_STR(FOUR_AND("body") GET), data;
    hl_message_reader_init(&r, &rules);
    cr_assert_eq(hl_message_read_request(&r, &bytes, &head, &fault), HL_MESSAGE_HEAD);
    cr_assert_eq(r.left, 4);
    hl_message_pass_over(&r, 3);
    bytes = (struct hl_str){bytes.p + 3, bytes.n - 3};
    cr_assert_eq(hl_message_read_body(&r, &bytes, &data, &fault), HL_MESSAGE_DATA);
    cr_assert(hl_str_eq(data, HL_STR("y")));
    cr_assert_eq(hl_message_read_body(&r, &bytes, &data, &fault), HL_MESSAGE_END);
    hl_message_reader_fini(&r);
}

static enum hl_message_event read_response(struct hl_message_reader *r, struct hl_str *bytes,
    enum hl_method method, struct hl_refusal *fault)
{
    return hl_message_read_response(r, bytes, method, false, &head, fault);
}

Test(message, may_be_a_response_after_interim_ones)
{
    struct hl_message_reader r;
    struct hl_refusal fault;
    struct hl_str bytes = HL_STR("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\nrest"), data;
    hl_message_reader_init(&r, &rules);
    cr_assert_eq(read_response(&r, &bytes, HL_METHOD_GET, &fault), HL_MESSAGE_HEAD);
    cr_assert_eq(head.status, 100);
    cr_assert_eq(read_response(&r, &bytes, HL_METHOD_GET, &fault), HL_MESSAGE_HEAD);
    cr_assert_eq(head.status, 200);
    cr_assert_eq(r.framing, HL_FRAMING_UNTIL_CLOSE);
    cr_assert_eq(hl_message_read_body(&r, &bytes, &data, &fault), HL_MESSAGE_DATA);
    cr_assert(hl_str_eq(data, HL_STR("rest")));
    cr_assert_eq(hl_message_read_body(&r, &bytes, &data, &fault), HL_MESSAGE_MORE);
    hl_message_reader_fini(&r);
}

Test(message, has_no_body_in_answer_to_a_head_request)
{
    struct hl_message_reader r;
    struct hl_refusal fault;
    struct hl_str bytes = HL_STR("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"), data;
    hl_message_reader_init(&r, &rules);
    cr_assert_eq(read_response(&r, &bytes, HL_METHOD_HEAD, &fault), HL_MESSAGE_HEAD);
    cr_assert_eq(hl_message_read_body(&r, &bytes, &data, &fault), HL_MESSAGE_END);
    hl_message_reader_fini(&r);
}
