#include <criterion/criterion.h>

#include "base/compiler.h"
#include "base/str.h"
#include "http/sse.h"

/* `marks` has one character for each byte of `text` and one before: '|' where a boundary is after
 * that many bytes. */
static const struct {
    const char *text, *marks;
} cases[] = {
    {"", "|"},
    {"data: a\n\n", "|        |"},
    {"data: a\r\n\r\n", "|          |"},
    {"a\r\rb", "|  | "},
    {"a\r\r\nb\n\n", "|  ||  |"},
    {"\n\nx\n", "|||  "},
    {"a\nb\n\nc\n\n\n", "|    |  ||"},
    {"\r\n\r\n", "| | |"},
    {"a\r\nb\r\n", "|      "},
    {"a\n\r\nb", "|   | "},
    {"a\n\rb\r\n\n", "|      |"},
    {"data: a\rid: x\r\rdata: b\r\r", "|              |        |"},
    {"a\r\n\nb", "|   | "},
    {"\r\r\r\na", "| ||| "},
};

Test(sse, is_between_events_after_an_empty_line)
{
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        struct hl_sse s;
        hl_sse_init(&s);
        cr_assert_eq(strlen(cases[i].marks), strlen(cases[i].text) + 1, "%zu", i);
        for (size_t n = 0; n <= strlen(cases[i].text); n++) {
            if (n > 0)
                hl_sse_scan(&s, cases[i].text + n - 1, 1);
            cr_assert_eq(hl_sse_is_between_events(&s), cases[i].marks[n] == '|',
                "case %zu after %zu bytes", i, n);
        }
    }
}

Test(sse, does_not_depend_on_where_the_stream_is_cut)
{
    const char *text = "data: a long line that fills more than one block of bytes\n"
                       "data: another one of them, with more than sixteen bytes\r\n\r\n"
                       ": comment\n\n";
    size_t n = strlen(text);
    for (size_t first = 0; first <= n; first++) {
        struct hl_sse s;
        hl_sse_init(&s);
        hl_sse_scan(&s, text, first);
        hl_sse_scan(&s, text + first, n - first);
        cr_assert(hl_sse_is_between_events(&s), "%zu", first);
        hl_sse_init(&s);
        hl_sse_scan(&s, text, first);
        hl_sse_scan(&s, text + first, n - 1 - (first < n ? first : n - 1));
        if (first < n)
            cr_assert_not(hl_sse_is_between_events(&s), "%zu", first);
    }
}

Test(sse, has_a_byte_order_mark_at_the_very_beginning_alone)
{
    struct hl_sse s;
    hl_sse_init(&s);
    cr_assert(hl_sse_is_before_first_byte(&s));
    hl_sse_scan(&s, "", 0);
    cr_assert(hl_sse_is_before_first_byte(&s));
    hl_sse_scan(&s, "\n", 1);
    cr_assert_not(hl_sse_is_before_first_byte(&s));
    cr_assert(hl_sse_is_between_events(&s));
    cr_assert_eq(hl_sse_mark_n(HL_STR("\xef\xbb\xbf:")), 3);
    cr_assert_eq(hl_sse_mark_n(HL_STR("\xef\xbb")), 0);
    cr_assert_eq(hl_sse_mark_n(HL_STR("")), 0);
}
