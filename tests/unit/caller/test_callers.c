/* test_callers.c - the callers of a worker together: places, and their end. */
#include "caller/callers.h"

#include <criterion/criterion.h>

#include "caller/client.h"
#include "callers_fixture.h"
#include "loop_fixture.h"

#define OK     "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
#define GET    "GET /x HTTP/1.1\r\nHost: h\r\n\r\n"
#define SPARES 16

static void begin(void)
{
    loop_begin();
    callers_begin();
}

static void end(void)
{
    callers_end();
    loop_end();
}

TestSuite(callers, .init = begin, .fini = end, .timeout = 180);

static void ask(int caller)
{
    unsigned heads = taker.heads;
    caller_say(caller, GET);
    UNTIL(taker.heads == heads + 1);
}

Test(callers, know_where_each_one_calls_from)
{
    ask(caller_call());
    cr_assert_str_eq(taker.client->peer, "127.0.0.1");
    cr_assert_not(taker.client->is_peer_trusted);
}

Test(callers, close_the_one_that_is_idle_for_longest_when_all_places_are_taken)
{
    callers.max = 2;
    int first = caller_call(), second = caller_call();
    ask(first); /* it was idle for longer than the second, but is so no more */
    answer_with(OK);
    cr_assert(hl_callers_have_room(&callers));
    UNTIL(caller_ending(second) == 0);
    cr_assert_eq(hl_counter_get(&metrics.connections_shed), 1);
    cr_assert_eq(caller_ending(first), -1);
}

Test(callers, close_none_that_is_in_a_call)
{
    callers.max = 1;
    int busy = caller_call();
    ask(busy);
    cr_assert(hl_callers_have_room(&callers), "for a health check");
    loop_turns(5);
    cr_assert_eq(caller_ending(busy), -1);
    cr_assert_eq(hl_counter_get(&metrics.connections_shed), 0);
}

Test(callers, have_room_for_a_few_health_checks_more)
{
    callers.max = 1;
    ask(caller_call());
    callers.spares_taken = SPARES - 1;
    cr_assert(hl_callers_have_room(&callers));
    callers.spares_taken = SPARES;
    cr_assert_not(hl_callers_have_room(&callers));
    callers.spares_taken = 0;
}

Test(callers, end_between_calls_at_once_and_in_a_call_after_it)
{
    int idle = caller_call(), busy = caller_call();
    ask(idle);
    answer_with(OK);
    ask(busy);
    hl_callers_close(&callers);
    UNTIL(caller_ending(idle) == 0);
    cr_assert_eq(caller_ending(busy), -1);
    cr_assert(hl_client_closes_after(taker.client));
    answer_with(OK);
    UNTIL(caller_ending(busy) == 0);
    UNTIL(callers.count == 0);
}

Test(callers, let_one_that_has_just_come_say_what_it_wants)
{
    int fresh = caller_call();
    hl_callers_close(&callers);
    ask(fresh);
    answer_with(OK);
    UNTIL(caller_ending(fresh) == 0);
}

Test(callers, are_cut_in_the_middle_of_their_calls)
{
    int idle = caller_call(), busy = caller_call();
    ask(busy);
    hl_callers_cut(&callers);
    cr_assert_eq(taker.told.gone, 1);
    UNTIL(caller_ending(idle) == 0 && caller_ending(busy) == 0);
    UNTIL(callers.count == 0);
}

/* ---- what is counted ---- */

static uint64_t counted(unsigned class)
{
    return hl_counter_get(&metrics.requests[HL_METHOD_GET][HL_MODE_OTHER][class]);
}

Test(callers, are_counted_by_how_each_request_ended_for_them)
{
    int caller = caller_call();
    ask(caller);
    cr_assert_eq(counted(2), 0, "not before its end");
    answer_with(OK);
    cr_assert_eq(counted(2), 1);

    ask(caller);
    struct hl_client *c = taker.client;
    taker.client = NULL;
    c->status = 200;
    hl_client_call_done(c, false);
    cr_assert_eq(counted(HL_CODE_CLASS_CUT), 1, "what is cut is no success");

    caller = caller_call();
    ask(caller);
    caller_end(caller);
    UNTIL(taker.told.gone == 1);
    cr_assert_eq(counted(0), 1, "one who left before an answer");
    cr_assert_eq(counted(2), 1);
}
