/* test_attempt_log.c - how earlier attempts ended, as a line of text. */
#include "store/attempt.h"

#include <criterion/criterion.h>

static const struct hl_attempt_entry entry = {.attempt = 2,
    .started_ms = 1790000000000,
    .finished_ms = 1790000000005,
    .http_status = 503,
    .reason = HL_REASON_APP_ERROR,
    .events = 41};

static void assert_same(const struct hl_attempt_entry *a, const struct hl_attempt_entry *b)
{
    cr_assert_eq(a->attempt, b->attempt);
    cr_assert_eq(a->started_ms, b->started_ms);
    cr_assert_eq(a->finished_ms, b->finished_ms);
    cr_assert_eq(a->http_status, b->http_status);
    cr_assert_eq(a->reason, b->reason);
    cr_assert_eq(a->events, b->events);
}

Test(attempt_log, is_read_as_it_was_written)
{
    char text[HL_ATTEMPT_ENTRY_MAX];
    struct hl_attempt_entry read;
    struct hl_str log = hl_attempt_entry_write(&entry, text);
    cr_assert(hl_str_eq(log, HL_STR("2 1790000000000 1790000000005 503 1 41;")));
    cr_assert(hl_attempt_entry_read(&log, &read));
    assert_same(&read, &entry);
    cr_assert_eq(log.n, 0);
}

Test(attempt_log, says_nothing_of_events_where_there_were_none)
{
    char text[HL_ATTEMPT_ENTRY_MAX];
    struct hl_attempt_entry none = entry, read;
    none.events = 0;
    struct hl_str log = hl_attempt_entry_write(&none, text);
    cr_assert(hl_str_eq(log, HL_STR("2 1790000000000 1790000000005 503 1;")), "as it was before");
    cr_assert(hl_attempt_entry_read(&log, &read));
    assert_same(&read, &none);
}

Test(attempt_log, knows_when_the_first_began_by_a_clock_that_nobody_sets)
{
    char text[HL_ATTEMPT_ENTRY_MAX];
    struct hl_attempt_entry set = entry;
    cr_assert_eq(hl_attempt_log_first_ms(HL_STR(""), 7), 7);
    cr_assert_eq(hl_attempt_log_first_ms(hl_attempt_entry_write(&set, text), 7), set.started_ms);
    set.steady_ms = set.started_ms - 3600000;
    cr_assert_eq(hl_attempt_log_first_ms(hl_attempt_entry_write(&set, text), 7), set.steady_ms);
    set.events = 0;
    cr_assert_eq(hl_attempt_log_first_ms(hl_attempt_entry_write(&set, text), 7), set.steady_ms);
}

Test(attempt_log, has_room_for_the_largest_entry)
{
    char text[HL_ATTEMPT_ENTRY_MAX];
    struct hl_attempt_entry largest = {.attempt = UINT32_MAX,
        .started_ms = INT64_MAX,
        .finished_ms = INT64_MAX,
        .http_status = UINT16_MAX,
        .reason = HL_REASON_EXPIRED,
        .events = UINT64_MAX,
        .steady_ms = INT64_MAX / 2};
    struct hl_str log = hl_attempt_entry_write(&largest, text);
    cr_assert_eq(log.p[log.n - 1], ';');
}

Test(attempt_log, knows_the_last_ordinal_that_was_used)
{
    static const struct {
        const char *log;
        uint64_t events;
    } logs[] = {{"", 0}, {"1 2 3 503 1;", 0}, {"1 2 3 503 1 7;", 7},
        {"1 2 3 503 1 7;2 3 4 503 1;", 7}, {"1 2 3 503 1 7;2 3 4 503 1 9;", 9},
        {"1 2 3 503 1;2 3 4 503 1 9;", 9}};
    for (size_t i = 0; i < HL_ARRAY_LEN(logs); i++)
        cr_assert_eq(
            hl_attempt_log_events(hl_str_from(logs[i].log)), logs[i].events, "%s", logs[i].log);
}

Test(attempt_log, has_no_entry_in_what_is_none)
{
    static const char *logs[] = {"", ";", "1 2 3 503;", "1 2 3 503 1", "1 2 3 503 1 7",
        "1 2 3 503 1 7 8 9;", "1 2 3 503 99;", "1 2 x 503 1;", "1  2 3 503 1;"};
    struct hl_attempt_entry read;
    for (size_t i = 0; i < HL_ARRAY_LEN(logs); i++) {
        struct hl_str log = hl_str_from(logs[i]);
        cr_assert_not(hl_attempt_entry_read(&log, &read), "%s", logs[i]);
    }
}
