/* test_rate_limit.c - what is said of a limit that is reached. */
#include <criterion/criterion.h>

#include "http/rate_limit.h"

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
