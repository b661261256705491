/* test_error.c - what the app said went wrong: it stays with a run that failed, on all stores. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "fixture.h"
#include "store/claim.h"
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
    if (f->config.store != HL_STORE_MEMORY)
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
    hl_list_runs_fini(&l);
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
