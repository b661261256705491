/* test_acceptance.c - an asynchronous call up to its 202, with a store that answers when the test
 * says. */
#include "caller/client.h"
#include "callers_fixture.h"
#include "config/config.h"
#include "fake_store.h"
#include "loop_fixture.h"
#include "run/acceptance.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/progress.h"
#include "run/run.h"
#include "runs_fixture.h"
#include "store/accept.h"

static int caller;
static struct hl_run *run;

static void begin(void)
{
    runs_begin();
    config.max_request_body = 64;
}

TestSuite(acceptance, .init = begin, .fini = runs_end, .timeout = 180);

/* A call's head has come; its taker is acceptance's. */
static void call(const char *request)
{
    unsigned heads = taker.heads;
    caller = caller_call();
    taker.is_blocked = true;
    caller_say(caller, request);
    UNTIL(taker.heads == heads + 1);
    run = run_new();
    run->client = taker.client;
    run->store.accept = calloc(1, sizeof(*run->store.accept));
    run->store.accept->run_id = run->id;
    taker.client = NULL;
    hl_progress_record(run, HL_RECORD_DUE);
    hl_counter_add(&metrics.calls_in_flight, 1);
    hl_client_give_to(run->client, &hl_acceptance_taker, run);
    hl_acceptance_begin(run, 0);
    if (run->client)
        hl_client_resume(run->client);
}

#define POST "POST /x HTTP/1.1\r\nHost: h\r\n"

static void call_with_body(void)
{
    call(POST "Content-Length: 5\r\n\r\nhello");
    UNTIL(fake_store.count == 1);
}

static struct hl_accept *take_accept(void)
{
    return HL_CONTAINER_OF(fake_store_take(HL_STORE_ACCEPT), struct hl_accept, m);
}

static void answer(enum hl_err rc)
{
    struct hl_accept *a = take_accept();
    a->m.rc = rc;
    hl_acceptance_on_reply(&runs, a);
}

static const char *heard(void)
{
    static char text[8192];
    UNTIL(*strcpy(text, caller_hear(caller)));
    return text;
}

static void assert_refused(const char *line)
{
    const char *text = heard();
    cr_assert_eq(strncmp(text, line, strlen(line)), 0, "%s", text);
    cr_assert_eq(run_count(), 0);
    cr_assert_eq(hl_counter_get(&metrics.async_refused), 1);
    cr_assert_eq(hl_counter_get(&metrics.calls_in_flight), 0);
}

/* ---- accepted ---- */

Test(acceptance, answers_202_when_the_store_has_the_run_and_not_before)
{
    call_with_body();
    cr_assert_eq(run->store.record, HL_RECORD_ACCEPTING);
    loop_turns(5);
    cr_assert_str_eq(caller_hear(caller), "");
    char id[HL_ID_TEXT + 1] = "", body[64];
    hl_id_format(&run->id, id);
    snprintf(body, sizeof(body), "\r\n\r\n{\"run_id\":\"%s\"}", id);
    answer(HL_OK);
    const char *text = heard();
    cr_assert_eq(strncmp(text, "HTTP/1.1 202 Accepted\r\n", 23), 0);
    cr_assert(strstr(text, body), "%s", text);
    cr_assert_eq(run_count(), 0);
    cr_assert_eq(hl_counter_get(&metrics.async_refused), 0);
}

Test(acceptance, gives_the_store_the_whole_body)
{
    call(POST "Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n");
    loop_turns(3);
    cr_assert_eq(fake_store.count, 0);
    caller_say(caller, "2\r\nlo\r\n0\r\n\r\n");
    UNTIL(fake_store.count == 1);
    struct hl_accept *a = take_accept();
    cr_assert_eq(a->body.size, 5);
    cr_assert_eq(memcmp(a->body.bytes, "hello", 5), 0);
    a->m.rc = HL_OK;
    hl_acceptance_on_reply(&runs, a);
}

Test(acceptance, knows_a_call_without_a_body)
{
    call(POST "\r\n");
    UNTIL(fake_store.count == 1);
    struct hl_accept *a = take_accept();
    cr_assert_eq(a->body.where, HL_BODY_NONE);
    a->m.rc = HL_OK;
    hl_acceptance_on_reply(&runs, a);
    cr_assert_eq(strncmp(heard(), "HTTP/1.1 202 ", 13), 0);
}

Test(acceptance, names_the_earlier_run_of_a_key)
{
    call_with_body();
    struct hl_accept *a = take_accept();
    a->run_id = (struct hl_id){{0xab}};
    a->m.rc = HL_ERR_EXISTS;
    hl_acceptance_on_reply(&runs, a);
    const char *text = heard();
    cr_assert_eq(strncmp(text, "HTTP/1.1 202 ", 13), 0);
    cr_assert(strstr(text, "{\"run_id\":\"ab000000-0000-0000-0000-000000000000\"}"));
}

Test(acceptance, says_that_a_preference_was_followed)
{
    call_with_body();
    run->caller.is_preference_applied = true;
    answer(HL_OK);
    cr_assert(strstr(heard(), "\r\nPreference-Applied: respond-async\r\n"));
}

Test(acceptance, asks_a_caller_who_waits_for_it_for_the_body)
{
    call(POST "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    cr_assert_str_eq(heard(), "HTTP/1.1 100 Continue\r\n\r\n");
    caller_say(caller, "ok");
    UNTIL(fake_store.count == 1);
    answer(HL_OK);
    cr_assert_eq(strncmp(heard(), "HTTP/1.1 202 ", 13), 0);
}

/* ---- refused ---- */

static const struct {
    enum hl_err rc;
    const char *line;
} refusals[] = {
    {HL_ERR_CONFLICT, "HTTP/1.1 422 "},
    {HL_ERR_BUSY, "HTTP/1.1 429 "},
    {HL_ERR_FULL, "HTTP/1.1 503 "},
    {HL_ERR_IO, "HTTP/1.1 503 "},
    {HL_ERR_TIMEOUT, "HTTP/1.1 503 "},
    {HL_ERR_UNAVAILABLE, "HTTP/1.1 503 "},
};

Test(acceptance, says_why_the_store_refused_a_run)
{
    for (size_t i = 0; i < HL_ARRAY_LEN(refusals); i++) {
        metrics.async_refused = (struct hl_counter){0};
        call_with_body();
        answer(refusals[i].rc);
        assert_refused(refusals[i].line);
    }
}

Test(acceptance, says_of_a_run_in_doubt_that_it_may_have_been_accepted)
{
    call_with_body();
    char id[HL_ID_TEXT + 1] = "";
    hl_id_format(&run->id, id);
    answer(HL_ERR_TIMEOUT);
    const char *text = heard();
    cr_assert(strstr(text, "may have been accepted"), "%s", text);
    cr_assert(strstr(strstr(text, "\r\n\r\n"), id), "%s", text);
    cr_assert_null(strstr(text, "Retry-After"), "%s", text);
    cr_assert_eq(run_count(), 0);
}

Test(acceptance, refuses_a_run_that_the_store_does_not_even_hear_of)
{
    fake_store.refusal = HL_ERR_BUSY;
    call(POST "Content-Length: 5\r\n\r\nhello");
    assert_refused("HTTP/1.1 503 ");
}

Test(acceptance, refuses_a_body_that_is_too_large)
{
    char request[256];
    snprintf(request, sizeof(request), POST "Content-Length: 65\r\n\r\n%065d", 0);
    call(request);
    assert_refused("HTTP/1.1 413 ");
    cr_assert_eq(fake_store.count, 0);
}

/* ---- the caller leaves ---- */

Test(acceptance, forgets_a_call_whose_caller_leaves_before_it_is_whole)
{
    call(POST "Content-Length: 5\r\n\r\nhe");
    caller_end(caller);
    UNTIL(run_count() == 0);
    cr_assert_eq(fake_store.count, 0);
    cr_assert_eq(hl_counter_get(&metrics.callers_gone), 1);
    cr_assert_eq(hl_counter_get(&metrics.calls_in_flight), 0);
}

Test(acceptance, goes_on_without_its_caller_once_the_store_has_it)
{
    call_with_body();
    caller_end(caller);
    UNTIL(!run->client);
    cr_assert_eq(run_count(), 1);
    answer(HL_OK);
    cr_assert_eq(run_count(), 0);
    cr_assert_eq(hl_counter_get(&metrics.calls_in_flight), 0);
    cr_assert_str_eq(caller_hear(caller), "");
}

Test(acceptance, forgets_a_call_whose_body_is_broken)
{
    call(POST "Transfer-Encoding: chunked\r\n\r\nx\r\n");
    cr_assert_eq(strncmp(heard(), "HTTP/1.1 400 ", 13), 0);
    cr_assert_eq(run_count(), 0);
    cr_assert_eq(fake_store.count, 0);
}
