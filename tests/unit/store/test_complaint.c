/* test_complaint.c - what PostgreSQL refuses, in the log: bounded, and each refusal in a line or in a count. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "captured_log.h"
#include "store/postgres/thread.h"

#define MINUTE_MS UINT64_C(60000)
#define WHAT      "store: PostgreSQL refused a statement"

static void complain(struct hl_pg_store *s, const char *sqlstate, const char *message)
{
    struct hl_pg_flight flight = {0};
    snprintf(flight.sqlstate, sizeof(flight.sqlstate), "%s", sqlstate);
    snprintf(flight.message, sizeof(flight.message), "%s", message);
    hl_pg_complain(s, WHAT, &flight);
}

static struct hl_pg_store *begin(void)
{
    struct hl_pg_store *s = calloc(1, sizeof(*s));
    cr_assert(s);
    captured_log_begin();
    return s;
}

static void end(struct hl_pg_store *s)
{
    captured_log_end();
    free(s);
}

Test(complaint, says_the_first_of_each_kind_at_once_and_the_others_as_a_count_after_a_minute)
{
    struct hl_pg_store *s = begin();
    cr_assert_eq(hl_pg_complaints_due_ms(s), UINT64_MAX);
    for (int i = 0; i < 100; i++) {
        complain(s, "42P01", "no such table");
        complain(s, "42501", "no such right");
    }
    cr_assert_eq(captured_log_count(WHAT, ""), 2);
    hl_pg_complaints_turn(s, hl_clock_mono_ms());
    cr_assert_eq(captured_log_count(WHAT, ""), 2, "the minute goes on");
    hl_pg_complaints_turn(s, hl_clock_mono_ms() + MINUTE_MS);
    cr_assert_eq(captured_log_count("no such table", "\"left_out\":99"), 1);
    cr_assert_eq(captured_log_count("no such right", "\"left_out\":99"), 1);
    cr_assert_eq(hl_pg_complaints_due_ms(s), UINT64_MAX);
    complain(s, "42P01", "no such table");
    cr_assert_eq(captured_log_count("no such table", ""), 3, "a new minute has begun");
    end(s);
}

Test(complaint, counts_without_a_name_what_is_of_too_many_kinds)
{
    struct hl_pg_store *s = begin();
    for (int i = 0; i < HL_PG_COMPLAINTS_MAX + 5; i++) {
        char message[16];
        snprintf(message, sizeof(message), "kind %d", i);
        complain(s, "42P01", message);
    }
    cr_assert_eq(captured_log_count(WHAT, ""), HL_PG_COMPLAINTS_MAX);
    hl_pg_complaints_end(s);
    cr_assert_eq(captured_log_count("refused more, for other reasons", "\"left_out\":5"), 1);
    cr_assert_eq(captured_log_count("left_out", ""), 1, "what was said once has no count");
    end(s);
}
