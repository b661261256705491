#include <criterion/criterion.h>
#include <stdlib.h>

#include "http/head.h"

static enum hl_head_end find(struct hl_str text, size_t *head_len)
{
    size_t scanned = 0;
    return hl_head_find_end(text.p, text.n, &scanned, head_len);
}

/* Gives the text one byte more at each call, in memory that ends there. */
static enum hl_head_end find_bytewise(struct hl_str text, size_t *head_len)
{
    size_t scanned = 0;
    enum hl_head_end end = HL_HEAD_END_MISSING;
    for (size_t n = 1; n <= text.n && end == HL_HEAD_END_MISSING; n++) {
        char *copy = hl_str_dup((struct hl_str){text.p, n});
        char *exact = malloc(n);
        memcpy(exact, copy, n);
        free(copy);
        end = hl_head_find_end(exact, n, &scanned, head_len);
        free(exact);
    }
    return end;
}

Test(head_end, is_the_first_empty_line_after_a_line)
{
    static const struct {
        const char *text;
        size_t head_len;
    } cases[] = {
        {"GET / HTTP/1.1\r\n\r\n", 18},
        {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", 27},
        {"GET / HTTP/1.1\r\nHost: a\r\n\r\nbody\r\n\r\n", 27},
        {"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 29},
        {"\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\n\r\n", 26},
        {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n\n", 38},
        {"A\r\n\r\n", 5},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        struct hl_str text = hl_str_from(cases[i].text);
        size_t head_len = 0;
        cr_assert_eq(find(text, &head_len), HL_HEAD_END_FOUND, "%s", text.p);
        cr_assert_eq(head_len, cases[i].head_len, "%s", text.p);
        head_len = 0;
        cr_assert_eq(find_bytewise(text, &head_len), HL_HEAD_END_FOUND, "%s", text.p);
        cr_assert_eq(head_len, cases[i].head_len, "%s", text.p);
    }
}

Test(head_end, is_missing_until_it_is_there)
{
    static const char *const cases[] = {"", "\r", "\r\n", "\r\n\r", "G", "GET / HTTP/1.1\r",
        "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\r", "GET / HTTP/1.1\r\n\rX"};
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        size_t head_len = 0;
        cr_assert_eq(find(hl_str_from(cases[i]), &head_len), HL_HEAD_END_MISSING, "%zu", i);
        cr_assert_eq(
            find_bytewise(hl_str_from(cases[i]), &head_len), HL_HEAD_END_MISSING, "%zu", i);
    }
}

Test(head_end, is_bad_where_no_head_can_come_of_it)
{
    const struct hl_str cases[] = {
        HL_STR("\n"),
        HL_STR("\nGET / HTTP/1.1\r\n\r\n"),
        HL_STR("GET / HTTP/1.1\n\n"),
        HL_STR("GET / HTTP/1.1\r\nHost: a\n\r\n"),
        HL_STR("GET / HTTP/1.1\r\nHost: a\r\n\n"),
        HL_STR("\rGET / HTTP/1.1\r\n\r\n"),
        HL_STR("\r\r\n"),
        HL_STR("\r\n\r\n\r\n\r\n\r\nGET"),
        HL_STR(" GET / HTTP/1.1\r\n\r\n"),
        HL_STR("\x16\x03\x01\x02"),
        HL_STR("\0"),
        HL_STR("(GET)"),
        HL_STR("\r\n GET"),
        HL_STR("\x80"),
        HL_STR("POST /a-long-enough-target-for-blocks HTTP/1.1\nX: y\r\n\r\n"),
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        size_t head_len = 0;
        cr_assert_eq(find(cases[i], &head_len), HL_HEAD_END_BAD, "case %zu", i);
        cr_assert_eq(find_bytewise(cases[i], &head_len), HL_HEAD_END_BAD, "case %zu", i);
    }
}

Test(head_end, looks_at_each_byte_once)
{
    char text[1000];
    size_t scanned = 0, head_len;
    memset(text, 'a', sizeof text);
    cr_assert_eq(hl_head_find_end(text, 500, &scanned, &head_len), HL_HEAD_END_MISSING);
    cr_assert_eq(scanned, 500);
    /* A line feed in what was seen before is not looked for again. */
    text[100] = '\n';
    cr_assert_eq(hl_head_find_end(text, sizeof text, &scanned, &head_len), HL_HEAD_END_MISSING);
    cr_assert_eq(scanned, sizeof text);
}

Test(head_method, is_what_the_bytes_begin_with_however_bad_the_rest_is)
{
    static const struct {
        const char *text;
        enum hl_method method;
    } cases[] = {
        {"HEAD /x HTTP/1.1\r\nHost: a\r\n\r\n", HL_METHOD_HEAD},
        {"HEAD /x HTTP/9.9\r\n\r\n", HL_METHOD_HEAD},
        {"HEAD /x HTTP/1.1\nHost: a\n\n", HL_METHOD_HEAD},
        {"HEAD ", HL_METHOD_HEAD},
        {"\r\n\r\nHEAD /", HL_METHOD_HEAD},
        {"GET /x", HL_METHOD_GET},
        {"HEAD", HL_METHOD_OTHER}, /* HEADS, perhaps */
        {"HEAD\t/x", HL_METHOD_OTHER},
        {"head /x", HL_METHOD_OTHER},
        {"HEADS /x", HL_METHOD_OTHER},
        {" HEAD /x", HL_METHOD_OTHER},
        {"\r\n", HL_METHOD_OTHER},
        {"", HL_METHOD_OTHER},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++)
        cr_assert_eq(
            hl_head_peek_method(hl_str_from(cases[i].text)), cases[i].method, "%s", cases[i].text);
}
