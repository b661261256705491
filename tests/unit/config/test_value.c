#include <criterion/criterion.h>

#include "base/str.h"
#include "config/value.h"

Test(value, reads_durations)
{
    static const struct {
        const char *text;
        uint64_t ms;
    } cases[] = {{"0", 0}, {"0s", 0}, {"500ms", 500}, {"30s", 30000}, {"15m", 900000},
        {"12h", 43200000}, {"90d", UINT64_C(7776000000)}};
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        uint64_t ms = 1;
        cr_assert(hl_value_parse_duration(hl_str_from(cases[i].text), &ms), "%s", cases[i].text);
        cr_assert_eq(ms, cases[i].ms, "%s", cases[i].text);
    }
}

Test(value, refuses_what_is_no_duration)
{
    static const char *const bad[] = {"", "10", "s", "1.5s", "-1s", "+1s", "1 s", " 1s", "1s ",
        "1S", "1h30m", "1min", "18446744073709551615d", "99999999999999999999ms"};
    uint64_t ms;
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++)
        cr_assert_not(hl_value_parse_duration(hl_str_from(bad[i]), &ms), "%s", bad[i]);
}

Test(value, reads_sizes)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = {{"0", 0}, {"4096", 4096}, {"64KiB", 65536}, {"16MiB", 16777216},
        {"1GiB", UINT64_C(1) << 30}, {"2TiB", UINT64_C(1) << 41}};
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        uint64_t bytes = 1;
        cr_assert(hl_value_parse_size(hl_str_from(cases[i].text), &bytes), "%s", cases[i].text);
        cr_assert_eq(bytes, cases[i].bytes, "%s", cases[i].text);
    }
}

Test(value, refuses_what_is_no_size)
{
    static const char *const bad[] = {
        "", "KiB", "64KB", "64kib", "64K", "1.5MiB", "-1", "64 KiB", "18446744073709551615KiB"};
    uint64_t bytes;
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++)
        cr_assert_not(hl_value_parse_size(hl_str_from(bad[i]), &bytes), "%s", bad[i]);
}

Test(value, reads_switches_in_any_case)
{
    static const char *const yes[] = {"on", "ON", "true", "True", "1"};
    static const char *const no[] = {"off", "Off", "false", "FALSE", "0"};
    static const char *const bad[] = {"", "yes", "no", "2", "on ", "enabled"};
    bool value;
    for (size_t i = 0; i < HL_ARRAY_LEN(yes); i++) {
        value = false;
        cr_assert(hl_value_parse_switch(hl_str_from(yes[i]), &value) && value, "%s", yes[i]);
    }
    for (size_t i = 0; i < HL_ARRAY_LEN(no); i++) {
        value = true;
        cr_assert(hl_value_parse_switch(hl_str_from(no[i]), &value) && !value, "%s", no[i]);
    }
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++)
        cr_assert_not(hl_value_parse_switch(hl_str_from(bad[i]), &value), "%s", bad[i]);
}

Test(value, reads_percentages)
{
    static const char *const bad[] = {"", "%", "0%", "101%", "80", "8.5%", "-1%"};
    uint32_t percent = 0;
    cr_assert(hl_value_parse_percent(HL_STR("1%"), &percent) && percent == 1);
    cr_assert(hl_value_parse_percent(HL_STR("100%"), &percent) && percent == 100);
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++)
        cr_assert_not(hl_value_parse_percent(hl_str_from(bad[i]), &percent), "%s", bad[i]);
}

Test(value, writes_what_it_reads)
{
    static const uint64_t values[] = {0, 1, 500, 1000, 1500, 60000, 90000, 900000, 43200000,
        86400000, 1024, 1025, 65536, 1 << 20, UINT64_C(3) << 40, UINT64_MAX};
    for (size_t i = 0; i < HL_ARRAY_LEN(values); i++) {
        char text[HL_VALUE_TEXT];
        uint64_t back = values[i] + 1;
        hl_value_format_duration(values[i], text);
        cr_assert(hl_value_parse_duration(hl_str_from(text), &back), "%s", text);
        cr_assert_eq(back, values[i], "%s", text);
        hl_value_format_size(values[i], text);
        cr_assert(hl_value_parse_size(hl_str_from(text), &back), "%s", text);
        cr_assert_eq(back, values[i], "%s", text);
    }
}

Test(value, prefers_the_largest_unit)
{
    char text[HL_VALUE_TEXT];
    hl_value_format_duration(43200000, text);
    cr_assert_str_eq(text, "12h");
    hl_value_format_duration(90000, text);
    cr_assert_str_eq(text, "90s");
    hl_value_format_size(1 << 20, text);
    cr_assert_str_eq(text, "1MiB");
}
