#include <criterion/criterion.h>

#include "base/clock.h"
#include "base/compiler.h"

Test(clock, formats_rfc_3339_in_utc)
{
    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {-1, "1969-12-31T23:59:59.999Z"},
        {1795248000123, "2026-11-21T08:00:00.123Z"},
        {951782400000, "2000-02-29T00:00:00.000Z"},
        {253402300799999, "9999-12-31T23:59:59.999Z"},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        char text[HL_CLOCK_TEXT];
        hl_clock_format(cases[i].ms, text);
        cr_assert_str_eq(text, cases[i].text);
    }
}

Test(clock, reads_the_same_monotonic_time_in_both_units)
{
    uint64_t ms = hl_clock_mono_ms(), us = hl_clock_mono_us();
    cr_assert(us / 1000 >= ms && us / 1000 - ms < 10000);
}

Test(clock, knows_the_present)
{
    cr_assert_gt(hl_clock_wall_ms(), 1700000000000);
}
