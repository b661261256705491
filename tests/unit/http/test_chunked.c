#include <criterion/criterion.h>
#include <stdlib.h>

#include "http/chunked.h"
#include "http/head.h"

/* llhttp behind a head that announces a chunked body. */
static const struct hl_parser *after_head(void)
{
    static const char text[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    static struct hl_parser parser;
    static struct hl_head head;
    size_t n;
    hl_parser_read_response(&parser, text, sizeof text - 1, &head, &n);
    return &parser;
}

/* Reads `text` in pieces of `step` bytes, collects the data; returns the last event. */
struct reading {
    enum hl_chunk_event event;
    char data[512], trailer[512];
    size_t n, left;
    enum hl_refusal_cause fault;
};

static struct reading read_in_steps(struct hl_str text, size_t step, size_t max_trailer)
{
    struct reading r = {.event = HL_CHUNK_MORE};
    struct hl_chunk_reader reader;
    struct hl_str data;
    hl_chunk_reader_init(&reader, after_head(), max_trailer);
    while (text.n > 0 && (r.event == HL_CHUNK_MORE || r.event == HL_CHUNK_DATA)) {
        size_t given = text.n < step ? text.n : step, left = given;
        char *exact = malloc(given);
        memcpy(exact, text.p, given);
        const char *p = exact;
        while ((r.event = hl_chunk_read(&reader, &p, &left, &data)) == HL_CHUNK_DATA) {
            cr_assert(data.n > 0);
            memcpy(r.data + r.n, data.p, data.n);
            r.n += data.n;
        }
        cr_assert(r.event != HL_CHUNK_MORE || left == 0);
        free(exact);
        text = (struct hl_str){text.p + given - left, text.n - given + left};
    }
    r.left = text.n;
    if (reader.trailer.n > 0)
        memcpy(r.trailer, reader.trailer.p, reader.trailer.n);
    r.fault = reader.fault;
    hl_chunk_reader_fini(&reader);
    return r;
}

Test(chunked, reads_bodies_cut_anywhere)
{
    static const struct {
        const char *text, *data, *trailer;
        size_t left;
    } cases[] = {
        {"0\r\n\r\n", "", "", 0},
        {"5\r\nhello\r\n0\r\n\r\n", "hello", "", 0},
        {"5\r\nhello\r\n0\r\n\r\nGET /", "hello", "", 5},
        {"3\r\nabc\r\nA\r\n0123456789\r\n00a\r\n0123456789\r\n000\r\n\r\n",
            "abc01234567890123456789", "", 0},
        {"000000000000001\r\nx\r\n0\r\n\r\n", "x", "", 0},
        {"1;a=b\r\nx\r\n0;c\r\n\r\n", "x", "", 0},
        {"1;a=\"b;c\"\r\nx\r\n0\r\n\r\n", "x", "", 0},
        {"1;a=\"b\\\"\";c\r\nx\r\n0\r\n\r\n", "x", "", 0},
        {"1 \t;a\r\nx\r\n0\r\n\r\n", "x", "", 0},
        {"2\r\n\r\n\r\n0\r\n\r\n", "\r\n", "", 0},
        {"1\r\nx\r\n0\r\nX-Sum: 9\r\nServer-Timing: a\r\n\r\n", "x",
            "X-Sum: 9\r\nServer-Timing: a\r\n", 0},
        {"0\r\nContent-Length: 9\r\nX: y\r\nTransfer-Encoding: chunked\r\nX-Request-Id: e\r\n"
         "x_request_id: e\r\nHost: e\r\nAuthorization: e\r\nSet-Cookie: e\r\n\r\n",
            "", "X: y\r\n", 0},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        struct hl_str text = hl_str_from(cases[i].text);
        for (size_t step = 1; step <= text.n; step++) {
            struct reading r = read_in_steps(text, step, 1024);
            cr_assert_eq(r.event, HL_CHUNK_END, "%s by %zu: %s", text.p, step,
                hl_refusal_make(r.fault)->detail);
            cr_assert_eq(r.n, strlen(cases[i].data), "%s by %zu", text.p, step);
            cr_assert_arr_eq(r.data, cases[i].data, r.n);
            cr_assert_str_eq(r.trailer, cases[i].trailer);
            cr_assert_eq(r.left, cases[i].left, "%s by %zu", text.p, step);
        }
    }
}

Test(chunked, drops_the_whole_trailer_section_when_told_to)
{
    struct hl_chunk_reader reader;
    struct hl_str text = HL_STR("1\r\nx\r\n0\r\nX-Sum: 9\r\n\r\n"), data;
    hl_chunk_reader_init(&reader, after_head(), 1024);
    reader.drops_trailer = true;
    cr_assert_eq(hl_chunk_read(&reader, &text.p, &text.n, &data), HL_CHUNK_DATA);
    cr_assert_eq(hl_chunk_read(&reader, &text.p, &text.n, &data), HL_CHUNK_END);
    cr_assert_eq(reader.trailer.n, 0);
    hl_chunk_reader_fini(&reader);
}

Test(chunked, refuses_what_two_readers_could_read_in_two_ways)
{
    const struct hl_str bad[] = {
        HL_STR("\r\n"),
        HL_STR(" 5\r\nhello\r\n"),
        HL_STR("5\nhello\r\n"),
        HL_STR("5\r\nhello\n0\r\n"),
        HL_STR("5\r\nhello0\r\n\r\n"), /* llhttp 8.1 reads on */
        HL_STR("5\r\nhelloXX0\r\n\r\n"),
        HL_STR("5\r\nhello\rX0\r\n\r\n"),
        HL_STR("5\r\nhello\r\r\n"),
        HL_STR("5\rhello\r\n"),
        HL_STR("5\r\rhello\r\n"),
        HL_STR("5 \r\nhello\r\n"),
        HL_STR("5\t\r\nhello\r\n"),
        HL_STR("5 5\r\nhello\r\n"),
        HL_STR("+5\r\nhello\r\n"),
        HL_STR("-5\r\nhello\r\n"),
        HL_STR("0x5\r\nhello\r\n"),
        HL_STR("5h\r\nhello\r\n"),
        HL_STR("g\r\n"),
        HL_STR(";a\r\n"),
        HL_STR("\0"
               "5\r\nhello\r\n"),
        HL_STR("1000000000000000\r\n"),
        HL_STR("0000000000000001\r\nx\r\n"),
        HL_STR("ffffffffffffffff\r\n"),
        HL_STR("10000000000000005\r\nhello\r\n"),
        HL_STR("5;a\nhello\r\n"),
        HL_STR("5;a\0\r\nhello\r\n"),
        HL_STR("5;a\r\r\nhello\r\n"),
        HL_STR("5;\"a\r\n\"\r\n"),
        HL_STR("5;\"a\\\"\r\nhello\r\n"),
        HL_STR("0\r\n\n"),
        HL_STR("0\n\r\n"),
        HL_STR("0\r\nX: y\n\r\n"),
        HL_STR("0\r\nX\r\n\r\n"),
        HL_STR("0\r\nX : y\r\n\r\n"),
        HL_STR("0\r\nX: y\r\n z\r\n\r\n"),
        HL_STR("0\r\n: y\r\n\r\n"),
        HL_STR("0\r\nX: \0\r\n\r\n"),
        HL_STR("0\r\nGET / HTTP/1.1\r\n\r\n"),
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++) {
        for (size_t step = 1; step <= bad[i].n; step++) {
            struct reading r = read_in_steps(bad[i], step, 1024);
            cr_assert_eq(r.event, HL_CHUNK_BAD, "%.*s by %zu", HL_STR_ARG(bad[i]), step);
            cr_assert(r.fault != HL_REFUSAL_NONE, "%.*s", HL_STR_ARG(bad[i]));
        }
    }
}

Test(chunked, wants_more_until_the_end)
{
    const struct hl_str whole = HL_STR("5;a\r\nhello\r\n0\r\nX: y\r\n\r\n");
    for (size_t n = 1; n < whole.n; n++)
        cr_assert_eq(read_in_steps((struct hl_str){whole.p, n}, n, 1024).event, HL_CHUNK_MORE);
}

Test(chunked, data_is_the_bytes_that_are_here)
{
    struct hl_chunk_reader reader;
    const char *text = "a\r\n0123456789\r\n0\r\n\r\n", *p = text;
    size_t n = 7;
    struct hl_str data;
    hl_chunk_reader_init(&reader, after_head(), 1024);
    cr_assert_eq(hl_chunk_read(&reader, &p, &n, &data), HL_CHUNK_DATA);
    cr_assert_eq(data.p, text + 3);
    cr_assert_eq(data.n, 4);
    cr_assert_eq(hl_chunk_read(&reader, &p, &n, &data), HL_CHUNK_MORE);
    n = 13;
    cr_assert_eq(hl_chunk_read(&reader, &p, &n, &data), HL_CHUNK_DATA);
    cr_assert_eq(data.n, 6);
    cr_assert_eq(hl_chunk_read(&reader, &p, &n, &data), HL_CHUNK_END);
    cr_assert_eq(n, 0);
    cr_assert_eq(hl_chunk_read(&reader, &p, &n, &data), HL_CHUNK_END);
    hl_chunk_reader_fini(&reader);
}

Test(chunked, trailer_section_is_capped_dropped_lines_too)
{
    const struct hl_str kept = HL_STR("0\r\nX: y\r\n\r\n"),
                        dropped = HL_STR("0\r\nHost: y\r\n\r\n");
    cr_assert_eq(read_in_steps(kept, 1, 8).event, HL_CHUNK_END);
    cr_assert_eq(read_in_steps(kept, 1, 7).event, HL_CHUNK_BAD);
    cr_assert_eq(read_in_steps(dropped, 100, 11).event, HL_CHUNK_END);
    cr_assert_eq(read_in_steps(dropped, 100, 10).event, HL_CHUNK_BAD);
}

Test(chunked, extensions_of_a_body_are_capped)
{
    struct hl_chunk_reader reader;
    struct hl_str data;
    enum hl_chunk_event event = HL_CHUNK_MORE;
    hl_chunk_reader_init(&reader, after_head(), 1024);
    size_t chunks = 0;
    for (; event != HL_CHUNK_BAD && chunks < 10000; chunks++) {
        const char *p = "1;abcdefgh\r\nx\r\n";
        size_t n = strlen(p);
        do
            event = hl_chunk_read(&reader, &p, &n, &data);
        while (event == HL_CHUNK_DATA);
    }
    cr_assert(chunks > 100 && chunks < 1000, "%zu", chunks);
    hl_chunk_reader_fini(&reader);
}

Test(chunked, writes_sizes_in_hex)
{
    static const struct {
        uint64_t size;
        const char *text;
    } cases[] = {
        {0, "0\r\n"},
        {9, "9\r\n"},
        {10, "a\r\n"},
        {65536, "10000\r\n"},
        {UINT64_MAX, "ffffffffffffffff\r\n"},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        char out[HL_CHUNK_HEAD_MAX];
        size_t n = hl_chunk_head_write(out, cases[i].size);
        cr_assert(hl_str_eq((struct hl_str){out, n}, hl_str_from(cases[i].text)));
    }
}
