#include <criterion/criterion.h>
#include <string.h>

#include "base/str.h"
#include "config/retry_rule.h"

Test(webhook_policy, reads_a_schedule)
{
    struct hl_schedule s;
    cr_assert(hl_schedule_parse(HL_STR("500ms, 5m,1h,24h"), &s));
    cr_assert_eq(s.n, 4);
    cr_assert_eq(s.delays_ms[0], 500);
    cr_assert_eq(s.delays_ms[1], 300000);
    cr_assert_eq(s.longest_ms, HL_SCHEDULE_DELAY_MAX);
}

Test(webhook_policy, refuses_what_is_no_schedule)
{
    static const char *const bad[] = {"", ",", "1s,", ",1s", "1s,,2s", "1", "25h", "-1s", "1s 2s"};
    char many[3 * (HL_SCHEDULE_MAX + 1)] = "1s";
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++)
        cr_assert_not(hl_schedule_is_valid(hl_str_from(bad[i])), "%s", bad[i]);
    for (int i = 1; i < HL_SCHEDULE_MAX; i++)
        strcat(many, ",1s");
    cr_assert(hl_schedule_is_valid(hl_str_from(many)));
    strcat(many, ",1s");
    cr_assert_not(hl_schedule_is_valid(hl_str_from(many)));
}

Test(webhook_policy, reads_what_is_tried_again)
{
    struct hl_webhook_retry_on on;
    cr_assert(hl_webhook_retry_on_parse(HL_STR("network, 404,5xx"), &on));
    cr_assert(on.network && on.statuses[404] && on.statuses[500] && on.statuses[599]);
    cr_assert_not(on.other || on.statuses[403] || on.statuses[499]);
}

Test(webhook_policy, refuses_what_is_delivered_or_no_outcome)
{
    static const char *const bad[] = {"", "1xx", "100", "103", "2xx", "200", "299", "6xx", "xx",
        "4x", "4xxx", "099", "network,", "Network", "always"};
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++)
        cr_assert_not(hl_webhook_retry_on_is_valid(hl_str_from(bad[i])), "%s", bad[i]);
}
