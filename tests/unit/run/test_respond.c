/* test_respond.c - the response half of a run: what the app's bytes become for the caller. */
#include "app/limiter.h"
#include "base/metric.h"
#include "caller/client.h"
#include "callers_fixture.h"
#include "config/config.h"
#include "loop_fixture.h"
#include "run/progress.h"
#include "run/respond.h"
#include "run/tunnel.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/upstream.h"
#include "fake_app.h"
#include "run/run.h"
#include "run/runs.h"
#include "run/runs_fixture.h"
#include "run/service.h"

static int caller, app;
static struct hl_run *run;

/* A call is inside the app. */
static void begin(void)
{
    app_begin();
    config.sse_heartbeat_ms = 600000;
    run = app_call(&caller);
    app = app_accept();
    app_await(app, APP_GET);
}

TestSuite(respond, .init = begin, .fini = app_end, .timeout = 180);

static uint64_t finished(enum hl_run_state state)
{
    return hl_counter_get(&metrics.runs_finished[HL_MODE_SYNC][state]);
}

/* ---- heads ---- */

Test(respond, passes_a_response_on_with_its_status_and_fields)
{
    app_say(app, "HTTP/1.1 404 Not Found\r\nX-App: 1\r\nContent-Length: 2\r\n\r\nno");
    const char *text = caller_await(caller, "\r\n\r\nno");
    cr_assert_eq(strncmp(text, "HTTP/1.1 404 Not Found\r\n", 24), 0);
    cr_assert(strstr(text, "\r\nX-App: 1\r\n"));
    cr_assert(strstr(text, "\r\nX-Request-Id: "));
    cr_assert_eq(finished(HL_RUN_FAILURE), 1);
    cr_assert_eq(caller_ending(caller), -1);
}

Test(respond, puts_a_head_together_from_its_pieces)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    for (const char *p = head; *p; p++) {
        char piece[2] = {*p, '\0'};
        app_say(app, piece);
        loop_turns(1);
    }
    caller_await(caller, "Content-Length: 0\r\n\r\n");
}

Test(respond, passes_interim_heads_on)
{
    app_say(app, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
    caller_await(caller, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n");
    cr_assert_eq(run->response.half, HL_RESPONSE_HEAD);
    app_say(app, "HTTP/1.1 204 No Content\r\n\r\n");
    caller_await(caller, "HTTP/1.1 204 No Content\r\n");
}

Test(respond, spares_a_caller_of_http_1_0_interim_heads)
{
    run->caller.minor = run->client->minor = 0;
    app_say(app, "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n");
    const char *text = caller_await(caller, "HTTP/1.1 204 No Content\r\n");
    cr_assert_null(strstr(text, "103"));
}

Test(respond, fails_a_call_whose_answer_is_no_http)
{
    app_say(app, "HTTP/1.1 200 OK\nContent-Length: 0\n\n");
    caller_await(caller, "HTTP/1.1 502 ");
    cr_assert_eq(hl_counter_get(&metrics.upstream_errors[HL_REASON_BAD_RESPONSE]), 1);
    UNTIL(app_is_left(app));
}

/* ---- bodies ---- */

Test(respond, frames_a_body_that_ends_with_the_connection_in_chunks)
{
    app_say(app, "HTTP/1.0 200 OK\r\n\r\nabc");
    caller_await(caller, "\r\n\r\n3\r\nabc\r\n");
    app_close(app);
    caller_await(caller, "0\r\n\r\n");
    cr_assert_eq(finished(HL_RUN_SUCCESS), 1);
}

Test(respond, ends_such_a_body_for_a_caller_of_http_1_0_with_the_connection)
{
    run->caller.minor = run->client->minor = 0;
    app_say(app, "HTTP/1.0 200 OK\r\n\r\nabc");
    cr_assert(strstr(caller_await(caller, "\r\n\r\nabc"), "\r\nConnection: close\r\n"));
    cr_assert_eq(caller_ending(caller), -1);
    app_close(app);
    UNTIL(caller_ending(caller) == 0);
}

Test(respond, cuts_a_caller_off_whose_response_breaks_off)
{
    app_say(app, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc");
    caller_await(caller, "\r\n\r\nabc");
    app_close(app);
    UNTIL(caller_ending(caller) >= 0);
    cr_assert_eq(finished(HL_RUN_FAILURE), 1);
    cr_assert_eq(hl_counter_get(&metrics.upstream_errors[HL_REASON_UPSTREAM_RESET]), 1);
}

Test(respond, gives_what_came_before_a_broken_chunk_and_cuts_then)
{
    app_say(app, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nx\r\n");
    caller_await(caller, "3\r\nabc\r\n");
    UNTIL(caller_ending(caller) >= 0);
    cr_assert_eq(hl_counter_get(&metrics.upstream_errors[HL_REASON_BAD_RESPONSE]), 1);
}

/* ---- the app's connection ---- */

Test(respond, keeps_the_apps_connection_for_the_next_call)
{
    app_say(app, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    UNTIL(run_count() == 0);
    app_call(&caller);
    app_await(app, APP_GET APP_GET);
}

static void assert_not_kept(const char *response)
{
    app_say(app, response);
    UNTIL(run_count() == 0);
    UNTIL(app_is_left(app));
}

Test(respond, keeps_no_connection_that_the_app_closes)
{
    assert_not_kept("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
}

Test(respond, keeps_no_connection_on_which_more_came_than_was_asked_for)
{
    assert_not_kept("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nx");
}

/* ---- callers who read slowly, or not at all ---- */

Test(respond, reads_no_more_of_the_app_than_the_caller_takes)
{
    size_t n = 64u << 10, total = 0;
    char *piece = calloc(1, n + 1);
    memset(piece, 'x', n);
    app_say(app, "HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n");
    UNTIL(run->response.half == HL_RESPONSE_BODY);
    while (run->app.upstream->stream.is_reading) {
        total += app_pour(app, piece, n);
        loop_turns(1);
        cr_assert_lt(total, 64u << 20, "nothing holds it up");
    }
    cr_assert(hl_stream_is_blocked(&run->client->stream));
    UNTIL_WITH(caller_hear(caller), run->app.upstream->stream.is_reading);
    free(piece);
}

Test(respond, ends_a_call_whose_caller_leaves)
{
    app_say(app, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc");
    caller_await(caller, "abc");
    caller_end(caller);
    UNTIL(run_count() == 0);
    UNTIL(app_is_left(app));
    cr_assert_eq(finished(HL_RUN_CANCELLED), 1);
}

/* ---- event streams ---- */

static void begin_events(void)
{
    app_say(app, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n");
    caller_await(caller, "9\r\ndata: 1\n\n\r\n");
}

Test(respond, beats_between_events_and_never_inside_one)
{
    begin_events();
    hl_respond_beat(run);
    cr_assert_str_eq(caller_await(caller, "\r\n: keep-alive\n\n\r\n"), "e\r\n: keep-alive\n\n\r\n");
    app_say(app, "data: 2");
    caller_await(caller, "7\r\ndata: 2\r\n");
    hl_respond_beat(run);
    app_say(app, "\n\n");
    cr_assert_str_eq(caller_await(caller, "\n\n\r\n"), "2\r\n\n\n\r\n");
    hl_respond_beat(run);
    caller_await(caller, "keep-alive");
}

Test(respond, does_not_beat_where_a_comment_would_break_the_coding)
{
    app_say(
        app, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: br\r\n\r\nx");
    caller_await(caller, "1\r\nx\r\n");
    cr_assert_eq(run->response.beats, HL_BEATS_NONE);
    cr_assert_not(hl_timer_is_armed(&run->timer));
}

/* ---- tunnels ---- */

static void begin_tunnel(void)
{
    run->caller.is_websocket = true;
    app_say(app,
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhi");
    caller_await(caller, "\r\n\r\nhi");
}

Test(respond, passes_a_tunnel_both_ways_until_both_have_ended)
{
    begin_tunnel();
    caller_say(caller, "yo");
    app_await(app, "yo");
    caller_end(caller);
    UNTIL(app_is_left(app));
    app_say(app, "bye");
    caller_await(caller, "bye");
    cr_assert_eq(run_count(), 1);
    app_close(app);
    UNTIL(run_count() == 0);
    UNTIL(caller_ending(caller) == 0);
    cr_assert_eq(hl_counter_get(&metrics.runs_finished[HL_MODE_TUNNEL][HL_RUN_SUCCESS]), 1);
}

Test(respond, has_left_the_slot_once_the_app_has_ended_its_side_of_a_tunnel)
{
    hl_limiter_init(&runs.service->limiter, 1, 10, runs.service->seats, 1);
    cr_assert(hl_limiter_try(&runs.seat, HL_LIMITER_CALLER));
    begin_tunnel();
    app_close(app);
    UNTIL(run->response.half == HL_RESPONSE_TUNNEL_HALF);
    cr_assert_eq(runs.service->limiter.in_use, 0);
    cr_assert_eq(run_count(), 1, "its caller may go on");
    caller_end(caller);
    UNTIL(run_count() == 0);
}

Test(respond, outlives_a_caller_who_ends_a_tunnel_behind_what_the_app_does_not_take)
{
    begin_tunnel();
    caller_say(caller, "yo");
    UNTIL(run->app.upstream->stream.written > strlen(APP_GET));
    hl_stream_pause(&run->app.upstream->stream);
    app_close(app); /* a reset: "yo" was not read */
    caller_say(caller, "more");
    caller_end(caller);
    UNTIL(run->request.half == HL_REQUEST_BROKEN && run->client->has_ended);
    hl_stream_resume(&run->app.upstream->stream);
    UNTIL(run_count() == 0);
}

Test(respond, ends_a_tunnel_whose_app_took_not_all_when_it_is_told_to)
{
    begin_tunnel();
    caller_say(caller, "yo");
    UNTIL(run->app.upstream->stream.written > strlen(APP_GET));
    hl_stream_pause(&run->app.upstream->stream);
    app_close(app);
    caller_say(caller, "more");
    UNTIL(run->request.half == HL_REQUEST_BROKEN);
    hl_tunnel_close(run);
    UNTIL(run_count() == 0);
}

Test(respond, ends_a_tunnel_when_it_is_told_to)
{
    begin_tunnel();
    hl_tunnel_close(run);
    UNTIL(run_count() == 0);
    UNTIL(caller_ending(caller) == 0);
    UNTIL(app_is_left(app));
}
