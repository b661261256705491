/* test_log.c - what is kept of the log about a run that failed: with its finish, and as long as the run. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "store/claim.h"
#include "store/question.h"

#define LINES "{\"msg\":\"one\"}\n{\"msg\":\"two\"}\n"

/* A run that ends with these lines. */
static struct hl_id end_with(struct fixture *f, const char *lines)
{
    struct hl_id id;
    cr_assert_eq(accept_run(f, (struct run_spec){0}, &id), HL_OK);
    give_credit(f, &f->worker, 1, false);
    struct hl_claimed *c = party_wait(&f->worker, HL_STORE_CLAIMED);
    struct hl_finish *finish = make_finish(&id, c->epoch, "answer");
    finish->outcome.state = HL_RUN_FAILURE;
    finish->outcome.reason = HL_REASON_APP_ERROR;
    cr_assert_eq(hl_buf_append_str(&finish->log, hl_str_from(lines)), HL_OK);
    cr_assert_eq(ask(f, &f->worker, &finish->m), HL_OK);
    hl_finish_free(finish);
    hl_claimed_free(c);
    return id;
}

static void expect_log(struct fixture *f, const struct hl_id *id, bool with_log, const char *lines)
{
    struct hl_get_run g = {
        .m.msg.type = HL_STORE_GET_RUN, .run_id = *id, .with_log = with_log, .with_body = true};
    cr_assert_eq(ask(f, &f->asker, &g.m), HL_OK);
    cr_assert_eq(g.run.state, HL_RUN_FAILURE);
    cr_assert_eq(g.outcome.body.size, strlen("answer"));
    cr_assert(hl_str_eq(hl_buf_str(&g.log), hl_str_from(lines)), "%.*s", (int)g.log.n, g.log.p);
    hl_get_run_fini(&g);
}

STORE_TEST(log_of_a_failed_run_is_there_when_it_is_asked_for)
{
    struct hl_id with = end_with(f, LINES), without = end_with(f, "");
    expect_log(f, &with, true, LINES);
    expect_log(f, &with, false, "");
    expect_log(f, &without, true, "");
}

STORE_TEST(log_of_a_failed_run_is_there_after_a_restart)
{
    if (f->kind == HL_STORE_MEMORY)
        return;
    struct hl_id id = end_with(f, LINES);
    fixture_reopen(f);
    expect_log(f, &id, true, LINES);
}

STORE_TEST(a_log_may_be_as_long_as_it_may)
{
    static char lines[64 * 1024 + 1];
    memset(lines, 'x', sizeof(lines) - 2);
    lines[sizeof(lines) - 2] = '\n';
    struct hl_id id = end_with(f, lines);
    expect_log(f, &id, true, lines);
}

STORE_TEST(an_end_that_comes_too_late_leaves_no_log)
{
    struct hl_id id = end_with(f, LINES);
    struct hl_finish *finish = make_finish(&id, 1, "answer");
    finish->outcome.state = HL_RUN_FAILURE;
    cr_assert_eq(hl_buf_append_str(&finish->log, HL_STR("late\n")), HL_OK);
    cr_assert_eq(ask(f, &f->worker, &finish->m), HL_ERR_STALE);
    hl_finish_free(finish);
    expect_log(f, &id, true, LINES);
}

Test(sqlite, a_log_goes_with_its_run)
{
    struct fixture f;
    fixture_init(&f, HL_STORE_SQLITE);
    fixture_open(&f);
    end_with(&f, LINES);
    cr_assert_eq(query(&f, "SELECT count(*) FROM run_log"), 1);
    fixture_set_retention(&f, 1);
    fixture_reopen(&f);
    for (int i = 0; i < 2000 && query(&f, "SELECT count(*) FROM run") > 0; i++)
        settle(&f);
    cr_assert_eq(query(&f, "SELECT count(*) FROM run"), 0);
    cr_assert_eq(query(&f, "SELECT count(*) FROM run_log"), 0);
    fixture_fini(&f);
}
