/* test_retry.c - the contract's retry table, row by row (contract 5), and the delays' bounds. */
#include "webhook/retry.h"

#include <criterion/criterion.h>

#include "base/random.h"
#include "webhook/due.h"

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
    for (size_t i = 0; i < HL_ARRAY_LEN(rows); i++)
        cr_assert_eq(hl_retry_verdict(rows[i].status, 1, 3), rows[i].verdict, "%u", rows[i].status);
}

Test(retry, ends_with_the_last_attempt)
{
    cr_assert_eq(hl_retry_verdict(404, 2, 3), HL_ATTEMPT_RETRY);
    cr_assert_eq(hl_retry_verdict(404, 3, 3), HL_ATTEMPT_DEAD);
    cr_assert_eq(hl_retry_verdict(0, 3, 3), HL_ATTEMPT_DEAD);
    cr_assert_eq(hl_retry_verdict(0, 1, 1), HL_ATTEMPT_DEAD);
    cr_assert_eq(hl_retry_verdict(0, 4, 3), HL_ATTEMPT_DEAD);
    cr_assert_eq(hl_retry_verdict(200, 3, 3), HL_ATTEMPT_OK);
}

Test(retry, waits_about_one_then_about_four_seconds_and_never_over_five)
{
    static const struct {
        uint32_t n;
        uint64_t least, most;
    } bounds[] = {{1, 700, 1300}, {2, 3400, 4600}, {3, 3400, 4600}, {9, 3400, 4600}};
    for (size_t i = 0; i < HL_ARRAY_LEN(bounds); i++) {
        uint64_t least = UINT64_MAX, most = 0;
        for (int draw = 0; draw < 10000; draw++) {
            uint32_t random;
            hl_random_fill(&random, sizeof random);
            uint64_t ms = hl_retry_delay_ms(bounds[i].n, random);
            least = ms < least ? ms : least;
            most = ms > most ? ms : most;
        }
        cr_assert_geq(least, bounds[i].least);
        cr_assert_leq(most, bounds[i].most);
        cr_assert_leq(most + HL_DUE_TICK_MS, HL_RETRY_DELAY_MAX_MS);
        cr_assert_gt(most - least, 300, "no jitter");
        uint64_t extreme = hl_retry_delay_ms(bounds[i].n, UINT32_MAX);
        cr_assert(extreme >= bounds[i].least && extreme <= bounds[i].most);
    }
}
