/* test_recent_run.c - the synchronous runs that a worker remembers: which, what of them, and what is
 * answered about them. */
#include "run/recent_run.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "run/run.h"
#include "run/runs.h"

#define MOST 16

static const char *tags; /* of the calls that come */
static _Atomic uint32_t total;
static struct hl_runs runs;
static struct hl_run all[MOST];
static unsigned begun;
static struct hl_recent_ask question;

static void begin(void)
{
    hl_recent_init(&runs.recent, &total);
    question.state = -1;
}

static void drop_rows(void)
{
    for (uint32_t i = 0; i < question.count; i++)
        free(question.rows[i].tags);
    free(question.rows);
}

static void end(void)
{
    drop_rows();
    hl_recent_fini(&runs.recent);
}

TestSuite(recent_run, .init = begin, .fini = end);

/* ---- calls ---- */

/* The nth has the id n and began at n * 1000 ms. */
static struct hl_run *call_numbered(unsigned n, const char *app, const char *target)
{
    struct hl_run *run = &all[begun++];
    struct hl_plan plan = {.project = HL_STR("p"),
        .app = hl_str_from(app),
        .target = hl_str_from(target),
        .tags = hl_str_from(tags)};
    struct hl_head head = {
        .method = HL_STR("POST"), .framing = HL_FRAMING_LENGTH, .content_length = 7};
    run->runs = &runs;
    run->id.b[15] = (uint8_t)n;
    run->times.started_ms = (int64_t)n * 1000;
    run->response.size = HL_RECENT_UNKNOWN;
    hl_recent_begin(run, &plan, &head);
    hl_recent_set_owner(run, n, HL_STR("ann"));
    return run;
}

static struct hl_run *call(void)
{
    return call_numbered(begun + 1, "a", "/run");
}

static void finish(struct hl_run *run)
{
    run->response.status = 200;
    hl_recent_end(run, HL_RUN_SUCCESS, HL_REASON_NONE, 5);
}

/* ---- questions ---- */

static struct hl_run *ask(enum hl_recent_question what)
{
    drop_rows();
    question.rows = NULL;
    question.count = 0;
    question.has_more = false;
    question.question = what;
    return hl_recent_answer(&runs.recent, &question);
}

static void ask_for(unsigned n)
{
    question.id = (struct hl_id){{0}};
    question.id.b[15] = (uint8_t)n;
}

/* The numbers of the rows that a list has, as they stand there. */
static const char *listed(uint32_t limit)
{
    static char text[128];
    size_t n = 0;
    question.limit = limit;
    ask(HL_RECENT_LIST);
    cr_assert_eq(question.rc, HL_OK);
    text[0] = '\0';
    for (uint32_t i = 0; i < question.count; i++)
        n += (size_t)snprintf(
            text + n, sizeof(text) - n, "%s%u", i ? " " : "", question.rows[i].id.b[15]);
    if (question.has_more)
        snprintf(text + n, sizeof(text) - n, " and more");
    return text;
}

static const struct hl_recent_run *row(unsigned n)
{
    ask_for(n);
    ask(HL_RECENT_GET);
    cr_assert_eq(question.rc, HL_OK);
    cr_assert_eq(question.count, 1);
    return &question.rows[0];
}

/* ---- what is remembered ---- */

Test(recent_run, knows_a_run_from_its_beginning)
{
    call();
    const struct hl_recent_run *r = row(1);
    cr_assert_eq(r->state, HL_RUN_RUNNING);
    cr_assert_eq(r->created_ms, 1000);
    cr_assert_eq(r->http_status, 0);
    cr_assert_str_eq(r->method, "POST");
    cr_assert_eq(r->request_size, 7);
    cr_assert_eq(r->response_size, HL_RECENT_UNKNOWN);
    cr_assert(hl_str_eq(hl_recent_project(r), HL_STR("p")));
    cr_assert(hl_str_eq(hl_recent_app(r), HL_STR("a")));
    cr_assert(hl_str_eq(hl_recent_path(r), HL_STR("/run")));
    cr_assert_eq(r->owner, 1);
    cr_assert(hl_str_eq(hl_recent_subject(r), HL_STR("ann")));
}

Test(recent_run, knows_how_a_run_ended)
{
    struct hl_run *run = call();
    run->response.status = 500;
    run->response.size = 30;
    hl_recent_end(run, HL_RUN_FAILURE, HL_REASON_APP_ERROR, 250);
    const struct hl_recent_run *r = row(1);
    cr_assert(r->state == HL_RUN_FAILURE && r->reason == HL_REASON_APP_ERROR);
    cr_assert_eq(r->http_status, 500);
    cr_assert_eq(r->response_size, 30);
    cr_assert_eq(r->finished_ms, 1250);
}

Test(recent_run, sees_what_a_run_that_goes_on_has_been_answered)
{
    struct hl_run *run = call();
    cr_assert_eq(row(1)->mode, HL_RECENT_SYNC);
    run->response.status = 200;
    run->response.is_event_stream = true;
    cr_assert_eq(row(1)->mode, HL_RECENT_STREAM);
    cr_assert_eq(row(1)->http_status, 200);
    run->response.status = 101;
    cr_assert_eq(row(1)->mode, HL_RECENT_WEBSOCKET);
}

Test(recent_run, keeps_no_query)
{
    call_numbered(1, "a", "/run?token=secret");
    cr_assert(hl_str_eq(hl_recent_path(row(1)), HL_STR("/run")));
}

Test(recent_run, cuts_a_path_that_is_too_long)
{
    char path[2 * HL_RECENT_TEXT];
    memset(path, 'x', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    call_numbered(1, "app", path);
    const struct hl_recent_run *r = row(1);
    cr_assert(hl_str_eq(hl_recent_app(r), HL_STR("app")));
    cr_assert_eq(r->project_n + r->app_n + r->path_n, HL_RECENT_TEXT);
}

Test(recent_run, forgets_the_one_that_ended_first_when_there_are_enough)
{
    struct hl_run *first = call(), *second = call();
    call();
    finish(second);
    finish(first);
    total = HL_RECENT_MAX;
    call();
    cr_assert_str_eq(listed(10), "4 3 1");
    cr_assert_eq(total, HL_RECENT_MAX, "its place was taken");
}

Test(recent_run, never_forgets_one_that_goes_on)
{
    call();
    total = HL_RECENT_MAX;
    call();
    cr_assert_str_eq(listed(10), "2 1");
    cr_assert_eq(total, HL_RECENT_MAX + 1);
}

Test(recent_run, leaves_a_run_to_the_store_when_that_lists_it)
{
    struct hl_run *run = call();
    hl_recent_forget(run);
    cr_assert_str_eq(listed(10), "");
    cr_assert_eq(total, 0);
    hl_recent_end(run, HL_RUN_SUCCESS, HL_REASON_NONE, 1); /* harmless */
    hl_recent_forget(run);
}

/* ---- lists ---- */

Test(recent_run, lists_the_newest_first_and_says_that_there_are_more)
{
    for (int i = 0; i < 4; i++)
        finish(call());
    cr_assert_str_eq(listed(10), "4 3 2 1");
    cr_assert_str_eq(listed(4), "4 3 2 1");
    cr_assert_str_eq(listed(3), "4 3 2 and more");
}

Test(recent_run, goes_on_below_an_id)
{
    for (int i = 0; i < 4; i++)
        finish(call());
    ask_for(3);
    cr_assert_str_eq(listed(10), "2 1");
    ask_for(1);
    cr_assert_str_eq(listed(10), "");
}

Test(recent_run, lists_by_state)
{
    finish(call());
    call();
    question.state = HL_RUN_RUNNING;
    cr_assert_str_eq(listed(10), "2");
    question.state = HL_RUN_SUCCESS;
    cr_assert_str_eq(listed(10), "1");
    question.state = -1;
    cr_assert_str_eq(listed(10), "2 1");
}

Test(recent_run, lists_by_time_from_the_first_moment_on_and_before_the_last)
{
    for (int i = 0; i < 4; i++)
        call();
    question.since_ms = 2000;
    cr_assert_str_eq(listed(10), "4 3 2");
    question.until_ms = 4000;
    cr_assert_str_eq(listed(10), "3 2");
}

/* That none of their texts is lost or used twice is the sanitizer's to say. */
Test(recent_run, lists_by_tags_and_has_them)
{
    static const char *const each[] = {"tier=gold,order=1", NULL, "tier=silver", "tier=gold"};
    for (size_t i = 0; i < HL_ARRAY_LEN(each); i++) {
        tags = each[i];
        finish(call());
    }
    cr_assert_str_eq(row(1)->tags, "tier=gold,order=1");
    cr_assert_null(row(2)->tags);
    question.id = (struct hl_id){{0}};
    cr_assert(hl_search_add_tag(HL_STR("tier"), &question.search));
    cr_assert_str_eq(listed(10), "4 3 1");
    cr_assert_str_eq(listed(1), "4 and more");
    cr_assert(hl_search_add_tag(HL_STR("tier=gold"), &question.search));
    cr_assert_str_eq(listed(10), "4 1");
    cr_assert(hl_search_add_tag(HL_STR("order=1"), &question.search));
    cr_assert_str_eq(listed(10), "1");
    total = HL_RECENT_MAX;
    tags = "tier=gold,order=1";
    call();
    cr_assert_str_eq(listed(10), "5", "it has the place of the first");
}

Test(recent_run, lists_by_project_and_app)
{
    call_numbered(1, "a", "/");
    call_numbered(2, "b", "/");
    strcpy(question.app, "b");
    cr_assert_str_eq(listed(10), "2");
    strcpy(question.project, "other");
    cr_assert_str_eq(listed(10), "");
}

Test(recent_run, lists_by_id_although_the_clock_was_set_back)
{
    static const unsigned order[] = {5, 6, 2, 3, 7};
    for (size_t i = 0; i < HL_ARRAY_LEN(order); i++)
        call_numbered(order[i], "a", "/");
    cr_assert_str_eq(listed(10), "7 6 5 3 2");
    cr_assert_str_eq(listed(2), "7 6 and more");
    ask_for(6);
    cr_assert_str_eq(listed(2), "5 3 and more");
}

/* ---- one run ---- */

Test(recent_run, does_not_find_what_is_another_projects)
{
    call();
    ask_for(1);
    strcpy(question.project, "other");
    ask(HL_RECENT_GET);
    cr_assert_eq(question.rc, HL_ERR_NOT_FOUND);
    cr_assert_null(ask(HL_RECENT_CANCEL));
    cr_assert_eq(question.rc, HL_ERR_NOT_FOUND);
}

Test(recent_run, says_which_run_a_cancel_is_about)
{
    struct hl_run *run = call();
    call();
    ask_for(1);
    cr_assert_eq(ask(HL_RECENT_CANCEL), run);
    cr_assert_eq(question.rc, HL_OK);
    finish(run);
    cr_assert_null(ask(HL_RECENT_CANCEL));
    cr_assert_eq(question.rc, HL_ERR_CONFLICT, "it has ended already");
    ask_for(9);
    cr_assert_null(ask(HL_RECENT_CANCEL));
    cr_assert_eq(question.rc, HL_ERR_NOT_FOUND);
}
