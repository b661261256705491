/* test_field_value.c - seconds and dates of Retry-After. */
#include <criterion/criterion.h>
#include <time.h>

#include "base/compiler.h"
#include "base/str.h"
#include "http/field_value.h"

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

#define NOW_MS INT64_C(1795248000000) /* Sat, 21 Nov 2026 08:00:00 GMT */

static const struct {
    const char *value;
    uint64_t ms;
} cases[] = {
    {"0", 0},
    {"120", 120000},
    {"0000000000000000000000120", 120000},
    {"20301231", UINT64_C(20301231000)},
    {"9223372036854775807", UINT64_MAX},
    {"18446744073709553", UINT64_MAX}, /* milliseconds that wrap to 1384 */
    {"99999999999999999999999999", UINT64_MAX},
    {"99999999999999999999999999x", 0},
    {"12s", 0},
    {"-1", 0},
    {"1.5", 0},
    {"", 0},
    {"soon", 0},
    {"Sat, 21 Nov 2026 08:01:00 GMT", 60000},
    {"Saturday, 21-Nov-26 08:01:00 GMT", 60000},
    {"Sat Nov 21 08:01:00 2026", 60000},
    {"Sat, 21 Nov 2026 07:59:00 GMT", 0},
    {"Sat, 21 Nov 2026 08:01:00 GMT, or so", 0},
    {"Sat, 21 Nov 2026 08:01:00 and many more bytes", 0},
};

Test(retry_after, is_seconds_or_a_date_however_large)
{
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++)
        cr_assert_eq(hl_retry_after_ms(hl_str_from(cases[i].value), NOW_MS), cases[i].ms, "%s",
            cases[i].value);
}

static bool takes_gzip(const char *value)
{
    return hl_coding_is_preferred(hl_str_from(value), HL_STR("gzip"));
}

Test(coding, is_taken_where_it_is_named)
{
    cr_assert(takes_gzip("gzip"));
    cr_assert(takes_gzip("deflate, GZip;q=0.5, br"));
    cr_assert(takes_gzip("gzip ; q=0.001"));
    cr_assert(takes_gzip("identity, *"));
}

Test(coding, is_not_taken_where_it_is_not_named_or_has_no_weight)
{
    cr_assert_not(takes_gzip(""));
    cr_assert_not(takes_gzip("identity, br"));
    cr_assert_not(takes_gzip("xgzip, gzipped"));
    cr_assert_not(takes_gzip("gzip;q=0"));
    cr_assert_not(takes_gzip("gzip; Q=0.000, br"));
    cr_assert_not(takes_gzip("*;q=0"));
    cr_assert_not(takes_gzip("gzip;q=0, *"), "a name comes before any");
}

Test(coding, is_not_taken_where_the_text_weighs_more)
{
    cr_assert(takes_gzip("identity;q=0.5, gzip;q=0.75"));
    cr_assert(takes_gzip("gzip;q=0.500, identity;q=0.5"));
    cr_assert(takes_gzip("identity;q=0.009, *;q=0.01"));
    cr_assert(takes_gzip("gzip, identity;q=0"));
    cr_assert_not(takes_gzip("gzip;q=0.5, identity"));
    cr_assert_not(takes_gzip("identity;q=0.501, gzip;q=0.5"));
    cr_assert_not(takes_gzip("*;q=0.1, identity;q=0.2"));
}

static bool refuses_text(const char *value)
{
    return hl_identity_is_refused(hl_str_from(value));
}

Test(coding, none_is_refused_by_a_weight_of_nothing_alone)
{
    cr_assert(refuses_text("gzip, identity;q=0"));
    cr_assert(refuses_text("gzip, *;q=0.000"));
    cr_assert_not(refuses_text(""));
    cr_assert_not(refuses_text("gzip"));
    cr_assert_not(refuses_text("identity;q=0.001"));
    cr_assert_not(refuses_text("*;q=0, identity;q=0.1"), "a name comes before any");
}

Test(rate_limit, of_a_time_says_when_there_is_more)
{
    char out[HL_RATE_LIMIT_MAX];
    struct hl_rate_limit limit = {.policy = "default", .quota = 100, .window_s = 60, .wait_s = 12};
    hl_rate_limit_write(out, &limit);
    cr_assert_str_eq(out, "RateLimit-Policy: \"default\";q=100;w=60\r\n"
                          "RateLimit: \"default\";r=0;t=12\r\n");
}

Test(rate_limit, of_what_there_is_at_once_has_no_window)
{
    char out[HL_RATE_LIMIT_MAX];
    struct hl_rate_limit limit = {.policy = "max_running", .quota = 4};
    hl_rate_limit_write(out, &limit);
    cr_assert_str_eq(
        out, "RateLimit-Policy: \"max_running\";q=4\r\nRateLimit: \"max_running\";r=0\r\n");
}

Test(rate_limit, the_longest_fits)
{
    char out[HL_RATE_LIMIT_MAX];
    struct hl_rate_limit limit = {
        .policy = "max_running", .quota = UINT32_MAX, .window_s = UINT32_MAX, .wait_s = UINT32_MAX};
    hl_rate_limit_write(out, &limit);
    cr_assert_str_eq(out, "RateLimit-Policy: \"max_running\";q=4294967295;w=4294967295\r\n"
                          "RateLimit: \"max_running\";r=0;t=4294967295\r\n");
}
