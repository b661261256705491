/* test_client.c - a caller's connection: requests one after the other, their bodies, its deadlines,
 * its ends. */
#include "caller/client.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "callers_fixture.h"
#include "config/config.h"
#include "loop_fixture.h"

#define OK   "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
#define GET  "GET /x HTTP/1.1\r\nHost: h\r\n\r\n"
#define POST "POST /x HTTP/1.1\r\nHost: h\r\n"

static int caller;

static void begin(void)
{
    loop_begin();
    callers_begin();
    caller = caller_call();
}

static void end(void)
{
    callers_end();
    loop_end();
}

TestSuite(client, .init = begin, .fini = end, .timeout = 180);

static bool has_heard(const char *part)
{
    static char text[65536];
    static size_t n;
    n += (size_t)snprintf(text + n, sizeof(text) - n, "%s", caller_hear(caller));
    return strstr(text, part) != NULL;
}

static const char *body(void)
{
    return taker.told.body;
}

/* A request has come, and its taker has it. */
static void ask(const char *text)
{
    unsigned heads = taker.heads;
    caller_say(caller, text);
    UNTIL(taker.heads == heads + 1);
}

/* ---- requests ---- */

Test(client, gives_a_request_and_its_body_to_its_taker)
{
    ask(POST "Content-Length: 5\r\n\r\nhel");
    cr_assert_str_eq(taker.told.target, "/x");
    UNTIL(taker.told.body_n == 3);
    cr_assert_eq(taker.told.ended, 0);
    caller_say(caller, "lo");
    UNTIL(taker.told.ended == 1);
    cr_assert_str_eq(body(), "hello");
    answer_with(OK);
    UNTIL(has_heard(OK));
}

Test(client, takes_a_chunked_body_apart)
{
    ask(POST "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x\r\nde\r\n0\r\nX-Sum: 1\r\n\r\n");
    UNTIL(taker.told.ended == 1);
    cr_assert_str_eq(body(), "abcde");
    cr_assert_str_eq(taker.told.trailer, "X-Sum: 1\r\n");
}

Test(client, puts_a_head_together_from_its_pieces)
{
    for (const char *p = GET; *p; p++) {
        char piece[2] = {*p, '\0'};
        cr_assert_eq(taker.heads, 0);
        caller_say(caller, piece);
        loop_turns(1);
    }
    UNTIL(taker.heads == 1);
}

Test(client, begins_a_request_when_the_one_before_it_is_answered)
{
    ask(GET "GET /second HTTP/1.1\r\nHost: h\r\n\r\n");
    loop_turns(5);
    cr_assert_eq(taker.heads, 1);
    answer_with(OK);
    UNTIL(taker.heads == 2);
    cr_assert_str_eq(taker.told.target, "/second");
}

Test(client, gives_no_byte_to_a_taker_that_is_full)
{
    taker.is_blocked = true;
    ask(POST "Content-Length: 5\r\n\r\nhello");
    loop_turns(5);
    cr_assert_eq(taker.told.body_n, 0);
    cr_assert_not(taker.client->stream.is_reading, "nor reads on");
    taker.is_blocked = false;
    hl_client_resume(taker.client);
    UNTIL(taker.told.ended == 1);
    cr_assert_str_eq(body(), "hello");
}

Test(client, begins_a_head_again_when_its_token_was_looked_at)
{
    taker.later = 1;
    caller_say(caller, GET);
    UNTIL(taker.client);
    cr_assert_eq(taker.client->state, HL_CLIENT_AUTH);
    loop_turns(5);
    cr_assert_eq(taker.heads, 0);
    hl_client_on_checked(&taker.client->wait);
    cr_assert_eq(taker.heads, 1);
    cr_assert_str_eq(taker.told.target, "/x");
    answer_with(OK);
    UNTIL(has_heard(OK));
}

Test(client, says_continue_once_and_only_to_one_who_waits_for_it)
{
    ask(POST "Expect: 100-continue\r\nContent-Length: 1\r\n\r\n");
    cr_assert_eq(hl_client_say_continue(taker.client), HL_OK);
    cr_assert_eq(hl_client_say_continue(taker.client), HL_OK);
    caller_say(caller, "x");
    UNTIL(taker.told.ended == 1);
    answer_with(OK);
    UNTIL(has_heard("HTTP/1.1 100 Continue\r\n\r\n" OK));
    ask(POST "Content-Length: 1\r\n\r\n");
    cr_assert_eq(hl_client_say_continue(taker.client), HL_OK);
    caller_say(caller, "x");
    UNTIL(taker.told.ended == 1);
    answer_with(OK);
    UNTIL(has_heard("HTTP/1.1 100 Continue\r\n\r\n" OK OK));
}

/* ---- what is refused ---- */

static void assert_refused(const char *request, const char *line)
{
    caller_say(caller, request);
    UNTIL(has_heard(line));
    UNTIL(has_heard("\r\nConnection: close\r\n"));
    UNTIL(caller_ending(caller) == 0);
    cr_assert_eq(taker.heads, 0);
}

Test(client, refuses_what_is_no_http)
{
    assert_refused("\x16\x03\x01", "HTTP/1.1 400 Bad Request\r\n");
}

Test(client, refuses_a_head_that_is_too_large)
{
    char request[6000] = "GET /x HTTP/1.1\r\nHost: h\r\nX: ";
    memset(request + strlen(request), 'x', sizeof(request) - strlen(request) - 1);
    assert_refused(request, "HTTP/1.1 431 ");
}

Test(client, refuses_a_head_that_does_not_come_whole)
{
    config.head_timeout_ms = 1;
    assert_refused("GET /x HT", "HTTP/1.1 408 Request Timeout\r\n");
}

Test(client, gives_the_answer_to_a_refused_head_request_no_content)
{
    caller_say(caller, "HEAD /x HTTP/1.1\r\n\r\n"); /* without Host */
    UNTIL(has_heard("HTTP/1.1 400 Bad Request\r\n"));
    UNTIL(has_heard("\r\n\r\n"));
    cr_assert_not(has_heard("{"));
}

Test(client, fails_a_body_that_is_too_long_at_its_first_byte_too_many)
{
    taker.body_max = 4;
    ask(POST "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
    UNTIL(taker.told.body_n == 3);
    cr_assert_eq(taker.told.failed, 0);
    caller_say(caller, "2\r\nde\r\n");
    UNTIL(taker.told.failed == 1);
    cr_assert_eq(taker.told.status, 413);
    cr_assert_eq(taker.told.body_n, 3);
    UNTIL(has_heard("HTTP/1.1 413 "));
    UNTIL(caller_ending(caller) == 0);
}

Test(client, fails_a_body_that_is_broken)
{
    ask(POST "Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n");
    UNTIL(taker.told.failed == 1);
    cr_assert_eq(taker.told.status, 400);
    cr_assert_eq(taker.told.ended, 0);
    UNTIL(caller_ending(caller) == 0);
}

Test(client, fails_a_body_that_does_not_come)
{
    config.body_timeout_ms = 1;
    ask(POST "Content-Length: 5\r\n\r\nhe");
    UNTIL(taker.told.failed == 1);
    cr_assert_eq(taker.told.status, 408);
    UNTIL(caller_ending(caller) == 0);
}

Test(client, forgives_silence_while_it_owes_a_100)
{
    config.body_timeout_ms = 1;
    ask(POST "Expect: 100-continue\r\nContent-Length: 1\r\n\r\n");
    cr_assert_not(hl_timer_is_armed(&taker.client->timer));
    cr_assert_eq(hl_client_say_continue(taker.client), HL_OK);
    hl_client_resume(taker.client);
    UNTIL(taker.told.failed == 1);
    cr_assert_eq(taker.told.status, 408);
}

/* ---- between requests, and the end ---- */

Test(client, is_closed_when_it_is_idle_for_too_long)
{
    ask(GET);
    config.keepalive_timeout_ms = 1;
    answer_with(OK);
    UNTIL(caller_ending(caller) == 0);
}

static void closes_behind_its_answer(const char *request)
{
    ask(request);
    cr_assert(hl_client_closes_after(taker.client));
    answer_with(OK);
    UNTIL(has_heard(OK));
    UNTIL(caller_ending(caller) == 0);
}

Test(client, closes_behind_an_answer_to_one_who_asked_for_that)
{
    closes_behind_its_answer("GET /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
}

Test(client, closes_behind_an_answer_that_came_before_the_request_was_whole)
{
    closes_behind_its_answer(POST "Content-Length: 500000\r\n\r\nx");
}

/* Without lingering the caller's next bytes would be answered with RST, which destroys what it has
 * not read yet. */
Test(client, takes_what_still_comes_behind_its_last_answer)
{
    ask(POST "Content-Length: 500000\r\n\r\nx");
    struct hl_client *c = taker.client;
    answer_with(OK);
    cr_assert_eq(c->state, HL_CLIENT_LINGER);
    for (int i = 0; i < 10; i++) {
        caller_say(caller, "still sending");
        loop_turns(2);
    }
    UNTIL(has_heard(OK));
    cr_assert_eq(caller_ending(caller), 0);
    caller_end(caller);
    UNTIL(callers.count == 0);
}

Test(client, tells_its_taker_that_the_caller_has_gone)
{
    ask(GET);
    caller_end(caller);
    UNTIL(taker.told.gone == 1);
    UNTIL(callers.count == 0);
}

Test(client, is_gone_when_it_was_lost_between_requests)
{
    caller_end(caller);
    UNTIL(callers.count == 0);
    cr_assert_eq(taker.heads, 0);
}

static void cut_behind(const char *request, const char *response)
{
    ask(request);
    struct hl_client *c = taker.client;
    cr_assert_eq(hl_client_write2(c, hl_str_from(response), HL_STR("")), HL_OK);
    UNTIL(has_heard(response));
    hl_client_call_done(c, false);
    taker.client = NULL;
    UNTIL(caller_ending(caller) >= 0);
}

Test(client, breaks_a_response_off_with_a_fin_where_that_shows)
{
    cut_behind(GET, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab");
    cr_assert_eq(caller_ending(caller), 0);
}

Test(client, breaks_a_response_off_with_a_reset_where_a_fin_would_be_its_end)
{
    ask("GET /x HTTP/1.0\r\n\r\n");
    struct hl_client *c = taker.client;
    cr_assert_eq(
        hl_client_write2(c, HL_STR("HTTP/1.1 200 OK\r\n\r\nab"), (struct hl_str){NULL, 0}), HL_OK);
    hl_client_call_done(c, false);
    taker.client = NULL;
    int ending;
    UNTIL((ending = caller_ending(caller)) >= 0);
    cr_assert_eq(ending, ECONNRESET);
}

Test(client, takes_no_next_request_of_a_caller_who_does_not_read)
{
    size_t n = 16u << 20; /* more than the kernel's buffers hold */
    char *much = malloc(n);
    memset(much, 'x', n);
    ask(GET);
    struct hl_client *c = taker.client;
    cr_assert_eq(hl_client_write2(c, (struct hl_str){much, n}, (struct hl_str){NULL, 0}), HL_OK);
    cr_assert(hl_stream_is_blocked(&c->stream));
    hl_client_call_done(c, true);
    caller_say(caller, GET);
    loop_turns(5);
    cr_assert_eq(taker.heads, 1);
    UNTIL_WITH(caller_hear(caller), taker.heads == 2);
    free(much);
}

Test(client, loses_a_caller_who_takes_nothing_for_too_long)
{
    size_t n = 16u << 20;
    char *much = calloc(1, n);
    ask(GET);
    struct hl_client *c = taker.client;
    cr_assert_eq(hl_client_write2(c, (struct hl_str){much, n}, (struct hl_str){NULL, 0}), HL_OK);
    cr_assert(hl_timer_is_armed(&c->timer));
    UNTIL_WITH(hl_client_on_timer(&c->timer), taker.told.gone == 1); /* as if it were over */
    UNTIL(callers.count == 0);
    free(much);
}

/* ---- tunnels ---- */

Test(client, passes_a_tunnels_bytes_as_they_are)
{
    ask(GET);
    hl_client_become_tunnel(taker.client);
    caller_say(caller, "GET / HTTP/9\n\n");
    UNTIL(taker.told.body_n == 14);
    cr_assert_str_eq(body(), "GET / HTTP/9\n\n");
    cr_assert_eq(hl_client_write2(taker.client, HL_STR("back"), HL_STR("wards")), HL_OK);
    UNTIL(has_heard("backwards"));
}

Test(client, goes_on_with_a_tunnel_whose_caller_has_ended_its_side)
{
    ask(GET);
    hl_client_become_tunnel(taker.client);
    caller_end(caller);
    UNTIL(taker.told.ended == 1);
    cr_assert_eq(taker.told.gone, 0);
    cr_assert_eq(hl_client_write2(taker.client, HL_STR("late"), HL_STR("")), HL_OK);
    UNTIL(has_heard("late"));
}
