/* test_retry_after.c - seconds and dates of Retry-After. */
#include "base/compiler.h"
#include "base/str.h"
#include "http/retry_after.h"

#include <criterion/criterion.h>

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
