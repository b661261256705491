/* test_error.c - what the app said went wrong: it stays with a run that failed, on all stores. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "store/claim.h"
#include "store/operation.h"
#include "store/question.h"

static struct hl_id fail_with(struct fixture *f, const char *app, const char *error)
{
    struct hl_id id;
    cr_assert_eq(accept_run(f, (struct run_spec){.project = "p", .app = app}, &id), HL_OK);
    give_credit(f, &f->worker, 1, false);
    struct hl_claimed *c = party_wait(&f->worker, HL_STORE_CLAIMED);
    struct hl_finish *finish = make_finish(&id, c->epoch, "answer");
    finish->outcome.state = HL_RUN_FAILURE;
    finish->outcome.reason = HL_REASON_APP_ERROR;
    finish->outcome.http_status = 500;
    snprintf(finish->outcome.error, sizeof(finish->outcome.error), "%s", error);
    cr_assert_eq(ask(f, &f->worker, &finish->m), HL_OK);
    hl_finish_free(finish);
    hl_claimed_free(c);
    return id;
}

static void expect_error(struct fixture *f, const struct hl_id *id, const char *error)
{
    struct hl_get_run g = {.m.msg.type = HL_STORE_GET_RUN, .run_id = *id};
    cr_assert_eq(ask(f, &f->asker, &g.m), HL_OK);
    cr_assert(hl_str_eq(g.run.error, hl_str_from(error)), "%.*s", HL_STR_ARG(g.run.error));
    hl_get_run_fini(&g);
}

STORE_TEST(what_went_wrong_stays_with_its_run)
{
    static char longest[HL_ERROR_LINE_MAX + 1];
    for (int i = 0; i < HL_ERROR_LINE_CHARACTERS; i++)
        memcpy(longest + 4 * i, "\xf0\x9f\x98\x80", 4);
    struct hl_id some = fail_with(f, "a", "no such order"), none = fail_with(f, "a", ""), fine;
    struct hl_id whole = fail_with(f, "b", longest);
    cr_assert_eq(record_run(f, (struct run_spec){.project = "p"}, &fine), HL_OK);
    cr_assert_eq(finish_run(f, &fine, 1, "done"), HL_OK);
    if (f->kind != HL_STORE_MEMORY)
        fixture_reopen(f);
    expect_error(f, &some, "no such order");
    expect_error(f, &none, "");
    expect_error(f, &fine, "");
    expect_error(f, &whole, longest);
}

STORE_TEST(what_went_wrong_is_in_lists)
{
    static const char *const errors[] = {"", "two", "one"}; /* newest first */
    struct hl_list_runs l = {
        .m.msg.type = HL_STORE_LIST_RUNS, .state = -1, .is_async = -1, .limit = 5};
    fail_with(f, "a", "one");
    fail_with(f, "b", "two");
    struct hl_id id;
    cr_assert_eq(accept_run(f, (struct run_spec){.project = "p"}, &id), HL_OK);
    cr_assert_eq(ask(f, &f->asker, &l.m), HL_OK);
    cr_assert_eq(l.count, HL_ARRAY_LEN(errors));
    for (size_t i = 0; i < l.count; i++)
        cr_assert(hl_str_eq(l.rows[i].error, hl_str_from(errors[i])), "%zu", i);
    hl_operation_clear(&l.m);
}

STORE_TEST(run_that_was_to_be_cancelled_has_not_gone_wrong)
{
    struct hl_id id;
    cr_assert_eq(accept_run(f, (struct run_spec){.project = "p"}, &id), HL_OK);
    give_credit(f, &f->worker, 1, false);
    struct hl_claimed *c = party_wait(&f->worker, HL_STORE_CLAIMED);
    cr_assert_eq(cancel_run(f, &id), HL_OK);
    struct hl_finish *finish = make_finish(&id, c->epoch, "answer");
    finish->outcome.state = HL_RUN_FAILURE;
    finish->outcome.reason = HL_REASON_APP_ERROR;
    snprintf(finish->outcome.error, sizeof(finish->outcome.error), "boom");
    cr_assert_eq(ask(f, &f->worker, &finish->m), HL_OK);
    hl_finish_free(finish);
    hl_claimed_free(c);
    cr_assert_eq(state_of(f, &id), HL_RUN_CANCELLED);
    expect_error(f, &id, "");
}

/* --- counted ---------------------------------------------------------------------------------- */

static struct hl_list_errors all_errors(void)
{
    return (struct hl_list_errors){.m.msg.type = HL_STORE_LIST_ERRORS,
        .project = "p",
        .since_ms = 1,
        .until_ms = INT64_C(1) << 47};
}

static void expect_row(
    const struct hl_list_errors *l, size_t i, const char *app, const char *error, uint64_t n)
{
    cr_assert_lt(i, l->count);
    cr_assert_str_eq(l->rows[i].project, "p");
    cr_assert_str_eq(l->rows[i].app, app);
    cr_assert_str_eq(l->rows[i].error, error);
    cr_assert_eq(l->rows[i].count, n);
    cr_assert_eq(l->rows[i].reason, HL_REASON_APP_ERROR);
}

STORE_TEST(errors_are_counted_the_most_frequent_first)
{
    struct hl_list_errors l = all_errors();
    struct hl_id first = fail_with(f, "a", "no such order"), fine, last;
    fail_with(f, "b", "no such order");
    fail_with(f, "a", "");
    fail_with(f, "b", "no such order");
    last = fail_with(f, "a", "no such order");
    fail_with(f, "b", "no such order");
    cr_assert_eq(record_run(f, (struct run_spec){.project = "p"}, &fine), HL_OK);
    cr_assert_eq(finish_run(f, &fine, 1, "done"), HL_OK);

    cr_assert_eq(ask(f, &f->asker, &l.m), HL_OK);
    cr_assert_eq(l.count, 3);
    cr_assert_eq(l.kinds, 3);
    cr_assert_eq(l.failures, 6);
    cr_assert_eq(l.counted_ms, l.since_ms);
    expect_row(&l, 0, "b", "no such order", 3);
    expect_row(&l, 1, "a", "no such order", 2);
    expect_row(&l, 2, "a", "", 1);
    cr_assert_leq(llabs(l.rows[1].first_ms - hl_id_time_ms(&first)), 1);
    cr_assert_leq(llabs(l.rows[1].last_ms - hl_id_time_ms(&last)), 1);
    hl_operation_clear(&l.m);

    strcpy(l.app, "a");
    cr_assert_eq(ask(f, &f->asker, &l.m), HL_OK);
    cr_assert_eq(l.count, 2);
    cr_assert_eq(l.failures, 3);
    hl_operation_clear(&l.m);

    l = all_errors();
    strcpy(l.project, "q");
    cr_assert_eq(ask(f, &f->asker, &l.m), HL_OK);
    cr_assert_eq(l.count + l.failures + l.kinds, 0);
    hl_operation_clear(&l.m);

    l = all_errors();
    l.project[0] = '\0';
    l.until_ms = hl_id_time_ms(&first);
    cr_assert_eq(ask(f, &f->asker, &l.m), HL_OK);
    cr_assert_eq(l.count, 0, "they came later");
    hl_operation_clear(&l.m);
    l.until_ms = 0;
    cr_assert_eq(ask(f, &f->asker, &l.m), HL_OK);
    cr_assert_eq(l.failures, 6, "in all projects");
    hl_operation_clear(&l.m);
}

STORE_TEST(errors_beyond_the_most_frequent_are_a_number)
{
    struct hl_list_errors l = all_errors();
    char error[16];
    for (int i = 0; i < HL_ERRORS_MAX + 300; i++) { /* more than there is room for at first */
        snprintf(error, sizeof(error), "%d", i);
        fail_with(f, "a", error);
    }
    fail_with(f, "a", "7");
    cr_assert_eq(ask(f, &f->asker, &l.m), HL_OK);
    cr_assert_eq(l.count, HL_ERRORS_MAX);
    cr_assert_eq(l.kinds, HL_ERRORS_MAX + 300);
    cr_assert_eq(l.failures, HL_ERRORS_MAX + 301);
    expect_row(&l, 0, "a", "7", 2);
    snprintf(error, sizeof(error), "%d", HL_ERRORS_MAX + 299);
    expect_row(&l, 1, "a", error, 1);
    hl_operation_clear(&l.m);
}

#define FIRST_MS 0x1000000

/* Beside the ways of the store: 100,001 of them, the first a moment after FIRST_MS. Bytes of their ids are below 128, for SQLite
 * makes them of characters; they ended in 2100, for what is past its retention may go meanwhile. */
static void add_many(struct fixture *f)
{
    if (f->kind == HL_STORE_SQLITE)
        change(f,
            "WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n <= 100000)"
            " INSERT INTO result (number, run_id, finished_ms, reason, http_status, content_type,"
            " content_encoding, encoding, escaped_size, body_where, body_size, app_id, is_async, "
            "state,"
            " error) SELECT 1000000 + n, CAST(char(0, 0, 1, n / 16384, n / 128 % 128, n % 128, "
            "112, 0, 0, 0,"
            " 0, 0, 0, 0, 0, 0) AS BLOB), 4102444800000, 1, 500, '', '', 0, 0, 0, 0, 1, 1, 3, "
            "'alike' FROM i");
    else
        change(f, "INSERT INTO ~.run (run_id, project, app, state, is_async, has_webhook, "
                  "created_ms, method,"
                  " path, request_where, request_size, reason, error)"
                  " SELECT rpad(lpad(to_hex(16777216 + n), 12, '0') || '7', 32, '0')::uuid, 'p', "
                  "'a', 3, true,"
                  " false, 16777216 + n, 'POST', '/run', 0, 0, 1, 'alike' FROM generate_series(1, "
                  "100001) AS n");
}

STORE_TEST(errors_of_more_runs_than_are_looked_at_are_counted_since_a_later_time)
{
    struct hl_list_errors l = all_errors();
    if (f->kind == HL_STORE_MEMORY)
        return;
    struct hl_id id;
    cr_assert_eq(accept_run(f, (struct run_spec){.project = "p", .app = "a"}, &id), HL_OK);
    add_many(f);
    cr_assert_eq(ask(f, &f->asker, &l.m), HL_OK);
    cr_assert_eq(l.failures, HL_ERROR_LOOKS);
    cr_assert_eq(l.counted_ms, FIRST_MS + 2);
    expect_row(&l, 0, "a", "alike", HL_ERROR_LOOKS);
    cr_assert_eq(l.rows[0].first_ms, FIRST_MS + 2);
    hl_operation_clear(&l.m);
    l.since_ms = FIRST_MS + 3;
    cr_assert_eq(ask(f, &f->asker, &l.m), HL_OK);
    cr_assert_eq(l.failures, HL_ERROR_LOOKS - 1);
    cr_assert_eq(l.counted_ms, FIRST_MS + 3);
    hl_operation_clear(&l.m);
}
