#include <criterion/criterion.h>
#include <time.h>

#include "base/compiler.h"
#include "http/date.h"

Test(date, is_written_as_the_rfc_has_it)
{
    static const struct {
        int64_t second;
        const char *text;
    } cases[] = {
        {784111777, "Sun, 06 Nov 1994 08:49:37 GMT"},
        {0, "Thu, 01 Jan 1970 00:00:00 GMT"},
        {951782399, "Mon, 28 Feb 2000 23:59:59 GMT"},
        {951782400, "Tue, 29 Feb 2000 00:00:00 GMT"},
        {1798761599, "Thu, 31 Dec 2026 23:59:59 GMT"},
        {1751446861, "Wed, 02 Jul 2025 09:01:01 GMT"},
        {4102444800, "Fri, 01 Jan 2100 00:00:00 GMT"},
        {1712345678, "Fri, 05 Apr 2024 19:34:38 GMT"},
    };
    struct hl_date date = {0};
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        struct hl_str text = hl_date_text(&date, cases[i].second);
        cr_expect(hl_str_eq(text, hl_str_from(cases[i].text)), "%.*s for %s", HL_STR_ARG(text),
            cases[i].text);
    }
}

Test(date, every_month_and_day_is_what_strftime_says)
{
    struct hl_date date = {0};
    for (int64_t second = 0; second < INT64_C(31536000); second += 86400 + 3661) {
        time_t t = (time_t)second;
        struct tm utc;
        char expected[64];
        gmtime_r(&t, &utc);
        strftime(expected, sizeof expected, "%a, %d %b %Y %H:%M:%S GMT", &utc);
        cr_assert(hl_str_eq(hl_date_text(&date, second), hl_str_from(expected)), "%s", expected);
    }
}

Test(date, is_made_once_a_second)
{
    struct hl_date date = {0};
    hl_date_text(&date, 784111777);
    date.text[0] = 'X';
    cr_assert_eq(*hl_date_text(&date, 784111777).p, 'X');
    cr_assert_eq(*hl_date_text(&date, 784111778).p, 'S');
}

Test(date, now_is_the_clock)
{
    struct hl_date date = {0};
    int64_t before = time(NULL);
    hl_date_now(&date);
    cr_assert(date.second >= before && date.second <= time(NULL));
}
