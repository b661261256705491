/* test_retry.c - which outcomes are tried again (contract 5), and the delays' bounds. */
#include "config/config.h"
#include "webhook/retry.h"

#include <criterion/criterion.h>

#include "base/random.h"

static struct hl_webhook_retry_on on(const char *text)
{
    struct hl_webhook_retry_on out;
    cr_assert(hl_webhook_retry_on_parse(hl_str_from(text), &out), "%s", text);
    return out;
}

static struct hl_schedule schedule(const char *text)
{
    struct hl_schedule out;
    cr_assert(hl_schedule_parse(hl_str_from(text), &out), "%s", text);
    return out;
}

Test(retry, follows_the_contracts_table)
{
    static const struct {
        uint16_t status;
        enum hl_attempt_verdict verdict;
    } rows[] = {
        {0, HL_ATTEMPT_RETRY},
        {404, HL_ATTEMPT_RETRY},
        {400, HL_ATTEMPT_DEAD},
        {401, HL_ATTEMPT_DEAD},
        {403, HL_ATTEMPT_DEAD},
        {405, HL_ATTEMPT_DEAD},
        {408, HL_ATTEMPT_DEAD},
        {410, HL_ATTEMPT_DEAD},
        {429, HL_ATTEMPT_DEAD},
        {499, HL_ATTEMPT_DEAD},
        {500, HL_ATTEMPT_DEAD},
        {502, HL_ATTEMPT_DEAD},
        {503, HL_ATTEMPT_DEAD},
        {599, HL_ATTEMPT_DEAD},
        {301, HL_ATTEMPT_RETRY},
        {302, HL_ATTEMPT_RETRY},
        {304, HL_ATTEMPT_RETRY},
        {399, HL_ATTEMPT_RETRY},
        {600, HL_ATTEMPT_RETRY},
        {999, HL_ATTEMPT_RETRY},
        {199, HL_ATTEMPT_RETRY},
        {200, HL_ATTEMPT_OK},
        {201, HL_ATTEMPT_OK},
        {204, HL_ATTEMPT_OK},
        {299, HL_ATTEMPT_OK},
    };
    struct hl_webhook_retry_on by_default = on("network,404,other");
    for (size_t i = 0; i < HL_ARRAY_LEN(rows); i++)
        cr_assert_eq(hl_retry_verdict(&by_default, rows[i].status, 1, 3), rows[i].verdict, "%u",
            rows[i].status);
}

Test(retry, follows_the_preset_for_production)
{
    static const uint16_t again[] = {0, 404, 408, 425, 429, 500, 501, 502, 503, 504, 511, 599};
    static const uint16_t final[] = {
        301, 302, 304, 399, 400, 401, 403, 405, 409, 410, 422, 424, 426, 428, 430, 499, 600, 199};
    char *variables[] = {"HOOKLINE_WEBHOOK_PRESET=production", NULL};
    struct hl_config *config;
    struct hl_buf said;
    hl_buf_init(&said, 0);
    cr_assert_eq(hl_config_load(&config, variables, &said, &said), HL_OK);
    const struct hl_webhook_retry_on *list = &config->retried;
    for (size_t i = 0; i < HL_ARRAY_LEN(again); i++)
        cr_assert_eq(hl_retry_verdict(list, again[i], 5, config->webhook_attempts),
            HL_ATTEMPT_RETRY, "%u", again[i]);
    for (size_t i = 0; i < HL_ARRAY_LEN(final); i++)
        cr_assert_eq(hl_retry_verdict(list, final[i], 1, config->webhook_attempts), HL_ATTEMPT_DEAD,
            "%u", final[i]);
    cr_assert_eq(hl_retry_verdict(list, 503, 6, config->webhook_attempts), HL_ATTEMPT_DEAD);
    hl_config_free(config);
    hl_buf_fini(&said);
}

Test(retry, follows_a_list_of_its_own)
{
    struct hl_webhook_retry_on list = on("5xx, 429,302");
    static const uint16_t again[] = {500, 503, 599, 429, 302};
    static const uint16_t final[] = {0, 404, 301, 428, 430, 600, 199};
    for (size_t i = 0; i < HL_ARRAY_LEN(again); i++)
        cr_assert_eq(hl_retry_verdict(&list, again[i], 1, 3), HL_ATTEMPT_RETRY, "%u", again[i]);
    for (size_t i = 0; i < HL_ARRAY_LEN(final); i++)
        cr_assert_eq(hl_retry_verdict(&list, final[i], 1, 3), HL_ATTEMPT_DEAD, "%u", final[i]);
    cr_assert_eq(hl_retry_verdict(&list, 204, 3, 3), HL_ATTEMPT_OK);
}

Test(retry, ends_with_the_last_attempt)
{
    struct hl_webhook_retry_on by_default = on("network,404,other");
    cr_assert_eq(hl_retry_verdict(&by_default, 404, 2, 3), HL_ATTEMPT_RETRY);
    cr_assert_eq(hl_retry_verdict(&by_default, 404, 3, 3), HL_ATTEMPT_DEAD);
    cr_assert_eq(hl_retry_verdict(&by_default, 0, 3, 3), HL_ATTEMPT_DEAD);
    cr_assert_eq(hl_retry_verdict(&by_default, 0, 1, 1), HL_ATTEMPT_DEAD);
    cr_assert_eq(hl_retry_verdict(&by_default, 200, 3, 3), HL_ATTEMPT_OK);
}

static void expect_within(
    const struct hl_schedule *s, uint32_t n, uint64_t after_ms, uint64_t least, uint64_t most)
{
    uint64_t lowest = UINT64_MAX, highest = 0;
    for (int i = 0; i < 20000; i++) {
        uint32_t random;
        hl_random_fill(&random, sizeof random);
        uint64_t ms = hl_retry_delay_ms(s, n, after_ms, random);
        lowest = ms < lowest ? ms : lowest;
        highest = ms > highest ? ms : highest;
    }
    cr_assert(lowest >= least && highest <= most, "%llu to %llu", (unsigned long long)lowest,
        (unsigned long long)highest);
    uint64_t width = most - least;
    cr_assert(highest - lowest >= width - width / 10, "they are spread over all of it");
}

Test(retry, delays_up_to_five_seconds_are_spread_downwards)
{
    struct hl_schedule s = schedule("1s,4s");
    expect_within(&s, 1, 0, 800, 1000);
    expect_within(&s, 2, 0, 3200, 4000);
    expect_within(&s, 7, 0, 3200, 4000);
}

Test(retry, longer_ones_are_spread_by_a_fifth_both_ways)
{
    struct hl_schedule s = schedule("5s,10s,1h");
    expect_within(&s, 1, 0, 4000, 5000);
    expect_within(&s, 2, 0, 8000, 12000);
    expect_within(&s, 3, 0, 2880000, 4320000);
}

Test(retry, what_the_receiver_asks_for_counts_up_to_the_longest_delay)
{
    struct hl_schedule s = schedule("1s,30s");
    expect_within(&s, 1, 20000, 20000, 20000);
    expect_within(&s, 1, 86400000, 30000, 30000);
    expect_within(&s, 1, 100, 800, 1000);
    for (uint32_t random = 0; random < 20000; random++)
        cr_assert_geq(hl_retry_delay_ms(&s, 2, 29000, random), 29000);
}
