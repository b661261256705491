/* test_departure.c - callers who leave while nothing is read from them. */
#include "caller/client.h"
#include "caller/departure.h"

#include <criterion/criterion.h>

#include "callers_fixture.h"
#include "loop_fixture.h"

#define POST "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 900\r\n\r\nunread"

static int caller;

/* A caller whose body has to wait. */
static void begin(void)
{
    loop_begin();
    callers_begin();
    taker.is_blocked = true;
    caller = caller_call();
    caller_say(caller, POST);
    UNTIL(taker.client && !taker.client->stream.is_reading);
}

static void end(void)
{
    callers_end();
    loop_end();
}

TestSuite(departure, .init = begin, .fini = end, .timeout = 180);

Test(departure, is_found_behind_bytes_that_nobody_reads)
{
    caller_say(caller, "more that is not read");
    cr_assert_not(hl_client_has_left(taker.client));
    caller_end(caller);
    UNTIL(taker.told.gone == 1);
    cr_assert_eq(taker.told.body_n, 0);
}

Test(departure, is_none_of_a_call_that_goes_on_without_its_caller)
{
    taker.needs_caller = false;
    caller_end(caller);
    UNTIL(hl_stream_has_peer_left(&taker.client->stream));
    cr_assert_not(hl_client_has_left(taker.client));
    taker.needs_caller = true;
    cr_assert(hl_client_has_left(taker.client));
}

Test(departure, looks_on_as_long_as_somebody_is_paused)
{
    unsigned looks = 0;
    uint64_t deadline = callers.departures.timer.deadline;
    while (looks < 2) {
        UNTIL(callers.departures.timer.deadline != deadline);
        deadline = callers.departures.timer.deadline;
        looks++;
    }
    taker.is_blocked = false;
    hl_client_resume(taker.client);
    UNTIL(!hl_timer_is_armed(&callers.departures.timer));
    cr_assert_eq(taker.told.gone, 0);
}
