/* test_sight.c - when conditions hold. */
#include <criterion/criterion.h>

#include "alert/sight.h"

#define DAY_MS (24 * 3600 * 1000ll)

static enum hl_condition judge(const struct hl_sight *s, enum hl_alert_kind kind, bool was_holding)
{
    struct hl_alert_facts facts;
    return hl_sight_judge(s, kind, was_holding, &facts);
}

Test(sight, a_queue_is_too_old_beyond_its_limit_and_unknown_where_nobody_knows)
{
    struct hl_sight s = {.knows_queue = true, .queue_limit_ms = 60000, .queue_age_ms = 60001};
    cr_assert_eq(judge(&s, HL_ALERT_QUEUE_AGE, false), HL_CONDITION_HOLDS);
    s.queue_age_ms = 60000;
    cr_assert_eq(judge(&s, HL_ALERT_QUEUE_AGE, false), HL_CONDITION_CLEAR);
    s.knows_queue = false;
    cr_assert_eq(judge(&s, HL_ALERT_QUEUE_AGE, true), HL_CONDITION_UNKNOWN);
}

Test(sight, a_store_is_nearly_full_from_90_percent_to_85)
{
    struct hl_sight s = {.bytes = 90, .max_bytes = 100};
    cr_assert_eq(judge(&s, HL_ALERT_STORE_FULL, false), HL_CONDITION_HOLDS);
    s.bytes = 89;
    cr_assert_eq(judge(&s, HL_ALERT_STORE_FULL, false), HL_CONDITION_CLEAR);
    cr_assert_eq(judge(&s, HL_ALERT_STORE_FULL, true), HL_CONDITION_HOLDS);
    s.bytes = 84;
    cr_assert_eq(judge(&s, HL_ALERT_STORE_FULL, true), HL_CONDITION_CLEAR);
    s.is_full = true; /* the volume is */
    cr_assert_eq(judge(&s, HL_ALERT_STORE_FULL, false), HL_CONDITION_HOLDS);
    s = (struct hl_sight){.bytes = UINT64_MAX};
    cr_assert_eq(judge(&s, HL_ALERT_STORE_FULL, false), HL_CONDITION_CLEAR, "it has no limit");
}

Test(sight, an_app_is_told_after_a_while_and_is_back_at_once)
{
    struct hl_sight s = {.unready_since = 1, .unready_ms = 299999, .unready_limit_ms = 300000};
    cr_assert_eq(judge(&s, HL_ALERT_APP_NOT_READY, false), HL_CONDITION_CLEAR);
    s.unready_ms = 300000;
    cr_assert_eq(judge(&s, HL_ALERT_APP_NOT_READY, false), HL_CONDITION_HOLDS);
    s.unready_ms = 0; /* a process that has just begun, and was told of it */
    cr_assert_eq(judge(&s, HL_ALERT_APP_NOT_READY, true), HL_CONDITION_HOLDS);
    s.unready_since = 0;
    cr_assert_eq(judge(&s, HL_ALERT_APP_NOT_READY, true), HL_CONDITION_CLEAR);
    s.is_leaving = true; /* it is ended with the process */
    cr_assert_eq(judge(&s, HL_ALERT_APP_NOT_READY, true), HL_CONDITION_UNKNOWN);
}

Test(sight, a_store_that_is_away_for_a_moment_does_not_fail)
{
    struct hl_sight s = {.is_failing = true, .failing_ms = 2999};
    cr_assert_eq(judge(&s, HL_ALERT_STORE_FAILING, false), HL_CONDITION_CLEAR);
    cr_assert_eq(judge(&s, HL_ALERT_STORE_FAILING, true), HL_CONDITION_HOLDS);
    s.failing_ms = 3000;
    cr_assert_eq(judge(&s, HL_ALERT_STORE_FAILING, false), HL_CONDITION_HOLDS);
    s = (struct hl_sight){0};
    cr_assert_eq(judge(&s, HL_ALERT_STORE_FAILING, true), HL_CONDITION_CLEAR);
}

Test(sight, a_certificate_is_told_14_days_before_its_end)
{
    struct hl_sight s = {
        .has_certificate = true, .now_ms = 100 * DAY_MS, .expires_ms = 114 * DAY_MS};
    cr_assert_eq(judge(&s, HL_ALERT_CERTIFICATE_EXPIRING, false), HL_CONDITION_HOLDS);
    s.expires_ms++;
    cr_assert_eq(judge(&s, HL_ALERT_CERTIFICATE_EXPIRING, false), HL_CONDITION_CLEAR);
    s.expires_ms = 1;
    cr_assert_eq(judge(&s, HL_ALERT_CERTIFICATE_EXPIRING, false), HL_CONDITION_HOLDS);
    s.has_certificate = false;
    cr_assert_eq(judge(&s, HL_ALERT_CERTIFICATE_EXPIRING, false), HL_CONDITION_CLEAR);
}

Test(sight, what_waits_grows_older_evenly_whoever_sets_the_clock)
{
    struct hl_sight s = {0};
    int64_t since = 1000000;
    cr_assert_eq(hl_sight_age_ms(&s, since, 0, since + 2000), 2000);
    int64_t ahead = 3600000; /* the clock is set an hour on, between two looks */
    cr_assert_eq(hl_sight_age_ms(&s, since, ahead, since + 4000 + ahead), 4000);
    cr_assert_eq(hl_sight_age_ms(&s, since, ahead, since + 5000 + ahead), 5000);
    cr_assert_eq(hl_sight_age_ms(&s, since, 0, since + 6000), 6000, "and back");
    cr_assert_eq(hl_sight_age_ms(&s, since, ahead, since + 7000 + ahead), 7000);
    int64_t next = since + 8000 + ahead; /* what has come since is as old as the clock says */
    cr_assert_eq(hl_sight_age_ms(&s, next, ahead, next + 500), 500);
    cr_assert_eq(hl_sight_age_ms(&s, 0, ahead, next + 1000), 0);
}

Test(sight, what_events_tell_is_not_seen)
{
    struct hl_sight s = {0};
    cr_assert_eq(judge(&s, HL_ALERT_DESTINATION_FAILING, true), HL_CONDITION_UNKNOWN);
    cr_assert_eq(judge(&s, HL_ALERT_DEAD_LETTERS, true), HL_CONDITION_UNKNOWN);
}
