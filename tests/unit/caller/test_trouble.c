/* test_trouble.c - failed calls in the log: the first of a kind, and how many more. */
#include "base/id.h"
#include "caller/trouble.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "captured_log.h"
#include "http/refusal.h"
#include "loop_fixture.h"

static struct hl_trouble trouble;

static void set_up(void)
{
    loop_begin();
    hl_trouble_init(&trouble, &wheel);
    captured_log_begin();
}

static void tear_down(void)
{
    captured_log_end();
    loop_end();
}

TestSuite(trouble, .init = set_up, .fini = tear_down);

static void note(uint16_t status, const char *detail)
{
    static const struct hl_id id = {{1}};
    struct hl_refusal why = {.status = status, .detail = detail};
    struct hl_trouble_case one = {.what = "a call failed", .run_id = &id, .why = &why};
    hl_trouble_note(&trouble, &one);
}

Test(trouble, says_the_first_of_each_kind_and_counts_the_others)
{
    for (int i = 0; i < 100; i++) {
        note(502, "no connection");
        note(504, "no answer");
    }
    note(504, "another");
    cr_assert_eq(captured_log_count("a call failed", "run_id"), 3);
    cr_assert_eq(captured_log_count("left_out", ""), 0);
    UNTIL(captured_log_count("left_out", "") == 2); /* the second is over */
    cr_assert_eq(captured_log_count("\"status\":502", "\"left_out\":99"), 1);
    cr_assert_eq(captured_log_count("\"status\":504", "\"left_out\":99"), 1);
    note(502, "no connection");
    cr_assert_eq(captured_log_count("a call failed", "run_id"), 4);
}

Test(trouble, says_no_more_kinds_in_a_second_than_it_has_places_for)
{
    char detail[16];
    for (int i = 0; i < HL_TROUBLE_KINDS + 5; i++) {
        snprintf(detail, sizeof(detail), "kind %d", i);
        note(503, detail);
    }
    cr_assert_eq(captured_log_count("kind", "run_id"), HL_TROUBLE_KINDS);
    hl_trouble_fini(&trouble);
    cr_assert_eq(captured_log_count("other reasons", "\"left_out\":5"), 1);
}

Test(trouble, knows_long_details_again)
{
    char detail[2 * HL_TROUBLE_DETAIL];
    memset(detail, 'x', sizeof(detail) - 1);
    detail[sizeof(detail) - 1] = '\0';
    note(502, detail);
    note(502, detail);
    hl_trouble_fini(&trouble);
    cr_assert_eq(captured_log_count("left_out\":1", ""), 1);
}
